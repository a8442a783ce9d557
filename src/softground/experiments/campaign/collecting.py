"""From the finished runs of a campaign to a wrench database."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.campaign.manifest import Manifest
from softground.experiments.campaign.plan import Grid, Run
from softground.experiments.campaign.store import Store
from softground.experiments.database import MIRRORED, WrenchDatabase
from softground.experiments.protocol import Pose, moved
from softground.experiments.symmetry import with_zero_depth
from softground.media.base import COMPONENTS
from softground.media.resistive.directions import mirror_images, mirror_signs
from softground.robots.shapes import Box, Shape, shape_from_dict


class UnfinishedError(ExperimentError):
    """A campaign of which no pose is finished in all directions."""


def collect(folder: str | Path, reference_height: float = 0.0, seeds: tuple[int, ...] | None = None) -> WrenchDatabase:
    """Wrenches about the point `reference_height` (m) up the foot's axis, at every pose measured in all directions.

    Wrenches of several seeds, or of those named, are averaged; directions that were left out for symmetry are filled
    in; rows at depth 0 are zero. Poses that lack directions are left out: the campaign goes on, or runs failed.
    """
    store = Store(Path(folder))
    manifest = Manifest.read(store.folder)
    grid = Grid.of_document(manifest.grid)
    if seeds is not None:
        if missing := sorted(set(seeds) - set(grid.seeds)):
            raise ExperimentError(f"the campaign in {folder} has no seeds {missing}: its seeds are {list(grid.seeds)}")
        grid = replace(grid, seeds=seeds)
    measured = _means(store, grid)
    poses = [pose for pose in grid.poses() if all((pose, k) in measured for k in grid.measured_directions(pose))]
    if not poses:
        raise UnfinishedError(
            f"no pose of the campaign in {folder} is finished in all directions ({len(store.finished())} of "
            f"{len(grid.runs())} runs are): let it go on"
        )
    rows = [row for pose in sorted(poses, key=_order) for row in _rows(grid, pose, measured, reference_height)]
    component = COMPONENTS[grid.kind]
    twists = grid.twists()[:, component]
    pose, direction, wrench, source = zip(*rows, strict=True)
    database = WrenchDatabase(
        medium=manifest.medium or manifest.rig["rig"],
        foot=database_foot(manifest.foot),
        reference_height=reference_height,
        kind=grid.kind,
        provenance=_provenance(manifest, grid),
        depth=np.array([p.depth for p in pose]),
        tilt=np.array([p.tilt for p in pose]),
        heading=np.array([p.heading for p in pose]),
        direction=np.array(direction),
        twist=twists[list(direction)],
        wrench=np.array(wrench)[:, component],
        source=source,
    )
    return with_zero_depth(database)


def beds_in(
    folder: str | Path, reference_height: float = 0.0, seeds: tuple[int, ...] | None = None
) -> list[WrenchDatabase]:
    """The database of each seed of a campaign, or of those named, where one pose at least has all directions.

    Wrenches are about the point `reference_height` (m) up the foot's axis.
    """
    beds = []
    for seed in seeds or Grid.of_document(Manifest.read(Path(folder)).grid).seeds:
        with suppress(UnfinishedError):
            beds.append(collect(folder, reference_height, (seed,)))
    return beds or [collect(folder, reference_height, seeds)]  # which says what is lacking


def _order(pose: Pose) -> tuple[float, float, float]:
    return pose.depth, pose.tilt, pose.heading


def _means(store: Store, grid: Grid) -> dict[tuple[Pose, int], tuple[np.ndarray, str]]:
    """Mean wrench (6,) at the sole's centre over the seeds that are finished, and the name of the first."""
    finished = store.outcomes()
    groups: dict[tuple[Pose, int], list[Run]] = {}
    for run in grid.runs():
        if run.name in finished:
            groups.setdefault((run.pose, run.direction), []).append(run)
    return {
        key: (np.mean([finished[run.name].wrench for run in runs], axis=0), _source(runs))
        for key, runs in groups.items()
    }


def _source(runs: list[Run]) -> str:
    """Name of the run, or of the first with all seeds, such as ..._seed1+2+3."""
    return "+".join([runs[0].name, *(str(run.seed) for run in runs[1:])])


def _rows(grid: Grid, pose: Pose, measured: dict, reference_height: float) -> list[tuple]:
    """(pose, direction, wrench, source) of every direction at a pose, mirror images included."""
    twists = grid.twists()
    wrench, source = np.full((len(twists), 6), np.nan), np.full(len(twists), MIRRORED, dtype=object)
    for k in grid.measured_directions(pose):
        wrench[k], source[k] = measured[pose, k]
    wrench = moved(wrench, reference_height * pose.rotation[:, 2])
    for axis in grid.own_mirrors(pose):
        image = wrench[mirror_images(twists, axis)] * mirror_signs(axis)
        wrench = np.where(np.isnan(wrench), image, wrench)
    return [(pose, k, wrench[k] + 0.0, str(source[k])) for k in range(len(twists))]


def database_foot(settings: dict[str, Any]) -> Shape:
    """The foot of `Shape.identity`; a database describes a mesh by the box around it."""
    if settings["type"] == "mesh":
        length, width, height = (np.array(settings["upper_m"]) - settings["lower_m"]).tolist()
        return Box(length, width, height)
    return shape_from_dict(settings)


def _provenance(manifest: Manifest, grid: Grid) -> str:
    foot = f", foot mesh {manifest.foot['fingerprint']} (its box above)" if manifest.foot["type"] == "mesh" else ""
    seeds = "+".join(map(str, grid.seeds))
    return (
        f"softground acquire, rig {manifest.rig['rig']}{foot}, {grid.speed:g} m/s and {grid.spin:g} rad/s, "
        f"{grid.duration:g} s, seeds {seeds}; all settings in campaign.json"
    )
