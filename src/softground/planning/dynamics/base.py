"""How one knot leads to the next: the base of both forms."""

from __future__ import annotations

import abc

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import MediumError
from softground.media.base import COMPONENTS
from softground.media.wrench_space import WrenchSpace
from softground.planning.blocks import Block
from softground.planning.layout import Layout
from softground.robots import Robot
from softground.simulation.ground import Ground, medium_under_feet
from softground.surfaces import Surface


class Dynamics(eqx.Module):
    """Rows that hold when the robot moves from knot to knot as the simulator would in one step of `dt`.

    Both forms have the same solutions as `Simulator.step` with the same smoothing: pose and wrench set of a foot
    are those at the start of the step, its twist is that at the end.
    """

    robot: Robot
    surface: Surface
    feet_medium: WrenchSpace  # one per foot (leading axis)
    dt: float = eqx.field(static=True)

    def __init__(self, robot: Robot, ground: Ground, dt: float):
        self.robot, self.surface, self.dt = robot, ground.surface, float(dt)
        self.feet_medium = wrench_space_under_feet(robot, ground)

    @property
    @abc.abstractmethod
    def lifted(self) -> int:
        """Number of further unknowns of a step."""

    @abc.abstractmethod
    def block(self, layout: Layout) -> Block:
        """The rows of all steps."""

    @abc.abstractmethod
    def lift(self, q: np.ndarray, v: np.ndarray, torque: np.ndarray, eps: float) -> np.ndarray:
        """The further unknowns (N - 1, nl) that go with a trajectory."""

    @property
    def twist_size(self) -> int:
        """Components of a foot's twist."""
        return len(COMPONENTS[self.feet_medium.kind])


def wrench_space_under_feet(robot: Robot, ground: Ground) -> WrenchSpace:
    """The medium under each foot (leading axis); MediumError where planning has no derivatives of it."""
    medium = medium_under_feet(ground.medium, robot)
    if not isinstance(medium, WrenchSpace):
        raise MediumError(
            f"cannot plan on {type(ground.medium).__name__}: its force depends on what the ground remembers and has "
            "no derivative where a foot starts to slide; plan on granular ground (sand, pebbles, beads, or a "
            "learned medium), a WrenchSpace"
        )
    return medium


def steps_of(layout: Layout) -> np.ndarray:
    """Columns (N - 1, ...) of every step: q, v, lifted, torque of a knot, then q, v of the next."""
    step = np.arange(layout.knots - 1)
    here = [layout.q_at(step), layout.v_at(step), layout.lifted_at(step), layout.torque_at(step)]
    return np.concatenate([*here, layout.q_at(step + 1), layout.v_at(step + 1)], axis=1)


def split_step(layout: Layout, local: Float[Array, " w"]) -> tuple[Array, ...]:
    """q, v, lifted, torque (in units), next q, next v."""
    sizes = np.cumsum([layout.nq, layout.nv, layout.lifted, layout.nu, layout.nq])
    return tuple(jax.numpy.split(local, sizes))
