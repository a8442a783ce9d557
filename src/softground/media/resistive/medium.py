"""Resistive force theory as a medium: any foot, from its shape and one number for the ground.

Resistive force theory (RFT) gives the wrench on a foot that moves through grains; it does not depend on how
fast. Moved in many directions, the foot shows the vertices of its wrench set, and these are the
vertices of a `WrenchSpace`, as if they had been measured (zhu2019). Between them the ground answers by
maximum dissipation.

    ground = Resistive(0.5).for_foot(Cylinder(radius=0.05, length=0.15), planar=True)

The depth is that of the sole's centre (zhu2019), of a round sole's lowest point: the ground ignores a tilted foot
whose edge is under the surface while its sole's centre is above.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import eval_context
from jaxtyping import Float

from softground.arrays import Array, as_float
from softground.errors import MediumError, unknown_name
from softground.media.base import COMPONENTS, FootInGround, FootMedium, Medium, kind_of
from softground.media.parameters import check_positive
from softground.media.resistive.directions import (
    SPEED,
    SPIN,
    ball_rims,
    mirror_images,
    mirror_signs,
    planar_twists,
    spatial_twists,
    upright_rims,
)
from softground.media.resistive.kept_fit import kept_fit
from softground.media.resistive.wrench import LAWS, surface_of, wrenches
from softground.media.round_space import HEADINGS, LEAN_POWERS, RoundWrenchSpace, rim_harmonics
from softground.media.smooth import smooth_ramp, smooth_step
from softground.media.turn import turned_with_foot
from softground.media.wrench_space import DEFAULT_EPS, DepthTilt, WrenchSpace
from softground.robots.shapes import Shape, checked_shape

LAW_CHOICES = ("auto", *LAWS)
#: Depths to which wrenches are fitted, m: closer near the surface, where the wrench is small but matters.
#: Below the deepest the features go on growing.
DEPTHS = np.array([0.005, 0.0075, 0.01, 0.0125, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1])
#: The same for spheres, in radii.
BALL_DEPTHS = np.array([0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
#: And for half-cylinders: their top is open.
ROLLER_DEPTHS = np.array([0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0])
#: Greatest pitch and lean of a half-cylinder, rad.
ROLLER_PITCH, ROLLER_LEAN = 1.0, 0.5
#: Greatest tilts to which wrenches are fitted, rad: in the plane the clamp of zhu2019, in space what feet
#: meet.
PLANAR_TILT, SPATIAL_TILT = np.pi / 2, np.pi / 3


class Resistive(Medium):
    """Dry grains described by resistive force theory, not yet bound to a foot: see `for_foot`.

    law: "plane" is Li et al. 2013 and serves planar robots only, "3d" is Agarwal et al. 2023 and serves all,
    "auto" is the first for planar robots and the second for the others.
    """

    name: ClassVar[str] = "resistive"

    scale: Float[Array, ""]  # N/cm3, stress per depth on a plate pushed down (zeta of Li et al. 2013)
    eps: Float[Array, ""]  # W, temperature of the wrench space
    strength: Float[Array, ""]  # a further factor on all wrenches
    law: str = eqx.field(static=True)

    def __init__(self, scale: float = 1.0, *, eps: float = DEFAULT_EPS, strength: float = 1.0, law: str = "auto"):
        for label, value in {"scale": scale, "eps": eps, "strength": strength}.items():
            check_positive(f"{label} of a resistive medium", value)
        if law not in LAW_CHOICES:
            raise MediumError(unknown_name("resistive stress law", law, LAW_CHOICES))
        self.scale, self.eps, self.strength = as_float(scale), as_float(eps), as_float(strength)
        self.law = law

    def for_foot(self, shape: Shape, planar: bool) -> WrenchSpace:
        """Wrench space of a foot of this shape: kind "planar", else "point" for spheres, else "spatial"."""
        if self.law == "plane" and not planar:
            raise MediumError('the plane stress law serves planar robots only: use law="3d" or law="auto"')
        law = ("plane" if planar else "3d") if self.law == "auto" else self.law
        generic = generic_space(shape, planar, law)
        # Not by the constructor: the parameters may be traced, for derivatives with respect to the ground.
        return eqx.tree_at(
            lambda space: (space.coefficients, space.eps, space.strength),
            generic,
            (self.scale * generic.coefficients, self.eps, self.strength),
        )

    def for_body(self, shape: Shape, planar: bool) -> FootMedium:
        """The same grains, felt element by element."""
        return self.under_bodies([shape], planar)[0]

    def under_bodies(self, shapes: Sequence[Shape], planar: bool) -> Sequence[FootMedium]:
        return self._in_elements().under_bodies(shapes, planar)

    def on_any_side(self) -> Medium:
        return self._in_elements().on_any_side()

    def _in_elements(self) -> Medium:
        from softground.media.elements import Elements  # it stands on this package

        own: Any = {"scale": self.scale, "eps": self.eps, "strength": self.strength}
        return Elements(**own)


@lru_cache(maxsize=64)
def generic_space(shape: Shape, planar: bool, law: str) -> WrenchSpace:
    """Wrench space of a foot in the generic medium (scale 1), fitted to resistive force theory.

    Least squares of errors relative to the size of the set at each depth, so that shallow feet count as much.
    """
    sampling, surface = sampling_of(shape, planar), surface_of(shape)
    grid, precision = sampling.grid, jax.dtypes.canonicalize_dtype(float)
    numbers = (grid.rotations, grid.depths, grid.clearance, sampling.twists, *jax.tree.leaves(grid.features))

    def fit() -> np.ndarray:
        with eval_context():  # a step that is being traced may ask for it first
            return coefficients_of(sample(shape, planar, law))

    # To a type checker a subclass without __init__ of its own is made from its fields, which is not so here.
    space = cast("type[WrenchSpace]", sampling.space)
    return space(
        kept_fit(f"{law} {sampling.kind} {grid.features} {precision}", (*surface, *numbers), fit),
        grid.features,
        kind=sampling.kind,
        max_depth=float(grid.depths.max()),
        max_tilt=grid.max_tilt,
    )


def coefficients_of(samples: Samples) -> np.ndarray:
    """Coefficients of the wrench space that comes closest to samples."""
    if samples.space is RoundWrenchSpace:
        return _round_coefficients(samples)
    return _fitted(samples, samples.wrenches)


def _fitted(samples: Samples, values: np.ndarray, factor: np.ndarray | float = 1.0) -> np.ndarray:
    """Coefficients (b, ...) with which the features, times a factor (sample,), come closest to values (sample, ...)."""
    weight = 1 / samples.size_at_depth()[:, None]
    design = np.asarray(jax.jit(jax.vmap(samples.features))(samples.feet)) * np.reshape(factor, (-1, 1))
    solution = np.linalg.lstsq(weight * design, weight * values.reshape(len(values), -1), rcond=1e-10)[0]
    return solution.reshape(-1, *values.shape[1:])


def _round_coefficients(samples: Samples) -> np.ndarray:
    """Coefficients (b, k, 3, n) of a `RoundWrenchSpace`, from wrenches at `HEADINGS` headings each."""
    around = samples.wrenches.reshape(len(samples.wrenches), -1, HEADINGS, samples.wrenches.shape[-1])
    if samples.kind == "point":
        around = np.concatenate([around, np.zeros_like(around)], axis=-1)
    values, lean = rim_harmonics(around), np.linalg.norm(samples.feet.axis[:, :2], axis=1)
    by_power = [_fitted(samples, values, lean**power) for power in range(3)]
    return np.choose(LEAN_POWERS, by_power)[..., COMPONENTS[samples.kind]]


class Samples(eqx.Module):
    """Wrenches of a foot in the generic medium, in every direction at every pose of a grid."""

    feet: FootInGround  # leading axis: rotations times depths
    wrenches: np.ndarray  # (sample, direction, component): surface frame, at the foot's origin
    features: Callable[[FootInGround], Float[Array, " b"]]
    kind: str
    max_tilt: float  # rad
    space: type[WrenchSpace]  # what is fitted to them

    def as_forces(self, wrenches: np.ndarray) -> np.ndarray:
        """Wrenches with torques divided by SPEED / SPIN, so that they can be compared with forces, N."""
        return wrenches / np.where(COMPONENTS[self.kind] < 3, 1.0, SPEED / SPIN)

    def size_at_depth(self) -> np.ndarray:
        """For each sample, the greatest wrench at its depth, rms over rotations, N."""
        greatest = np.linalg.norm(self.as_forces(self.wrenches), axis=-1).max(axis=1)
        _, where = np.unique(self.feet.depth, return_inverse=True)
        return np.sqrt(np.bincount(where, greatest**2) / np.bincount(where))[where]


def sample(shape: Shape, planar: bool, law: str) -> Samples:
    """Sample the wrenches of a foot: directions and grid follow from its shape."""
    kind, is_round, twists, grid, space = sampling_of(shape, planar)
    rotations = grid.rotations
    values = wrenches(surface_of(shape), law, rotations, grid.depths, twists, grid.clearance)
    if not is_round:
        for axis in (0,) if planar else (0, 1):
            rotations, values = _with_mirror_image(rotations, values, twists, axis)
    return Samples(
        feet=_feet(rotations, grid.depths),
        wrenches=values.reshape(-1, *values.shape[2:])[..., COMPONENTS[kind]],
        features=grid.features,
        kind=kind,
        max_tilt=grid.max_tilt,
        space=space,
    )


class Sampling(NamedTuple):
    """How a foot is sampled, and what is fitted to the samples."""

    kind: str
    is_round: bool  # whether wrenches are fitted around the foot's axis
    twists: np.ndarray  # (k, 6) m/s, rad/s, in which the foot is moved
    grid: Grid
    space: type[WrenchSpace]


def sampling_of(shape: Shape, planar: bool) -> Sampling:
    """How a foot of this shape is sampled; MediumError where it is not its own mirror image."""
    if not checked_shape(shape, MediumError).is_mirrored:
        raise MediumError(
            "a resistive medium is fitted to feet that are their own mirror image forwards and sideways (a Box, "
            f"Cylinder, HalfCylinder or Sphere), got {shape!r}: give the foot such a shape, Robot.load(..., "
            "feet={name: shape}), or use a medium of springs (foam, firm)"
        )
    is_round = shape.is_round and not planar
    kind = kind_of(shape, planar)
    space = RoundWrenchSpace if is_round else WrenchSpace if planar else TurningWrenchSpace
    return Sampling(kind, is_round, _twists(kind, is_round), _grid(shape, planar), space)


def _twists(kind: str, is_round: bool) -> np.ndarray:
    """Twists (k, 6) in which a foot is moved."""
    if not is_round:
        return planar_twists() if kind == "planar" else spatial_twists()
    rims = ball_rims(HEADINGS) if kind == "point" else upright_rims(HEADINGS)
    return rims.reshape(-1, 6)


class Grid(NamedTuple):
    """Poses in which a foot is sampled, and the features that its wrenches are fitted with."""

    rotations: np.ndarray  # (r, 3, 3), to one side of the foot's planes of symmetry
    depths: np.ndarray  # (d,) m
    features: Callable[[FootInGround], Float[Array, " b"]]
    max_tilt: float  # rad
    clearance: float = 0.0  # m, of the foot's origin over its sole


def _grid(shape: Shape, planar: bool) -> Grid:
    radius = shape.clearance
    if shape.is_ball:
        return Grid(np.eye(3)[None], radius * BALL_DEPTHS, BallDepth(radius), np.inf, radius)
    if shape.rolls:
        features = Sinking(powers=3, harmonics=4, spatial=not planar, onset=radius / 2)
        return Grid(_rolled(planar), radius * ROLLER_DEPTHS, features, ROLLER_PITCH, radius)
    if shape.is_round and not planar:
        lean = np.arcsin(np.sin(SPATIAL_TILT) * np.linspace(0, 1, 7))
        return Grid(tilt_rotation(np.sin(lean), 0 * lean, np.cos(lean)), DEPTHS, RoundSinking(), SPATIAL_TILT)
    return Grid(_tilted(planar), DEPTHS, _sole_features(planar), PLANAR_TILT if planar else SPATIAL_TILT)


def _rolled(planar: bool) -> np.ndarray:
    """Rotations (r, 3, 3) of a half-cylinder that pitches towards +x and leans towards +y."""
    if planar:
        pitch, lean = ROLLER_PITCH * np.linspace(0, 1, 7), np.zeros(7)
    else:
        pitch, lean = np.meshgrid(ROLLER_PITCH * np.linspace(0, 1, 3), ROLLER_LEAN * np.array([0.0, 0.3, 0.6, 1.0]))
        pitch, lean = pitch.ravel(), lean.ravel()
    return tilt_rotation(np.sin(pitch) * np.cos(lean), np.sin(lean), np.cos(pitch) * np.cos(lean))


def _with_mirror_image(rotations, values, twists, axis: int):
    """Rotations, wrenches (rotation, depth, twist, 6) and their mirror images in the plane normal to `axis`.

    Feet and direction sets are symmetric, so a mirrored foot moving in a mirrored direction meets the
    mirrored wrench: sampling one side is enough.
    """
    flip = mirror_signs(axis)
    image = np.empty_like(values)
    image[..., mirror_images(twists, axis), :] = values * flip
    turned = flip[:3, None] * rotations * flip[:3]
    return np.concatenate([rotations, turned]), np.concatenate([values, image])


def _feet(rotations: np.ndarray, depths: np.ndarray) -> FootInGround:
    """Feet at every rotation and depth, rotation varying slowest."""
    count = len(rotations) * len(depths)
    return FootInGround(
        depth=np.tile(depths, len(rotations)),
        position=np.zeros((count, 3)),
        rotation=np.repeat(rotations, len(depths), axis=0),
        surface=np.broadcast_to(np.eye(3), (count, 3, 3)),
    )


def _tilted(planar: bool) -> np.ndarray:
    """Rotations (r, 3, 3) that tilt a foot to one side without turning it, denser near upright.

    In the plane towards +x; in space towards +x, +y and the diagonal between them.
    """
    if planar:
        tilt, heading = PLANAR_TILT * np.linspace(0, 1, 13) ** 1.5, np.zeros(13)
    else:
        tilt, heading = np.meshgrid(SPATIAL_TILT * np.array([0.15, 0.3, 0.5, 0.75, 1.0]), np.pi / 4 * np.arange(3))
        tilt, heading = np.append(0.0, tilt), np.append(0.0, heading)
    return tilt_rotation(np.sin(tilt) * np.cos(heading), np.sin(tilt) * np.sin(heading), np.cos(tilt))


def tilt_rotation(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Shortest rotations (..., 3, 3) that take the z axis to the unit vectors (x, y, z)."""
    k = 1 / (1 + z)
    rows = [[1 - k * x * x, -k * x * y, x], [-k * x * y, 1 - k * y * y, y], [-x, -y, z]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


class Sinking(DepthTilt):
    """Features of a foot with a flat sole: those of `DepthTilt`, and the same harmonics times an onset.

    The edge of a tilted foot is already loaded when its sole's centre reaches the surface. The wrench there
    sets in over `onset` and stays constant below; powers of the depth alone cannot follow it.
    """

    # A leaf, as the radius of `BallDepth` is: feet of several sizes are stacked.
    onset: Float[Array, ""] = eqx.field(converter=as_float, default=5e-3)  # m

    def __call__(self, foot: FootInGround) -> Float[Array, " b"]:
        angular = self._monomials(foot) if self.spatial else self._harmonics(foot.tilt)
        started = smooth_step(foot.depth / jnp.asarray(self.onset, foot.depth.dtype))
        return jnp.concatenate([started * angular, super().__call__(foot)])


def _sole_features(planar: bool) -> Sinking:
    """Degrees at which the support function of the fitted hull is within 2 % of that of the samples."""
    return Sinking(
        powers=2,
        harmonics=4,
        spatial=not planar,
        max_tilt=PLANAR_TILT if planar else np.pi,
        onset=DEPTHS[0],
    )


class BallDepth(eqx.Module):
    """Features of a sphere: d q^j with q = d / (d + radius), j = 1 .. powers.

    A sphere's wrench grows faster than its depth until it is covered, and in proportion to depth from there
    on: so do these.
    """

    radius: Float[Array, ""] = eqx.field(converter=as_float)  # m
    powers: int = eqx.field(static=True, default=4)
    ramp: float = eqx.field(static=True, converter=float, default=2e-4)  # m, over which contact sets in

    def __call__(self, foot: FootInGround) -> Float[Array, " b"]:
        depth = smooth_ramp(foot.depth, self.ramp)
        covered = depth / (depth + jnp.asarray(self.radius, depth.dtype))
        return jnp.stack([depth * covered**j for j in range(1, self.powers + 1)])


class RoundSinking(eqx.Module):
    """Features of an upright cylinder in space: those of depth as in `Sinking`, times even powers of its lean."""

    powers: int = eqx.field(static=True, default=2)
    leans: int = eqx.field(static=True, default=3)  # powers of the squared lean, from 0 on
    ramp: float = eqx.field(static=True, converter=float, default=1e-3)  # m, over which contact sets in
    onset: float = eqx.field(static=True, converter=float, default=DEPTHS[0])  # m

    def __call__(self, foot: FootInGround) -> Float[Array, " b"]:
        depth, lean = smooth_ramp(foot.depth, self.ramp), (foot.axis[:2] ** 2).sum()
        by_depth = [smooth_step(foot.depth / self.onset), *(depth**i for i in range(1, self.powers + 1))]
        return jnp.stack([one * lean**j for one in by_depth for j in range(self.leans)])


class TurningWrenchSpace(WrenchSpace):
    """A wrench space whose vertices turn with the foot about the surface normal: for feet that are not round.

    A foot's rotation is the shortest tilt that takes the normal to some axis, followed by a turn about the
    normal. The vertices were sampled without turn.
    """

    def vertices(self, foot: FootInGround) -> Float[Array, "k n"]:
        return turned_with_foot(super().vertices, foot)


def fit_error(shape: Shape, planar: bool, law: str) -> dict[float, tuple[float, float]]:
    """How far the fit is from its samples at each depth (m): rms of vertices and of the support function.

    Both are relative to `Samples.size_at_depth`.
    """
    samples, space = sample(shape, planar, law), generic_space(shape, planar, law)
    size = samples.size_at_depth()
    true = samples.as_forces(samples.wrenches) / size[:, None, None]
    fitted = np.asarray(jax.jit(jax.vmap(space.vertices))(samples.feet))[:, : true.shape[1]]
    fitted = samples.as_forces(fitted) / size[:, None, None]
    twists = np.random.default_rng(0).normal(size=(500, true.shape[-1]))
    twists /= np.linalg.norm(twists, axis=1, keepdims=True)
    off = np.linalg.norm(fitted - true, axis=-1)
    off_support = _support(fitted, twists) - _support(true, twists)
    here = {depth: samples.feet.depth == depth for depth in np.unique(samples.feet.depth)}
    return {float(d): (_rms(off[rows]), _rms(off_support[rows])) for d, rows in here.items()}


def _support(vertices: np.ndarray, twists: np.ndarray) -> np.ndarray:
    """Support function (sample, twist) of the hulls of vertices (sample, vertex, n) and the origin."""
    return np.maximum((-vertices @ twists.T).max(axis=1), 0.0)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
