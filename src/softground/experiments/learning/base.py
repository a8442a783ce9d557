"""What every way of learning shares: a method fits a model, a model predicts wrenches and becomes a medium."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from softground.experiments.learning.grid import Grid, lean_of
from softground.media.learned import Joined, Kernels, LearnedSpace
from softground.media.wrench_space import DEFAULT_EPS

#: Contact sets in over this depth, m, or over half the least depth measured if that is less.
ONSET = 5e-3


class Model(Protocol):
    """What a method makes of a grid."""

    def predict(self, poses: np.ndarray) -> np.ndarray:
        """Wrenches (q, k, n), N and N m, at poses (q, 3) = (depth, tilt, heading)."""
        ...

    def medium(self, *, strength: float = 1.0, eps: float = DEFAULT_EPS) -> LearnedSpace:
        """The model as a medium for simulation, exact; see `compressed` for a cheaper one."""
        ...


@dataclass(frozen=True)
class KernelModel:
    """Kernels with a coefficient for every direction and component."""

    grid: Grid  # what it was fitted to
    kernels: Kernels
    coefficients: np.ndarray  # (b, k, n)

    def predict(self, poses: np.ndarray) -> np.ndarray:
        """Wrenches (q, k, n), N and N m, at poses (q, 3) = (depth, tilt, heading)."""
        rows = self.kernels.evaluate(poses[:, 0], lean_of(self.grid.kind, poses))
        return np.tensordot(rows, self.coefficients, 1)

    def medium(self, *, strength: float = 1.0, eps: float = DEFAULT_EPS) -> LearnedSpace:
        """The model as a medium for simulation, exact; see `compressed` for a cheaper one."""
        return learned_space(self.grid, Joined((self.kernels,)), self.coefficients, strength, eps)


class Method(ABC):
    """A way of learning wrenches from a grid."""

    #: name under which the method is asked for
    name: ClassVar[str] = ""

    @property
    def label(self) -> str:
        """The name in tables, with what distinguishes variants."""
        return self.name

    @abstractmethod
    def fit(self, grid: Grid) -> Model:
        """A model of the grid."""


def learned_space(grid: Grid, features, coefficients: np.ndarray, strength: float, eps: float) -> LearnedSpace:
    """Medium of a grid's foot and reference point, flagging what is outside the grid."""
    return LearnedSpace(
        coefficients,
        features,
        grid.foot,
        kind=grid.kind,
        reference_height=grid.reference_height,
        strength=strength,
        eps=eps,
        **limits(grid),
    )


def limits(grid: Grid) -> dict[str, float]:
    """Where the data end. Data of upright feet only still bear a little tilt."""
    return {"max_depth": float(grid.depth.max()), "max_tilt": max(float(np.abs(grid.poses[:, 1]).max()), 1e-2)}


def onset(grid: Grid) -> float:
    """Depth, m, over which contact sets in."""
    return min(ONSET, float(grid.depth[grid.under].min()) / 2)


def spread(grid: Grid) -> np.ndarray:
    """Size (k, n) of the wrenches by direction and component, never zero: to bring them to one scale."""
    size = np.sqrt((grid.wrenches[grid.under] ** 2).mean(axis=0))
    overall = np.sqrt(((grid.wrenches[grid.under] * grid.component_weights) ** 2).mean())
    return np.maximum(size, 1e-3 * overall / grid.component_weights)
