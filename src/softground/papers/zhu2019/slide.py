"""Fig. 10, third simulation: RoboSimian with locked joints dropped on a slope that flattens, in sand and pebbles."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.playback import heights
from softground.bridges.side_pictures import blank, strobe_figure
from softground.media.named import pebbles, sand
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video, above, below
from softground.robots import Robot
from softground.runs import Run, run
from softground.runs.figures import COLOURS, STYLE
from softground.simulation import Ground, Simulator
from softground.surfaces import Ramp

SLOPE = np.deg2rad(25.0)
KNEE_RADIUS = 4.0  # m, of curvature where the slope flattens
START = 3.0  # m, horizontally, from the knee up to the torso
HEIGHT = 0.01  # m, of the drop
SECONDS = 5.0
STRENGTH = 3.0
"""Strength of both media: in weaker sand the feet sink so deep that the slope holds the robot (see the notes)."""
RAMP = Ramp(SLOPE, KNEE_RADIUS, heading=np.pi)
"""Its knee is at the origin; it rises towards -x."""
MEDIA = {"sand": sand, "pebbles": pebbles}
TIME_STEPS, QUICK_TIME_STEPS = (0.004, 0.002, 0.001), (0.008, 0.004)  # s, of which the last but one is shown


def perform(options: Options) -> Findings:
    steps = QUICK_TIME_STEPS if options.quick else TIME_STEPS
    all_runs = {(name, dt): simulate(name, dt) for name in MEDIA for dt in steps}
    runs = {name: all_runs[name, steps[-2]] for name in MEDIA}
    found = {name: metrics_of(one) for name, one in runs.items()}
    stops = {name: [metrics_of(all_runs[name, dt])["stop_x_m"] for dt in steps] for name in MEDIA}
    why = energy_by_cause(found["sand"], found["pebbles"])
    return Findings(
        checks=_checks(found, stops),
        metrics=found | {"stops_m": stops, "higher_on_pebbles_j": why},
        tables=[
            Table("slide", "How each slide went", [{"medium": name} | one for name, one in found.items()]),
            Table(
                "stops",
                "Where it stops, by time step (m past the knee)",
                [
                    {"medium": name} | {f"{1e3 * dt:g} ms": at for dt, at in zip(steps, places, strict=True)}
                    for name, places in stops.items()
                ],
            ),
            Table("causes", "Why it stops higher on pebbles (J)", [why]),
            Table("series", "The slide over time", _series(runs)),
        ],
        figures={"slide": strobe(runs), "series": figure(runs)},
        videos={name: Video(one, f"RoboSimian slides on {name}, joints locked") for name, one in runs.items()},
        notes=[
            f"Sand and pebbles have strength {STRENGTH:g}. In weaker sand the robot stops on the slope, and "
            "at strength 1 it hardly moves (docs/zhu2019.md). In resistive force theory ground twice as strong lets "
            "a given weight sink half as deep and then drags less, so that stronger ground is more slippery.",
            "So the robot slides farther on pebbles than on sand. It stops at a higher potential energy because it "
            "sinks less, in spite of being farther down; on a slope that never flattens the order would be the "
            "reverse.",
            f"Slope ({np.rad2deg(SLOPE):.0f} degrees), radius of the knee ({KNEE_RADIUS:g} m), start "
            f"({START:g} m above it) and drop ({1e3 * HEIGHT:.0f} mm) are ours; the paper gives none.",
            "In sand its weight comes on the front feet where the slope flattens; they dig in and drag ever more, and "
            "it stops. On pebbles they do not, and it slides on to the level. `drag over load` is the mean of the "
            "forces along the way over those across it while it slides.",
            "The potential energy is that of the centre of mass above the height of the flat part.",
        ],
    )


def simulate(medium: str, dt: float) -> Run:
    """The slide, towards +x, down a ramp whose knee is at the origin."""
    robot = Robot.load("robosimian", lock=["front_*", "rear_*"])
    simulator = Simulator(robot, Ground(MEDIA[medium](STRENGTH), RAMP), dt)
    q = robot.posture + np.array([-START, START * np.tan(SLOPE), SLOPE])
    state = simulator.initial_state(q, height=HEIGHT)
    return run(simulator, state, None, SECONDS, every=round(0.01 / dt), progress=False)


def energy_by_cause(sand: Row, pebbles: Row) -> Row:
    """Potential energy at the end on pebbles less that on sand (J): by sinkage, the ground's height and the pitch."""
    more = {name: pebbles[name] - sand[name] for name in ("final_sinkage_mm", "ground_at_feet_mm")}
    whole = pebbles["final_potential_energy_j"] - sand["final_potential_energy_j"]
    sunk, ground = (1e-3 * sand["weight_n"] * more[name] for name in more)
    return {"it sinks less": -sunk, "it stops farther down": ground, "it leans": whole + sunk - ground, "all": whole}


def _checks(found: dict[str, Row], stops: dict[str, list[float]]) -> list[Check]:
    checks = []
    for name, one in found.items():
        checks += [
            above(f"{name}: it slides and accelerates, to a speed (m/s)", one["greatest_speed_m_s"], bar.SLIDES),
            below(
                f"{name}: the terrain is flat where it stops, inclination (deg)", one["stop_inclination_deg"], bar.FLAT
            ),
            below(f"{name}: it stops, speed at the end (m/s)", one["final_speed_m_s"], bar.AT_REST),
        ]
    deeper = found["sand"]["final_sinkage_mm"] - found["pebbles"]["final_sinkage_mm"]
    higher = found["pebbles"]["final_potential_energy_j"] - found["sand"]["final_potential_energy_j"]
    moved = max(float(np.abs(np.diff(places)).max()) for places in stops.values())
    return [
        *checks,
        below("the stop does not hang on the time step: it moves from one to half of it by (m)", moved, bar.SAME_STOP),
        above("it sinks less in pebbles: sinkage in sand less that in pebbles (mm)", deeper, bar.SHALLOWER),
        above("on pebbles it stops at a higher potential energy: difference (J)", higher, bar.STOPS_HIGHER),
    ]


def metrics_of(one: Run) -> Row:
    """How a slide went and ended."""
    speed, feet = _speed(one), one.foot_poses()[0][-1]
    late = one.isel(time=slice(-max(one.sizes["time"] // 10, 2), None))
    change = np.linalg.norm(late["base_position"].values[-1] - late["base_position"].values[0])
    height = one["center_of_mass"].values[:, 2]
    weight = one.weight
    return {
        "greatest_speed_m_s": float(speed.max()),
        "final_speed_m_s": float(change / (late["time"].values[-1] - late["time"].values[0])),
        "stop_time_s": float(one["time"].values[np.flatnonzero(speed > 5 * bar.AT_REST).max()]),
        "stop_x_m": float(one["base_position"].values[-1, 0]),
        "stop_inclination_deg": _inclination(float(one["base_position"].values[-1, 0])),
        "final_sinkage_mm": float(1e3 * one["depth"].values[-1].mean()),
        "mean_sinkage_mm": float(1e3 * one["depth"].values.mean()),
        "ground_at_feet_mm": float(1e3 * heights(RAMP, feet[:, 0], feet[:, 1]).mean()),
        "drag_over_load": _drag_over_load(one, speed),
        "final_potential_energy_j": float(weight * height[-1]),
        "weight_n": float(weight),
        "steps_not_converged": int(one.attrs["steps_not_converged"]),
    }


def _drag_over_load(one: Run, speed: np.ndarray) -> float:
    """Mean of the ground's force against the velocity over that across it, while the robot slides."""
    slides = speed > 10 * bar.AT_REST
    force = one["wrench_world"].values[slides][..., [0, 2]].sum(axis=1)
    x, z = one["velocity"].values[slides, :2].T / speed[slides]
    return float(-(force[:, 0] * x + force[:, 1] * z).mean() / (force[:, 1] * x - force[:, 0] * z).mean())


def _inclination(x: float) -> float:
    """Inclination of the ground at x (m), degrees, over the length of the robot."""
    low, high = heights(RAMP, np.array([x + 0.6, x - 0.6]), np.zeros(2))
    return float(np.degrees(np.arctan((high - low) / 1.2)))


def _speed(one: Run) -> np.ndarray:
    return np.hypot(one["velocity"].values[:, 0], one["velocity"].values[:, 1])


def _series(runs: dict[str, Run]) -> list[Row]:
    return [
        {
            "medium": name,
            "time (s)": float(one["time"].values[i]),
            "base x (m)": float(one["base_position"].values[i, 0]),
            "speed (m/s)": float(_speed(one)[i]),
            "mean depth (mm)": float(1e3 * one["depth"].values[i].mean()),
            "potential energy (J)": float(one.weight * one["center_of_mass"].values[i, 2]),
        }
        for name, one in runs.items()
        for i in range(one.sizes["time"])
    ]


def strobe(runs: dict[str, Run]) -> Figure:
    """The slide in one picture for each medium."""
    return strobe_figure(runs, [0.0, 1.1, 1.7, SECONDS - 0.02], window=(-4.5, 4.7, -0.25, 2.95))


def figure(runs: dict[str, Run]) -> Figure:
    """Speed, sinkage and potential energy over time."""
    with matplotlib.rc_context(STYLE):
        result = blank(8.4, 2.6)
        speed, depth, energy = result.subplots(1, 3, sharex=True)
        for (name, one), colour in zip(runs.items(), (COLOURS[4], COLOURS[0]), strict=True):
            speed.plot(one["time"], _speed(one), color=colour, label=name)
            depth.plot(one["time"], 1e3 * one["depth"].values.mean(axis=1), color=colour)
            energy.plot(one["time"], 1e-3 * one.weight * one["center_of_mass"].values[:, 2], color=colour)
        depth.invert_yaxis()
        speed.set(xlabel="time (s)", ylabel="speed (m/s)")
        depth.set(xlabel="time (s)", ylabel="mean depth of the feet (mm)")
        energy.set(xlabel="time (s)", ylabel="potential energy (kJ)")
        result.legend(loc="outside upper center", ncols=2, fontsize=8)
    return result


STUDY = Study(
    "zhu2019",
    "slide",
    "RoboSimian slides down a slope that flattens (Fig. 10)",
    "it slides and accelerates at first and stops when the terrain flattens; pebbles allow shallower penetration and "
    "stop it at a higher potential energy.",
    perform,
)
