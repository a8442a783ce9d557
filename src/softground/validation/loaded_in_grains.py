"""Feet that carry the load of a run on grains: how deep they stand there.

`through_grains` moves a foot as deep as it was in the run, and grains answer with a force. A robot does not do that: it
puts its weight on a foot, and the foot goes as deep as it must. In grains the two differ more than elsewhere: a foot
that is stopped loses half of its force and more, and some millimetres up or down are all of the rest.

Here the foot goes along x and pitches as it did in the run, and moves up and down by itself. With e its height over
where it was in the run,

    m e'' = F_grains - F_run,

so that a foot on ground that answers as the run's did stays where it was: all that hung on it, its swing included, is
in F_run. m is the mass that it carries, the mean of F_run over gravity. Turns are those of `walk_in_grains`, and so is
what is said there of their length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.protocol import low_pass
from softground.experiments.rigs.dem import Container, Grains
from softground.experiments.rigs.dem.engine import GRAVITY
from softground.media.base import COMPONENTS
from softground.runs import Run
from softground.validation.through_grains import CUTOFF, TURN, Step, foot_in_bed, in_beds, refuse_thrown

UP = 1
"""Component of a wrench in the plane."""
CARRIES = 0.5
"""A foot carries its load while that is more than this share of the mean."""


@dataclass(frozen=True)
class Loaded:
    """A stance in a bed, by its load."""

    step: Step
    seed: int
    load: np.ndarray  # (n,) N, of the run, filtered
    risen: np.ndarray  # (n,) m, of the foot over where it was in the run
    wrench: np.ndarray  # (n, 3) of the grains, filtered

    @property
    def depth(self) -> np.ndarray:
        """Of the foot in grains (n,), m."""
        return self.step.path.depth - self.risen

    @property
    def carries(self) -> np.ndarray:
        """Which corners (n,) lie between the first and the last at which it carries its load."""
        rows = np.flatnonzero(self.load > CARRIES * mean_load(self.step, self.load))
        return (np.arange(len(self.load)) >= rows[0]) & (np.arange(len(self.load)) <= rows[-1])

    def row(self) -> dict[str, float | str]:
        """What a table shows: means while it carries its load, and the depth when it ceases to."""
        rows = self.carries
        last = int(np.flatnonzero(rows)[-1])
        return {
            "foot": self.step.foot,
            "start (s)": round(self.step.start, 2),
            "bed": self.seed,
            "fz, run (N)": round(float(self.load[rows].mean()), 1),
            "fz, grains (N)": round(float(self.wrench[rows, 1].mean()), 1),
            "fx, run (N)": round(float(self.step.wrench[rows, 0].mean()), 1),
            "fx, grains (N)": round(float(self.wrench[rows, 0].mean()), 1),
            "depth, run (m)": round(float(self.step.path.depth[rows].mean()), 4),
            "depth, grains (m)": round(float(self.depth[rows].mean()), 4),
            "at the end, run (m)": round(float(self.step.path.depth[last]), 4),
            "at the end, grains (m)": round(float(self.depth[last]), 4),
        }


def loaded(step: Step, grains: Grains, seed: int, container: Container | None = None) -> Loaded:
    """Let the foot of a stance carry its load on a bed."""
    time, load = step.path.time, low_pass(step.path.time, step.wrench[:, 1], CUTOFF)
    mass = mean_load(step, load) / GRAVITY
    if mass <= 0:
        raise ExperimentError(f"foot {step.foot} carries no load in its stance from {step.start:.2f} s on")
    turns = TURN * np.arange(1, round(time[-1] / TURN) + 1)
    loads, poses = np.interp(turns - TURN, time, load), step.path.at(turns)
    wrench, heights = np.zeros(3), []
    wrenches = [wrench]
    risen = rate = 0.0
    with foot_in_bed(step, grains, seed, container) as (box, rig, lines):
        level = lines[0].start[2] + step.path.depth[0]  # of the surface, in the box's axes
        with box.carry(rig.foot, lines[0]) as foot:
            for (x, z, pitch), weight in zip(poses, loads, strict=True):
                rate += TURN * (wrench[UP] - weight) / mass
                risen += TURN * rate
                if (height := level + z + risen) < 2 * grains.radius:
                    raise ExperimentError(f"foot {step.foot} sank to the floor of its box: fill the container higher")
                wrench = foot.to(np.array([x, 0.0, height]), pitch, TURN)[COMPONENTS["planar"]]
                heights.append(risen)
                wrenches.append(wrench)
        refuse_thrown(box, step.foot)
    fine = np.append(0.0, turns)
    smooth = low_pass(fine, np.array(wrenches), CUTOFF)
    return Loaded(
        step,
        seed,
        load,
        np.interp(time, fine, np.append(0.0, heights)),
        np.stack([np.interp(time, fine, series) for series in smooth.T], axis=1),
    )


def mean_load(step: Step, load: np.ndarray) -> float:
    """N, while the foot is in the ground."""
    return float(load[step.in_ground].mean())


def loaded_in_grains(
    run: Run,
    grains: Grains,
    seeds: Sequence[int] = (11,),
    feet: Sequence[str] | None = None,
    each: int = 1,
    on_step: Callable[[str], None] = lambda label: None,
) -> list[Loaded]:
    """Stances of a run, each with its load, in beds of grains."""
    return [loaded(step, grains, seed) for step, seed in in_beds(run, seeds, feet, each, on_step)]


def overall_depths(found: Sequence[Loaded]) -> tuple[float, float]:
    """Mean depths (m) of feet that carry their load, over all stances: of the run, and in grains."""
    run, grains = (
        np.concatenate([depth[one.carries] for one, depth in pairs])
        for pairs in ([(one, one.step.path.depth) for one in found], [(one, one.depth) for one in found])
    )
    return float(run.mean()), float(grains.mean())
