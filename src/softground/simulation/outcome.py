"""What comes of a step: the convex problem of all that may touch the ground, solved.

While no body beside the feet is near the ground, bodies are left out of the problem, and a step costs what it costs on
feet alone but for looking where they are. Where feet sink, the bodies that carry them are in it alone, or with those
next to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from softground.arrays import Array
from softground.contact.grains import metric_with_grains
from softground.contact.guess import Guess
from softground.contact.linear import solve_spd
from softground.contact.newton import BatchNewton, Newton
from softground.contact.problem import Contacts, StepProblem, Vectors, product
from softground.contact.solve import solve
from softground.media.base import FootInGround
from softground.simulation.actuators import Control, joint_law, open_loop_force
from softground.simulation.groups import FAR, BodyGroup, Group

if TYPE_CHECKING:
    from softground.simulation.simulator import Simulator, State


class Outcome(NamedTuple):
    """What comes of a step; entries of tuples are of groups."""

    velocity: Float[Array, " nv"]
    twists: Vectors
    guess: Vectors  # twists from which the next step starts: those with grains that move along, where these do
    wrenches: Vectors
    memory: tuple[Any, ...]
    iterations: Int[Array, ""]
    converged: Bool[Array, ""]


def outcome_of(
    simulator: Simulator, state: State, control: Control, groups: tuple[Group, ...], kin, placed: list[FootInGround]
) -> Outcome:
    """What comes of a step of a simulator."""
    clear, mass = in_the_air(simulator, state, control, groups, kin, placed)

    def solved(contacts: tuple[Contacts, ...]) -> Outcome:
        return _solved(simulator, state, replace(clear, contacts=contacts), mass)

    return bodies_if_near(
        simulator.robot, simulator.solver, groups, kin, state.v, placed, state.memory, solved, simulator.dt
    )


def bodies_if_near(
    robot: Any,
    solver: Newton,
    groups: tuple[Group, ...],
    kin,
    v,
    placed,
    memory,
    solved: Callable[[tuple[Contacts, ...]], Outcome],
    dt,
) -> Outcome:
    """What comes of a step: `solved(contacts)`, with the contacts of the first groups, and what the ground remembers of
    it. Bodies come in if one of them is near the ground, and what they meet there is only then looked at.

    In a batch on an accelerator (`BatchNewton`) both would be computed, so there they are never left out.
    """
    feet, bodies = split(groups)

    def with_memory(found: Outcome, of: slice, contacts: tuple[Contacts, ...]) -> Outcome:
        """With what the ground remembers of these groups, before what it does of later ones."""
        these = zip(groups[of], placed[of], memory[of], contacts[of], found.twists[of], strict=True)
        after = tuple(group.remember(one, before, own, moved, dt) for group, one, before, own, moved in these)
        return found._replace(memory=after + found.memory)

    if not bodies or isinstance(solver, BatchNewton):
        contacts = contacts_of(robot, groups, kin, placed, memory, dt)
        return with_memory(solved(contacts), slice(None), contacts)

    beside = zip(bodies, placed[len(feet) :], strict=True)
    near = [jnp.any(group.near(robot, kin, v, one, dt)) for group, one in beside]

    def without(contacts: tuple[Contacts, ...]) -> Outcome:
        found, clear = solved(contacts), groups[len(contacts) :]
        rest = tuple(jnp.zeros((len(group.members), group.size), v.dtype) for group in clear)
        left = tuple(_untouched(group, one) for group, one in zip(clear, memory[len(contacts) :], strict=True))
        return found._replace(
            twists=found.twists + rest,
            guess=found.guess + rest,
            wrenches=found.wrenches + rest,
            memory=left,
        )

    def up_to(ends: list[int], contacts: tuple[Contacts, ...] = ()) -> Outcome:
        """Solved with as few of the groups as will do, which end at one of these, beside those already looked at."""
        first, *later = ends
        added = slice(len(contacts), first)
        contacts += contacts_of(robot, groups[added], kin, placed[added], memory[added], dt)
        if later:
            touches = reduce(jnp.logical_or, near[first - len(feet) :])
            found = jax.lax.cond(touches, lambda: up_to(later, contacts), lambda: without(contacts))
        else:
            found = solved(contacts)
        return with_memory(found, added, contacts)

    ends = {len(feet) + sum(group.above_feet < end for group in bodies) for end in range(FAR + 2)}
    return up_to(sorted(ends))


def _untouched(group: Group, memory: Any) -> Any:
    assert isinstance(group, BodyGroup)
    return group.untouched(memory)


def _solved(simulator: Simulator, state: State, problem: StepProblem, mass: Float[Array, "nv nv"]) -> Outcome:
    """What comes of a step in which the groups of the problem may touch the ground, but for what it remembers."""
    solution = solve(problem, Guess(state.v, state.twists[: len(problem.contacts)]), simulator.solver)
    velocity, twists = solution.velocity, solution.twists
    if simulator.grain_inertia is not None:
        impulse = problem.dt * problem.generalised(solution.wrenches, solution.joint_force)
        velocity = solve_spd(mass, problem.momentum + impulse)
        twists = problem.twists(velocity)
    return Outcome(velocity, twists, solution.twists, solution.wrenches, (), solution.iterations, solution.converged)


def problem_of(
    simulator: Simulator, state: State, control: Control, groups: tuple[Group, ...], kin, placed: list[FootInGround]
) -> StepProblem:
    """The convex problem of this step, with all groups in it."""
    clear, _ = in_the_air(simulator, state, control, groups, kin, placed)
    return replace(clear, contacts=contacts_of(simulator.robot, groups, kin, placed, state.memory, simulator.dt))


def in_the_air(
    simulator: Simulator, state: State, control: Control, groups: tuple[Group, ...], kin, placed: list[FootInGround]
) -> tuple[StepProblem, Float[Array, "nv nv"]]:
    """The problem of this step without contacts, and the mass matrix of the robot (with joint damping)."""
    robot, dt = simulator.robot, simulator.dt
    inertia = robot.mass_matrix(kin)
    mass = inertia + dt * jnp.diag(robot.damping)
    springs = robot.passive_force(kin, jnp.zeros_like(state.v))
    drive = springs - robot.bias_force(kin, state.v) + open_loop_force(robot, control, state.v.dtype)
    metric = mass
    if simulator.grain_inertia is not None:
        touching = (placed[0].depth > 0)[:, None, None] * simulator.grain_inertia
        metric = metric_with_grains(mass, groups[0].jacobian(robot, kin, placed[0], at_sole=True), touching)
    joints = None
    if simulator.has_joint_forces or control.position is not None:
        joints = joint_law(robot, state.q, control, jnp.diag(inertia), dt)
    momentum = product(inertia, state.v) + dt * drive
    return StepProblem(metric, momentum, (), joints, dt), mass


def contacts_of(robot: Any, groups: tuple[Group, ...], kin, placed, memory, dt) -> tuple[Contacts, ...]:
    """What groups that may touch the ground meet there."""
    return tuple(
        group.contacts(robot, kin, one, before, dt) for group, one, before in zip(groups, placed, memory, strict=True)
    )


def split(groups: tuple[Group, ...]) -> tuple[tuple[Group, ...], tuple[BodyGroup, ...]]:
    """Groups of feet and of bodies."""
    bodies = tuple(group for group in groups if isinstance(group, BodyGroup))
    return groups[: len(groups) - len(bodies)], bodies
