"""Wrenches that the ground can give: it pushes, within friction, from inside the sole."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.base import Bounds, Constraint
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot
from softground.robots import Robot
from softground.robots.shapes import Shape, checked_shape


class WrenchFeasibility(Constraint):
    """C R' f <= upper for every foot in contact (romualdi2021, eqs 20 and 21).

    R is the orientation of the foot at rest, flat on the ground: its z is the normal of the ground, which a foot
    that has rolled in it no longer shows. The rows, for normal force n, tangential force t and torque m in its axes:

    | rows | meaning |
    | --- | --- |
    | -n <= -least | the ground pushes |
    | +-t_x <= mu n / sqrt 2, same for t_y | a pyramid inside the friction cone |
    | +-m_z <= torsion n | torsional friction, torsion in m |
    | N c <= d, c = (-m_y, m_x) / n | the centre of pressure c inside the sole's outline |

    Where the wrench is the unknown, f is it; where its rate f' is, f is the measured wrench plus `horizon` times
    f' (eq. 21, whose T is the controller's period). A longer horizon turns earlier, and asks less of a wrench that is
    already out of bounds: back within `horizon` seconds rather than within a period.
    """

    is_equality: ClassVar[bool] = False

    cone: Float[Array, "F c 6"]
    """Rows C of every foot, for C R' f <= 0."""
    least: float = 0.0  # N, normal force
    horizon: float = 1e-3  # s

    @property
    def name(self) -> str:
        return "wrench feasibility"

    def bounds(self, snapshot: Snapshot, references: References, memory: Any) -> Bounds:
        unknowns = snapshot.unknowns
        count, rows, _ = self.cone.shape
        turned = references.ground.rest_rotation[:, None].mT  # world to the foot at rest
        cone = jnp.asarray(self.cone)
        force = (cone[..., :3, None] * turned).sum(-2)
        torque = (cone[..., 3:, None] * turned).sum(-2)
        cone = jnp.concatenate([force, torque], -1)
        offset, slope = unknowns.wrenches_after(self.horizon, snapshot.wrenches)
        own = np.eye(count)[:, None, :, None]  # a foot's rows are about its own wrench
        matrix = unknowns.matrix(wrenches=slope * (own * cone[:, :, None, :]).reshape(-1, count, 6))
        limit = np.zeros((count, rows))
        limit[:, 0] = -self.least
        upper = limit - jnp.einsum("fci,fi->fc", cone, offset)
        active = jnp.repeat(snapshot.in_contact, rows)
        return Bounds(matrix, jnp.full(count * rows, -jnp.inf), upper.reshape(-1), active)


def feasible_wrenches(
    robot: Robot, friction: float, torsion: float, *, least: float = 0.0, horizon: float = 1e-3, margin: float = 0.0
) -> WrenchFeasibility:
    """Feasibility for the soles of a robot, which keeps the centre of pressure `margin` (m) inside them.

    friction: coefficient. torsion: torque about the normal, of the normal force, m. least: normal force, N. horizon:
    time within which a wrench out of bounds must be back, where wrench rates are the unknowns, s.
    """
    cones = [wrench_cone(foot.shape, friction, torsion, margin) for foot in robot.feet]
    rows = max(len(cone) for cone in cones)
    padded = [np.concatenate([cone, np.repeat(cone[:1], rows - len(cone), axis=0)]) for cone in cones]
    return WrenchFeasibility(np.stack(padded), least, horizon)


def wrench_cone(shape: Shape, friction: float, torsion: float, margin: float = 0.0) -> Float[np.ndarray, "c 6"]:
    """Rows C with C f <= 0 for wrenches f = (t_x, t_y, n, m_x, m_y, m_z) that a sole can get.

    f is about the origin of the foot's frame. Of a half-cylinder that is on its axis, a radius r above the line on
    which it stands, and of a ball at its centre, r above its point of contact: there the centre of pressure is
    (-(m_y + r t_x), m_x - r t_y) / n.
    """
    side = friction / np.sqrt(2)
    tangential = [[sign * (axis == k) for k in range(2)] + [-side, 0, 0, 0] for axis in range(2) for sign in (1, -1)]
    twisting = [[0, 0, -torsion, 0, 0, sign] for sign in (1, -1)]
    normals, distances = checked_shape(shape).half_planes()
    r = shape.clearance
    inside = np.where(distances > 0, distances - margin, 0.0)
    pressure = [[-r * x, -r * y, -d, y, -x, 0] for (x, y), d in zip(normals, inside, strict=True)]
    return np.array([[0, 0, -1, 0, 0, 0], *tangential, *twisting, *pressure], dtype=float)
