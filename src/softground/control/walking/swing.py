"""Ways of the feet: still on the ground, and through the air by minimum jerk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.interpolate import PPoly

from softground.control.walking.footsteps import FootstepPlan
from softground.control.walking.piecewise import FALL, RISE, stretched, transitions
from softground.control.walking.stance import Side

Z = 2  # row of the pose


@dataclass(frozen=True)
class FootPath:
    """Pose (x, y, z, yaw) of a sole over time: minimum jerk from lift-off to touch-down, in height also by way of an
    apex half way. Velocity and acceleration are zero at both ends, at whatever heights these are."""

    travel: PPoly
    """(x, y, z, yaw) without the lift."""
    lift: PPoly
    """Height over the line from lift-off to touch-down, m."""

    def pose(self, time: Float[np.ndarray, " n"], order: int = 0) -> Float[np.ndarray, "n 4"]:
        """Position (m, world) and yaw (rad), or their derivative of this order in time (s)."""
        pose = self.travel(time, order)
        pose[:, Z] += self.lift(time, order)[:, 0]
        return pose


def foot_path(plan: FootstepPlan, foot: Side, swing_height: float) -> FootPath:
    """Way of one foot over a plan, each swing rising to `swing_height` (m)."""
    poses = [np.append(plan.stance.position[foot], plan.stance.yaw[foot])]
    times = [0.0]
    lift_times, rising, falling = [0.0], [], []
    for step in plan.of_foot(foot):
        times += [step.lift_off, step.touch_down]
        poses += [poses[-1], np.append(step.position, step.yaw)]
        lift_times += [step.lift_off, (step.lift_off + step.touch_down) / 2, step.touch_down]
        rising += [0.0, 1.0, 0.0]
        falling += [0.0, 0.0, 1.0]
    times, lift_times = np.append(times, plan.duration), np.append(lift_times, plan.duration)
    size = swing_height * np.array([[*rising, 0.0], [*falling, 0.0]])[..., None]
    lift = stretched(lift_times, RISE, size[0]) + stretched(lift_times, FALL, size[1])
    return FootPath(transitions(times, np.array([*poses, poses[-1]])), PPoly(lift, lift_times))
