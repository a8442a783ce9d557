"""Fig. 10, third simulation: RoboSimian with locked joints dropped on a slope that flattens, in sand and pebbles."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.playback import heights
from softground.bridges.side_pictures import blank, strobe_figure
from softground.media.named import pebbles, sand
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
REST = 0.01  # m/s


def perform(options: Options) -> Findings:
    runs = {name: simulate(name, 0.004 if options.quick else 0.002) for name in MEDIA}
    found = {name: _metrics(one) for name, one in runs.items()}
    return Findings(
        checks=_checks(found),
        metrics=found,
        tables=[
            Table("slide", "How each slide went", [{"medium": name} | one for name, one in found.items()]),
            Table("series", "The slide over time", _series(runs)),
        ],
        figures={"slide": strobe(runs), "series": figure(runs)},
        videos={name: Video(one, f"RoboSimian slides on {name}, joints locked") for name, one in runs.items()},
        notes=[
            f"Sand and pebbles have strength {STRENGTH:g}. In weaker sand the robot stops on the slope, and "
            "at strength 1 it hardly moves (docs/zhu2019.md). In resistive force theory ground twice as strong lets "
            "a given weight sink half as deep and then drags less, so that stronger ground is more slippery.",
            "So the robot slides farther on pebbles than on sand. That it stops at a higher potential energy holds "
            "where it comes to rest on the level in both, because it sinks less; on a slope that never flattens the "
            "order would be the reverse.",
            f"Slope ({np.rad2deg(SLOPE):.0f} degrees), radius of the knee ({KNEE_RADIUS:g} m), start "
            f"({START:g} m above it) and drop ({1e3 * HEIGHT:.0f} mm) are ours; the paper gives none.",
            "Where exactly it stops in sand depends on how the front feet dig in where the slope flattens, and with it "
            "on the time step (docs/zhu2019.md).",
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


def _checks(found: dict[str, Row]) -> list[Check]:
    checks = []
    for name, one in found.items():
        checks += [
            above(f"{name}: it slides and accelerates, to a speed (m/s)", one["greatest_speed_m_s"], 0.5),
            below(f"{name}: the terrain is flat where it stops, inclination (deg)", one["stop_inclination_deg"], 5.0),
            below(f"{name}: it stops, speed at the end (m/s)", one["final_speed_m_s"], REST),
        ]
    deeper = found["sand"]["final_sinkage_mm"] - found["pebbles"]["final_sinkage_mm"]
    higher = found["pebbles"]["final_potential_energy_j"] - found["sand"]["final_potential_energy_j"]
    return [
        *checks,
        above("it sinks less in pebbles: sinkage in sand less that in pebbles (mm)", deeper, 1.0),
        above("on pebbles it stops at a higher potential energy: difference (J)", higher, 1.0),
    ]


def _metrics(one: Run) -> Row:
    speed = _speed(one)
    late = one.isel(time=slice(-max(one.sizes["time"] // 10, 2), None))
    change = np.linalg.norm(late["base_position"].values[-1] - late["base_position"].values[0])
    height = one["center_of_mass"].values[:, 2]
    weight = one.weight
    return {
        "greatest_speed_m_s": float(speed.max()),
        "final_speed_m_s": float(change / (late["time"].values[-1] - late["time"].values[0])),
        "stop_time_s": float(one["time"].values[np.flatnonzero(speed > 5 * REST).max()]),
        "stop_x_m": float(one["base_position"].values[-1, 0]),
        "stop_inclination_deg": _inclination(float(one["base_position"].values[-1, 0])),
        "final_sinkage_mm": float(1e3 * one["depth"].values[-1].mean()),
        "mean_sinkage_mm": float(1e3 * one["depth"].values.mean()),
        "final_potential_energy_j": float(weight * height[-1]),
        "steps_not_converged": int(one.attrs["steps_not_converged"]),
    }


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
