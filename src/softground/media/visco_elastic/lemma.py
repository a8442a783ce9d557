"""Lemma 1 of romualdi2021 for a sole of any outline: the wrench of springs and dampers under a foot that sticks.

Every point of the sole, at c in the foot frame, is pulled back to where it was at rest and slowed (their eq. 8):

    rho(c) = k (p_bar + R_bar c - p - R c) - b (v + w x R c)                       N per m2

with p, R the pose of the foot, p_bar, R_bar the pose at which it feels nothing, and (v, w) its twist. Integrated over
the sole, with area A, first moment s and second moment M (integrals of 1, c and c c'), projected on the ground by
g = |e3' R e3|, this is

    force  = g (k (A (p_bar - p) + (R_bar - R) s)                        - b (A v + w x R s))
    torque = g (k (R s x (p_bar - p) + vee(R_bar M R' - R M R_bar'))     - b (R s x v + (tr W - W) w))

where W = R M R', because the integral of R c x B c is vee(B M R' - R M B') for any matrix B. For a rectangle of length
l and width w about its centre A = l w, s = 0 and M = A/12 diag(l2, w2, 0): eqs (9) and (10). The damper's part is
-b times what would be the spatial inertia of a plate with unit mass per area: see `plate`.

The wrench is linear in (k, b) (`regressor`), and its rate is linear in the acceleration of the foot (`wrench_rate`):
the two facts that estimation and whole-body control build on. All is about the origin of the foot frame, in the axes
of an inertial frame whose z is the ground's outward normal: on level ground, the world.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import MediumError
from softground.media.visco_elastic.sole import Patch
from softground.robots.rotations import cross, matmul3, matvec3, skew, transpose3

Scalar = float | Float[Array, ""]


class Pose(eqx.Module):
    """Where a foot is, or several along leading axes: origin of its frame and its axes, in the world."""

    position: Float[Array, "*n 3"]  # m
    rotation: Float[Array, "*n 3 3"]  # foot frame expressed in the world


def rest_of(sole: Patch, anchors: Float[Array, "p 3"]) -> Pose:
    """The pose at which a foot feels nothing, from where the points of its sole are anchored (world, m).

    The wrench depends on the anchors through their sum and their moments with the points only, so it is that of the
    affine map which fits them best: p_bar + R_bar c. Where the points touched down one by one, or slipped apart,
    R_bar is not quite a rotation, and the wrench is still the exact one.
    """
    _check_flat(sole)
    area, flat = sole.area, sole.points[:, :2]
    centre, middle = sole.areas @ flat / area, sole.areas @ anchors / area
    spread = (sole.areas[:, None] * (flat - centre)).T
    axes = jnp.linalg.solve(spread @ (flat - centre), spread @ (anchors - middle))  # rows: images of x and y
    rotation = jnp.stack([axes[0], axes[1], cross(axes[0], axes[1])], axis=-1)
    return Pose(middle - centre @ axes, rotation)


def wrench(
    sole: Patch,
    stiffness: Scalar,
    damping: Scalar,
    rest: Pose,
    foot: Pose,
    twist: Float[Array, "6"],
) -> Float[Array, "6"]:
    """Force and torque on the foot (N, N m), eqs (9) and (10): the ground pulls it back to `rest`.

    stiffness, damping: k in N/m per m2 and b in N s/m per m2. twist: (linear, angular) of the foot's origin, world.
    """
    return stiffness * _of_springs(sole, rest, foot) + damping * _of_dampers(sole, foot, twist)


def regressor(sole: Patch, rest: Pose, foot: Pose, twist: Float[Array, "6"]) -> Float[Array, "6 2"]:
    """Y with wrench = Y @ (stiffness, damping)."""
    return jnp.stack([_of_springs(sole, rest, foot), _of_dampers(sole, foot, twist)], axis=-1)


def wrench_rate(
    sole: Patch,
    stiffness: Scalar,
    damping: Scalar,
    rest: Pose,
    foot: Pose,
    twist: Float[Array, "6"],
) -> tuple[Float[Array, "6"], Float[Array, "6 6"]]:
    """h and g of the wrench's dynamics, d wrench/dt = h + g @ (dv/dt, dw/dt), while the foot sticks.

    h is the derivative along the motion of the pose, dp/dt = v and dR/dt = [w]x R, at constant twist; g is the
    derivative by the twist, in which the wrench is linear.
    """
    along = Pose(twist[:3], cross(twist[3:], transpose3(foot.rotation)).T)
    _, h = jax.jvp(lambda foot: wrench(sole, stiffness, damping, rest, foot, twist), (foot,), (along,))
    return h, -damping * plate(sole, foot.rotation)


def plate(sole: Patch, rotation: Float[Array, "3 3"]) -> Float[Array, "6 6"]:
    """Damping matrix of the sole per unit b: the spatial inertia of a plate with unit mass per projected area."""
    _check_flat(sole)
    arm = matvec3(rotation, sole.first_moment)
    spread = matmul3(matmul3(rotation, sole.second_moment), transpose3(rotation))
    lever = skew(arm)
    turning = jnp.trace(spread) * jnp.eye(3, dtype=spread.dtype) - spread
    return _projection(rotation) * jnp.block([[sole.area * jnp.eye(3, dtype=spread.dtype), -lever], [lever, turning]])


class Corollary(eqx.Module):
    """Corollary 1: the wrench linearised about rest at R_bar = 1, as the classical springs and dampers (eq. 11).

    For a sole whose moments are taken about its centroid the matrices are block diagonal: `linear_stiffness` and
    `angular_stiffness` are the paper's Kl = k A 1 and Ka, diag(w2, l2, l2 + w2) k A / 12 of a rectangle.
    """

    stiffness: Float[Array, "6 6"]  # N/m, N, N m/rad: by displacement (p - p_bar, Theta)
    damping: Float[Array, "6 6"]

    def __init__(self, sole: Patch, stiffness: Scalar, damping: Scalar):
        flat = plate(sole, np.eye(3))
        self.stiffness, self.damping = stiffness * flat, damping * flat

    def wrench(self, displacement: Float[Array, "6"], rate: Float[Array, "6"]) -> Float[Array, "6"]:
        """Force and torque on a foot displaced by (p - p_bar, Theta) from rest, Theta being roll, pitch and yaw."""
        return -self.stiffness @ displacement - self.damping @ rate

    @property
    def linear_stiffness(self) -> Float[Array, "3 3"]:
        """Kl, N/m."""
        return self.stiffness[:3, :3]

    @property
    def angular_stiffness(self) -> Float[Array, "3 3"]:
        """Ka, N m/rad."""
        return self.stiffness[3:, 3:]

    @property
    def linear_damping(self) -> Float[Array, "3 3"]:
        """Bl, N s/m."""
        return self.damping[:3, :3]

    @property
    def angular_damping(self) -> Float[Array, "3 3"]:
        """Ba, N m s/rad."""
        return self.damping[3:, 3:]


def _of_springs(sole: Patch, rest: Pose, foot: Pose) -> Float[Array, "6"]:
    """Wrench per unit stiffness."""
    _check_flat(sole)
    first, second = sole.first_moment, sole.second_moment
    away = rest.position - foot.position
    force = sole.area * away + matvec3(rest.rotation - foot.rotation, first)
    # R_bar M R' has the sum of R c x R_bar c in its skew part.
    twisted = matmul3(matmul3(rest.rotation, second), transpose3(foot.rotation))
    torque = cross(matvec3(foot.rotation, first), away) + _vee(twisted - transpose3(twisted))
    return _projection(foot.rotation) * jnp.concatenate([force, torque])


def _of_dampers(sole: Patch, foot: Pose, twist: Float[Array, "6"]) -> Float[Array, "6"]:
    """Wrench per unit damping."""
    return -(plate(sole, foot.rotation) * twist).sum(-1)


def _check_flat(sole: Patch) -> None:
    if sole.rolls:
        raise MediumError("Lemma 1 is for flat soles: a foot that is a Sphere or HalfCylinder rolls and has none")


def _projection(rotation: Float[Array, "3 3"]) -> Float[Array, ""]:
    """Share of the sole's area that the ground sees, |e3' R e3|."""
    return jnp.abs(rotation[2, 2])


def _vee(matrix: Float[Array, "3 3"]) -> Float[Array, "3"]:
    """The vector a of a skew matrix [a]x."""
    return jnp.stack([matrix[2, 1], matrix[0, 2], matrix[1, 0]])
