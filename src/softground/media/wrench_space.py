"""Granular contact as a convex set of wrenches (zhu2019), smoothed with a temperature eps (entropic smoothing).

The ground can exert any wrench in the convex hull W of vertices p_k(depth, tilt), the origin among them, and
exerts the one that dissipates most. Its potential is therefore the support function of W,

    Phi(u) = max over w in W of -w.u   =   max_k -p_k.u,

and with a temperature eps (a power, W) the smooth upper bound

    Phi(u) = eps log sum_k exp(-p_k.u / eps),      0 <= Phi_eps - Phi_0 <= eps log K,
    wrench = sum_k s_k p_k,   s = softmax(-p.u/eps),    Hessian = (sum_k s_k p_k p_k' - wrench wrench') / eps.

The wrench is a convex combination of vertices, so it never leaves W, whatever the twist. A loaded foot at
rest creeps at a speed of the order eps/|p|.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array, as_float, is_known
from softground.errors import MediumError, unknown_name
from softground.media.base import COMPONENTS, FootInGround, FootMedium, Law
from softground.media.parameters import check_positive
from softground.media.smooth import smooth_ramp
from softground.media.support_line import SupportAlongLine

#: Default temperature, W: a 7 kg foot at rest creeps well under 0.1 mm/s (tests/media measures it).
DEFAULT_EPS = 1e-3
#: Temperature in single precision, W: a lower one is lost in rounding.
EPS_SINGLE = 0.02


class SupportFunction(Law):
    """Smoothed support function of the hull of `vertices`, or those of several feet along leading axes."""

    vertices: Float[Array, "*f k n"]  # N, N m; the origin is one of them
    eps: Float[Array, "*f"]  # W

    def _scores(self, twist: Float[Array, " n"]) -> Float[Array, " k"]:
        return (self.vertices * (-twist / self.eps)).sum(-1)

    def _weights(self, twist: Float[Array, " n"]) -> tuple[Float[Array, " k"], Float[Array, ""]]:
        """Weights of the vertices before they are divided by their sum, the greatest 1, and its score."""
        score = self._scores(twist)
        top = score.max()
        return jnp.exp(score - top), top

    def potential(self, twist):
        weight, top = self._weights(twist)
        return self.eps * (top + jnp.log(weight.sum()))

    def wrench(self, twist):
        weight, _ = self._weights(twist)
        total, first = weight.sum(), (weight[:, None] * self.vertices).sum(0)
        return first / total

    def response(self, twist):
        # Sums of products rather than matrix products: XLA fuses them into one kernel for all feet. All sums come
        # before what is made of them: native code has one loop over the vertices for them.
        weight, _ = self._weights(twist)
        weighted = weight[:, None] * self.vertices
        total, first = weight.sum(), weighted.sum(0)
        second = (weighted[:, :, None] * self.vertices[:, None, :]).sum(0)
        wrench = first / total
        return wrench, (second / total - wrench[:, None] * wrench) / self.eps

    def scaled(self, factors: Float[Array, " n"]) -> SupportFunction:
        """The law of the set with the components of every wrench multiplied."""
        return SupportFunction(self.vertices * factors, self.eps)

    def along(self, twist, direction) -> SupportAlongLine:
        return SupportAlongLine(self._scores(twist), self._scores(direction), self.eps)


class DepthTilt(eqx.Module):
    """Smooth features of a foot's pose: powers of depth times harmonics of tilt.

    Depth enters through a ramp that is zero above the surface and twice differentiable, so that a wrench
    space vanishes smoothly there and goes on growing below the deepest data. In the plane the harmonics are
    1, cos(j tilt), sin(j tilt); in space they are the monomials of the foot axis' horizontal components up to
    `harmonics`. Tilt is clamped to `max_tilt`, where data end.
    """

    powers: int = eqx.field(static=True, default=2)
    harmonics: int = eqx.field(static=True, default=3)
    spatial: bool = eqx.field(static=True, default=False)
    max_tilt: float = eqx.field(static=True, converter=float, default=np.pi)  # rad
    ramp: float = eqx.field(static=True, converter=float, default=1e-3)  # m, over which contact sets in

    def __call__(self, foot: FootInGround) -> Float[Array, " b"]:
        depth = smooth_ramp(foot.depth, self.ramp)
        powers = jnp.stack([depth**i for i in range(1, self.powers + 1)])
        angular = self._monomials(foot) if self.spatial else self._harmonics(foot.tilt)
        return (powers[:, None] * angular).reshape(-1)

    def _harmonics(self, tilt: Float[Array, ""]) -> Float[Array, " h"]:
        if self.harmonics == 0:
            return jnp.ones(1, tilt.dtype)
        angle = jnp.clip(tilt, -self.max_tilt, self.max_tilt) * np.arange(1, self.harmonics + 1)
        return jnp.concatenate([jnp.ones(1, tilt.dtype), jnp.cos(angle), jnp.sin(angle)])

    def _monomials(self, foot: FootInGround) -> Float[Array, " h"]:
        x, y = foot.axis[0], foot.axis[1]
        degrees = [(i, j) for i in range(self.harmonics + 1) for j in range(self.harmonics + 1 - i)]
        return jnp.stack([x**i * y**j for i, j in degrees])


class WrenchSpace(FootMedium):
    """Vertices as a linear combination of smooth features of depth and tilt.

    `vertices(foot) = strength * sum_b features(foot)_b coefficients_b`: one small matrix product a foot, for
    polynomials, radial basis functions or any other smooth regression that is linear in its coefficients.
    """

    name: ClassVar[str] = "wrench_space"
    #: What the coefficients of a vertex are made of, beside its components.
    rows: ClassVar[tuple[int, ...]] = ()

    coefficients: Float[Array, "b k *r n"]  # N, N m per feature
    features: Callable[[FootInGround], Float[Array, " b"]]
    eps: Float[Array, ""]  # W, temperature
    strength: Float[Array, ""]  # factor on all wrenches
    max_depth: Float[Array, ""]  # m, deepest foot in the data
    max_tilt: Float[Array, ""]  # rad, most tilted foot in the data
    kind: str = eqx.field(static=True)
    reference_height: float = eqx.field(static=True)  # m, of the reference point above the sole, along the foot

    def __init__(
        self,
        coefficients,
        features: Callable[[FootInGround], Float[Array, " b"]],
        *,
        kind: str = "planar",
        eps: float = DEFAULT_EPS,
        strength: float = 1.0,
        max_depth: float = np.inf,
        max_tilt: float = np.inf,
        reference_height: float = 0.0,
    ):
        coefficients = as_float(coefficients)
        if kind not in COMPONENTS:
            raise MediumError(unknown_name("kind of wrench space", kind, COMPONENTS))
        size = len(COMPONENTS[kind])
        if coefficients.ndim < 2 or coefficients.shape[2:] != (*self.rows, size):
            shape = ", ".join(map(str, ("features", "vertices", *self.rows, size)))
            raise MediumError(
                f"coefficients of a {kind} wrench space must have shape ({shape}), got {coefficients.shape}"
            )
        if is_known(coefficients) and not np.isfinite(coefficients).all():
            raise MediumError("wrench-space coefficients must be finite: look for NaN in the wrench data")
        for label, value in {"eps": eps, "strength": strength}.items():
            check_positive(f"wrench-space {label}", value)
        self.coefficients = coefficients
        self.features = features
        self.eps, self.strength = as_float(eps), as_float(strength)
        self.max_depth, self.max_tilt = as_float(max_depth), as_float(max_tilt)
        self.kind = kind
        self.reference_height = float(reference_height)

    @classmethod
    def fit(cls, feet: FootInGround, wrenches, features: Callable, **options) -> WrenchSpace:
        """Least-squares fit to measured wrenches (samples, vertices, n) of feet (a leading axis of samples).

        Depth is positive below the surface. The limits of the data become `max_depth` and `max_tilt`.
        """
        wrenches = np.asarray(wrenches, dtype=float)
        depth = np.asarray(feet.depth)
        if not (np.isfinite(wrenches).all() and np.isfinite(depth).all()):
            raise MediumError("wrench data must be finite: remove the rows that hold NaN")
        if (depth < 0).any():
            raise MediumError(
                f"depth must be >= 0 (positive below the surface), got {depth.min():g} m: "
                "files that follow zhu2019 store the negative of it, so change the sign"
            )
        design = np.asarray(jax.jit(jax.vmap(lambda foot: features(foot)))(feet))
        flat = wrenches.reshape(len(wrenches), -1)
        solution = np.linalg.lstsq(design, flat, rcond=1e-10)[0]
        options = {"max_depth": depth.max(), "max_tilt": np.abs(feet.tilt).max(), **options}
        return cls(solution.reshape(-1, *wrenches.shape[1:]), features, **options)

    def reference(self, foot: FootInGround) -> Float[Array, "3"] | None:
        return self.reference_height * foot.axis if self.reference_height else None

    def vertices(self, foot: FootInGround) -> Float[Array, "v n"]:
        """Vertices of the wrench set at this depth and tilt, the origin last: N, N m, surface frame, at the reference
        point."""
        return self.combined(foot)

    def combined(self, foot: FootInGround) -> Float[Array, "v *r n"]:
        """The coefficients combined by the features of this foot, times the strength; the origin is the last vertex."""
        features = self.strength.astype(foot.depth.dtype) * self.features(foot)
        coefficients = self.coefficients.astype(features.dtype)
        table = jnp.concatenate([coefficients, jnp.zeros_like(coefficients[:, :1])], axis=1)
        # Component by component, so that native code keeps those of all vertices side by side.
        alike = jnp.broadcast_to(features, (table.shape[-1], len(features)))
        return jax.vmap(lambda features, part: jnp.tensordot(features, part, 1), (0, -1), -1)(alike, table)

    def law(self, foot, memory, dt) -> SupportFunction:
        return SupportFunction(self.vertices(foot), self.eps.astype(foot.depth.dtype))

    def outside_data(self, foot: FootInGround) -> Bool[Array, ""]:
        planar = self.kind == "planar"
        lean = jnp.abs(foot.tilt) if planar else jnp.arctan2(jnp.hypot(*foot.axis[:2]), foot.axis[2])
        return (foot.depth > 0) & ((foot.depth > self.max_depth) | (lean > self.max_tilt))
