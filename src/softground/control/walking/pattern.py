"""A walk as arrays over time: what a controller is to follow, sampled at its rate."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike
from scipy.interpolate import PPoly

from softground.arrays import Array
from softground.control.walking.dcm import Pendulum
from softground.control.walking.footsteps import FootstepPlan, foot_path
from softground.control.walking.gait import Gait, Side
from softground.control.walking.piecewise import MINIMUM_SNAP, transitions
from softground.errors import OptionError

INSTANT = 1e-9  # s: a sample this near to lift-off or touch-down counts as on the ground


class WalkingPattern(eqx.Module):
    """References at n times; feet in the order left, right; world frame, SI units.

    Each velocity, acceleration and jerk is the exact derivative of what it is called after.
    """

    time: Float[Array, "*n"]
    """s"""
    com: Float[Array, "*n 3"]
    """Centre of mass, m."""
    com_velocity: Float[Array, "*n 3"]
    com_acceleration: Float[Array, "*n 3"]
    com_jerk: Float[Array, "*n 3"]
    dcm: Float[Array, "*n 3"]
    """Divergent component of motion, com + com_velocity / omega, m."""
    zmp: Float[Array, "*n 2"]
    """Zero-moment point on the ground, m."""
    foot_position: Float[Array, "*n 2 3"]
    """Centres of the soles, m."""
    foot_yaw: Float[Array, "*n 2"]
    foot_twist: Float[Array, "*n 2 6"]
    """(linear, angular), at the centre of the sole."""
    foot_acceleration: Float[Array, "*n 2 6"]
    """Derivative of the twist."""
    contact: Bool[Array, "*n 2"]
    """True while the foot carries."""
    load_share: Float[Array, "*n 2"]
    """Share of the weight that puts the ZMP where it is planned: 0 to 1, sum 1."""
    torso_yaw: Float[Array, "*n"]
    """Mean of the feet's, rad."""
    torso_yaw_rate: Float[Array, "*n"]
    torso_yaw_acceleration: Float[Array, "*n"]

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, part: slice) -> WalkingPattern:
        """A part in time, by sample numbers."""
        return jax.tree.map(lambda values: values[part], self)

    def at(self, sample: Array | int) -> WalkingPattern:
        """References of one sample, which may be traced; before the first and after the last the walk stands still."""
        held = jnp.clip(sample, 0, len(self) - 1)
        return jax.tree.map(lambda values: jnp.asarray(values)[held], self)


def walking_pattern(plan: FootstepPlan, gait: Gait, com_start: ArrayLike, dt: float) -> WalkingPattern:
    """Pattern of a plan for a robot at rest with its centre of mass at `com_start` (3; m, world), every `dt` seconds.

    The centre of mass comes to the gait's height over the ground before the first step and then keeps it. It ends at
    rest above the middle between the feet.
    """
    com_start = np.asarray(com_start, dtype=float)
    if com_start.shape != (3,) or not np.isfinite(com_start).all():
        raise OptionError(f"the centre of mass at the start must be three lengths (m), got {com_start}")
    if not (np.isfinite(dt) and 0 < dt <= plan.duration):
        raise OptionError(f"the time step of a pattern must be positive and within its {plan.duration} s, got {dt}")
    time = dt * np.arange(int(np.floor(plan.duration / dt + INSTANT)) + 1)
    pendulum = Pendulum.at_rest_at_both_ends(_zmp_path(plan, gait, com_start[:2]), gait.omega)
    height = _height_path(plan, gait, com_start[2])
    com, velocity, acceleration, jerk = (
        np.hstack([pendulum.com(time, order), height(time, order)]) for order in range(4)
    )
    pose, pose_rate, pose_acceleration = _feet(plan, gait, time)
    contact = _contact(plan, time)
    zmp = pendulum.zmp(time)
    share = _load_share(zmp, _support_points(gait, pose[..., :2], pose[..., 3]), contact)
    return WalkingPattern(
        time=time,
        com=com,
        com_velocity=velocity,
        com_acceleration=acceleration,
        com_jerk=jerk,
        dcm=com + velocity / gait.omega,
        zmp=zmp,
        foot_position=pose[..., :3],
        foot_yaw=pose[..., 3],
        foot_twist=_about_vertical(pose_rate),
        foot_acceleration=_about_vertical(pose_acceleration),
        contact=contact,
        load_share=share,
        torso_yaw=pose[..., 3].mean(axis=1),
        torso_yaw_rate=pose_rate[..., 3].mean(axis=1),
        torso_yaw_acceleration=pose_acceleration[..., 3].mean(axis=1),
    )


def _zmp_path(plan: FootstepPlan, gait: Gait, start: Float[np.ndarray, " 2"]) -> PPoly:
    """From below the centre of mass to the first supporting foot, from foot to foot in the double supports, and to the
    middle between the feet."""
    position, yaw = plan.stance.position[:, :2].copy(), plan.stance.yaw.copy()
    times, points = [0.0], [start]
    for step in plan.steps:
        standing = _support_points(gait, position, yaw)[step.foot.other]
        times += [step.lift_off, step.touch_down]
        points += [standing, standing]
        position[step.foot], yaw[step.foot] = step.position[:2], step.yaw
    end = _support_points(gait, position, yaw).mean(axis=0)
    return transitions(np.array([*times, plan.duration]), np.array([*points, end]))


def _height_path(plan: FootstepPlan, gait: Gait, start: float) -> PPoly:
    """To the gait's height before the first step; with continuous jerk, like the horizontal motion."""
    height = plan.ground_height + gait.com_height
    times = np.array([0.0, plan.steps[0].lift_off, plan.duration])
    return transitions(times, np.array([[start], [height], [height]]), MINIMUM_SNAP)


def _support_points(
    gait: Gait, position: Float[np.ndarray, "... 2 2"], yaw: Float[np.ndarray, "... 2"]
) -> Float[np.ndarray, "... 2 2"]:
    """Where under each foot the ZMP is while that foot stands alone (m)."""
    forward, inward = gait.zmp_offset
    left = -inward * np.array([side.outward for side in Side])
    cosine, sine = np.cos(yaw), np.sin(yaw)
    return position + np.stack([cosine * forward - sine * left, sine * forward + cosine * left], axis=-1)


def _feet(plan: FootstepPlan, gait: Gait, time: Float[np.ndarray, " n"]) -> list[Float[np.ndarray, "n 2 4"]]:
    """Pose (x, y, z, yaw) of both feet, its rate and its acceleration."""
    paths = [foot_path(plan, side, gait.swing_height) for side in Side]
    return [np.stack([path.pose(time, order) for path in paths], axis=1) for order in range(3)]


def _contact(plan: FootstepPlan, time: Float[np.ndarray, " n"]) -> Bool[np.ndarray, "n 2"]:
    contact = np.ones((len(time), 2), dtype=bool)
    for step in plan.steps:
        contact[(time > step.lift_off + INSTANT) & (time < step.touch_down - INSTANT), step.foot] = False
    return contact


def _load_share(
    zmp: Float[np.ndarray, "n 2"], support: Float[np.ndarray, "n 2 2"], contact: Bool[np.ndarray, "n 2"]
) -> Float[np.ndarray, "n 2"]:
    """Place of the ZMP between the feet's support points; all on the one foot that stands alone."""
    left, right = support[:, Side.LEFT], support[:, Side.RIGHT]
    across = left - right
    share = np.sum((zmp - right) * across, axis=1) / np.sum(across**2, axis=1)
    share = np.where(contact.all(axis=1), share, contact[:, Side.LEFT])
    if share.min() < -INSTANT or share.max() > 1 + INSTANT:
        raise OptionError(
            "to start and end at rest the ZMP would have to leave the feet, with "
            f"{share.min():.2f} to {share.max():.2f} of the weight on the left one: "
            "lengthen start_duration or end_duration of the gait, or start with the centre "
            "of mass between the feet"
        )
    share = np.clip(share, 0.0, 1.0)
    return np.stack([share, 1 - share], axis=1)


def _about_vertical(pose_change: Float[np.ndarray, "n 2 4"]) -> Float[np.ndarray, "n 2 6"]:
    """(linear, angular) of a change of (x, y, z, yaw)."""
    none = np.zeros_like(pose_change[..., :2])
    return np.concatenate([pose_change[..., :3], none, pose_change[..., 3:]], axis=-1)
