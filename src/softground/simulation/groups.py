"""Groups: what meets the ground in one way, stacked, so that a step works on all of a group at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.contact.feet import Legged, bodies_in_ground, contact_jacobian, feet_in_ground, wrench_in_world
from softground.contact.problem import Contacts
from softground.errors import MediumError
from softground.media.base import COMPONENTS, FootInGround, FootMedium, Law, Medium
from softground.robots import Robot
from softground.simulation.outermost import Outermost
from softground.surfaces import Surface

FAR = 2
"""Bodies as far as this above the feet, and farther, are treated alike."""
CLEAR = 1e-3
"""Height (m) above which a body that does not move is clear of the ground."""


class Group(eqx.Module):
    """Feet of which the ground makes the same, up to numbers."""

    members: tuple[int, ...] = eqx.field(static=True)  # numbers of the feet
    medium: FootMedium  # what each of them meets (leading axis)

    @property
    def size(self) -> int:
        """Components of a twist."""
        return len(COMPONENTS[self.medium.kind])

    def placed(self, robot: Legged, kinematics, surface: Surface) -> FootInGround:
        """Where they are in the ground (leading axis)."""
        return feet_in_ground(robot, kinematics, surface, self._chosen(robot))

    def jacobian(self, robot: Legged, kinematics, placed: FootInGround, at_sole: bool = False) -> Array:
        """Jacobian (members, n, nv) of their twists, surface frame."""
        return contact_jacobian(placed, self._own(self._all_jacobians(robot, kinematics)), self.medium, at_sole)

    @staticmethod
    def _all_jacobians(robot: Legged, kinematics) -> Float[Array, "F 6 nv"]:
        return robot.foot_jacobians(kinematics)

    def _own(self, everyone: Float[Array, "F ..."]) -> Float[Array, "f ..."]:
        """Of what is known of all feet, that of the members."""
        return everyone if len(self.members) == len(everyone) else everyone[np.array(self.members)]

    def initial_memory(self, placed: FootInGround) -> Any:
        return jax.vmap(lambda medium, foot: medium.initial_memory(foot))(self.medium, placed)

    def contacts(self, robot: Legged, kinematics, placed: FootInGround, memory: Any, dt) -> Contacts:
        """Their part in the convex problem of a step."""
        laws = jax.vmap(each_law)(self.medium, placed, memory, jnp.broadcast_to(dt, placed.depth.shape))
        return Contacts(self.jacobian(robot, kinematics, placed), laws)

    def remember(self, placed: FootInGround, memory: Any, contacts: Contacts, twists, dt) -> Any:
        """What the ground remembers of them after a step."""
        steps = jnp.broadcast_to(dt, placed.depth.shape)
        return jax.vmap(each_memory)(self.medium, placed, memory, contacts.laws, twists, steps)

    def wrench_in_world(self, placed: FootInGround, wrenches: Float[Array, "f n"]) -> Float[Array, "f 6"]:
        return wrench_in_world(placed, wrenches, self.medium)

    def outside_data(self, placed: FootInGround) -> Bool[Array, " f"]:
        return jax.vmap(lambda medium, foot: medium.outside_data(foot))(self.medium, placed)

    def stored_energy(self, placed: FootInGround, memory: Any) -> Float[Array, " f"]:
        """Elastic energy (J) in the ground under each of them."""
        return jax.vmap(lambda medium, *args: medium.stored_energy(*args))(self.medium, placed, memory)

    def all_components(self, twists: Float[Array, "f n"]) -> Float[Array, "f 6"]:
        """Twists with all six components, those that the medium leaves out zero."""
        return jnp.zeros((len(self.members), 6), twists.dtype).at[:, COMPONENTS[self.medium.kind]].set(twists)

    def _chosen(self, robot: Legged) -> tuple[int, ...] | None:
        return None if self.members == tuple(range(len(robot.feet))) else self.members


@jax.jit  # a function of its own, which native code can make loops of
def each_law(medium: FootMedium, placed: FootInGround, memory: Any, dt: Float[Array, ""]) -> Law:
    return medium.law(placed, memory, dt)


@jax.jit
def each_memory(medium: FootMedium, placed: FootInGround, memory: Any, law: Law, twist: Float[Array, " n"], dt) -> Any:
    return medium.remember(placed, memory, law, twist, dt)


class BodyGroup(Group):
    """Bodies of which the ground makes the same, with the points that say how deep they are.

    Those that carry feet come first, in groups of their own, and then their neighbours: where a foot sinks they are in
    the ground long before the others, which then need not be in the problem (`outcome`).
    """

    outermost: Outermost
    above_feet: int = eqx.field(static=True)  # as of each `Body`, at most `FAR`

    def placed(self, robot: Legged, kinematics, surface: Surface) -> FootInGround:
        return bodies_in_ground(robot, kinematics, surface, self.members)

    @staticmethod
    def _all_jacobians(robot: Legged, kinematics) -> Float[Array, "F 6 nv"]:
        return robot.touching_jacobians(kinematics)

    def deepest(self, placed: FootInGround) -> Float[Array, " b"]:
        """Depth of the deepest point of each, m."""
        return placed.depth - self.outermost.lowest(placed.rotation[:, 2])

    def near(self, robot: Legged, kinematics, v, placed: FootInGround, dt) -> Bool[Array, " b"]:
        """Whether each may touch the ground in a step, moving at most twice as fast as now."""
        twist = self._own(robot.touching_twists(kinematics, v))
        linear, angular = (jnp.sqrt((part**2).sum(-1)) for part in (twist[:, :3], twist[:, 3:]))
        way = 2 * dt * (linear + angular * self.outermost.reach)
        return self.deepest(placed) + way + (CLEAR + self.outermost.gap + self.medium.overhang) > 0

    def untouched(self, memory: Any) -> Any:
        """What the ground remembers after a step in which none was near."""
        return jax.vmap(lambda medium, memory: medium.untouched(memory))(self.medium, memory)


def groups_of_bodies(medium: Medium, robot: Legged) -> tuple[BodyGroup, ...]:
    """The bodies of a robot that meet the ground, grouped by what a medium makes of them; those near feet first."""
    if not robot.bodies:
        return ()
    above = [FAR if body.above_feet is None else min(body.above_feet, FAR) for body in robot.bodies]
    found = []
    for between in range(FAR + 1):
        numbers = [number for number, own in enumerate(above) if own == between]
        shapes = {number: robot.bodies[number].shape for number in numbers}
        fitted = medium.under_bodies(list(shapes.values()), robot.planar) if shapes else ()
        for group in grouped(dict(zip(numbers, fitted, strict=True))):
            outermost = Outermost.of([shapes[number] for number in group.members], group.medium.at_points)
            found.append(BodyGroup(group.members, group.medium, outermost, between))
    return tuple(found)


def groups_under_feet(medium: Medium, robot: Legged) -> tuple[Group, ...]:
    """The feet of a robot, grouped by what a medium makes of them."""
    fitted = medium.under_feet([foot.shape for foot in robot.feet], robot.planar)
    return grouped(dict(enumerate(fitted)))


def grouped(fitted: Mapping[int, FootMedium]) -> tuple[Group, ...]:
    """What several meet, by their numbers, stacked where it is the same up to numbers."""
    kinds: dict[Any, list[int]] = {}
    for number, one in fitted.items():
        sort = one.kind, jax.tree.structure(one), tuple(map(np.shape, jax.tree.leaves(one)))
        kinds.setdefault(sort, []).append(number)
    return tuple(
        Group(tuple(members), jax.tree.map(_stacked, *(fitted[number] for number in members)))
        for members in kinds.values()
    )


def medium_under_feet(medium: Medium, robot: Robot) -> FootMedium:
    """What each foot meets (leading axis), for those who need feet of one kind (planning, estimation)."""
    groups = groups_under_feet(medium, robot)
    if len(groups) != 1:
        shapes = ", ".join(f"{foot.name}: {foot.shape}" for foot in robot.feet)
        raise MediumError(
            f"the feet of {robot.name} must be of one kind here, and {type(medium).__name__} treats flat, round and "
            f"rolling soles in different ways: got {shapes}; give all feet shapes of one type with "
            "Robot.load(..., feet={name: shape})"
        )
    return groups[0].medium


def in_order(groups: Sequence[Group], parts: Sequence[Array]) -> Array:
    """What groups say of their members (leading axis), in the order of the robot's feet."""
    if len(groups) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([group.members for group in groups]))
    return jnp.concatenate(list(parts))[order]


def _stacked(*leaves):
    """Leaves stacked: NumPy arrays while nothing is traced, so that they are constants of the program that steps."""
    return (jnp if any(isinstance(leaf, jax.Array) for leaf in leaves) else np).stack(leaves)
