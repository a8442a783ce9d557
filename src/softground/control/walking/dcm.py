"""Centre of mass over a ZMP that moves as a piecewise polynomial: the linear inverted pendulum in closed form.

At constant height h the centre of mass x and the zero-moment point p (both horizontal) obey

    x'' = w^2 (x - p),   w = sqrt(g / h).

The two combinations xi = x + x'/w and eta = x - x'/w turn this into two equations of first order,

    xi' = w (xi - p),   eta' = -w (eta - p),

of which the first, the divergent component of motion (DCM), runs away and the second converges. Both have the form
y' = r (y - p). While p is a polynomial, y - y'/r = p is solved by the finite sum p + p'/r + p''/r^2 + ...; every other
solution differs from it by a multiple of exp(r t). The multiple follows from continuity with the neighbouring piece:
for xi backwards in time from the last piece, for eta forwards from the first, so that exponentials only ever decay.

A robot that starts and ends at rest has xi = eta = p at both ends. Of those four conditions two are the starts of the
recursions; the other two, xi(0) = p(0) and eta(T) = p(T), are met by moving the ZMP a little more in the first and in
the last piece: before a robot can lean over one foot it has to push off with the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.interpolate import PPoly

from softground.control.walking.piecewise import BUMP, added, piece_ends, stretched


@dataclass(frozen=True)
class Mode:
    """The solution of y' = rate (y - p) that meets p at the end where exp(rate t) is greatest: bounded for all time."""

    rate: float  # 1/s
    steady: PPoly
    """p + p'/rate + p''/rate^2 + ..., m"""
    anchor: Float[np.ndarray, " m"]
    """End of each piece (s) at which its exponential is 1, and elsewhere less."""
    away: Float[np.ndarray, "m d"]
    """y - steady at the anchor, m"""

    @classmethod
    def driven_by(cls, zmp: PPoly, rate: float) -> Mode:
        """Solve piece by piece, away from the end where y = p; `near` is a piece's end towards it, `far` the other."""
        steady = zmp
        for order in range(1, len(zmp.c)):
            steady = added(steady, PPoly(zmp.derivative(order).c / rate**order, zmp.x))
        starts, ends, pieces = steady.c[-1], piece_ends(steady), range(zmp.c.shape[1])
        if rate > 0:
            near, far, meets, pieces, anchor = ends, starts, piece_ends(zmp)[-1], reversed(pieces), zmp.x[1:]
        else:
            near, far, meets, anchor = starts, ends, zmp.c[-1, 0], zmp.x[:-1]
        decay = np.exp(-abs(rate) * np.diff(zmp.x))
        away = np.empty_like(near)
        for piece in pieces:
            away[piece] = meets - near[piece]
            meets = far[piece] + decay[piece] * away[piece]
        return cls(rate, steady, anchor, away)

    def __call__(self, time: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n d"]:
        """y (m) at times (s) within the path."""
        piece = np.clip(np.searchsorted(self.steady.x, time, side="right") - 1, 0, len(self.anchor) - 1)
        return self.steady(time) + np.exp(self.rate * (time - self.anchor[piece]))[:, None] * self.away[piece]


@dataclass(frozen=True)
class Pendulum:
    """Horizontal motion of the centre of mass. Its jerk is continuous where the ZMP's rate is."""

    omega: float  # rad/s
    zmp: PPoly
    divergent: Mode
    convergent: Mode

    @classmethod
    def at_rest_at_both_ends(cls, zmp: PPoly, omega: float) -> Pendulum:
        """Over the given ZMP path (m), changed in its first and its last piece so that the motion starts and ends at
        rest, above the path's ends."""
        zmp = _with_push_off(zmp, omega)
        return cls(omega, zmp, Mode.driven_by(zmp, omega), Mode.driven_by(zmp, -omega))

    def dcm(self, time: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n d"]:
        """Divergent component of motion (m) at times (s)."""
        return self.divergent(time)

    def com(self, time: Float[np.ndarray, " n"], order: int = 0) -> Float[np.ndarray, "n d"]:
        """Centre of mass (m), or its derivative of this order, at times (s)."""
        if order == 0:
            return (self.divergent(time) + self.convergent(time)) / 2
        if order == 1:
            return self.omega * (self.divergent(time) - self.convergent(time)) / 2
        return self.omega**2 * (self.com(time, order - 2) - self.zmp(time, order - 2))


def _with_push_off(zmp: PPoly, omega: float) -> PPoly:
    """The path with bumps in its first and last piece, as high as rest at both ends asks: two linear equations."""
    pieces = zmp.c.shape[1]
    first, last = (PPoly(stretched(zmp.x, BUMP, np.eye(pieces)[i][:, None]), zmp.x) for i in (0, pieces - 1))
    response = np.array([_ends(bump, omega)[:, 0] for bump in (first, last)]).T
    height = np.linalg.solve(response, zmp(zmp.x[[0, -1]]) - _ends(zmp, omega))
    return added(zmp, PPoly(first.c * height[0] + last.c * height[1], zmp.x))


def _ends(zmp: PPoly, omega: float) -> Float[np.ndarray, "2 d"]:
    """xi at the start and eta at the end: what is left over by the recursions."""
    start, end = zmp.x[:1], zmp.x[-1:]
    return np.concatenate([Mode.driven_by(zmp, omega)(start), Mode.driven_by(zmp, -omega)(end)])
