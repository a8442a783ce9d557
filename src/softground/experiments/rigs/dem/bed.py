"""A settled bed of grains: poured once for a seed, kept on disk, used by every run."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from softground.cache import cache_folder
from softground.errors import ExperimentError
from softground.experiments.rigs.dem.engine import GRAVITY, GrainBox
from softground.experiments.rigs.dem.grains import Grains
from softground.whole_file import write_whole

SETTLING_TIME = 1.0
"""How long grains fall and come to rest, s."""
QUIET = 1e-6
"""Settled: kinetic energy per grain as a share of what lifts a grain by its radius."""
RATTLERS = 0.05
"""Share of the grains that may go on moving, under the arches of others: they carry nothing, and a grain that rolls on
the floor does not stop, as rolling meets no friction."""
STILL = 0.01
"""A grain at rest moves less than this share of its radius in a settling time."""
LOOSE_SPACING = 1.1
"""Distance of grains before they fall, in diameters of the largest."""
SOLID_FRACTION = 0.6
"""Expected, to know how many grains to pour."""
DENSITIES = (0.4, 0.75)
"""Least and greatest solid fraction of a bed of spheres at rest: very loose with much friction, and crystalline."""


@dataclass(frozen=True)
class Container:
    """Inner size of the container: x, y, and the height to which it is filled, m."""

    length: float = 0.6
    width: float = 0.45
    fill: float = 0.33


@dataclass(frozen=True)
class Bed:
    """Grains at rest."""

    container: Container
    grains: Grains
    positions: np.ndarray  # (n, 3) m; the floor is z = 0, the middle of the floor the origin
    radii: np.ndarray  # (n,) m

    @property
    def surface(self) -> float:
        """Height of the free surface, m: where it would be if the bulk went on unchanged up to it.

        A bed of coarse grains has no sharp surface. This one divides it as Gibbs does: the grains fill the box
        up to it at the solid fraction of the bulk.
        """
        return self.solid_volume / (self.container.length * self.container.width * self.solid_fraction)

    @property
    def solid_volume(self) -> float:
        return float((4 / 3 * np.pi * self.radii**3).sum())

    @property
    def solid_fraction(self) -> float:
        """Share of the volume that grains fill in the middle half of the bed's height."""
        low, high = np.quantile(self.positions[:, 2], [0.25, 0.75])
        volume = (high - low) * self.container.length * self.container.width
        return float(_sphere_slices(self.positions[:, 2], self.radii, low, high).sum() / volume)

    @property
    def top(self) -> float:
        """Height of the highest grain, m."""
        return float((self.positions[:, 2] + self.radii).max())

    def open(self, headroom: float | None = None, foot: np.ndarray | None = None) -> GrainBox:
        """The bed in a simulator, at rest. headroom: over the highest grain, m, for grains that are thrown up. foot:
        attitude (3, 3) of a foot whose angle is zero, upright unless given."""
        room = 10 * self.grains.radius if headroom is None else headroom
        size = np.array([self.container.length, self.container.width, self.top + room])
        return GrainBox(size, self.grains, self.positions, self.radii, foot)


def _sphere_slices(height: np.ndarray, radius: np.ndarray, low: float, high: float) -> np.ndarray:
    """Volume of each sphere between two heights."""

    def below(level):
        h = np.clip(level - (height - radius), 0, 2 * radius)
        return np.pi * h**2 * (3 * radius - h) / 3

    return below(high) - below(low)


def settled_bed(container: Container, grains: Grains, seed: int, cache: Path | None = None) -> Bed:
    """The bed of this seed: from the cache if it was poured before, else poured now and kept."""
    path = (cache or cache_folder()) / f"bed-{_fingerprint(container, grains, seed)}.npz"
    if not path.exists():
        _keep(path, checked(pour(container, grains, seed)))
    try:
        with np.load(path, allow_pickle=False) as stored:
            bed = Bed(container, grains, stored["positions"], stored["radii"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ExperimentError(
            f"the bed in {path} cannot be read ({error}): delete it, and it is poured again"
        ) from error
    return checked(bed, f"the bed in {path}")


def checked(bed: Bed, name: str = "the bed") -> Bed:
    """The bed, if it lies in its container as grains at rest do; ExperimentError where it exploded."""
    half = np.array([bed.container.length, bed.container.width]) / 2
    finite = bool(np.isfinite(bed.positions).all() and np.isfinite(bed.radii).all())
    inside = finite and (np.abs(bed.positions[:, :2]) < half).all() and (bed.positions[:, 2] > 0).all()
    if not inside or not DENSITIES[0] <= bed.solid_fraction <= DENSITIES[1]:
        found = f"a solid fraction of {bed.solid_fraction:.2f}" if inside else "grains outside the box, or NaN"
        raise ExperimentError(
            f"{name} is no bed at rest: it has {found}, and spheres pack at {DENSITIES[0]} to {DENSITIES[1]}. It "
            "exploded or was damaged: delete it if it is a file; else try softer or more damped grains"
        )
    return bed


def pour(container: Container, grains: Grains, seed: int) -> Bed:
    """Let grains fall from a loose, shaken lattice until they rest."""
    random = np.random.default_rng(seed)
    start = _loose_lattice(container, grains, random)
    radii = grains.radius * random.uniform(1 - grains.spread, 1 + grains.spread, len(start))
    height = start[:, 2].max() + 5 * grains.radius
    lift = grains.mass * GRAVITY * grains.radius
    with GrainBox(np.array([container.length, container.width, height]), grains, start, radii) as box:
        for _ in range(4):
            before, _ = box.state()
            box.run(SETTLING_TIME)
            if box.kinetic_energy() < QUIET * lift * len(start):
                return Bed(container, grains, *box.state())
        positions, radii = box.state()
        if (np.linalg.norm(positions - before, axis=1) > STILL * grains.radius).mean() < RATTLERS:
            return Bed(container, grains, positions, radii)
    raise ExperimentError(f"grains still move after {4 * SETTLING_TIME:g} s: more friction or damping lets them rest")


def hardened(bed: Bed, modulus: float, seconds: float = 0.05) -> Bed:
    """The same grains made harder (Young's modulus, Pa), doubled at most at a time, and left to come to rest each time.

    Pouring takes as many more time steps as the root of the modulus is greater; grains that were poured soft lie
    otherwise where they would but for their overlaps, which are a few thousandths of their size.
    """
    times = max(1, int(np.ceil(np.log2(modulus / bed.grains.modulus))))
    for harder in np.geomspace(bed.grains.modulus, modulus, times + 1)[1:]:
        bed = replace(bed, grains=replace(bed.grains, modulus=float(harder)))
        with bed.open() as box:
            box.run(seconds)
            positions, radii = box.state()
        bed = replace(bed, positions=positions, radii=radii)
    return bed


def _loose_lattice(container: Container, grains: Grains, random: np.random.Generator) -> np.ndarray:
    """Places (n, 3) of grains that do not touch, enough to fill the container."""
    largest = 2 * grains.radius * (1 + grains.spread)
    spacing = LOOSE_SPACING * largest
    across = np.floor(np.array([container.length, container.width]) / spacing).astype(int)
    if across.min() < 5:
        raise ExperimentError(
            f"a box of {container.length:g} x {container.width:g} m holds only {across.min()} grains across: "
            "make it larger or the grains smaller"
        )
    count = round(
        SOLID_FRACTION * container.length * container.width * container.fill / (4 / 3 * np.pi * grains.radius**3)
    )
    layers = -(-count // across.prod())
    lattice = np.stack(np.meshgrid(*map(np.arange, (layers, *across)), indexing="ij"), axis=-1).reshape(-1, 3)[:count]
    places = spacing * lattice[:, [1, 2, 0]].astype(float)
    places[:, :2] -= spacing * (across - 1) / 2
    places[:, 2] += largest
    free = (LOOSE_SPACING - 1) * largest / 2
    return places + random.uniform(-free, free, places.shape)


def _fingerprint(container: Container, grains: Grains, seed: int) -> str:
    """A name for all that a bed depends on."""
    described = json.dumps([asdict(container), asdict(grains), seed, SETTLING_TIME, LOOSE_SPACING], sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()[:16]


def _keep(path: Path, bed: Bed) -> None:
    """Write a bed whole: several runs may pour the same one at once, and the last to finish wins."""
    write_whole(path, lambda file: np.savez(file, positions=bed.positions, radii=bed.radii))
