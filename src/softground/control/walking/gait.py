"""What a walk of a biped is made of, in numbers: durations, lengths, heights. Robots differ only here.

It begins with both feet on the ground: which is which, where they stand and which way they look.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import IntEnum

import jax
import numpy as np
from jaxtyping import Float

from softground.errors import OptionError, unknown_name
from softground.robots import Robot


class Side(IntEnum):
    """A foot, as index into arrays over feet."""

    LEFT = 0
    RIGHT = 1

    @property
    def other(self) -> Side:
        """The opposite foot."""
        return Side(1 - self)

    @property
    def outward(self) -> int:
        """Sign of y, to the left, on this side."""
        return 1 if self is Side.LEFT else -1

    @classmethod
    def named(cls, name: str) -> Side:
        """The side called "left" or "right"."""
        names = {side.name.lower(): side for side in cls}
        if name not in names:
            raise OptionError(unknown_name("first foot", name, names))
        return names[name]


@dataclass(frozen=True)
class Stance:
    """Poses of the two soles on the ground, left first."""

    position: np.ndarray
    """Centres, (2, 3), world, m."""
    yaw: np.ndarray
    """(2,), about the world's z, from x, rad."""

    def __post_init__(self):
        position, yaw = np.asarray(self.position, dtype=float), np.asarray(self.yaw, dtype=float)
        finite = np.isfinite(position).all() and np.isfinite(yaw).all()
        if position.shape != (2, 3) or yaw.shape != (2,) or not finite:
            raise OptionError(f"a stance needs finite positions (2, 3) and yaws (2,), got {position} and {yaw}")
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "yaw", np.unwrap(yaw))
        apart = (position[0] - position[1])[:2] @ leftward(self.heading)
        if apart <= 0:
            raise OptionError(
                f"the left foot of a stance must be left of the right one, got it {-apart:.3g} m to the right"
            )

    @classmethod
    def side_by_side(cls, width: float, height: float = 0.0) -> Stance:
        """About the origin, `width` apart, soles at a height (m), heading along x."""
        return cls(np.array([[0.0, width / 2, height], [0.0, -width / 2, height]]), np.zeros(2))

    @classmethod
    def of(cls, robot: Robot, q: Float[np.ndarray, " nq"] | None = None) -> Stance:
        """Where the feet of a robot are in configuration q (by default its posture)."""
        if len(robot.feet) != 2:
            raise OptionError(f"walking needs two feet, {robot.name} has {len(robot.feet)}")
        poses = jax.jit(lambda q: robot.foot_poses(q))(np.asarray(robot.posture if q is None else q, dtype=float))
        position, rotation = (np.asarray(part) for part in poses)
        return cls(position, np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0]))

    @property
    def middle(self) -> Float[np.ndarray, " 2"]:
        """Half way between the feet, m."""
        return self.position[:, :2].mean(axis=0)

    @property
    def heading(self) -> float:
        """Mean yaw of the feet, rad."""
        return float(self.yaw.mean())


def forward(yaw: float) -> Float[np.ndarray, " 2"]:
    """Unit vector (x, y) of a heading (rad)."""
    return np.array([np.cos(yaw), np.sin(yaw)])


def leftward(yaw: float) -> Float[np.ndarray, " 2"]:
    """Unit vector (x, y) to the left of a heading (rad)."""
    return np.array([-np.sin(yaw), np.cos(yaw)])


FLOATING_BASE = 6
"""Degrees of freedom without an actuator."""
CROUCH = 0.98
"""Height of the centre of mass in walking, of that in standing, as iCub's: 0.527 of 0.537 m."""


@dataclass(frozen=True)
class Gait:
    """Numbers of a walk, checked once. `dataclasses.replace` makes variants.

    The step length is the way forward from the foot that stands to the one that lands: a foot itself travels twice as
    far, and the robot walks at step length / step duration.
    """

    step_duration: float
    """s, from one lift-off to the next."""
    double_support_share: float
    """Share of the step's duration in which both feet are on the ground."""
    step_length_limit: float
    """m, forward, from the standing foot to the landing one."""
    step_width: float
    """m, between the two feet's centre lines."""
    swing_height: float
    """m, of the sole over the line from lift-off to touch-down."""
    com_height: float
    """m, of the centre of mass over the ground."""
    turn_limit: float
    """rad, of the landing foot against the standing one."""
    start_duration: float
    """s, both feet on the ground, from rest to the first lift-off."""
    end_duration: float
    """s, both feet on the ground, from the last touch-down to rest."""
    ramp_steps: int = 1
    """Steps shorter than the full one, at the start and at the end."""
    zmp_offset: tuple[float, float] = (0.0, 0.0)
    """m, forward and inward of the sole's centre: where the ZMP of a single support is."""
    gravity: float = 9.81
    """m/s2."""

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "zmp_offset":
                if np.shape(value) != (2,) or not np.isfinite(value).all():
                    raise OptionError(f"zmp_offset of a gait must be two lengths (m), got {value}")
            elif field.name == "ramp_steps":
                if value < 0 or value != int(value):
                    raise OptionError(f"ramp_steps of a gait must be a whole number from 0 on, got {value}")
            elif not (np.isfinite(value) and value > 0):
                raise OptionError(f"{field.name} of a gait must be positive, got {value}")
        if not self.double_support_share < 1:
            raise OptionError(
                f"double_support_share of a gait must lie between 0 and 1, got {self.double_support_share}"
            )

    @property
    def omega(self) -> float:
        """Natural frequency (rad/s) of the linear inverted pendulum: sqrt(gravity / com_height)."""
        return float(np.sqrt(self.gravity / self.com_height))

    @property
    def swing_duration(self) -> float:
        """From lift-off to touch-down (s)."""
        return (1 - self.double_support_share) * self.step_duration

    def largest_turn_rate(self) -> float:
        """Turning rate (rad/s) at which every step turns by `turn_limit`."""
        return self.turn_limit / self.step_duration

    def largest_speed(self, turn_rate: float = 0.0) -> float:
        """Speed (m/s) of the middle between the feet at which the longest step reaches the limit; see `footsteps`.

        On a circle the outer foot goes further: from the inner foot, in its frame, it lands (v / w + W / 2) sin(w T)
        ahead, for speed v, turning rate w, width W and step duration T.
        """
        turn = turn_rate * self.step_duration
        middle = self.step_length_limit / (self.step_duration * float(np.sinc(turn / np.pi)))
        return middle - self.step_width * abs(turn_rate) / 2


ICUB_GAIT = Gait(
    step_duration=1.25,
    double_support_share=0.3,
    step_length_limit=0.20,
    step_width=0.16,
    swing_height=0.02,
    com_height=0.52,
    turn_limit=0.3,
    start_duration=1.5,
    end_duration=1.5,
)
"""iCub as Romualdi et al. 2021 walk it; shares, limits of turning, start and end are ours."""

ICUB_SOFT_GAIT = replace(ICUB_GAIT, step_duration=1.0, double_support_share=0.4, com_height=0.527)
"""For soft ground: the weight moves more slowly from foot to foot, and steps are short enough for the ankles. Lower,
the trailing ankle meets its limit of 0.61 rad; higher, the knees are stretched on the softest ground."""

GAITS = {"icub": ICUB_SOFT_GAIT}
"""Robots with a gait of their own."""


def gait_for(robot: Robot) -> Gait:
    """A gait for soft ground: the robot's own where there is one, else that of iCub scaled to its size; its times are
    scaled to the robot's gravity."""
    check_walks(robot)
    gait = GAITS[robot.name] if robot.name in GAITS else _scaled(robot, ICUB_SOFT_GAIT)
    return _under_gravity(gait, float(np.linalg.norm(robot.gravity)))


def check_walks(robot: Robot) -> None:
    """Raise unless the robot can walk by the patterns of this package: two flat feet below a floating base."""
    shapes = [type(foot.shape).__name__ for foot in robot.feet if foot.shape.rolls]
    if len(robot.feet) != 2 or shapes:
        round_ones = f", {len(shapes)} of them round" if shapes else ""
        raise OptionError(f"walking needs two flat feet, {robot.name} has {len(robot.feet)} feet{round_ones}")
    if not np.any(robot.gravity):
        raise OptionError(f"walking needs gravity, {robot.name} has none")
    if robot.nv - robot.nu != FLOATING_BASE:
        raise OptionError(
            f"walking needs a floating base and an actuator at every joint; of the {robot.nv} degrees of freedom of "
            f"{robot.name} {robot.nv - robot.nu} have no actuator, which must be {FLOATING_BASE}"
        )


def _under_gravity(gait: Gait, gravity: float) -> Gait:
    """The same gait under another gravity (m/s2), by dynamic similarity: its pendulums fall in times that go as one
    over the root of gravity."""
    time = float(np.sqrt(gait.gravity / gravity))
    return replace(
        gait,
        step_duration=time * gait.step_duration,
        start_duration=time * gait.start_duration,
        end_duration=time * gait.end_duration,
        gravity=gravity,
    )


def _scaled(robot: Robot, gait: Gait) -> Gait:
    """The same gait for another size, by dynamic similarity: lengths as the height of the centre of mass, times as its
    square root, so that all the pendulums fall alike. The feet stay as far apart as they stand.

    Bent knees leave the legs room: the centre of mass walks as much below its height in the posture as iCub's does.
    """
    stance = Stance.of(robot)
    standing = float(robot.center_of_mass(robot.posture)[2] - stance.position[:, 2].mean())
    length = CROUCH * standing / gait.com_height
    time = float(np.sqrt(length))
    return replace(
        gait,
        step_duration=time * gait.step_duration,
        step_length_limit=length * gait.step_length_limit,
        step_width=float(np.linalg.norm(np.diff(stance.position[:, :2], axis=0))),
        swing_height=length * gait.swing_height,
        com_height=CROUCH * standing,
        start_duration=time * gait.start_duration,
        end_duration=time * gait.end_duration,
    )
