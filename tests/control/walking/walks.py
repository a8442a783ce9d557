"""Walks that every test of the pattern goes through."""

from dataclasses import dataclass, replace

import numpy as np

from softground.control.walking import ICUB_GAIT, FootstepPlan, Gait, WalkingPattern, footsteps, walking_pattern
from softground.control.walking.gait import Stance

#: A small biped with a gait period of 0.4 s, two steps a period.
QUICK_GAIT = Gait(
    step_duration=0.2,
    double_support_share=0.1,
    step_length_limit=0.1,
    step_width=0.12,
    swing_height=0.1,
    com_height=0.41,
    turn_limit=0.2,
    start_duration=0.6,
    end_duration=0.6,
    ramp_steps=3,
)
CROOKED = Stance(np.array([[1.0, 2.09, -0.004], [1.03, 1.93, -0.006]]), np.array([0.1, -0.1]))
RECTANGLE = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
ICUB_SOLE, SMALL_SOLE = RECTANGLE * [0.095, 0.045], RECTANGLE * [0.06, 0.03]  # corners, m


@dataclass(frozen=True)
class Walk:
    gait: Gait
    plan: FootstepPlan
    com_start: np.ndarray
    sole: np.ndarray

    def pattern(self, dt: float) -> WalkingPattern:
        return walking_pattern(self.plan, self.gait, self.com_start, dt)


def walk(gait: Gait, stance: Stance | None = None, offset=(0.0, 0.0), sole=ICUB_SOLE, **command) -> Walk:
    """From rest with the centre of mass at an offset (m) from the middle between the feet, 2 cm too high."""
    plan = footsteps(gait, stance, **command)
    return Walk(gait, plan, np.append(plan.stance.middle + offset, gait.com_height + 0.02), sole)


WALKS = {
    "straight": walk(ICUB_GAIT, speed=0.16, steps=8),
    "turning": walk(ICUB_GAIT, speed=0.12, turn_rate=0.2, steps=9, first_foot="right", offset=(0.02, -0.01)),
    "turning on the spot": walk(ICUB_GAIT, speed=0.0, turn_rate=-0.24, steps=6),
    "backwards, ZMP inward, soft ground": walk(
        replace(ICUB_GAIT, zmp_offset=(0.02, 0.01), ramp_steps=0), speed=-0.1, steps=5, ground_height=-0.01
    ),
    "from a crooked stance": walk(ICUB_GAIT, CROOKED, speed=0.1, seconds=8.0),
    "quick": walk(QUICK_GAIT, speed=0.4, turn_rate=0.5, steps=14, sole=SMALL_SOLE),
    "one step": walk(ICUB_GAIT, speed=0.1, steps=1),
}
