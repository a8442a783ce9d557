"""One step of the ground under a model of MuJoCo: from what MuJoCo has computed to the ground's wrenches.

With the ground's wrenches f held at f_ref, MuJoCo's step ends with velocity v_ref. About there it answers to other
wrenches like a body of mass A (`answering.py`): v = v_ref + dt A^-1 J'(f - f_ref). The ground in turn answers to the
velocity with which the step ends, f_i = -dPhi_i/du (J_i v). Both together are the minimum over v of

    1/2 v'A v - b'v + dt sum_i Phi_i(J_i v),    b = A v_ref - dt J' f_ref,

the convex step of `softground.contact` with A and b from MuJoCo. docs/from_mujoco.md has the derivation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from softground.arrays import Array
from softground.bridges.mujoco.answering import DofRows, Rates, dof_law
from softground.bridges.mujoco.carrying import Carrier, Pose
from softground.contact.guess import KEPT, Guess
from softground.contact.newton import Newton
from softground.contact.problem import Contacts, StepProblem, product
from softground.contact.solve import solve
from softground.simulation.groups import Group, in_order
from softground.simulation.outcome import Outcome, bodies_if_near, split
from softground.surfaces import Surface


class Touching(NamedTuple):
    """What meets the ground, and what ground it meets."""

    carrier: Carrier
    groups: tuple[Group, ...]
    surface: Surface
    solver: Newton
    rates: Rates
    coupled: Bool[np.ndarray, "nv nv"]
    """Entries of A that may differ from zero."""


class Memory(NamedTuple):
    """What goes from one step to the next; entries are of groups."""

    ground: tuple[Any, ...]
    twists: tuple[Float[Array, "3 _ _"], ...]  # m/s, rad/s, surface frame: in the last steps, the latest first
    pushed: Float[Array, "2 c 6"]  # N, N m: wrenches in the last two steps, the latest first
    expected: Float[Array, "c 6"]  # with which the next step begins


class Given(NamedTuple):
    """What a step is made of, in fields of MuJoCo's or of ours."""

    pose: Pose
    dt: Float[Array, ""]
    mass: Float[Array, "nv nv"]  # M
    rates: Float[Array, " d"]  # D, as `Rates` has it
    rows: DofRows | None  # limits and dry friction of single dofs, if the model has any
    stiffness: Float[Array, "nv nv"] | None  # K of other constraints; None: there are none
    velocity: Float[Array, " nv"]  # with which the step begins
    reference: Float[Array, " nv"]  # with which it would end with the ground's wrenches as they are now
    applied: Float[Array, "c 6"]  # force and torque at xipos, world, on the bodies that the ground may touch
    pushed: Float[Array, "c 6"]  # what of them is the ground's, and not the user's
    memory: Memory


class Push(NamedTuple):
    """What the ground does in a step."""

    applied: Float[Array, "c 6"]  # rows of xfrc_applied with these wrenches instead
    pushed: Float[Array, "c 6"]  # what of them is the ground's
    velocity: Float[Array, " nv"]  # with which the step then ends, if MuJoCo answers as thought
    wrench_world: Float[Array, "f 6"]  # N, N m, on each foot about its origin
    normal: Float[Array, " f"]  # N, of it along the normal of the surface
    depth: Float[Array, " f"]  # m, positive below the surface
    tilt: Float[Array, " f"]  # rad
    twist: Float[Array, "f 6"]  # m/s, rad/s, of each foot at the end of the step, surface frame
    body_wrench_world: Float[Array, "b 6"]
    body_depth: Float[Array, " b"]  # m, of the deepest point
    jacobian: Float[Array, "r nv"]  # of all twists in the ground's problem
    speed: Float[Array, ""]  # m/s, rad/s, greatest component of all twists at the end of the step
    power: Float[Array, ""]  # W, of the ground on the robot at the end of the step
    stored: Float[Array, ""]  # J, in the ground as the step begins
    outside_data: Bool[Array, " f"]
    iterations: Int[Array, ""]
    converged: Bool[Array, ""]
    finite: Bool[Array, ""]
    changed: Bool[Array, ""]  # whether these wrenches are others than those that were held
    memory: Memory


def push(touching: Touching, given: Given) -> Push:
    """The ground's wrenches in this step."""
    carrier, groups, pose = touching.carrier, touching.groups, given.pose
    placed = [group.placed(carrier, pose, touching.surface) for group in groups]
    rates = touching.rates.matrix(given.rates, carrier.nv)
    mass = jnp.where(touching.coupled, given.mass, 0.0)
    metric = mass - given.dt * rates
    scale = jnp.diagonal(metric) / jnp.diagonal(mass)
    if given.stiffness is not None:
        root = jnp.sqrt(scale)
        metric = metric + root[:, None] * given.stiffness * root
    impulse = given.dt * _generalised(carrier, pose, given.pushed)
    momentum = product(metric, given.reference) - impulse
    joints = None
    if given.rows is not None:
        joints = dof_law(given.rows, scale, given.reference, given.dt)
        momentum = momentum - given.dt * joints.response(given.reference)[0]

    def solved(contacts: tuple[Contacts, ...]) -> Outcome:
        return _solved(touching, given, StepProblem(metric, momentum, contacts, joints, given.dt))

    outcome = bodies_if_near(
        carrier, touching.solver, groups, pose, given.velocity, placed, given.memory.ground, solved, given.dt
    )
    pushes = zip(groups, placed, outcome.wrenches, strict=True)
    wrench = [group.wrench_in_world(one, own) for group, one, own in pushes]
    power = sum((own * moved).sum() for own, moved in zip(outcome.wrenches, outcome.twists, strict=True))
    elastic = sum(
        group.stored_energy(one, memory).sum()
        for group, one, memory in zip(groups, placed, given.memory.ground, strict=True)
    )
    jacobian = [group.jacobian(carrier, pose, one) for group, one in zip(groups, placed, strict=True)]
    feet, bodies = split(groups)
    of_feet, of_bodies = slice(len(feet)), slice(len(feet), None)
    on_feet = in_order(feet, wrench[of_feet])
    on_bodies = in_order(bodies, wrench[of_bodies]) if bodies else jnp.zeros((0, 6))
    outward = in_order(feet, [one.surface[:, :, 2] for one in placed[of_feet]])
    deepest = [group.deepest(one) for group, one in zip(bodies, placed[of_bodies], strict=True)]
    pushed = _on_touched(carrier, pose, on_feet, on_bodies)
    followed = zip(outcome.guess, given.memory.twists, strict=True)
    return Push(
        applied=given.applied - given.pushed + pushed,
        pushed=pushed,
        velocity=outcome.velocity,
        wrench_world=on_feet,
        normal=(on_feet[:, :3] * outward).sum(1),
        depth=in_order(feet, [one.depth for one in placed[of_feet]]),
        tilt=in_order(feet, [one.tilt for one in placed[of_feet]]),
        twist=in_order(feet, [group.all_components(u) for group, u in zip(feet, outcome.twists, strict=False)]),
        body_wrench_world=on_bodies,
        body_depth=in_order(bodies, deepest) if bodies else jnp.zeros(0),
        jacobian=jnp.concatenate([one.reshape(-1, carrier.nv) for one in jacobian]),
        speed=jnp.concatenate([jnp.abs(u).ravel() for u in outcome.twists]).max(),
        power=jnp.asarray(power),
        stored=jnp.asarray(elastic),
        outside_data=in_order(
            feet, [group.outside_data(one) for group, one in zip(feet, placed[of_feet], strict=True)]
        ),
        iterations=outcome.iterations,
        converged=outcome.converged,
        finite=jnp.isfinite(pushed).all() & jnp.isfinite(outcome.velocity).all(),
        changed=(pushed != given.pushed).any(),
        memory=Memory(
            outcome.memory,
            tuple(jnp.stack([now, *last[:-1]]) for now, last in followed),
            jnp.stack([pushed, given.memory.pushed[0]]),
            expected(pushed, given.memory.pushed),
        ),
    )


def expected(now: Float[Array, "c 6"], before: Float[Array, "2 c 6"]) -> Float[Array, "c 6"]:
    """Wrenches of the next step, on every body by a line through the last two where such a line has just been nearer
    than the last wrench alone: where rounds begin near their end, fewer do."""
    last, last_but_one = before
    by_line, by_last = (((now - guess) ** 2).sum(1, keepdims=True) for guess in (2 * last - last_but_one, last))
    touches = (now != 0).any(1, keepdims=True)
    return jnp.where(touches & (by_line < by_last), 2 * now - last, now)


class Beginning(NamedTuple):
    """Wrenches with which a step begins, until the ground says which there are."""

    applied: Float[Array, "c 6"]  # rows of xfrc_applied
    pushed: Float[Array, "c 6"]  # what of them is the ground's


def beginning(
    rows: Float[Array, "c 6"], applied: Float[Array, "c 6"], pushed: Float[Array, "c 6"], wanted: Float[Array, "c 6"]
) -> Beginning:
    """Those that are expected. Of rows of xfrc_applied that are as the last step has left them (applied) what the
    ground has pushed goes; those that somebody has written since are all theirs."""
    held = jnp.where((rows == applied).all(1, keepdims=True), pushed, 0.0)
    return Beginning(rows - held + wanted, wanted)


def _solved(touching: Touching, given: Given, problem: StepProblem) -> Outcome:
    """What comes of a step in which the groups of the problem may touch the ground, but for what it remembers."""
    guess = Guess(given.reference, given.memory.twists[: len(problem.contacts)])
    found = solve(problem, guess, touching.solver)
    return Outcome(found.velocity, found.twists, found.twists, found.wrenches, (), found.iterations, found.converged)


def untouched(touching: Touching, pose: Pose) -> Memory:
    """Memory of ground in which feet and bodies have been where they are all along."""
    groups = touching.groups
    ground = tuple(group.initial_memory(group.placed(touching.carrier, pose, touching.surface)) for group in groups)
    wrenches = jnp.zeros((2, len(touching.carrier.touched), 6))
    twists = tuple(jnp.zeros((KEPT, len(group.members), group.size)) for group in groups)
    return Memory(ground, twists, wrenches, wrenches[0])


def _on_touched(carrier: Carrier, pose: Pose, on_feet, on_bodies) -> Float[Array, "c 6"]:
    """Wrenches of feet and bodies (about their origins) as those on the model's bodies, at xipos."""
    wrenches = jnp.concatenate([on_feet, on_bodies])
    places = jnp.concatenate(
        [carrier.foot_poses(pose)[0], *([carrier.touching_poses(pose)[0]] if carrier.bodies else [])]
    )
    numbers = np.array(carrier.hosts)
    arms = places - pose.xipos[numbers]
    moved = jnp.concatenate([wrenches[:, :3], wrenches[:, 3:] + jnp.cross(arms, wrenches[:, :3])], 1)
    which = numbers[None] == np.array(carrier.touched)[:, None]
    return (which[:, :, None] * moved).sum(1)


def _generalised(carrier: Carrier, pose: Pose, pushed: Float[Array, "c 6"]) -> Float[Array, " nv"]:
    """Generalised force of wrenches on the model's bodies, at xipos."""
    jacobians = carrier.jacobians(pose, carrier.carrying, pose.xipos[np.array(carrier.touched)])
    return (jacobians * pushed[:, :, None]).sum((0, 1))
