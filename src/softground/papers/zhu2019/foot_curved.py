"""Fig. 8: a foot along a curved course, where the ground's memory shows."""

from __future__ import annotations

import numpy as np

from softground.papers.study import Findings, Options, Row, Study, Table, above, below
from softground.papers.zhu2019 import foot_study
from softground.papers.zhu2019.courses import COURSES
from softground.papers.zhu2019.tracking import NAMES, Track, errors, follow, recorded

RIGHT_SIZE = 0.6
"""Greatest error at which the simulator still predicts "the general trend and approximate magnitudes"."""


def perform(options: Options) -> Findings:
    course, record = COURSES["curved"](), foot_study.dem_record("curved", options)
    ground = foot_study.bead_ground(options)
    track = follow(ground.medium, course, 0.004 if options.quick else 0.001)
    _, measured = recorded(record, course, track.time)
    found = errors(track.wrench, measured)
    stays = _excess_while_slowing(track, measured)
    rows: list[Row] = [
        {"component": name, "normalised rms error": found[name], "correlation": _correlation(track, measured, k)}
        for k, name in enumerate(NAMES)
    ]
    return Findings(
        checks=[
            above("trend of the vertical force: correlation with DEM", _correlation(track, measured, 1), 0.8),
            below("magnitudes: normalised rms error of the wrench", found["together"], RIGHT_SIZE),
            above("simulated resistance stays high as the way down slows: simulated / DEM, vertical force", stays, 1.1),
        ],
        metrics={"errors": found, "excess_while_slowing": stays, "ground": ground.origin, "converged": track.converged},
        tables=[
            Table("errors", "Errors by component", rows),
            Table("series", "The foot over time", foot_study.series_rows(track, measured)),
        ],
        figures={"foot_curved": foot_study.figure(course, record, {"simulated": track})},
        notes=[
            "The authors' time series are not public: the reference is our DEM of beads along a course of our own, "
            "where the paper's is a robot's foot in pebbles.",
            f"The simulated ground: {ground.origin}.",
            "Torque is about the point 0.1572 m above the sole's centre; together, torques are divided by 0.1 m.",
            "While the way down slows is from 60 % to 100 % of the time to the deepest point.",
        ],
    )


def _excess_while_slowing(track: Track, measured: np.ndarray) -> float:
    """Mean vertical force, simulated over measured, while the foot nears its deepest point."""
    lowest = int(np.argmin(track.pose[:, 1]))
    near = slice(int(0.6 * lowest), lowest)
    return float(track.wrench[near, 1].mean() / measured[near, 1].mean())


def _correlation(track: Track, measured: np.ndarray, component: int) -> float:
    return float(np.corrcoef(track.wrench[:, component], measured[:, component])[0, 1])


STUDY = Study(
    "zhu2019",
    "foot-curved",
    "a foot along a curved course (Fig. 8)",
    "the simulator predicts the general trend and approximate magnitudes, but its resistance stays high as the way "
    "down slows, where the measured one drops: memory effects are not modelled.",
    perform,
)
