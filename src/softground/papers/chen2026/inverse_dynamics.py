"""What the rigid-ground assumption makes of a measured motion: reaction forces and torques, by inverse dynamics.

That is how the paper has its conventional model estimate forces. Known are the joints' angles and rates and how the
trunk is turned and turns, not where the robot is: the foot that carries is believed to roll where it stands, so the
trunk moves as the leg says,

    v_trunk, believed = v_trunk - (v_axis - omega x R e_z),

v_axis and omega the velocity of the foot's axis and its turning. Of the motion believed, the six rows of the trunk,
which no actuator drives, give the wrench W on the foot, and the others the torques:

    J_trunk' W = (M a + h)_trunk,          tau = (M a + h)_joints - J_joints' W.

The whole robot in space is taken, not its two planes: a trunk that yaws by 0.15 rad in a stance makes the planes' own
inverse dynamics miss F_x by 30 N even with slip and sinkage known. Rates are low-passed before they are differentiated,
to and fro, as encoders' would be. With nothing assumed of the foot, its forces are those of the experiment (tested).
"""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.signal import butter, sosfiltfilt

from softground.papers.chen2026.experiment import DT, robot
from softground.papers.chen2026.stance_series import FORCES, Motions, accelerations, in_heading

CUTOFF = 5.0
"""Hz, of the low-pass: of 5, 10, 20, 40 Hz and none the kindest, with the least errors of all forces at 0.2 m/s on
sand (F_z: 78, 137, 214, 240, 243 N). A stance is one period long; less would smooth the stance itself away."""


def forces_and_torques(
    whole: Motions, cutoff: float | None = CUTOFF, rolls: bool = True
) -> tuple[dict[str, Float[np.ndarray, "s t"]], Float[np.ndarray, "s t 6"]]:
    """Forces on the foot that carries, by name, as in `stance_series`, and torques of the actuators (N m).

    rolls: believe that the foot rolls without slipping and sinking; otherwise take its motion as it was.
    """
    v = np.asarray(_compiled_believed()(whole.q, whole.v, whole.foot)) if rolls else whole.v
    if cutoff is not None:
        v = sosfiltfilt(butter(2, cutoff, fs=1 / DT, output="sos"), v, axis=1)
    force, torque = _compiled_inverse()(whole.q, v, accelerations(v), whole.foot)
    return dict(zip(FORCES, in_heading(whole, np.asarray(force)), strict=True)), np.asarray(torque)


def forces_by_kept_jacobian(whole: Motions) -> dict[str, Float[np.ndarray, "s t"]]:
    """Forces on the contact point by the measured motion and torques, through the Jacobian J_0 of touch-down.

    That is what the paper says its conventional model did: F is what J_0' F explains best, by least squares, of
    M a + h - S tau. With the Jacobian of the moment it would be the force that was: nothing is low-passed here, so that
    the Jacobian's age is all that is wrong.
    """
    force = _compiled_kept()(whole.q, whole.v, accelerations(whole.v), whole.torque, whole.foot)
    return dict(zip(FORCES, in_heading(whole, np.asarray(force)), strict=True))


@cache
def _compiled_kept():
    def stance(q, v, a, torque, foot):
        axis = robot().foot_jacobians(q[0])[foot]
        down = jnp.array([0.0, 0.0, -robot().feet[0].shape.clearance])
        of_point = axis[:3] + jnp.cross(axis[3:], down, axis=0)
        explained = jnp.linalg.pinv(of_point.T)
        asked = jax.vmap(robot().inverse_dynamics)(q, v, a)
        return jnp.concatenate([asked[:, :6], asked[:, 6:] - torque], axis=1) @ explained.T

    return jax.jit(jax.vmap(stance))


@cache
def _compiled_believed():
    up = np.array([0.0, 0.0, robot().feet[0].shape.clearance])

    def at(q, v, foot):
        twist = robot().foot_twists(q, v)[foot]
        return v.at[:3].add(jnp.cross(twist[3:], up) - twist[:3])

    return jax.jit(jax.vmap(jax.vmap(at, in_axes=(0, 0, None))))


@cache
def _compiled_inverse():
    def at(q, v, a, foot):
        asked, arm = robot().inverse_dynamics(q, v, a), robot().foot_jacobians(q)[foot]
        wrench = jnp.linalg.solve(arm[:, :6].T, asked[:6])
        return wrench[:3], asked[6:] - arm[:, 6:].T @ wrench

    return jax.jit(jax.vmap(jax.vmap(at, in_axes=(0, 0, 0, None))))
