"""Wrench spaces of round feet: the same in every heading, to rounding.

A foot that is a body of revolution, moved in some direction, meets a wrench; moved in the same direction turned about
the surface's normal it meets another, and as the heading goes round these wrenches run through a closed curve. With
finitely many headings as vertices (`wrench_space`) a sphere that is dragged along sand would veer towards the nearest
of them. Here a set is the convex hull of whole curves, each an ellipse in the space of wrenches,

    p_k(theta) = centre_k + cosine_k cos(theta) + sine_k sin(theta),

whose support function is known, max over theta of -p_k.u = -centre_k.u + rho_k, rho_k^2 = (cosine_k.u)^2 +
(sine_k.u)^2. Smoothed with the temperature eps as in `wrench_space`, and rho near its corner at zero as well,

    Phi(u) = eps log sum_k exp((-centre_k.u + r_k - 2 eps) / eps),       r_k = sqrt(rho_k^2 + 4 eps^2),

which is convex and within -2 eps and eps log K of the support function. (The mean over all headings of exp(-p_k.u/eps)
is exp(-centre_k.u/eps) I_0(rho_k/eps), I_0 Bessel's function; log I_0(x) and sqrt(x^2 + 4) - 2 both start as x^2/4 and
end as x.) The wrench is a mean, with the weights of a softmax, of points inside the ellipses,

    p_k(u) = centre_k - (cosine_k (cosine_k.u) + sine_k (sine_k.u)) / r_k.

*Covariance.* Turn the foot's lean and its motion about the normal by some angle, and the wrench turns along. Write the
horizontal part of a vector as a complex number, A for that of the foot's axis, and h = exp(i theta) for the heading.
The curves that turn along, smooth in A and of first order in h, are

    force_xy = F_0 A + F_1 h + F_m A^2 / h,      force_z = Z_0 + Re(Z_1 A* h),      and torques likewise,

with F_0, F_1, F_m and Z_1 complex, all functions of the depth and of |A|. An upright cylinder and a ball have A = 0,
where this is exact; higher orders in h matter the more the foot leans (docs/media.md says how much).
"""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media.base import Derivatives, FootInGround, Law
from softground.media.wrench_space import WrenchSpace

HEADINGS = 16
"""Points of every curve that stand for it in pictures."""


class Rims(eqx.Module):
    """Ellipses in the space of wrenches: N and N m, surface frame, at the reference point."""

    centre: Float[Array, "k n"]
    cosine: Float[Array, "k n"]
    sine: Float[Array, "k n"]

    def points(self, headings: int = HEADINGS) -> Float[Array, "k h n"]:
        """So many points of each ellipse, evenly spread in theta from 0 on."""
        theta = 2 * np.pi * np.arange(headings) / headings
        cosine, sine = (np.reshape(f(theta), (-1, 1)).astype(self.centre.dtype) for f in (np.cos, np.sin))
        return self.centre[:, None] + cosine * self.cosine[:, None] + sine * self.sine[:, None]

    def scaled(self, factors: Float[Array, " n"]) -> Rims:
        """With the components of every wrench multiplied."""
        return Rims(self.centre * factors, self.cosine * factors, self.sine * factors)


Powers = tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, " k"]]


class RoundSupport(Law):
    """Smoothed support function of the hull of ellipses."""

    rims: Rims  # the origin is one of them
    eps: Float[Array, ""]  # W

    def scaled(self, factors: Float[Array, " n"]) -> RoundSupport:
        """The law of the set with the components of every wrench multiplied."""
        return RoundSupport(self.rims.scaled(factors), self.eps)

    def _powers(self, twist: Float[Array, " n"]) -> Powers:
        """Powers of centres, cosines and sines, W."""
        rims = self.rims
        return (rims.centre * twist).sum(-1), (rims.cosine * twist).sum(-1), (rims.sine * twist).sum(-1)

    def _weights(self, twist: Float[Array, " n"]):
        """Softmax weights, the logarithm of their normaliser, and the outward parts of the ellipses with their r."""
        centre, cosine, sine = self._powers(twist)
        r = jnp.sqrt(cosine**2 + sine**2 + (2 * self.eps) ** 2)
        score = (r - 2 * self.eps - centre) / self.eps
        top = score.max()
        weight = jnp.exp(score - top)
        total = weight.sum()
        outward = self.rims.cosine * cosine[:, None] + self.rims.sine * sine[:, None]
        return weight / total, top + jnp.log(total), outward, r[:, None]

    def potential(self, twist):
        return self.eps * self._weights(twist)[1]

    def wrench(self, twist):
        weight, _, outward, r = self._weights(twist)
        return (weight[:, None] * (self.rims.centre - outward / r)).sum(0)

    def response(self, twist):
        weight, _, outward, r = self._weights(twist)
        points = self.rims.centre - outward / r
        weighted = weight[:, None] * points
        wrench = weighted.sum(0)
        spread = (weighted[:, :, None] * points[:, None, :]).sum(0) - wrench[:, None] * wrench
        turning = weight[:, None] / r  # the Hessian of r: (cosine cosine' + sine sine' - outward outward' / r^2) / r
        curvature = sum(
            ((sign * turning * part)[:, :, None] * part[:, None, :]).sum(0)
            for sign, part in ((1, self.rims.cosine), (1, self.rims.sine), (-1, outward / r))
        )
        return wrench, spread / self.eps + curvature

    def along(self, twist, direction) -> RoundAlongLine:
        return RoundAlongLine(self._powers(twist), self._powers(direction), self.eps)


class RoundAlongLine(eqx.Module):
    """The potential on a line of twists, on which the powers of centres, cosines and sines are linear."""

    power: Powers  # at its start, W
    rate: Powers  # their change with t, W
    eps: Float[Array, ""]

    def derivatives(self, t: Float[Array, ""]) -> Derivatives:
        centre, cosine, sine = (power + t * rate for power, rate in zip(self.power, self.rate, strict=True))
        centre_rate, cosine_rate, sine_rate = self.rate
        r = jnp.sqrt(cosine**2 + sine**2 + (2 * self.eps) ** 2)
        scores = (r - centre) / self.eps
        top = scores.max()
        weight = jnp.exp(scores - top)
        total = weight.sum()
        weight = weight / total
        outward = (cosine * cosine_rate + sine * sine_rate) / r
        slopes = outward - centre_rate
        slope = (weight * slopes).sum()
        curvatures = (cosine_rate**2 + sine_rate**2 - outward**2) / r + (slopes - slope) ** 2 / self.eps
        return self.eps * (top + jnp.log(total)), slope, (weight * curvatures).sum()


class RoundWrenchSpace(WrenchSpace):
    """A wrench space of ellipses whose coefficients are a linear combination of smooth features of depth and lean.

    coefficients (b, k, 3, n), in the rows (see the top of this file; re and im of complex numbers as x and y, but for
    Z_1, whose re and im stand in two rows)

        F_0  Z_0     T_0  ...
        F_1  re Z_1  T_1  ...
        F_m  im Z_1  T_m  ...

    The features must be the same in every heading. A ball has no lean: of its coefficients only Z_0 and F_1 count.
    """

    name: ClassVar[str] = "round_wrench_space"
    rows: ClassVar[tuple[int, ...]] = (3,)

    def rims(self, foot: FootInGround) -> Rims:
        """The ellipses at this depth and lean, the origin the last of them."""
        steady, first, last = jnp.moveaxis(self.combined(foot), 1, 0)
        if self.kind == "point":
            return Rims(*_ball(steady, first))
        return Rims(*_leaning(steady, first, last, foot.axis[0], foot.axis[1]))

    def vertices(self, foot: FootInGround) -> Float[Array, "v n"]:
        """`HEADINGS` points of every ellipse: for pictures; the law knows them all."""
        points = self.rims(foot).points()
        return points.reshape(-1, points.shape[-1])

    def law(self, foot, memory, dt) -> RoundSupport:
        return RoundSupport(self.rims(foot), self.eps.astype(foot.depth.dtype))


def _ball(steady: Float[Array, "k 3"], first: Float[Array, "k 3"]):
    """Centre, cosine and sine of ellipses that are level circles about the normal."""
    x, y, up = (np.eye(3)[i].astype(steady.dtype) for i in range(3))
    fx, fy = first[:, :1], first[:, 1:2]
    return steady * up, fx * x + fy * y, fx * y - fy * x


def _leaning(steady, first, last, ax, ay):
    """Centre, cosine and sine (k, 6) of the ellipses of a foot whose axis has the horizontal part (ax, ay)."""
    parts = []
    for axes in (slice(0, 3), slice(3, 6)):  # forces, then torques
        (x0, y0, z0), (x1, y1, re), (xm, ym, im) = (row[:, axes].T for row in (steady, first, last))
        mx, my = _times(xm, ym, ax**2 - ay**2, 2 * ax * ay)  # F_m A^2
        vx, vy = _times(re, im, ax, -ay)  # Z_1 A*
        parts.append([[*_times(x0, y0, ax, ay), z0], [x1 + mx, y1 + my, vx], [my - y1, x1 - mx, -vy]])
    return tuple(jnp.stack([*force, *torque], axis=-1) for force, torque in zip(*parts, strict=True))


def _times(x, y, a, b):
    """(x + iy)(a + ib)."""
    return x * a - y * b, x * b + y * a


LEAN_POWERS = np.array([[1, 1, 0, 1, 1, 0], [0, 0, 1, 0, 0, 1], [2, 2, 1, 2, 2, 1]])
"""Power of A with which each of a foot's coefficients (3, 6) enters its ellipse."""


def rim_harmonics(wrenches: np.ndarray) -> np.ndarray:
    """Coefficients (..., 3, 6) times |A|^`LEAN_POWERS` of feet that lean towards +x, from their wrenches.

    wrenches (..., h, 6): at evenly spread headings from 0 on. Harmonics of the heading are projections, so what the
    ellipse leaves out is what an ellipse nearest to the wrenches leaves out.
    """
    theta = 2 * np.pi * np.arange(wrenches.shape[-2]) / wrenches.shape[-2]
    level, up = wrenches[..., [0, 3]] + 1j * wrenches[..., [1, 4]], wrenches[..., [2, 5]]

    def harmonic(values, order):
        return (values * np.exp(-1j * order * theta)[:, None]).mean(-2)

    vertical = 2 * harmonic(up, 1)
    rows = [(0, up.mean(-2)), (1, vertical.real), (-1, vertical.imag)]
    table = [np.stack([harmonic(level, n).real, harmonic(level, n).imag, z], axis=-1) for n, z in rows]
    return np.stack(table, axis=-3).reshape(*wrenches.shape[:-2], 3, 6)
