"""What a gait must obey beside its dynamics: small constraint objects, each bounds on blocks of rows.

To add one, write a dataclass with `blocks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.contact.feet import displaced, feet_in_ground, pose_directions
from softground.errors import OptionError
from softground.media.base import FootInGround
from softground.media.wrench_space import WrenchSpace
from softground.planning.blocks import Block
from softground.planning.dynamics.base import medium_for_planning
from softground.planning.layout import Layout
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.robots.dynamics_derivatives import has_scalar_joints
from softground.robots.mirror import mirror_of, unchanged
from softground.robots.tree import FREE
from softground.surfaces import Surface

if TYPE_CHECKING:
    from softground.planning.problem import GaitProblem


class Bounded(NamedTuple):
    """lower <= rows of a block <= upper, the same at every place; equal bounds make an equality."""

    block: Block
    lower: np.ndarray
    upper: np.ndarray


class Constraint(Protocol):
    """A condition on the trajectory."""

    def blocks(self, problem: GaitProblem, layout: Layout) -> list[Bounded]:
        """Rows and their bounds."""
        ...


@dataclass(frozen=True)
class InsideData:
    """Feet stay no deeper and no more tilted than the medium's data (zhu2021 III.F), or than limits given here."""

    depth: float | None = None  # m
    tilt: float | None = None  # rad

    def blocks(self, problem: GaitProblem, layout: Layout) -> list[Bounded]:
        medium = medium_for_planning(problem.robot, problem.ground)
        known = isinstance(medium, WrenchSpace)  # springs are no data, and have no end
        depth = (np.min(medium.max_depth) if known else np.inf) if self.depth is None else self.depth
        tilt = (np.min(medium.max_tilt) if known else np.inf) if self.tilt is None else self.tilt
        if np.isinf(depth) and np.isinf(tilt):
            return []
        for label, value in {"depth": depth, "tilt": tilt}.items():
            if not value > 0:
                raise OptionError(f"greatest {label} of the feet must be positive, got {value}")
        feet, tilts = len(problem.robot.feet), bool(np.isfinite(tilt))
        block = FeetPose(layout.q_at(np.arange(layout.knots)), problem.robot, problem.ground.surface, tilts)
        lower, upper = [-np.inf, -tilt], [DEPTH_UNIT * depth, tilt]
        return [Bounded(block, np.repeat(lower[: 1 + tilts], feet), np.repeat(upper[: 1 + tilts], feet))]


@dataclass(frozen=True)
class Cycle:
    """The last state is the first one again, further along: for one stride of a gait, on ground that looks the same.

    mirrored: it is the first one with left and right exchanged, for half a stride (`robots.mirror`).
    """

    mirrored: bool = False

    def blocks(self, problem: GaitProblem, layout: Layout) -> list[Bounded]:
        robot, base = problem.robot, base_motion(problem.robot)
        mirror = mirror_of(robot) if self.mirrored else unchanged(robot)
        if mirror is None:
            raise OptionError(f"{robot.name} is not its own mirror image: plan a whole stride, Cycle(mirrored=False)")
        place = [base.forward_q, base.up_q]
        # The real part of a quaternion follows from the other three, as its length does not change: a row that says so
        # again has no multiplier of its own, and the optimiser looks for one for ever.
        implied = [first + 3 for first in _quaternions_at(robot)]
        rest = [entry for entry in range(layout.nq) if entry not in (*place, *implied)]
        first = [layout.q_at(0)[place], layout.q_at(0)[mirror.q_from[rest]], layout.v_at(0)[mirror.v_from]]
        last = [layout.q_at(layout.knots - 1)[[*place, *rest]], layout.v_at(layout.knots - 1)]
        sign = np.concatenate([mirror.q_sign[rest], mirror.v_sign])
        block = CycleRows(np.concatenate([*first, *last])[None], problem.ground.surface, sign)
        zero = np.zeros(1 + len(sign))
        return [Bounded(block, zero, zero)]


def unit_quaternions(robot: Robot, layout: Layout) -> list[Bounded]:
    """Quaternions of the first knot are of unit length. Steps keep it, so all others are."""
    address = _quaternions_at(robot)
    if not address:
        return []
    columns = layout.q_at(0)[np.array(address)[:, None] + 3 + np.arange(4)]
    return [Bounded(SquaredLength("unit quaternions", columns), np.ones(1), np.ones(1))]


def _quaternions_at(robot: Robot) -> list[int]:
    """Where the entries of free joints begin in q: three of place, then those of a quaternion."""
    return [first for first, kind in zip(robot.tree.q_address, robot.tree.joint_type, strict=True) if kind == FREE]


class CycleRows(Block):
    """How two states differ: the base's distance to the ground (its place comes first), all further entries of q, v."""

    surface: Surface
    sign: np.ndarray  # of the entries of the first state behind its place

    def __init__(self, columns, surface: Surface, sign: np.ndarray):
        self.label, self.columns, self.linear = "cycle", columns, False
        self.surface, self.sign = surface, sign

    def rows(self, local, data, eps):
        first, last = jnp.split(local, 2)
        height = [
            self.surface.signed_distance(jnp.stack([one[0], jnp.zeros_like(one[0]), one[1]])) for one in (first, last)
        ]
        return jnp.concatenate([(height[1] - height[0])[None], last[2:] - self.sign * first[2:]])


class SquaredLength(Block):
    """Sum of the squares of the unknowns at a place."""

    def rows(self, local, data, eps):
        return (local @ local)[None]


DEPTH_UNIT = 10.0
"""Unit of the rows: 1e-3 is a tenth of a millimetre."""


class FeetPose(Block):
    """Depths (decimetres) and tilts (rad; in space the lean) of all feet at a knot; round feet have no tilt."""

    robot: Robot
    surface: Surface
    tilts: bool = eqx.field(static=True)

    def __init__(self, columns, robot: Robot, surface: Surface, tilts: bool = True):
        self.label, self.columns, self.linear = "feet", columns, False
        self.robot, self.surface, self.tilts = robot, surface, tilts

    def rows(self, local, data, eps):
        feet = feet_in_ground(self.robot, local, self.surface)
        return jax.vmap(self._one, out_axes=1)(feet).reshape(-1)

    def jacobian(self, local, data, eps):
        if not has_scalar_joints(self.robot):
            return super().jacobian(local, data, eps)
        robot, directions = self.robot, pose_directions(self.robot)
        kin = robot.kinematics(local)
        place, turn = robot.foot_poses(kin)
        clearance = np.array([foot.clearance for foot in robot.feet])

        def by_pose(clearance, place, turn):
            meet = lambda shift: self._one(  # noqa: E731
                displaced(self.surface, clearance, place, turn, shift @ np.eye(6)[directions])
            )
            return jax.jacfwd(meet)(jnp.zeros(len(directions)))

        slopes = jax.vmap(by_pose)(clearance, place, turn)  # (foot, row, direction)
        by_joints = jnp.einsum("frd,fdv->rfv", slopes, robot.foot_jacobians(kin)[:, directions])
        return by_joints.reshape(-1, robot.nv)

    def _one(self, foot: FootInGround) -> Float[Array, " r"]:
        depth = DEPTH_UNIT * foot.depth
        if not self.tilts:
            return depth[None]
        lean = foot.tilt if self.robot.planar else jnp.arccos(jnp.clip(foot.axis[2], -1 + 1e-9, 1 - 1e-9))
        return jnp.stack([depth, lean])
