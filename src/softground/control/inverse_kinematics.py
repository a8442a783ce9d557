"""Joint angles that put the feet where they should be, for any robot: damped least squares."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import OptionError
from softground.robots import Robot

DAMPING = 1e-3
"""Damping of the least squares, relative to the Jacobian's size: a singular leg moves slowly instead of wildly."""
PITCH_LENGTH = 0.2  # m: an error of the foot's pitch of 1 rad counts as much as this distance
ITERATIONS, LONGEST_STEP = 40, 0.3  # per target, and rad (m for slides) of a joint in one iteration
TOLERANCE = 1e-4  # m
SETTLED = 1e-12  # rad, m: an iteration that moves no joint further was the last


def joints_for_feet(
    robot: Robot,
    positions: Float[np.ndarray, "... F 3"],
    pitch: Float[np.ndarray, "... F"] | None = None,
    guess: Float[np.ndarray, " nq"] | None = None,
    *,
    nearest: bool = False,
) -> Float[np.ndarray, "... nq"]:
    """Configurations whose feet are at `positions` (m) and have `pitch` (rad, if given) in the base's frame.

    The base is the robot's first body and stays where `guess` (by default the posture) has it; only
    joints with actuators move, within their limits. A sequence of targets (leading axis) is solved one after
    the other, each from the last: a smooth path of the feet gives a smooth path of the joints. In the
    plane only x and z count.

    Raises OptionError, naming the worst foot, where a target cannot be reached within 0.1 mm; not with `nearest`, which
    comes as near as the limbs do.
    """
    guess = np.asarray(robot.posture if guess is None else guess, dtype=float)
    positions = np.asarray(positions, dtype=float)
    count = len(robot.feet)
    if positions.shape[-2:] != (count, 3):
        raise OptionError(f"positions must end in shape ({count}, 3) for {robot.name}, got {positions.shape}")
    desired = np.zeros((*positions.shape[:-1], 4))
    desired[..., :3] = positions
    desired[..., 3] = 0.0 if pitch is None else pitch
    weight = np.array([1.0, 0.0 if robot.planar else 1.0, 1.0, 0.0 if pitch is None else PITCH_LENGTH])
    path = desired.reshape(-1, count, 4)
    solved, error = _follow(robot, guess, path, weight)
    if not nearest:
        _check_reached(robot, np.asarray(error))
    return np.array(solved).reshape(*positions.shape[:-2], robot.nq)


@eqx.filter_jit
def feet_in_base(robot: Robot, q: Float[Array, " nq"]) -> Float[Array, "F 4"]:
    """Position (m) and pitch (rad) of every foot in the base's frame."""
    kin = robot.kinematics(q)
    origin, axes = (part[0] for part in robot.body_poses(kin))
    position, rotation = robot.foot_poses(kin)
    local = jnp.einsum("ij,fjk->fik", axes.T, rotation)
    return jnp.concatenate([(position - origin) @ axes, jnp.arctan2(local[:, 0, 2], local[:, 2, 2])[:, None]], 1)


@eqx.filter_jit
def _follow(robot: Robot, q, path: Float[Array, "k F 4"], weight: Float[Array, "4"]):
    """Solve every target of the path from the solution of the one before."""
    actuators = np.array(robot.actuated)
    coordinates = np.array(robot.dof_q)[actuators]
    low, high = robot.joint_range[actuators, 0], robot.joint_range[actuators, 1]

    def residual(joints, q, target):
        return (weight * (feet_in_base(robot, q.at[coordinates].set(joints)) - target)).reshape(-1)

    def improve(joints, q, target):
        error, slope = residual(joints, q, target), jax.jacfwd(residual)(joints, q, target)
        square = slope.T @ slope
        square = square + DAMPING**2 * jnp.trace(square) * jnp.eye(len(joints))
        step = jnp.clip(jnp.linalg.solve(square, slope.T @ error), -LONGEST_STEP, LONGEST_STEP)
        return jnp.clip(joints - step, low, high)

    def reach(q, target):
        def moves(progress):
            count, joints, before = progress
            return (count < ITERATIONS) & (jnp.abs(joints - before) > SETTLED).any()

        def go_on(progress):
            count, joints, _ = progress
            return count + 1, improve(joints, q, target), joints

        first = q[coordinates]
        _, joints, _ = jax.lax.while_loop(moves, go_on, (0, first, jnp.full_like(first, jnp.inf)))
        error = jnp.linalg.norm(residual(joints, q, target).reshape(-1, 4), axis=1)
        q = q.at[coordinates].set(joints)
        return q, (q, error)

    return jax.lax.scan(reach, jnp.asarray(q), jnp.asarray(path))[1]


def _check_reached(robot: Robot, error: Float[np.ndarray, "k F"]) -> None:
    if np.isfinite(error).all() and error.max() <= TOLERANCE:
        return
    knot, foot = np.unravel_index(np.argmax(np.nan_to_num(error, nan=np.inf)), error.shape)
    raise OptionError(
        f"foot {robot.feet[foot].name!r} cannot reach target {knot} of {len(error)}: it stays "
        f"{error[knot, foot]:.3g} m away; bring it nearer to the hip, widen the joint limits, or "
        "start from a guess with bent limbs"
    )
