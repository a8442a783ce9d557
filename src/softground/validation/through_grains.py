"""The feet of a run driven through grains that were simulated one by one: another judge of the forces on them.

A gait is planned and replayed on one law of the ground. Here each stance of a foot, its pose over time as it was in the
run, is repeated in a bed of grains that had no part in learning that law, and the wrench on it is put beside the run's.
The foot is moved, not loaded: errors do not feed back on the motion, and a foot that grains would let sink does not.

Every stance has a fresh bed: where a foot treads into the print of another, the grains remember and this does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.database import TORQUE_LENGTH
from softground.experiments.protocol import low_pass
from softground.experiments.rigs.dem import Container, DemRig, Grains
from softground.experiments.rigs.dem.engine import FootPath, GrainBox
from softground.experiments.rigs.dem.path import straight_lines
from softground.experiments.trajectory import FootTrajectory
from softground.media.base import COMPONENTS
from softground.robots.shapes import Box, Cylinder
from softground.runs import Run
from softground.surfaces import Plane

PERIOD = 0.01
"""Between two corners of a foot's path, and between two wrenches that are compared, s."""
TURN = 1e-3
"""What time steps of the grains divide, s: `PERIOD` and the turns of feet that carry a load are whole numbers of it."""
ABOVE = 0.035
"""Height of the sole's lower edge over the surface at which the path in grains begins and ends, m: single grains rise
26 mm."""
LIFTED = 0.01
"""A foot whose sole is higher than this over the surface between two stances has been lifted, m: a grain's radius."""
CUTOFF = 10.0
"""Of both wrenches before they are compared, Hz: grains give way one by one, within hundredths of a second."""
SLOW = 0.3
"""A foot in the ground stands while it is slower than this, m/s: landing and leaving it does several times that."""
SHORTEST = 0.2
"""Stances in which the foot is in the ground for less than this are left out, s."""
ROOM = Container(length=0.6, width=0.45, fill=0.36)
PIECE = 0.3
"""Boxes for stances that need more room are whole numbers of this long, m: beds are poured once for each length."""
HEADROOM = 1.0
"""Over the bed, m: a foot that is pulled out throws grains up."""
THROWN = 1e-3
"""Share of a bed's grains that a foot may throw out of its box."""
SHANK = 0.3
"""Length of the foot in the grains, m: longer than it is, as the limb above it is there too."""


@dataclass(frozen=True)
class Step:
    """One stance of a foot in a run."""

    foot: str
    shape: Cylinder | Box
    start: float  # s, in the run
    path: FootTrajectory  # x from the middle of the stance
    wrench: np.ndarray  # (n, 3) of the run at the path's corners: fx, fz (N), ty (N m) about the sole's centre

    @property
    def in_ground(self) -> np.ndarray:
        """Which corners (n,) are below the surface."""
        return self.path.depth > 0

    def phases(self) -> dict[str, np.ndarray]:
        """Which corners (n,) in the ground belong to each part of the stance: it stands from the first to the last at
        which it is slow."""
        speed = np.hypot(*self.path.velocities()[:, :2].T)
        slow = np.flatnonzero(self.in_ground & (np.append(speed, speed[-1]) < SLOW))
        number = np.arange(len(self.path.time))
        first, last = (slow[0], slow[-1]) if len(slow) else (len(number), len(number))
        parts = {"landing": number < first, "standing": (number >= first) & (number <= last), "leaving": number > last}
        return {name: rows & self.in_ground for name, rows in parts.items()}


@dataclass(frozen=True)
class Judged:
    """A stance in a bed."""

    step: Step
    seed: int
    grains: np.ndarray  # (n, 3) wrenches of the grains, filtered
    run: np.ndarray  # (n, 3) of the run, filtered

    @property
    def error(self) -> float:
        """Rms of the difference over that of the wrench, torques over 0.1 m, while the foot is in the ground."""
        return overall_error([self])

    def beside(self, other: Judged) -> Judged:
        """The grains of another bed in the place of the run: what is left between two beds, the same motion in both."""
        return replace(self, run=other.grains)

    def row(self) -> dict[str, float | str]:
        """What a table shows."""
        rows = self.step.in_ground
        return {
            "foot": self.step.foot,
            "start (s)": round(self.step.start, 2),
            "bed": self.seed,
            "deepest (m)": round(float(self.step.path.depth.max()), 4),
            "fz, run (N)": round(float(self.run[rows, 1].mean()), 1),
            "fz, grains (N)": round(float(self.grains[rows, 1].mean()), 1),
            "fx, run (N)": round(float(self.run[rows, 0].mean()), 1),
            "fx, grains (N)": round(float(self.grains[rows, 0].mean()), 1),
            "error": round(self.error, 3),
        }


def steps_of(run: Run, feet: Sequence[str] | None = None, each: int = 1) -> list[Step]:
    """Stances of a planar run on level ground: the first `each` of every foot that are whole, after its first."""
    robot = run.robot
    if not isinstance(run.surface, Plane) or run.surface.slope != 0:
        raise ExperimentError("grains lie level: only runs on level ground can be driven through them")
    if not robot.planar:
        raise ExperimentError("the DEM rig moves feet in a plane: only planar runs can be driven through it")
    names = [foot.name for foot in robot.feet]
    chosen = list(feet) if feet is not None else names
    if unknown := sorted(set(chosen) - set(names)):
        raise ExperimentError(f"the run has no feet {', '.join(unknown)}: its feet are {', '.join(names)}")
    time, (positions, _) = run["time"].values, run.foot_poses()
    depth, tilt, wrench = (run[name].values for name in ("depth", "tilt", "wrench_world"))
    found = []
    for name in chosen:
        foot = names.index(name)
        shape = robot.feet[foot].shape
        if not isinstance(shape, Cylinder | Box):
            raise ExperimentError(f"the DEM rig drives cylinders and boxes, foot {name} is {shape!r}")
        edge = depth[:, foot] + shape.extent[0] / 2 * np.abs(np.sin(tilt[:, foot]))
        mine = [
            (first, last)
            for first, last in _near_ground(depth[:, foot], edge)
            if _whole(time, depth[:, foot], first, last)
        ]
        for first, last in mine[1 : 1 + each] or mine[:each]:
            found.append(
                _step(
                    name,
                    shape,
                    time[first:last],
                    positions[first:last, foot, 0],
                    depth[first:last, foot],
                    tilt[first:last, foot],
                    wrench[first:last, foot][:, COMPONENTS["planar"]],
                )
            )
    if not found:
        raise ExperimentError("no foot of the run stands in the ground and is lifted again: let it walk for longer")
    return found


def _near_ground(depth: np.ndarray, edge: np.ndarray) -> list[tuple[int, int]]:
    """First and last row of every time that a foot's lower edge is lower than `ABOVE`; where it swings lower than that,
    a stance ends and the next one begins where it is highest. depth: of the sole's centre; edge: of its lower edge."""
    stands = _spans(depth > 0)
    between = [slice(end, start) for (_, end), (start, _) in pairwise(stands)]
    swings = [rows for rows in between if depth[rows].min() < -LIFTED]
    low = edge > -ABOVE
    low[[rows.start + int(np.argmin(depth[rows])) for rows in swings]] = False
    return [span for span in _spans(low) if (depth[slice(*span)] > 0).any()]


def _spans(holds: np.ndarray) -> list[tuple[int, int]]:
    """First row, and the one after the last, of every time that something holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _whole(time: np.ndarray, depth: np.ndarray, first: int, last: int) -> bool:
    """Whether a stance begins and ends inside the run and is long enough."""
    inside = depth[first:last] > 0
    return first > 0 and last < len(depth) and inside.sum() * (time[1] - time[0]) >= SHORTEST


def _step(name, shape, time, x, depth, tilt, wrench) -> Step:
    corners = np.arange(time[0], time[-1], PERIOD)
    at = lambda series: np.interp(corners, time, series)  # noqa: E731
    path = FootTrajectory(corners - corners[0], at(x - (x.max() + x.min()) / 2), at(depth), at(tilt))
    return Step(name, shape, float(time[0]), path, np.stack([at(column) for column in wrench.T], axis=1))


def rig_for(step: Step, grains: Grains, container: Container | None = None) -> DemRig:
    """The rig with the foot of a stance, in a box that is long enough for it unless one is given."""
    shape = step.shape
    longer = replace(shape, **{"length" if isinstance(shape, Cylinder) else "height": SHANK})
    rig = DemRig(longer, grains, container or ROOM, approach_speed=1.0)
    if container is not None:
        return rig
    needed = 2 * (_farthest(step, rig) + 2 * grains.radius)
    pieces = int(np.ceil(max(needed, ROOM.length) / PIECE - 1e-9))
    return replace(rig, container=replace(ROOM, length=round(pieces * PIECE, 6)))


def _farthest(step: Step, rig: DemRig) -> float:
    """How far the foot comes from the middle of its stance, m."""
    return float(np.abs(step.path.x).max()) + rig._reach


def judged(step: Step, grains: Grains, seed: int, container: Container | None = None) -> Judged:
    """Drive the foot of a stance through a bed."""
    with foot_in_bed(step, grains, seed, container) as (box, rig, lines):
        wrench = box.follow(rig.foot, lines)[:, COMPONENTS["planar"]]
        refuse_thrown(box, step.foot)
    wrench = np.concatenate([wrench[:1], wrench])
    return Judged(step, seed, *(low_pass(step.path.time, series, CUTOFF) for series in (wrench, step.wrench)))


@contextmanager
def foot_in_bed(
    step: Step, grains: Grains, seed: int, container: Container | None = None
) -> Iterator[tuple[GrainBox, DemRig, list[FootPath]]]:
    """A bed with the foot of a stance at its beginning; the rig, and the lines that the foot followed in the run.

    ExperimentError where the box is too small for the stance.
    """
    rig = rig_for(step, grains, container)
    bed, container = rig.bed(seed), rig.container
    lowest = bed.surface - step.path.depth.max() - rig._reach * np.abs(np.sin(step.path.pitch)).max()
    if lowest < 2 * grains.radius:
        raise ExperimentError(
            f"the foot goes {step.path.depth.max():.3g} m deep and the bed is {bed.surface:.3g} m: fill the container "
            "higher"
        )
    if _farthest(step, rig) > container.length / 2 - 2 * grains.radius:
        raise ExperimentError(f"the stance is longer than a box of {container.length:g} m: make the box longer")
    lines = straight_lines(step.path, bed)
    with bed.open(HEADROOM) as box:
        box.run(rig.rest)
        rig._approach(box, lines[0], bed.top)
        box.divide(TURN)
        box.let_fly()
        yield box, rig, lines


def refuse_thrown(box: GrainBox, foot: str) -> None:
    """ExperimentError where a foot has thrown more grains out of its box than a few."""
    if box.gone > THROWN:
        raise ExperimentError(f"{box.gone:.1%} of the grains under foot {foot} left their box")


def through_grains(
    run: Run,
    grains: Grains,
    seeds: Sequence[int] = (11,),
    feet: Sequence[str] | None = None,
    each: int = 1,
    on_step: Callable[[str], None] = lambda label: None,
) -> list[Judged]:
    """Stances of a run in beds of grains."""
    return [judged(step, grains, seed) for step, seed in in_beds(run, seeds, feet, each, on_step)]


def in_beds(
    run: Run, seeds: Sequence[int], feet: Sequence[str] | None, each: int, on_step: Callable[[str], None]
) -> Iterator[tuple[Step, int]]:
    """The stances of `steps_of`, each with every bed; on_step is called with a label before it is given."""
    for step in steps_of(run, feet, each):
        for seed in seeds:
            on_step(f"{step.foot} in bed {seed}")
            yield step, seed


def overall_error(found: Sequence[Judged]) -> float:
    """The normalised error of all stances together."""
    off, size = squares(found, [one.step.in_ground for one in found])
    return float(np.sqrt(off.sum() / size.sum()))


def squares(found: Sequence[Judged], rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squares (3,) over some corners of each stance: of what differs, and of the grains' wrench; N2."""
    weight = np.array([1.0, 1.0, 1 / TORQUE_LENGTH])
    off = sum((((one.run - one.grains)[mine] * weight) ** 2).sum(0) for one, mine in zip(found, rows, strict=True))
    size = sum(((one.grains[mine] * weight) ** 2).sum(0) for one, mine in zip(found, rows, strict=True))
    return np.asarray(off), np.asarray(size)


def errors_by_phase(found: Sequence[Judged]) -> dict[str, dict[str, float]]:
    """Where the error of all stances comes from: of each part of a stance its own normalised error, and the shares that
    it and each component in it have of the sum of squares."""
    whole, _ = squares(found, [one.step.in_ground for one in found])
    table = {}
    for phase in ("landing", "standing", "leaving"):
        rows = [one.step.phases()[phase] for one in found]
        off, size = squares(found, rows)
        shares = dict(zip(("of it fx", "of it fz", "of it ty"), off / whole.sum(), strict=True))
        numbers = {
            "seconds": PERIOD * float(sum(mine.sum() for mine in rows)),
            "error": float(np.sqrt(off.sum() / size.sum())) if size.any() else np.nan,
            "share of all": float(off.sum() / whole.sum()),
        }
        table[phase] = {name: round(float(value), 3) for name, value in (numbers | shares).items()}
    return table


def error_between_beds(found: Sequence[Judged]) -> float:
    """The normalised error of each bed's grains beside those of every other bed, for the same stances: what a perfect
    law of one bed would have in another. NaN of a single bed."""
    pairs = [
        one.beside(other)
        for one in found
        for other in found
        if (one.step.foot, one.step.start) == (other.step.foot, other.step.start) and one.seed != other.seed
    ]
    return overall_error(pairs) if pairs else np.nan
