"""How often a planned gait holds: replays with pushes, on ground of another strength, and the share that stays up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from softground.planning.replay import EPS, TIME_STEP, follower_of, replayed
from softground.runs.verdict import wilson

if TYPE_CHECKING:
    from softground.planning.plan import Plan


@dataclass(frozen=True)
class Survival:
    """How many replays did not fall, and how well those kept their speed."""

    feedback: bool
    push: float  # m/s
    strength: float  # of the ground, a factor on the plan's
    stayed: int
    replays: int
    speed_kept: float  # mean share, of those that stayed up; nan where none did
    distance: float  # m, mean of all: where one fell, until its replay ended
    online: bool = False  # planned anew while walking

    @property
    def interval(self) -> tuple[float, float]:
        """Of the rate, at 95 % (Wilson)."""
        return wilson(self.stayed, self.replays)

    @property
    def label(self) -> str:
        return "planned anew" if self.online else "with feedback" if self.feedback else "open loop"

    def as_dict(self) -> dict:
        return asdict(self) | {"interval": self.interval}

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.stayed} of {self.replays} ({low:.0%} to {high:.0%}), speed kept {self.speed_kept:.1%}"


def survival(
    plan: Plan,
    *,
    push: float = 0.0,
    strength: float = 1.0,
    online: bool = False,
    identify: bool = True,
    seeds: Sequence[int] = range(20),
    dt: float = TIME_STEP,
    eps: float = EPS,
) -> list[Survival]:
    """Replays of a plan for all seeds, with feedback and without, and planned anew while walking if asked for.

    push: change of the base's velocity (m/s), see `replay`. strength: factor on that of the plan's ground. online,
    identify: see `replay`. dt: time step (s). eps: temperature of the ground (W).
    """
    result = []
    for anew, feedback in [(True, True)] * online + [(False, True), (False, False)]:
        follower = follower_of(plan, feedback=feedback, online=anew, identify=identify, dt=dt)
        reports = [replayed(plan, follower, push=push, strength=strength, seed=seed, eps=eps)[0] for seed in seeds]
        stayed = [report.speed_kept for report in reports if not report.fell]
        kept = float(np.mean(stayed)) if stayed else float("nan")
        distance = float(np.mean([report.distance for report in reports]))
        result.append(Survival(feedback, push, strength, len(stayed), len(reports), kept, distance, anew))
    return result
