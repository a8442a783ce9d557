"""Where a trajectory's numbers stand in the optimiser's vector of unknowns.

    knot k < N - 1:   q (nq) | v (nv) | lifted (nl) | torque (nu)
    last knot:        q (nq) | v (nv)
    after all knots:  control points of the splines

`lifted` are unknowns of the dynamics (see `planning.dynamics`), `torque` is in units of `TORQUE_UNIT`, so that all
unknowns are of the order of one. Torque and lifted unknowns of knot k act from knot k to knot k + 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softground.robots import Robot

TORQUE_UNIT = 100.0
"""N m (N on slides): what the unknown 1.0 of a torque means."""


class Unknowns(NamedTuple):
    """A trajectory taken apart; torques in N m."""

    q: np.ndarray  # (N, nq)
    v: np.ndarray  # (N, nv)
    lifted: np.ndarray  # (N - 1, nl)
    torque: np.ndarray  # (N - 1, nu)
    points: np.ndarray  # (np,) control points of all splines


class Layout(NamedTuple):
    """Sizes, and the places that follow from them."""

    knots: int
    nq: int
    nv: int
    lifted: int
    nu: int
    points: int = 0

    @classmethod
    def of(cls, robot: Robot, knots: int, lifted: int, points: int = 0) -> Layout:
        return cls(knots, robot.nq, robot.nv, lifted, robot.nu, points)

    @property
    def knot_size(self) -> int:
        """Unknowns of a knot that is not the last."""
        return self.nq + self.nv + self.lifted + self.nu

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return (self.knots - 1) * self.knot_size + self.nq + self.nv + self.points

    def q_at(self, knot) -> np.ndarray:
        """Places (..., nq) of the configuration of knots."""
        return self._at(knot, 0, self.nq)

    def v_at(self, knot) -> np.ndarray:
        """Places (..., nv) of the velocity of knots."""
        return self._at(knot, self.nq, self.nv)

    def lifted_at(self, knot) -> np.ndarray:
        """Places (..., nl) of the lifted unknowns of knots (not the last)."""
        return self._at(knot, self.nq + self.nv, self.lifted)

    def torque_at(self, knot) -> np.ndarray:
        """Places (..., nu) of the torques of knots (not the last)."""
        return self._at(knot, self.nq + self.nv + self.lifted, self.nu)

    def points_at(self) -> np.ndarray:
        """Places (np,) of the control points."""
        return self.size - self.points + np.arange(self.points)

    def _at(self, knot, start: int, count: int) -> np.ndarray:
        return np.asarray(knot)[..., None] * self.knot_size + start + np.arange(count)

    def take_apart(self, z: np.ndarray) -> Unknowns:
        """The trajectory in a vector of unknowns."""
        every, steps = np.arange(self.knots), np.arange(self.knots - 1)
        return Unknowns(
            z[self.q_at(every)],
            z[self.v_at(every)],
            z[self.lifted_at(steps)],
            z[self.torque_at(steps)] * TORQUE_UNIT,
            z[self.points_at()],
        )

    def put_together(self, parts: Unknowns) -> np.ndarray:
        """The vector of unknowns of a trajectory."""
        z = np.empty(self.size)
        every, steps = np.arange(self.knots), np.arange(self.knots - 1)
        z[self.q_at(every)] = parts.q
        z[self.v_at(every)] = parts.v
        z[self.lifted_at(steps)] = parts.lifted
        z[self.torque_at(steps)] = np.asarray(parts.torque) / TORQUE_UNIT
        z[self.points_at()] = parts.points
        return z
