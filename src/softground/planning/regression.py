"""From a command and the ground to a stride without a solve: a regression over a library, which zhu2021 proposes as
future work.

What of the ground a stride hangs on is how much its wrench space carries in proportion to the robot. Strides of a
library are smooth functions of that, of speed and of slope wherever one was carried on from another, and jump where
they were not; kernel ridge regression,

    stride(x) = mean + sum_k k(x, x_k) a_k,      (K + ridge) a = strides - mean,      k = exp(-|x - y|^2 / 2 length^2),

is fitted to all numbers of a stride at once. Its length and ridge are those that predict left-out entries best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float

from softground.errors import OptionError
from softground.media.wrench_space import WrenchSpace
from softground.planning.carrying import greatest_force
from softground.planning.dynamics.base import medium_for_planning
from softground.planning.guesses import rise
from softground.planning.library import SLOPE_APART, SPEED_APART, STRENGTH_APART
from softground.planning.problem import GaitProblem
from softground.planning.trajectory import Trajectory, desired_speed
from softground.surfaces import Plane

FELT_AT = 0.05  # m, depth of an upright foot at which the ground's strength is felt
LENGTHS, RIDGES = (1.0, 2.0, 4.0, 8.0), (1e-6, 1e-4, 1e-2)
"""In units in which entries of a library are apart; and a share of the variance."""


def features_of(problem: GaitProblem) -> Float[np.ndarray, " 3"]:
    """Speed, slope, and what the ground carries of the robot's weight (its logarithm), in units of `Command.apart`."""
    plane, medium = problem.ground.surface, medium_for_planning(problem.robot, problem.ground)
    if not isinstance(plane, Plane) or not isinstance(medium, WrenchSpace):
        raise OptionError("strides are predicted on planes of granular ground")
    carried = greatest_force(medium, FELT_AT, 0.0) / float(problem.robot.weight)
    return np.array([desired_speed(problem), rise(plane), np.log(carried)]) / [SPEED_APART, SLOPE_APART, STRENGTH_APART]


@dataclass(frozen=True)
class StrideRegression:
    """Strides as a function of features."""

    known: Float[np.ndarray, "n 3"]
    weights: Float[np.ndarray, "n m"]
    mean: Float[np.ndarray, " m"]
    length: float
    ridge: float
    like: Trajectory  # one of the strides: shapes and time step

    @classmethod
    def fit(cls, features: Float[np.ndarray, "n 3"], strides: Sequence[Trajectory]) -> StrideRegression:
        """To the strides of some features."""
        numbers = np.array([flat(one) for one in strides])
        mean = numbers.mean(axis=0)
        length, ridge = min(product(LENGTHS, RIDGES), key=lambda one: left_out_error(features, numbers - mean, *one))
        weights = np.linalg.solve(_kernel(features, features, length) + ridge * np.eye(len(features)), numbers - mean)
        return cls(features, weights, mean, length, ridge, strides[0])

    def __call__(self, features: Float[np.ndarray, " 3"]) -> Trajectory:
        """The stride that is expected."""
        numbers = self.mean + (_kernel(features[None], self.known, self.length) @ self.weights)[0]
        like = self.like
        q, v, torque = np.split(numbers, np.cumsum([like.q.size, like.v.size]))
        return Trajectory(q.reshape(like.q.shape), v.reshape(like.v.shape), torque.reshape(like.torque.shape), like.dt)


def flat(stride: Trajectory) -> Float[np.ndarray, " m"]:
    """All numbers of a stride."""
    return np.concatenate([part.reshape(-1) for part in (stride.q, stride.v, stride.torque)])


def left_out_error(
    features: Float[np.ndarray, "n 3"], numbers: Float[np.ndarray, "n m"], length: float, ridge: float
) -> float:
    """Mean squared error of every entry predicted from all others, each number in its spread over the entries.

    With C = (K + ridge)^-1 the error of entry k is [C y]_k / C_kk.
    """
    inverse = np.linalg.inv(_kernel(features, features, length) + ridge * np.eye(len(features)))
    errors = inverse @ numbers / np.diag(inverse)[:, None]
    spread = numbers.std(axis=0)
    return float(np.mean((errors[:, spread > 0] / spread[spread > 0]) ** 2))


def _kernel(one: Float[np.ndarray, "n 3"], other: Float[np.ndarray, "k 3"], length: float) -> Float[np.ndarray, "n k"]:
    apart = ((one[:, None] - other) ** 2).sum(axis=-1)
    return np.exp(-apart / (2 * length**2))
