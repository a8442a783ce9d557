"""Wrench spaces learned from data: kernels of depth and tilt, for one foot (zhu2019 III.B, IV.B).

Radial basis functions, Gaussian processes, support-vector machines and corrections to resistive force theory
all predict a wrench as a sum of kernels about the measured poses. So each is a `WrenchSpace` whose features are
those kernels, and one class serves them all. How they are fitted is in `softground.experiments.learning`.

What data cannot say is given by construction: the wrench vanishes smoothly above the surface, grows in
proportion to depth below the deepest data (a clamp would let a heavy robot sink for ever), and stays as it is
beyond the greatest tilt. Everything is twice differentiable.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import MediumError, unknown_name
from softground.media.base import FootInGround
from softground.media.smooth import smooth_ramp, smooth_step
from softground.media.turn import turned_with_foot
from softground.media.wrench_space import WrenchSpace
from softground.robots.shapes import Shape

#: Kernels of the squared distance r2, for arrays of NumPy (when fitting) or JAX (when simulating).
KERNELS: dict[str, Callable[[Any, ModuleType], Any]] = {
    # Half of r2 log r2 is r^2 log r. Its second derivative is infinite at r = 0: r2 starts at ROUNDING^2.
    "thin_plate": lambda r2, xp: 0.5 * (r2 + ROUNDING**2) * xp.log(r2 + ROUNDING**2),
    "cubic": lambda r2, xp: (r2 + ROUNDING**2) ** 1.5,
    "multiquadric": lambda r2, xp: -xp.sqrt(1 + r2),
    "inverse_multiquadric": lambda r2, xp: 1 / xp.sqrt(1 + r2),
    "gaussian": lambda r2, xp: xp.exp(-r2),
}
#: Weighted distance within which kernels are rounded off.
ROUNDING = 1e-4
#: A robot's foot may differ by this share from the one that was measured.
FOOT_TOLERANCE = 0.2
#: Clamps set in over this share of the depth or tilt at which data end.
CLAMP_SHARE = 0.1


class Kernels(eqx.Module):
    """Kernels about measured poses, then 1 and the inputs where `degree` asks for them, times an envelope.

    Inputs are the depth and, in the plane, the tilt; in space the horizontal components of the foot's axis.

    The envelope rises from 0 to 1 over `onset`, and from there on it is
    - 1 down to the deepest data and in proportion to depth below, if `offset` is None (wrenches were learned);
    - depth + offset, if `offset` is given (wrenches divided by it were learned).
    """

    centres: Float[Array, "c i"]  # inputs of the measured poses
    weights: Float[Array, " i"]  # factors on the inputs: 1/m, 1/rad or 1
    kernel: str = eqx.field(static=True)
    degree: int = eqx.field(static=True)  # of the polynomial beside the kernels; -1: none
    spatial: bool = eqx.field(static=True)
    max_depth: float = eqx.field(static=True)  # m
    max_tilt: float = eqx.field(static=True)  # rad
    onset: float = eqx.field(static=True)  # m
    offset: float | None = eqx.field(static=True)  # m

    def __init__(
        self,
        centres,
        weights,
        kernel: str,
        *,
        degree: int = -1,
        max_depth: float,
        max_tilt: float,
        onset: float,
        offset: float | None = None,
    ):
        centres, weights = np.asarray(centres, dtype=float), np.asarray(weights, dtype=float)
        if kernel not in KERNELS:
            raise MediumError(unknown_name("kernel", kernel, KERNELS))
        if centres.ndim != 2 or centres.shape[1] not in (2, 3) or weights.shape != centres.shape[1:]:
            raise MediumError(
                "kernels need centres (c, 2) in the plane or (c, 3) in space and a weight for each input, "
                f"got {centres.shape} and {weights.shape}"
            )
        if degree not in (-1, 0, 1):
            raise MediumError(f"degree of the polynomial beside the kernels must be -1, 0 or 1, got {degree}")
        for label, value in {"max_depth": max_depth, "max_tilt": max_tilt, "onset": onset}.items():
            if not (np.isfinite(value) and value > 0):
                raise MediumError(f"{label} of kernel features must be positive and finite, got {value}")
        if not (np.isfinite(centres).all() and np.isfinite(weights).all()):
            raise MediumError("centres and weights of kernel features must be finite")
        self.centres, self.weights, self.kernel, self.degree = centres, weights, kernel, degree
        self.spatial = centres.shape[1] == 3
        self.max_depth, self.max_tilt, self.onset = float(max_depth), float(max_tilt), float(onset)
        self.offset = None if offset is None else float(offset)

    def __call__(self, foot: FootInGround) -> Float[Array, " b"]:
        lean = foot.axis[:2] if self.spatial else foot.tilt[None]
        return self.evaluate(foot.depth[None], lean[None], jnp)[0]

    def evaluate(self, depth, lean, xp: ModuleType = np):
        """Features (q, b) of poses: depth (q,) m; lean (q, 1) tilt, rad, or (q, 2) horizontal part of the axis."""
        return self.envelope(depth, xp)[:, None] * self.rows(self.clamped(depth, lean, xp), xp)

    def rows(self, inputs, xp: ModuleType):
        """Kernels and polynomial (q, b) of inputs (q, i), without clamps and envelope: what fits solve with."""
        centres, weights = xp.asarray(self.centres, inputs.dtype), xp.asarray(self.weights, inputs.dtype)
        away = (inputs[:, None, :] - centres) * weights
        parts = [KERNELS[self.kernel]((away**2).sum(-1), xp)]
        if self.degree >= 0:
            parts.append(xp.ones_like(inputs[:, :1]))
        if self.degree == 1:
            parts.append(inputs * weights)
        return xp.concatenate(parts, axis=1)

    def clamped(self, depth, lean, xp: ModuleType):
        """Inputs (q, i) of poses, held where the data end."""
        held = held_lean(lean, self.max_tilt, self.spatial, xp)
        return xp.concatenate([(depth - _excess(depth, self.max_depth, xp))[:, None], held], axis=1)

    def envelope(self, depth, xp: ModuleType):
        """What the kernels (q,) are multiplied with: see the class."""
        rise = smooth_step(depth / self.onset, xp)
        return rise * (growth(depth, self.max_depth, xp) if self.offset is None else depth + self.offset)


class Polynomials(eqx.Module):
    """Powers of depth times powers of lean, with the onset, growth and clamps of `Kernels`: few and cheap.

    In the plane (depth / max_depth)^i (tilt / max_tilt)^j with i < depths, j < leans; in space the monomials of the
    axis' horizontal components up to a degree below `leans`.
    """

    depths: int = eqx.field(static=True)
    leans: int = eqx.field(static=True)
    spatial: bool = eqx.field(static=True)
    max_depth: float = eqx.field(static=True)  # m
    max_tilt: float = eqx.field(static=True)  # rad
    onset: float = eqx.field(static=True)  # m

    def __call__(self, foot: FootInGround) -> Float[Array, " b"]:
        lean = foot.axis[:2] if self.spatial else foot.tilt[None]
        lean = held_lean(lean, self.max_tilt, self.spatial, jnp) / lean_limit(self.max_tilt, self.spatial)
        depth = (foot.depth - _excess(foot.depth, self.max_depth, jnp)) / self.max_depth
        start = smooth_step(foot.depth / self.onset) * growth(foot.depth, self.max_depth, jnp)
        by_depth = jnp.stack(_powers(depth, self.depths)) * start
        first = _powers(lean[0], self.leans)
        if not self.spatial:
            return (by_depth[:, None] * jnp.stack(first)).reshape(-1)
        second = _powers(lean[1], self.leans)
        monomials = [first[i] * second[j] for i in range(self.leans) for j in range(self.leans - i)]
        return (by_depth[:, None] * jnp.stack(monomials)).reshape(-1)


def _powers(x, count: int) -> list:
    """1, x, x^2, ... by products."""
    powers = [jnp.ones_like(x)]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return powers


def held_lean(lean, max_tilt: float, spatial: bool, xp: ModuleType):
    """Lean (..., i), held where the data end: tilt, or horizontal components of the foot's axis."""
    size = xp.sqrt((lean**2).sum(-1, keepdims=True) + 1e-12)
    return lean * (1 - _excess(size, lean_limit(max_tilt, spatial), xp) / size)


def lean_limit(max_tilt: float, spatial: bool) -> float:
    """The greatest lean in the data: a tilt, or the sine of it."""
    return float(np.sin(max_tilt)) if spatial and max_tilt < np.pi / 2 else max_tilt


def growth(depth, max_depth: float, xp: ModuleType):
    """1 down to the deepest data, in proportion to depth below."""
    beyond = _excess(depth, max_depth, xp)
    return 1 + beyond / xp.maximum(depth - beyond, max_depth / 2)


def _excess(value, limit: float, xp: ModuleType):
    """How far a value is beyond a limit, its corner rounded: zero up to the limit, twice differentiable."""
    return smooth_ramp(value - limit, CLAMP_SHARE * limit, xp)


class Joined(eqx.Module):
    """Several sets of features, one after the other."""

    parts: tuple[Callable[[FootInGround], Float[Array, " b"]], ...]

    def __call__(self, foot: FootInGround) -> Float[Array, " b"]:
        return jnp.concatenate([part(foot) for part in self.parts])


class LearnedSpace(WrenchSpace):
    """A wrench space learned from data of one foot."""

    name: ClassVar[str] = "learned"

    foot: Shape = eqx.field(static=True)

    def __init__(self, coefficients, features, foot: Shape, **options):
        """`options` are those of `WrenchSpace`: kind, eps, strength, max_depth, max_tilt, reference_height."""
        super().__init__(coefficients, features, **options)
        self.foot = foot

    def vertices(self, foot: FootInGround) -> Float[Array, "k n"]:
        """Data are of feet that lean but are not turned: in space the set of a foot that is not round turns with it."""
        if self.kind != "spatial" or self.foot.is_round:
            return super().vertices(foot)
        return turned_with_foot(super().vertices, foot)

    def for_foot(self, shape: Shape, planar: bool) -> LearnedSpace:
        """This space, if it was learned for such a foot; MediumError says what would be right if not."""
        if planar != (self.kind == "planar"):
            needed, given = ("planar", "3D") if self.kind == "planar" else ("3D", "planar")
            remedy = "load it with planar=True (--planar)" if needed == "planar" else "load it without planar"
            raise MediumError(f"the medium was learned for {needed} feet and the robot is {given}: {remedy}")
        if not _similar(shape, self.foot):
            raise MediumError(
                f"the medium was learned with {self.foot}, the robot's foot is {shape}: measure that foot, or "
                "override the robot's with Robot.load(..., feet={name: shape})"
            )
        return self


def _similar(first: Shape, second: Shape) -> bool:
    """Whether two soles agree within `FOOT_TOLERANCE`; how long the shank above them is does not matter."""
    sides = zip(first.extent[:2], second.extent[:2], strict=True)
    return type(first) is type(second) and all(abs(one - other) <= FOOT_TOLERANCE * other for one, other in sides)
