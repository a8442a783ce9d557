"""Fig. 10, second simulation: a trot, and how deep the feet sink in its two-foot phase."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank, strip_figure
from softground.control.trot import trot
from softground.media import Medium
from softground.media.named import sand
from softground.papers import thresholds as bar
from softground.papers.study import Findings, Options, Row, Study, Table, Video, above
from softground.papers.zhu2019.quadruped import STRENGTH, STRENGTH_NOTE, bent
from softground.robots import Robot
from softground.runs import Run, run
from softground.runs.figures import COLOURS, STYLE
from softground.simulation import Simulator

PERIOD, DUTY, STEP, LIFT = 1.0, 0.65, 0.25, 0.15  # s, share, m, m
START = 0.5  # s
#: Diagonal pairs of feet (front left, front right, rear left, rear right).
PAIRS = ((0, 3), (1, 2))
LOADED = 20.0
"""Vertical force (N) above which a foot carries."""


def perform(options: Options) -> Findings:
    periods = 2 if options.quick else 4
    robot = Robot.load("robosimian")
    one = simulate(robot, START + periods * PERIOD, 0.004 if options.quick else 0.002)
    late = one.isel(time=one["time"].values > START + PERIOD)  # the motion has grown to its full size
    found = metrics_of(late)
    return Findings(
        checks=[
            above(
                "deeper on two feet: depth of carrying feet, two / four (mm)",
                found["deeper_by_mm"],
                bar.DEEPER_ON_TWO,
            ),
            above(
                "feet sink: growth of depth while two feet carry (mm)",
                found["sunk_in_two_foot_phase_mm"],
                bar.SINKS_ON_TWO,
            ),
            above(
                "feet lift clear: greatest height of a swinging foot (mm)",
                found["clearance_mm"],
                bar.LIFTS_CLEAR,
            ),
            above("it walks: forward speed (m/s)", found["speed_m_s"], bar.WALKS),
        ],
        metrics=found,
        tables=[
            Table("trot", "The trot", [found]),
            Table("series", "Feet over time", _series(one)),
        ],
        figures={"trot": strip(one), "series": figure(one)},
        videos={"trot": Video(one, "RoboSimian trots on sand of strength 2")},
        notes=[
            STRENGTH_NOTE,
            f"Period {PERIOD:g} s, duty {DUTY:g}, step {STEP:g} m, lift {LIFT:g} m; joints follow inverse kinematics "
            "by PD control, open loop. The paper simulates one gait; we repeat it and leave out the first period.",
            f"A foot carries where its vertical force is above {LOADED:g} N; the phase is two-foot where exactly one "
            "diagonal pair carries.",
        ],
    )


def simulate(robot: Robot, seconds: float, dt: float, medium: Medium | None = None) -> Run:
    """The trot from rest."""
    simulator, state, gait, every = setting(robot, dt, medium)
    return run(simulator, state, gait, seconds, every=every, progress=False)


def setting(robot: Robot, dt: float, medium: Medium | None = None):
    """Simulator, state, gait and steps per sample of `simulate`."""
    posture = bent(robot, outwards=0.15, ankle_below_hip=0.45)
    simulator = Simulator(robot, sand(STRENGTH) if medium is None else medium, dt)
    gait = trot(robot, period=PERIOD, duty=DUTY, step_length=STEP, lift=LIFT, start=START, posture=posture)
    state = simulator.initial_state(posture, height=0.005)
    return simulator, state, gait, round(0.01 / dt) or 1


def carrying(one: Run) -> np.ndarray:
    """Whether each foot carries (time, foot)."""
    return one["wrench_world"].sel(wrench_axis="fz").values > LOADED


def two_foot_phase(one: Run) -> np.ndarray:
    """(time, pair): the pair carries and the other does not."""
    loaded = carrying(one)
    first, second = (loaded[:, list(pair)].all(axis=1) for pair in PAIRS)
    no_first, no_second = ((~loaded[:, list(pair)]).all(axis=1) for pair in PAIRS)
    return np.stack([first & no_second, second & no_first], axis=1)


def metrics_of(one: Run) -> Row:
    depth, loaded, alone = one["depth"].values, carrying(one), two_foot_phase(one)
    four = loaded.all(axis=1)
    on_two = np.concatenate([depth[alone[:, k]][:, list(pair)].ravel() for k, pair in enumerate(PAIRS)])
    sunk = [gain for k, pair in enumerate(PAIRS) for gain in _growth(depth[:, list(pair)], alone[:, k])]
    base = one["base_position"].values[:, 0]
    return {
        "depth_on_two_feet_mm": float(1e3 * on_two.mean()) if on_two.size else 0.0,
        "depth_on_four_feet_mm": float(1e3 * depth[four].mean()) if four.any() else 0.0,
        "deeper_by_mm": float(1e3 * (on_two.mean() - depth[four].mean())) if on_two.size and four.any() else 0.0,
        "sunk_in_two_foot_phase_mm": float(1e3 * np.mean(sunk)) if sunk else 0.0,
        "two_foot_share": float(alone.any(axis=1).mean()),
        "four_foot_share": float(four.mean()),
        "clearance_mm": float(-1e3 * depth.min()),
        "greatest_depth_mm": float(1e3 * depth.max()),
        "speed_m_s": float((base[-1] - base[0]) / (one["time"].values[-1] - one["time"].values[0])),
        "steps_not_converged": int(one.attrs["steps_not_converged"]),
    }


def _growth(depth: np.ndarray, phase: np.ndarray) -> list[float]:
    """By how much the mean depth (m) of a pair grows in each stretch of a phase."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], phase.astype(int), [0]])))
    return [
        float(depth[end - 1].mean() - depth[begin].mean())
        for begin, end in zip(edges[::2], edges[1::2], strict=True)
        if end - begin > 3
    ]


def _series(one: Run) -> list[Row]:
    names = [str(name) for name in one["foot"].values]
    return [
        {"time (s)": float(time)}
        | {f"{name} depth (mm)": float(1e3 * depth) for name, depth in zip(names, row, strict=True)}
        | {f"{name} fz (N)": float(force) for name, force in zip(names, forces, strict=True)}
        for time, row, forces in zip(
            one["time"].values, one["depth"].values, one["wrench_world"].values[:, :, 2], strict=True
        )
    ]


def strip(one: Run) -> Figure:
    """Half a period, from the last but one."""
    end = float(one["time"].values[-1])
    moments = [end - PERIOD + share * PERIOD for share in (0.0, 0.2, 0.4, 0.6, 0.8)]
    return strip_figure({"": one}, moments, window=(-0.85, 0.85, -1.15, 0.3), follow=True)


def figure(one: Run) -> Figure:
    """Depth and vertical force of the feet; shaded where two feet carry."""
    colours = (COLOURS[0], COLOURS[1], COLOURS[1], COLOURS[0])
    with matplotlib.rc_context(STYLE):
        result = blank(7.2, 4.2)
        panels = result.subplots(2, 1, sharex=True)
        alone, time = two_foot_phase(one).any(axis=1), one["time"].values
        for axes in panels:
            axes.fill_between(
                time, 0, 1, where=alone.tolist(), transform=axes.get_xaxis_transform(), color="#ececec", lw=0, zorder=0
            )
        for foot, colour in enumerate(colours):
            style = "-" if foot < 2 else (0, (4, 2))
            label = str(one["foot"].values[foot]).replace("_sole", "").replace("_", " ")
            panels[0].plot(time, 1e3 * one["depth"].values[:, foot], color=colour, ls=style, label=label)
            panels[1].plot(time, one["wrench_world"].values[:, foot, 2], color=colour, ls=style)
        panels[0].axhline(0.0, color="#a98c59", lw=1.0)
        panels[0].invert_yaxis()
        panels[0].set_ylabel("depth of the soles (mm)")
        panels[1].set(ylabel="vertical force (N)", xlabel="time (s); shaded: one diagonal pair carries alone")
        panels[1].set_xlim(time[0], time[-1])
        result.align_ylabels(panels)
        result.legend(loc="outside upper center", ncols=4, fontsize=8)
    return result


STUDY = Study(
    "zhu2019",
    "trot",
    "a trot on sand (Fig. 10)",
    "diagonal limbs move together; the feet sink and lift as the weight of the body shifts, deeper while two feet "
    "carry it.",
    perform,
)
