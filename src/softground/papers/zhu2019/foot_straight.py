"""Fig. 7: a foot along a straight trajectory, simulated wrenches against measured ones."""

from __future__ import annotations

import numpy as np

from softground.experiments.database import WrenchDatabase
from softground.experiments.learning.grid import component_weights
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, above, below
from softground.papers.zhu2019 import foot_study
from softground.papers.zhu2019.databases import sand_source
from softground.papers.zhu2019.tracking import NAMES, errors, follow, recorded
from softground.papers.zhu2019.trajectories import TRAJECTORIES


def perform(options: Options) -> Findings:
    trajectory, record = TRAJECTORIES["straight"](), foot_study.dem_record("straight", options)
    ground = foot_study.bead_ground(options)
    track = follow(ground.medium, trajectory, 0.004 if options.quick else 0.001)
    _, measured = recorded(record, trajectory, track.time)
    found = errors(track.wrench, measured)
    unseen = foot_study.in_unseen_beds("straight", {"simulated": track})
    source = sand_source(options.sand)
    dissipation = dissipation_errors(source.database)
    rows: list[Row] = [
        {
            "component": name,
            "normalised rms error": found[name],
            "greatest, DEM": float(np.abs(measured[:, k]).max()),
            "greatest, simulated": float(np.abs(track.wrench[:, k]).max()),
        }
        for k, name in enumerate(NAMES)
    ]
    return Findings(
        checks=[
            below("normalised rms error of the wrench against DEM", found["together"], bar.MATCHES),
            *_in_unseen_beds(unseen),
            *_growing(track.wrench, measured),
        ],
        metrics={"errors": found, "unseen_beds": unseen, "ground": ground.origin, "converged": track.converged}
        | {"sand": source.origin, "maximum_dissipation_on_sand": dissipation},
        tables=[
            Table("errors", "Errors by component", rows),
            *([Table("beds", "Errors in beds that had no part in learning", unseen)] if unseen else []),
            Table("series", "The foot over time", foot_study.series_rows(track, measured)),
        ],
        figures={"foot_straight": foot_study.figure(trajectory, record, {"simulated": track})},
        notes=[
            "The authors' time series are not public: the reference is our DEM of beads along a trajectory of our own, "
            "where the paper's is a robot's foot in sand.",
            f"The simulated ground: {ground.origin}.",
            "Torque is about the point 0.1572 m above the sole's centre; together, torques are divided by 0.1 m. DEM "
            "wrenches are low-pass filtered at 5 Hz, because grains of 1 cm under a foot of 10 cm make noise.",
            f"Sample points of the sand database ({source.origin}), before any learning: measured wrenches dissipate "
            f"{dissipation['power']:.0%} of what the most dissipative wrench of their configuration would, and differ "
            f"from it by {dissipation['wrench']:.0%} rms. This is the error of the principle of maximum dissipation "
            "itself, and of the noise in the data.",
            "DEM grains of 1 cm stand out of the surface and meet the foot up to 2 cm above it, where the simulated "
            "ground is not yet there.",
        ],
    )


def _in_unseen_beds(rows: list[Row]) -> list[Check]:
    worst = [row["simulated"] for row in rows]
    return [below("the same in beds that had no part in learning, worst", max(worst), bar.MATCHES)] if worst else []


def _growing(simulated: np.ndarray, measured: np.ndarray) -> list[Check]:
    """Resistance grows with depth: last third of the trajectory over the middle one, for force and torque, in both."""
    third = len(simulated) // 3
    growth = [
        float(np.abs(series[-third:, k]).mean() / max(np.abs(series[third:-third, k]).mean(), 1e-9))
        for series in (simulated, measured)
        for k in (1, 2)
    ]
    return [above("force and torque grow with depth: least ratio, last third over middle", min(growth), bar.GROWS)]


def dissipation_errors(database: WrenchDatabase) -> dict[str, float]:
    """Measured wrenches against those that dissipate most in the same direction, among those of the configuration.

    "wrench": normalised rms difference. "power": measured power over the greatest, summed over all.
    """
    poses, table, sole = database.configurations(), database.table(), database.twists()
    off, size, power, greatest = 0.0, 0.0, 0.0, 0.0
    weights = component_weights("planar")
    for (depth, tilt, _), wrenches in zip(poses, table, strict=True):
        if depth <= 0:
            continue
        arm = database.reference_height * np.array([np.sin(tilt), np.cos(tilt)])
        twists = sole + sole[:, 2:] * np.array([arm[1], -arm[0], 0.0])  # moved to the reference point
        powers = -twists @ wrenches.T  # (direction, wrench)
        chosen = wrenches[np.argmax(powers, axis=1)]
        off += float((((chosen - wrenches) * weights) ** 2).sum())
        size += float(((wrenches * weights) ** 2).sum())
        power += float(np.trace(powers))
        greatest += float(powers.max(axis=1).sum())
    return {"wrench": float(np.sqrt(off / size)), "power": power / greatest}


STUDY = Study(
    "zhu2019",
    "foot-straight",
    "a foot along a straight trajectory (Fig. 7)",
    "simulated and measured resistance match well on a straight trajectory: force and torque grow with depth.",
    perform,
)
