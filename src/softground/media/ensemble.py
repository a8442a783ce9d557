"""How well a learned ground is known: media that could all be true, for batches and intervals.

A learned set of wrenches errs: grains lie otherwise in the next bed, and poses between the data are guessed. Where a
model predicted a bed and a configuration that it had not been shown, what was measured differs from its vertices p_k by
a pattern over all directions k, which grows with depth as wrenches do,

    measured_k - p_k = (depth + offset) pattern_k,      patterns in N/m and N.

Each such pattern, taken for a property of the ground, makes a member: the learned set with all vertices moved by it. So
the members' sets spread as sets were wrong, neighbouring directions together. A member keeps its pattern at all poses,
where the errors of real ground change from place to place: what a gait averages over many steps spreads less than that.

What maximum dissipation gets wrong, given the right set, is not in the members: it depends on the direction of motion
and has no potential. `experiments.learning.ensemble` measures it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softground.errors import MediumError
from softground.media.learned import Joined, LearnedSpace, Polynomials

ONSET = 5e-3
"""Depth over which contact sets in, m, or a tenth of the deepest data if that is less: as in compressed media."""


@dataclass(frozen=True)
class Ensemble:
    """A learned medium, and patterns by which it may be wrong."""

    medium: LearnedSpace
    patterns: np.ndarray  # (m, k, n) N/m and N, errors of vertices over depth + offset
    offset: float  # m

    def __post_init__(self):
        patterns = np.asarray(self.patterns, dtype=float)
        vertices = self.medium.coefficients.shape[1:]
        if patterns.shape[1:] != vertices or len(patterns) < 2:
            raise MediumError(
                f"an ensemble needs patterns (m, {vertices[0]}, {vertices[1]}) of at least two members, one entry for "
                f"each vertex of its medium, got shape {patterns.shape}"
            )
        if not (np.isfinite(patterns).all() and np.isfinite(self.offset) and self.offset > 0):
            raise MediumError("the patterns of an ensemble must be finite and its offset positive")
        object.__setattr__(self, "patterns", patterns)

    def __len__(self) -> int:
        return len(self.patterns)

    def member(self, number: int) -> LearnedSpace:
        """The medium if it is wrong by one of the patterns: an ordinary learned medium."""
        medium, parts = self.medium, self.medium.features
        deepest, tilt = float(medium.max_depth), float(medium.max_tilt)
        onset = min(ONSET, deepest / 10)
        line = Polynomials(2, 1, medium.kind == "spatial", deepest, tilt, onset)  # 1 and depth / deepest
        pattern = self.patterns[number]
        moved = np.concatenate([medium.coefficients, self.offset * pattern[None], deepest * pattern[None]])
        return LearnedSpace(
            moved,
            Joined((*(parts.parts if isinstance(parts, Joined) else (parts,)), line)),
            medium.foot,
            kind=medium.kind,
            reference_height=medium.reference_height,
            **{name: float(getattr(medium, name)) for name in ("eps", "strength", "max_depth", "max_tilt")},
        )

    def members(self, count: int | None = None) -> list[LearnedSpace]:
        """The first `count` members, or all."""
        count = len(self) if count is None else count
        if not 2 <= count <= len(self):
            raise MediumError(f"the ensemble has {len(self)} members, asked for {count}: give 2 to {len(self)}")
        return [self.member(number) for number in range(count)]
