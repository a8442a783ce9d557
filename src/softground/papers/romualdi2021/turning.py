"""Beyond the paper: a walk that turns."""

from __future__ import annotations

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from softground.bridges.side_pictures import blank
from softground.control.walking.figure import sole_corners
from softground.control.walking.walk import verdict
from softground.papers.romualdi2021.walks import (
    GROUND_NOTE,
    QUICK_SECONDS,
    SECONDS,
    SPEED,
    Place,
    icub,
    stances,
    steps_taken,
    walk_icub,
)
from softground.papers.study import Check, Findings, Options, Study, Table, Video, below
from softground.runs import Run
from softground.runs.figures import COLOURS, STYLE

PLACE = Place(1e6, 1e4)
TURN_RATE = 0.1  # rad/s
STRAIGHT_ENOUGH = 3.0  # degrees


def perform(options: Options) -> Findings:
    until = QUICK_SECONDS if options.quick else SECONDS
    title = f"iCub turns at {TURN_RATE:g} rad/s, {PLACE}"
    run = walk_icub("compliant", PLACE.medium, PLACE.belief, until, turn_rate=TURN_RATE, title=title)
    judged = verdict(run)
    heading, desired = np.degrees(trunk_yaw(run)), np.degrees(planned_yaw(run))
    left = float(abs(heading[-1] - desired[-1]))
    found = judged.as_dict() | {
        "steps": steps_taken(run),
        "turned_deg": float(heading[-1] - heading[0]),
        "planned_turn_deg": float(desired[-1] - desired[0]),
        "heading_error_at_end_deg": left,
        "heading_error_max_deg": float(np.abs(heading - desired).max()),
    }
    checks = [Check("ours: iCub walks the curve", judged.success, judged.ended, "finished")]
    if not options.quick:
        checks.append(
            below("ours: the trunk looks where it should at the end, error", left, STRAIGHT_ENOUGH, "degrees")
        )
    return Findings(
        checks=checks,
        metrics=found,
        tables=[Table("turning", "The turning walk", [found])],
        figures={"turning": figure(run)},
        videos={"turning": Video(run, title)},
        notes=[
            f"Gait and gains are those of the straight walks: {SPEED:g} m/s, and {TURN_RATE:g} rad/s besides.",
            GROUND_NOTE,
            "The planned heading is the mean of the feet's; the trunk's is measured at the base. Under way it may "
            "swing, because its orientation weighs little beside momentum (heading_error_max_deg).",
        ],
    )


def trunk_yaw(run: Run) -> Float[np.ndarray, " n"]:
    """Heading of the base since the start, rad."""
    w, x, y, z = run["configuration"].values[:, 3:7].T
    yaw = np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y**2 + z**2)))
    return yaw - yaw[0]


def planned_yaw(run: Run) -> Float[np.ndarray, " n"]:
    """Heading that the plan has for the trunk since the start, rad."""
    return run["heading_reference"].values - run["heading_reference"].values[0]


def figure(run: Run) -> Figure:
    """From above: soles where they stood, the centre of mass and its reference."""
    outline = icub().feet[0].shape.outline
    place, rotation = run.foot_poses(icub())
    yaw = np.arctan2(rotation[..., 1, 0], rotation[..., 0, 0])
    with matplotlib.rc_context(STYLE):
        result = blank(7.2, 4.0)
        axes = result.subplots()
        for foot, label in enumerate(run["foot"].values):
            for first, last in stances(run, foot):
                middle = (first + last) // 2
                corners = sole_corners(outline, place[middle, foot], yaw[middle, foot])
                axes.add_patch(Polygon(corners, facecolor=COLOURS[foot], alpha=0.16, lw=0))
                axes.add_patch(Polygon(corners, facecolor="none", edgecolor=COLOURS[foot], lw=0.8))
            axes.plot(*place[:, foot, :2].T, color=COLOURS[foot], lw=0.7, ls=":", label=str(label))
        axes.plot(*run["com_reference"].values[:, :2].T, color=COLOURS[3], lw=2.2, alpha=0.5, label="CoM, reference")
        axes.plot(*run["center_of_mass"].values[:, :2].T, color=COLOURS[6], lw=0.9, label="CoM")
        axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
        axes.set_title(str(run.attrs["title"]), loc="left", fontweight="bold")
        axes.legend(fontsize=8, loc="upper left")
    return result


STUDY = Study(
    "romualdi2021",
    "turning",
    "a turning walk (beyond the paper)",
    "all walks are straight; a turning one is ours.",
    perform,
)
