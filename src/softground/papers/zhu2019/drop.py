"""Fig. 9: an object dropped on sand, upright, on a slight slope, and tilted."""

from __future__ import annotations

from importlib.resources import as_file, files

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank, strip_figure
from softground.media.named import sand
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video, below, between
from softground.robots import Robot
from softground.runs import Run, run
from softground.runs.figures import COLOURS, STYLE
from softground.simulation import Ground, Simulator
from softground.surfaces import Plane

HEIGHT = 0.02  # m, from which the object is dropped
SLOPE = np.deg2rad(5.0)
"""Slope of the "slightly sloped terrain", which the paper does not give."""
TILT = 0.2  # rad (IV.C.2)
SECONDS = {False: 3.0, True: 1.5}
#: name: (slope of the ground, tilt of the object), rad
CASES = {"upright": (0.0, 0.0), "slope": (SLOPE, 0.0), "tilted": (0.0, TILT)}
TITLES = {
    "upright": "upright on the level",
    "slope": f"upright on a slope of {np.rad2deg(SLOPE):.0f} deg",
    "tilted": f"tilted by {TILT:g} rad on the level",
}


def perform(options: Options) -> Findings:
    runs = {name: simulate(slope, tilt, SECONDS[options.quick]) for name, (slope, tilt) in CASES.items()}
    return Findings(
        checks=_checks(runs),
        metrics={name: _metrics(one) for name, one in runs.items()},
        tables=[
            Table(
                "drop", "How each drop ended", [{"case": TITLES[name]} | _metrics(one) for name, one in runs.items()]
            ),
            Table("series", "Pitch and depth over time", _series(runs)),
        ],
        figures={"drop": strip(runs), "pitch": figure(runs)},
        videos={name: Video(one, f"dropped {TITLES[name]}, half speed", 0.5) for name, one in runs.items()},
        notes=[
            "The object: see object.xml. The paper gives its mass and inertia; they are those of an even rod of the "
            "foot's radius, 0.3144 m long, so we drop one. Sand is `softground.media.sand()`, strength 1.",
            "As in the paper the centre of a sole decides contact. Both ends of the rod are soles: with the lower one "
            "alone the rod falls on its side and turns on into the sand.",
            f"The slope ({np.rad2deg(SLOPE):.0f} degrees) and the height ({1e3 * HEIGHT:.0f} mm) are ours.",
        ],
    )


def simulate(slope: float, tilt: float, seconds: float) -> Run:
    """The object dropped on sand."""
    with as_file(files("softground.papers.zhu2019") / "object.xml") as path:
        robot = Robot.load(str(path))
    simulator = Simulator(robot, Ground(sand(), Plane(slope=slope)))
    state = simulator.initial_state(np.array([0.0, 0.0, tilt]), height=HEIGHT)
    return run(simulator, state, None, seconds, every=5, progress=False)


def _checks(runs: dict[str, Run]) -> list[Check]:
    lean = {name: np.abs(_pitch(one)) for name, one in runs.items()}
    return [
        below("dropped upright, it stays erect: greatest pitch (deg)", lean["upright"].max(), bar.ERECT),
        between(
            "on a slight slope it begins to tip: final pitch (deg)",
            lean["slope"][-1],
            bar.BEGINS_TO_TIP,
            bar.BALANCES_BELOW,
        ),
        below("and balances: speed at the end (m/s, rad/s)", _speed_at_end(runs["slope"]), bar.AT_REST),
        between(
            f"tilted by {TILT:g} rad it tips over: final pitch (deg)",
            lean["tilted"][-1],
            bar.LIES,
            bar.LIES_AT_MOST,
        ),
        below("and stops: speed at the end (m/s, rad/s)", _speed_at_end(runs["tilted"]), bar.AT_REST),
    ]


def _pitch(one: Run) -> np.ndarray:
    return np.degrees(one["configuration"].values[:, 2])


def _speed_at_end(one: Run) -> float:
    """Greatest mean velocity over the last tenth of the run, from positions: m/s and rad/s."""
    late = one.isel(time=slice(-max(one.sizes["time"] // 10, 2), None))
    change = late["configuration"].values[-1] - late["configuration"].values[0]
    return float(np.abs(change).max() / (late["time"].values[-1] - late["time"].values[0]))


def _metrics(one: Run) -> Row:
    return {
        "final_pitch_deg": float(_pitch(one)[-1]),
        "greatest_pitch_deg": float(np.abs(_pitch(one)).max()),
        "final_depth_mm": float(1e3 * one["depth"].values[-1, 0]),
        "speed_at_end": _speed_at_end(one),
        "steps_not_converged": int(one.attrs["steps_not_converged"]),
    }


def _series(runs: dict[str, Run]) -> list[Row]:
    return [
        {"case": name, "time (s)": float(t), "pitch (deg)": float(pitch), "depth (mm)": float(1e3 * depth)}
        for name, one in runs.items()
        for t, pitch, depth in zip(one["time"].values, _pitch(one), one["depth"].values[:, 0], strict=True)
    ]


def strip(runs: dict[str, Run]) -> Figure:
    """Pictures at five moments."""
    end = float(runs["upright"]["time"].values[-1])
    moments = [0.0, 0.15, 0.35, 0.6, end]
    return strip_figure(
        {TITLES[name]: one for name, one in runs.items()}, moments, window=(-0.28, 0.42, -0.18, 0.36), follow=False
    )


def figure(runs: dict[str, Run]) -> Figure:
    """Pitch and depth over time."""
    with matplotlib.rc_context(STYLE):
        result = blank(6.6, 2.6)
        pitch, depth = result.subplots(1, 2, sharex=True)
        for (name, one), colour in zip(runs.items(), COLOURS, strict=False):
            pitch.plot(one["time"], _pitch(one), color=colour, label=TITLES[name])
            depth.plot(one["time"], 1e3 * one["depth"].values[:, 0], color=colour)
        depth.axhline(0.0, color="#a98c59", lw=1.0)
        depth.invert_yaxis()
        pitch.set(xlabel="time (s)", ylabel="pitch (deg)")
        depth.set(xlabel="time (s)", ylabel="depth of the lower end (mm)")
        result.legend(loc="outside upper center", ncols=3, fontsize=8)
    return result


STUDY = Study(
    "zhu2019",
    "drop",
    "an object dropped on sand (Fig. 9)",
    "dropped upright it stays erect; on a slight slope it begins to tip and balances; tilted by 0.2 rad it tips over "
    "and stops.",
    perform,
)
