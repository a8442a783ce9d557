"""Beyond the paper: the same controller on other robots, without a change of code."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.control.walking import gait_for
from softground.control.walking.walk import Command, com_error, verdict, walk
from softground.control.walking.walker import walking_controller
from softground.media.visco_elastic import patch
from softground.papers.romualdi2021.walks import GROUND_NOTE, SPEED, Place, icub, outcome, steps_taken
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video
from softground.robots import Robot
from softground.runs import Run
from softground.runs.figures import COLOURS, STYLE
from softground.simulation import Simulator

ROBOTS = ("g1", "talos")
FIRM, STIFFEST, SOFTEST = Place(1e7, 1e5), Place(2e6, 1e4), Place(8e5, 1e4)
"""Firm ground, and the stiffest and the softest of the paper."""
SECONDS, QUICK_SECONDS = 8.0, 2.8


def perform(options: Options) -> Findings:
    until = QUICK_SECONDS if options.quick else SECONDS
    rows: list[Row] = []
    errors: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    videos = {}
    for name in ROBOTS[:1] if options.quick else ROBOTS:
        robot = Robot.load(name)
        controller = walking_controller(robot, "compliant")
        for label, place in grounds(robot, options.quick).items():
            simulator = Simulator(robot, place.medium, 1e-3)
            command = Command(SPEED * size(robot) ** 0.5, seconds=SECONDS)
            run = walk(
                simulator, controller, gait_for(robot), command, place.belief, until=until, progress=False, title=label
            )
            rows.append({"robot": name, "ground": label} | _row(place, run))
            errors[f"{name}, {label}"] = run["time"].values, 1e3 * np.linalg.norm(com_error(run), axis=1)
            if label == "firm":
                videos[name] = Video(run, f"{name} on {place}")
    return Findings(
        checks=[
            Check(
                f"ours: {row['robot']} walks on {row['ground']} ground ({row['k, b']})",
                row["outcome"] == "success",
                row["ended"],
                "finished",
            )
            for row in rows
        ],
        metrics={f"{row['robot']}, {row['ground']}": row for row in rows},
        tables=[Table("robots", "Walks of other robots", rows)],
        figures={"robots": figure(errors)},
        videos=videos,
        notes=[
            "TSID-Compliant. Lengths of the gait scale with the height of the centre of mass, times and speed with its "
            "square root; weights of forces and torques with the inverse squares of mass and of mass times height.",
            "Ground 'like' one of iCub's has the stiffness at which rolling a foot meets the same share of the torque "
            "with which the robot topples (k A w2 / m g h), and damping in proportion, times the ratio of times.",
            GROUND_NOTE,
        ],
    )


def grounds(robot: Robot, quick: bool) -> dict[str, Place]:
    """Grounds to walk on, by name."""
    if quick:
        return {"firm": FIRM}
    return {
        "firm": FIRM,
        "like iCub's stiffest": similar(STIFFEST, robot),
        "like iCub's softest": similar(SOFTEST, robot),
        "iCub's stiffest": STIFFEST,
    }


def size(robot: Robot) -> float:
    """Height of the centre of mass while walking, of iCub's."""
    return gait_for(robot).com_height / gait_for(icub()).com_height


def similar(place: Place, robot: Robot) -> Place:
    """Ground that is to a robot what a place is to iCub.

    A foot of area A and width w that rolls by an angle is pushed back with k A w2 / 12 times it, while the robot, an
    inverted pendulum, topples with m g h times it: ground is as soft as the ratio of the two is small.
    """
    stiffness = place.k * _softness(icub()) / _softness(robot)
    return Place(stiffness, place.b / place.k * stiffness * size(robot) ** 0.5)


def _softness(robot: Robot) -> float:
    """Rolling stiffness of a sole at unit k, of the toppling m g h (m3/N)."""
    sole = patch(robot.feet[0].shape)
    weight = float(robot.weight)
    return float(sole.second_moment[1, 1]) / (weight * gait_for(robot).com_height)


def _row(place: Place, run: Run) -> Row:
    found = verdict(run).as_dict()
    return {
        "k, b": f"{place.k:.2g}, {place.b:.2g}",
        "outcome": outcome(found),
        "ended": found["ended"],
        "seconds": found["seconds"],
        "steps": steps_taken(run),
        "com_error_max_mm": found["com_error_max_mm"],
        "com_error_rms_mm": found["com_error_rms_mm"],
        "controller_failures": found["controller_failures"],
    }


def figure(errors: dict[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Error of the centre of mass over time."""
    with matplotlib.rc_context(STYLE):
        result = blank(8.0, 3.4)
        axes = result.subplots()
        for number, (label, (time, error)) in enumerate(errors.items()):
            style = "-" if number < len(COLOURS) else (0, (4, 2))
            axes.plot(time, error, color=COLOURS[number % len(COLOURS)], ls=style, label=label)
        axes.set(yscale="log", ylim=(0.1, 1e3), xlabel="time (s)", ylabel="error of the CoM (mm)")
        result.legend(loc="outside upper center", ncols=2, fontsize=8)
    return result


STUDY = Study(
    "romualdi2021",
    "second-robot",
    "the same controller on other robots (beyond the paper)",
    "one robot walks; the controller is written for any.",
    perform,
)
