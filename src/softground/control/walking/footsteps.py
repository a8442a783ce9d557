"""Where and when a biped puts its feet, for straight and turning walks.

The middle between the feet moves along an arc: in a full step of duration T by speed T, turning by turn rate T. The
foot that lands goes half a step width to its side of the arc's end. Steps grow over the first few and shrink over the
last few; the last one does not advance, so that the walk ends with the feet side by side.

Between footsteps a foot is still on the ground, or goes through the air by minimum jerk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.interpolate import PPoly

from softground.control.walking.gait import Gait, Side, Stance, forward, leftward
from softground.control.walking.piecewise import FALL, RISE, stretched, transitions
from softground.errors import OptionError

ROUNDING = 1e-9  # relative, by which a step may exceed its limit


@dataclass(frozen=True)
class Step:
    """A foot's way through the air: when it leaves, when and where it lands."""

    foot: Side
    position: Float[np.ndarray, " 3"]
    """Centre of the sole on landing, world, m."""
    yaw: float
    """rad"""
    lift_off: float
    """s"""
    touch_down: float
    """s"""


@dataclass(frozen=True)
class FootstepPlan:
    """A stance and the steps from it, in time; at most one foot is in the air."""

    stance: Stance
    steps: tuple[Step, ...]
    duration: float
    """s, with the double supports at the start and at the end."""
    ground_height: float = 0.0
    """Height of the soles where they land, m."""

    def of_foot(self, foot: Side) -> list[Step]:
        """The steps of one foot."""
        return [step for step in self.steps if step.foot == foot]


def footsteps(
    gait: Gait,
    stance: Stance | None = None,
    *,
    speed: float,
    turn_rate: float = 0.0,
    steps: int | None = None,
    seconds: float | None = None,
    first_foot: str = "left",
    ground_height: float = 0.0,
) -> FootstepPlan:
    """Plan a walk from a stance (by default: feet side by side at the origin).

    Args:
        speed: of the middle between the feet, in full steps (m/s); negative: backwards.
        turn_rate: of the heading, in full steps (rad/s); positive: to the left.
        steps: how many, with the last one, which only closes up. Give this or `seconds`.
        seconds: the walk takes as few steps as last at least that long, standing at both ends included.
        first_foot: "left" or "right".
        ground_height: of the soles where they land (m).
    """
    stance = stance or Stance.side_by_side(gait.step_width, ground_height)
    foot = Side.named(first_foot)
    _check_command(gait, speed, turn_rate)
    count = _step_count(gait, steps, seconds)
    middle, heading = stance.middle, stance.heading
    planned = []
    for number in range(count):
        share = _share_of_full(number, count, gait.ramp_steps)
        way, turn = share * gait.step_duration * speed, share * gait.step_duration * turn_rate
        # the chord of the arc points along its middle heading and is shorter by sin(turn / 2) / (turn / 2)
        middle = middle + way * np.sinc(turn / (2 * np.pi)) * forward(heading + turn / 2)
        heading += turn
        landing = middle + foot.outward * gait.step_width / 2 * leftward(heading)
        lift_off = gait.start_duration + number * gait.step_duration
        planned.append(Step(foot, np.append(landing, ground_height), heading, lift_off, lift_off + gait.swing_duration))
        foot = foot.other
    plan = FootstepPlan(stance, tuple(planned), planned[-1].touch_down + gait.end_duration, ground_height)
    _check_steps(gait, plan)
    return plan


def _share_of_full(number: int, count: int, ramp_steps: int) -> float:
    """Advance of a step (from 0 on) relative to the full one; the last, which closes up, has none."""
    return min(1.0, (number + 1) / (ramp_steps + 1), (count - 1 - number) / (ramp_steps + 1))


def _step_count(gait: Gait, steps: int | None, seconds: float | None) -> int:
    if (steps is None) == (seconds is None):
        raise OptionError(f"give a walk either steps or seconds, got steps={steps} and seconds={seconds}")
    if steps is not None:
        if steps < 1 or steps != int(steps):
            raise OptionError(f"steps of a walk must be a whole number from 1 on, got {steps}")
        return int(steps)
    assert seconds is not None
    if not (np.isfinite(seconds) and seconds > 0):
        raise OptionError(f"seconds of a walk must be positive, got {seconds}")
    after_first = seconds - gait.start_duration - gait.swing_duration - gait.end_duration
    return 1 + max(0, int(np.ceil(after_first / gait.step_duration - ROUNDING)))


def _check_command(gait: Gait, speed: float, turn_rate: float) -> None:
    if not (np.isfinite(speed) and np.isfinite(turn_rate)):
        raise OptionError(f"speed and turn rate of a walk must be finite, got {speed} and {turn_rate}")
    if abs(turn_rate) > gait.largest_turn_rate() * (1 + ROUNDING):
        raise OptionError(
            f"a turn rate of {turn_rate:.3g} rad/s needs more than the gait's limit of {gait.turn_limit:.3g} rad "
            f"in a step of {gait.step_duration:.3g} s: turn at most at {gait.largest_turn_rate():.3g} rad/s"
        )
    if abs(speed) > gait.largest_speed(turn_rate) * (1 + ROUNDING):
        turning = f" while turning at {turn_rate:.3g} rad/s" if turn_rate else ""
        raise OptionError(
            f"a speed of {speed:.4g} m/s{turning} needs steps longer than the gait's limit of "
            f"{gait.step_length_limit:.3g} m in {gait.step_duration:.3g} s: walk at most at "
            f"{gait.largest_speed(turn_rate):.4g} m/s, or choose a gait of quicker or longer steps"
        )


def _check_steps(gait: Gait, plan: FootstepPlan) -> None:
    """Also from a stance of which the planned speed knows nothing, no step may be too long or cross the feet."""
    position, yaw = plan.stance.position[:, :2].copy(), plan.stance.yaw.copy()
    for number, step in enumerate(plan.steps):
        away = step.position[:2] - position[step.foot.other]
        ahead, aside = away @ forward(yaw[step.foot.other]), away @ leftward(yaw[step.foot.other])
        if abs(ahead) > gait.step_length_limit * (1 + ROUNDING):
            raise OptionError(
                f"step {number + 1} lands {ahead:.3g} m ahead of the standing foot, beyond the gait's limit of "
                f"{gait.step_length_limit:.3g} m: start with the feet side by side, or walk slower"
            )
        if aside * step.foot.outward <= 0:
            raise OptionError(f"step {number + 1} would cross the feet: turn less, or take wider steps")
        position[step.foot], yaw[step.foot] = step.position[:2], step.yaw


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
