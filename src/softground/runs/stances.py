"""Stances of a run: intervals in which a foot carries. One definition, for costs, figures and studies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

if TYPE_CHECKING:
    from softground.runs.motion import RobotMotion

CARRIES = 0.1
"""A foot is in stance while it carries more than this share of the weight."""
SHORTEST_STANCE = 0.02
"""s: what is shorter is a bounce."""


@dataclass(frozen=True)
class Stance:
    """A complete stance of a foot: it begins and ends within the run."""

    foot: str
    start: float  # s
    end: float  # s
    first: int  # sample of the run
    last: int  # sample, the first in which the foot no longer carries

    @property
    def samples(self) -> slice:
        """Rows of the run, from the first sample to the last."""
        return slice(self.first, self.last + 1)


def find_stances(run: RobotMotion) -> list[Stance]:
    """Every stance that begins and ends within the run, in the order in which they begin."""
    time = run["time"].values
    found = []
    for foot, force in zip(run["foot"].values, run.vertical_force().T, strict=True):
        for first, last in loaded_intervals(force > CARRIES * run.weight):
            if time[last] - time[first] >= SHORTEST_STANCE:
                found.append(Stance(str(foot), float(time[first]), float(time[last]), first, last))
    return sorted(found, key=lambda stance: stance.start)


def loaded_intervals(loaded: Bool[np.ndarray, " t"]) -> list[tuple[int, int]]:
    """First sample of every run of True, and the first sample after it; runs that touch an end are left out."""
    change = np.diff(loaded.astype(int))
    begins, ends = np.flatnonzero(change == 1) + 1, np.flatnonzero(change == -1) + 1
    ends = ends[ends > begins[0]] if len(begins) else ends[:0]
    return list(zip(begins.tolist(), ends.tolist(), strict=False))
