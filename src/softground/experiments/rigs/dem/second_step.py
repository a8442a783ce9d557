"""A foot that comes back: push, lift, push again in the same place or beside it, through grains.

What the ground remembers of the first push shows in the force of the second, and in the surface that is left between
the two: a print, the rim around it, and how much of what was pushed away the rim holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.rigs.dem.bed import Bed
from softground.experiments.rigs.dem.engine import FootPath, GrainBox
from softground.experiments.rigs.dem.rig import DemRig

SPEED = 0.1
"""Of the foot, m/s: slow enough that forces do not depend on it."""
PAUSE = 0.2
"""Between lifting and the next push, s: grains come to rest."""
SMOOTH = 0.05
"""Friction between grains that settle into a dense bed."""
SPACING = 0.005
"""Of the depths at which forces are read, and of the points at which the surface is, m."""


@dataclass(frozen=True)
class SecondStep:
    """Two pushes into one bed. Depths are below the surface as it was poured, m, positive down."""

    first_depth: float  # m, to which the first push went
    beside: float  # m, from the first place to the second
    depth: np.ndarray  # (n,) m
    first: np.ndarray  # (n,) N, upward force on the foot at these depths; NaN beyond `first_depth`
    second: np.ndarray  # (n,) N
    x: np.ndarray  # (a,) m, of the surface, from the first place on
    y: np.ndarray  # (b,) m
    before: np.ndarray  # (a, b) m, height of the surface, from the poured one
    after: np.ndarray  # (a, b) m, after the first push


def packed_bed(rig: DemRig, seed: int) -> Bed:
    """A dense bed: grains that were smooth while they settled, and have their friction now."""
    smooth = replace(rig, grains=replace(rig.grains, friction=SMOOTH))
    return replace(smooth.bed(seed), grains=rig.grains)


def push_again(
    rig: DemRig, first_depth: float, depth: float, beside: float = 0.0, seed: int = 1, packed: bool = False
) -> SecondStep:
    """Lay the bed, push the foot to `first_depth`, lift it out, and push to `depth` a distance `beside` (m) along x."""
    bed = packed_bed(rig, seed) if packed else rig.bed(seed)
    if bed.surface - max(depth, first_depth) < 3 * rig.grains.radius:
        raise ExperimentError(f"a push to {max(depth, first_depth):g} m meets the floor of a bed of {bed.surface:g} m")
    depths = np.arange(SPACING, max(depth, first_depth) + SPACING / 2, SPACING)
    above = bed.top - bed.surface + 2 * rig.grains.radius
    with bed.open() as box:
        box.run(rig.rest)
        x, y, before = _surface(box, bed.container.length, bed.container.width)
        first = _push(rig, box, -beside / 2, bed.surface, above, first_depth, depths)
        _lift(rig, box, -beside / 2, bed.surface, first_depth, above)
        box.run(PAUSE)
        _, _, after = _surface(box, bed.container.length, bed.container.width)
        second = _push(rig, box, beside / 2, bed.surface, above, depth, depths)
    return SecondStep(
        first_depth, beside, depths, first, second, x + beside / 2, y, before - bed.surface, after - bed.surface
    )


def _push(rig: DemRig, box: GrainBox, x: float, surface: float, above: float, depth: float, depths) -> np.ndarray:
    """Upward force at the depths, averaged over `SPACING` about each."""
    way = above + depth
    path = FootPath(np.array([x, 0.0, surface + above]), 0.0, np.array([0.0, 0.0, -SPEED]), 0.0, way / SPEED)
    time, wrench = box.drive(rig.foot, path, samples=round(way / 5e-4))
    at = SPEED * time - above
    means = [wrench[np.abs(at - one) <= SPACING / 2, 2] for one in depths]
    rows = zip(depths, means, strict=True)
    return np.array([mean.mean() if len(mean) and one <= depth + 1e-9 else np.nan for one, mean in rows])


def _lift(rig: DemRig, box: GrainBox, x: float, surface: float, depth: float, above: float) -> None:
    start = np.array([x, 0.0, surface - depth])
    box.drive(rig.foot, FootPath(start, 0.0, np.array([0.0, 0.0, SPEED]), 0.0, (depth + above) / SPEED))


def _surface(box: GrainBox, length: float, width: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Height of the topmost grain over points of a grid: x (a,), y (b,), heights (a, b), m from the floor."""
    positions, radii = box.state()
    x, y = (np.arange(-side / 2 + SPACING / 2, side / 2, SPACING) for side in (length, width))
    height = np.zeros((len(x), len(y)))
    for (px, py, pz), radius in zip(positions, radii, strict=True):
        i, j = np.flatnonzero(np.abs(x - px) < radius), np.flatnonzero(np.abs(y - py) < radius)
        rise = radius**2 - (x[i, None] - px) ** 2 - (y[j] - py) ** 2
        here = np.ix_(i, j)
        height[here] = np.maximum(height[here], np.where(rise > 0, pz + np.sqrt(np.maximum(rise, 0.0)), 0.0))
    return x, y, height
