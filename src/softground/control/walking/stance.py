"""The two feet of a biped on the ground: which is which, where they stand and which way they look."""

from __future__ import annotations

from dataclasses import dataclass
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
