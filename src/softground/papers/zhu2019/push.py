"""Fig. 10, first simulation: weight shifted to the rear, front feet pushed forward."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank, strip_figure
from softground.control.foot_motion import move_feet
from softground.media import Medium
from softground.media.named import sand
from softground.papers import thresholds as bar
from softground.papers.study import Findings, Options, Row, Study, Table, Video, above, below
from softground.papers.zhu2019.quadruped import STRENGTH, STRENGTH_NOTE, bent
from softground.robots import Robot
from softground.runs import Run, run
from softground.runs.figures import COLOURS, STYLE
from softground.simulation import Simulator

PUSHED, END = 0.8, 2.2
"""Times (s) at which the push begins and ends; before it the robot settles, and the run lasts 0.3 s more."""
SHIFT, PUSH = 0.14, 0.18  # m, of all feet forwards under the torso, and of the front feet forwards
FRONT = np.array([1.0, 1.0, 0.0, 0.0])
#: name: sign of the shift. The second is the opposite experiment: the lighter feet should be the ones that slip.
CASES = {"rear": 1.0, "front": -1.0}


def perform(options: Options) -> Findings:
    robot = Robot.load("robosimian")
    cases = {"rear": 1.0} if options.quick else CASES
    runs = {name: simulate(robot, sign, 0.004 if options.quick else 0.002) for name, sign in cases.items()}
    found = {name: metrics_of(one) for name, one in runs.items()}
    rear = found["rear"]
    checks = [
        above(
            "weight on the rear: share of the rear feet before the push",
            rear["rear_load_share"],
            bar.ON_THE_REAR,
        ),
        above("the front feet slip forward (mm)", rear["front_slip_mm"], bar.FRONT_SLIPS),
        below("only they: slip of the rear feet / slip of the front feet", rear["slip_ratio"], bar.ONLY_THEY),
    ]
    if "front" in found:
        opposite = found["front"]
        checks.append(
            above(
                "ours: with the weight on the front the rear feet slip, rear / front",
                opposite["slip_ratio"],
                bar.BETTER,
            )
        )
    return Findings(
        checks=checks,
        metrics=found,
        tables=[
            Table("push", "Slip of the feet", [{"weight on": name} | one for name, one in found.items()]),
            Table("series", "Feet over time", _series(runs)),
        ],
        figures={"push": strip(runs), "series": figure(runs)},
        videos={
            f"weight_{name}": Video(one, f"weight on the {name} feet, front feet pushed") for name, one in runs.items()
        },
        notes=[
            STRENGTH_NOTE,
            f"The robot is set down with its torso {1e3 * SHIFT:.0f} mm behind the middle of its feet; then the front "
            f"feet are told to go {1e3 * PUSH:.0f} mm forward. Joints follow inverse kinematics by PD "
            "control, open loop.",
            "Slip is the way of a sole over the ground during the push, along x.",
        ],
    )


def simulate(robot: Robot, sign: float, dt: float, medium: Medium | None = None) -> Run:
    """Set down with the weight on the rear (sign 1) or front (-1); then the front feet are pushed forward."""
    simulator, state, motion, seconds, every = setting(robot, sign, dt, medium)
    return run(simulator, state, motion, seconds, every=every, progress=False)


def setting(robot: Robot, sign: float, dt: float, medium: Medium | None = None):
    """Simulator, state, motion, seconds and steps per sample of `simulate`."""
    posture = bent(robot, outwards=0.05, ankle_below_hip=0.40, forwards=sign * SHIFT)
    offsets = np.zeros((2, 4, 3))
    offsets[1, :, 0] = PUSH * FRONT
    motion = move_feet(robot, np.array([PUSHED, END]), offsets, posture)
    simulator = Simulator(robot, sand(STRENGTH) if medium is None else medium, dt)
    state = simulator.initial_state(posture, height=0.0)
    return simulator, state, motion, END + 0.3, round(0.02 / dt)


def metrics_of(one: Run) -> Row:
    place = one.foot_poses()[0][..., 0]
    time = one["time"].values
    before, after = int(np.searchsorted(time, PUSHED)), -1
    slip = place[after] - place[before]
    load = one["wrench_world"].values[before, :, 2]
    front, rear = float(np.abs(slip[:2]).mean()), float(np.abs(slip[2:]).mean())
    return {
        "front_slip_mm": 1e3 * float(slip[:2].mean()),
        "rear_slip_mm": 1e3 * float(slip[2:].mean()),
        "slip_ratio": rear / max(front, 1e-6),
        "rear_load_share": float(load[2:].sum() / load.sum()),
        "front_depth_mm": float(1e3 * one["depth"].values[before, :2].mean()),
        "rear_depth_mm": float(1e3 * one["depth"].values[before, 2:].mean()),
        "steps_not_converged": int(one.attrs["steps_not_converged"]),
    }


def _series(runs: dict[str, Run]) -> list[Row]:
    rows: list[Row] = []
    for name, one in runs.items():
        place, depth, force = one.foot_poses()[0][..., 0], one["depth"].values, one["wrench_world"].values
        rows += [
            {
                "weight on": name,
                "time (s)": float(time),
                "front x (m)": float(place[i, :2].mean()),
                "rear x (m)": float(place[i, 2:].mean()),
                "front depth (mm)": float(1e3 * depth[i, :2].mean()),
                "rear depth (mm)": float(1e3 * depth[i, 2:].mean()),
                "front fx (N)": float(force[i, :2, 0].sum()),
                "rear fx (N)": float(force[i, 2:, 0].sum()),
            }
            for i, time in enumerate(one["time"].values)
        ]
    return rows


def strip(runs: dict[str, Run]) -> Figure:
    """Pictures before, amid and after the push."""
    moments = [0.0, PUSHED, (PUSHED + END) / 2, END + 0.2]
    named = {f"weight on the {name} feet": one for name, one in runs.items()}
    return strip_figure(named, moments, window=(-0.85, 1.0, -0.2, 1.25), follow=False)


def figure(runs: dict[str, Run]) -> Figure:
    """Way of the feet over the ground since the push began, and the forces along x."""
    with matplotlib.rc_context(STYLE):
        result = blank(7.6, 2.5 * len(runs) + 0.3)
        panels = result.subplots(len(runs), 2, sharex=True, squeeze=False)
        for (way, force), (name, one) in zip(panels, runs.items(), strict=True):
            place, time = one.foot_poses()[0][..., 0], one["time"].values
            begin = int(np.searchsorted(time, PUSHED))
            for label, feet, colour in (
                ("front feet", slice(0, 2), COLOURS[0]),
                ("rear feet", slice(2, 4), COLOURS[1]),
            ):
                shown = label if name == "rear" else None
                moved = place[:, feet].mean(axis=1)
                way.plot(time, 1e3 * (moved - moved[begin]), color=colour, label=shown)
                force.plot(time, one["wrench_world"].values[:, feet, 0].sum(axis=1), color=colour)
            way.set_ylabel("way over the ground (mm)")
            force.set_ylabel("force along x (N)")
            way.set_title(f"weight on the {name} feet", loc="left", fontweight="bold")
            for axes in (way, force):
                axes.axvspan(PUSHED, END, color="#f1f1f1", zorder=0)
        for axes in panels[-1]:
            axes.set_xlabel("time (s); shaded: the front feet are pushed")
        result.legend(loc="outside upper center", ncols=2, fontsize=8)
    return result


STUDY = Study(
    "zhu2019",
    "push",
    "weight on the rear, front feet pushed forward (Fig. 10)",
    "with its weight shifted to the rear the robot pushes its front feet forward, and only the front feet slip, "
    "because the rear feet resist a larger force.",
    perform,
)
