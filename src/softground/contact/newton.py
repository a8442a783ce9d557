"""Damped Newton for the convex step, warm-started and with an exact line search; for one robot or for a batch.

At a low temperature the potentials are nearly piecewise linear: a plain Newton step overshoots the kinks and a
backtracking search creeps towards them. Finding the zero of the slope along the Newton direction instead (it
is monotone, because the problem is convex) lands *on* the kink, where the next Hessian sees it. Iteration
counts are in docs/contact.md.

Warm start: forces and stiffness at a guess (`contact/guess.py`) make a linear model of this step's forces; its
solution is the first iterate. Where many iterations do not suffice, the ground is softened for a while
(`contact/softening.py`).

In a batch (`jax.vmap`) a loop goes on until its slowest member is done, and on a GPU it asks the host after every
round: `BatchNewton` is the same solver with ceilings for the slow few, and looks up from a line search less often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Int

from softground.arrays import Array
from softground.contact.guess import Guess
from softground.contact.linear import solve_spd_fast
from softground.contact.problem import LocalModel, StepProblem, Vectors, product, total
from softground.contact.reduction import reduced, worthwhile
from softground.contact.softening import is_softened, softness
from softground.media.base import Derivatives, Law, LawAlongLine

#: Decrement, in units of the goal, from which a full Newton step mostly reaches it: steps converge quadratically.
WITHIN_REACH = 1e4


class Newton(eqx.Module):
    """Options of the solver, for one robot at a time."""

    max_iterations: int = eqx.field(static=True, default=200)
    max_line_search: int = eqx.field(static=True, default=50)
    tolerance: float = eqx.field(static=True, default=1e-12)  # J, on the Newton decrement, if rounding allows it
    sufficient: float = eqx.field(static=True, default=0.1)  # accept a slope below this share of the first
    # Line-search evaluations from one look at the result to the next:
    stride: int = eqx.field(static=True, default=1, metadata={"absent_from_old_files": True})
    # Whether steps that take many iterations go by way of softer ground:
    softens: bool = eqx.field(static=True, default=True, metadata={"absent_from_old_files": True})

    @jax.jit  # traced once for all steps of one kind, also across simulators
    def __call__(self, problem: StepProblem, guess: Guess | None = None) -> Solution:
        """Minimise; without a guess start from the free motion (a cold start)."""
        if guess is None:
            return self._minimise(problem, cold_start(problem))
        if not self._reduces(problem):
            return self._minimise(problem, warm_start(problem, guess, self.tolerance))
        return self._minimise_reduced(problem, guess)

    def _minimise(self, problem: StepProblem, first: Iterate) -> Solution:
        state = jax.lax.while_loop(self._unfinished, lambda s: self._iterate(problem, s), first)
        return finish(state, self._reached(state))

    def one_by_one(self) -> Newton:
        """The same where every robot goes its own way: on one core, or in native code, also that of a batch."""
        return self

    def _reduces(self, problem: StepProblem) -> bool:
        return worthwhile(problem)

    def _minimise_reduced(self, problem: StepProblem, guess: Guess) -> Solution:
        """Among the contacts' twists, as long as the joints stay on the pieces of their laws where they are guessed; if
        they do not, in v from there."""
        made = reduced(problem, guess.velocity)
        start = warm_start(made.smaller, guess._replace(velocity=jnp.zeros_like(made.smaller.momentum)), self.tolerance)
        found = self._minimise(made.smaller, start)
        v = made.velocity(found.velocity, found.wrenches, found.converged)
        finite = jnp.isfinite(v).all()
        solution = found._replace(velocity=v, joint_force=made.joint_force(v), converged=found.converged & finite)

        def rest() -> Solution:
            twists = problem.twists(v)
            here = newton_direction(problem, v, twists, problem.local_model(v, twists), found.iterations)
            return self._minimise(problem, here)

        return jax.lax.cond(made.holds(problem, v) | ~finite, lambda: solution, rest)

    def _unfinished(self, state: Iterate) -> Bool[Array, ""]:
        """What is not finite stays so: in a batch, all would wait for it to the last iteration."""
        hopeful = jnp.isfinite(state.decrement) & (state.iteration < self.max_iterations)
        return ~self._reached(state) & hopeful

    def _reached(self, state: Iterate) -> Bool[Array, ""]:
        """Whether an iterate is at the minimum, on the ground as it is."""
        reached = state.decrement <= state.goal(self.tolerance)
        return reached & ~is_softened(state.iteration) if self.softens else reached

    def _softness(self, iteration: Int[Array, ""], dtype) -> Float[Array, ""] | float:
        return softness(iteration, dtype) if self.softens else 1.0

    def _iterate(self, problem: StepProblem, state: Iterate) -> Iterate:
        """One step along the current direction, then the next direction from where it ends.

        Forces at the end of the full step say whether it overshoots; if it does not, as mostly, they are those of the
        next iterate.
        """
        one, count = jnp.ones_like(state.decrement), state.iteration + 1
        soft = self._softness(count, state.v.dtype)
        v, twists = state.at(one)
        model = problem.local_model(v, twists, soft)
        overshoots = self._too_far(
            state, (problem.gradient(v, model.wrench, model.joint_force) * state.direction).sum()
        )

        def shorter():
            looked = along(problem, state, soft)
            v, twists = state.at(self._search(state, looked, looked(one), overshoots))
            return v, twists, problem.local_model(v, twists, soft)

        v, twists, model = jax.lax.cond(overshoots, shorter, lambda: (v, twists, model))
        hessian = problem.hessian(model)
        new = _direction(problem, v, twists, model, hessian, count)
        goal = new.goal(self.tolerance)
        within_reach = (new.decrement > goal) & (new.decrement <= WITHIN_REACH * goal)
        if self.softens:
            within_reach = within_reach & ~is_softened(count)
        return jax.lax.cond(within_reach, lambda: self._beyond(problem, new, hessian), lambda: new)

    def _beyond(self, problem: StepProblem, state: Iterate, hessian: Float[Array, "n n"]) -> Iterate:
        """After one more full step, if that reaches the minimum as the same Hessian sees it."""
        v, twists = state.at(1.0)
        wrench, joint_force = problem.forces(v)
        model = state.model._replace(wrench=wrench, joint_force=joint_force)
        after = _direction(problem, v, twists, model, hessian, state.iteration)
        reached = after.decrement <= after.goal(self.tolerance)
        return jax.tree.map(lambda new, old: jnp.where(reached, new, old), after, state)

    def _too_far(self, state: Iterate, slope: Float[Array, ""]) -> Bool[Array, ""]:
        """Whether the objective rises at the end of the full step, where its slope along the direction is this."""
        return slope > self.sufficient * state.decrement

    def _search(
        self, state: Iterate, looked: Callable[..., Look], end: Look, overshoots: Bool[Array, ""]
    ) -> Float[Array, ""]:
        """Length of a step: 1, or where that is too far the zero of the slope on (0, 1).

        looked: what is seen along the direction, a function of the length. end: what is seen at 1.
        """
        enough = self.sufficient * state.decrement

        def refine(carry):
            search, count = carry
            for _ in range(self.stride):
                search = search.narrow(looked(search.length), enough, state)
            return search, count + self.stride

        def searching(carry):
            return ~carry[0].found & (carry[1] < self.max_line_search)

        # In a batch the loop goes on for all until the last has found its length: who needs none has found it.
        needed = overshoots & self._unfinished(state)
        whole = Bracket(looked(jnp.zeros_like(enough)), end, jnp.ones_like(enough), ~needed)
        return jax.lax.while_loop(searching, refine, (whole.propose(whole.lowest(state)), 0))[0].length


class BatchNewton(Newton):
    """The same for a batch: lower ceilings and a wider tolerance, and a line search looks at its result once.

    1e-7 J is 6e-5 m/s of 30 kg. Chosen on a GPU (docs/contact.md): among the ceilings with which all but a few in 10^5
    steps of ANYmals in float32, swaying or dropped from 10 cm, converge, these are the fastest.
    """

    max_iterations: int = eqx.field(static=True, default=20)
    max_line_search: int = eqx.field(static=True, default=3)
    tolerance: float = eqx.field(static=True, default=1e-7)
    stride: int = eqx.field(static=True, default=3, metadata={"absent_from_old_files": True})
    softens: bool = eqx.field(static=True, default=False, metadata={"absent_from_old_files": True})
    # Whether a robot's branches are its own; XLA computes both for the whole batch:
    branches: bool = eqx.field(static=True, default=False, metadata={"absent_from_old_files": True})

    def one_by_one(self) -> BatchNewton:
        """The ceilings are for batches that wait for their slowest: where none does, they are those of `Newton`."""
        alone = Newton()
        return replace(
            self,
            branches=True,
            softens=alone.softens,
            max_iterations=max(self.max_iterations, alone.max_iterations),
            max_line_search=max(self.max_line_search, alone.max_line_search),
        )

    def _reduces(self, problem: StepProblem) -> bool:
        """Only where the branch that goes on in v is taken by those who need it."""
        return self.branches and super()._reduces(problem)

    def _iterate(self, problem: StepProblem, state: Iterate) -> Iterate:
        """In a batch forces are evaluated once for all, where each ends: the slope alone says who has overshot."""
        count = state.iteration + 1
        soft = self._softness(count, state.v.dtype)
        looked = along(problem, state, soft)
        end = looked(jnp.ones_like(state.decrement))
        overshoots = self._too_far(state, state.inertial(end.length) + end.slope)
        v, twists = state.at(self._search(state, looked, end, overshoots))
        return newton_direction(problem, v, twists, problem.local_model(v, twists, soft), count)


class Look(NamedTuple):
    """The potentials of ground and joints over a step of this length along the direction, and their derivatives, J."""

    length: Float[Array, ""]
    value: Float[Array, ""]
    slope: Float[Array, ""]
    curvature: Float[Array, ""]


class Bracket(NamedTuple):
    """An interval of step lengths with the zero of the slope inside, and where to look next.

    The objective is a parabola plus potentials that are nearly straight between sharp corners. Newton's guess for the
    zero is right near a corner, and far off elsewhere. There the tangents at both ends of the interval meet where the
    corner is, if there is one: the next guess is the lowest point of the parabola plus the greater of the tangents.
    """

    low: Look
    high: Look
    length: Float[Array, ""]
    found: Bool[Array, ""]

    def _inside(self, length: Float[Array, ""]) -> Bool[Array, ""]:
        return (length > self.low.length) & (length < self.high.length)

    def propose(self, guess: Float[Array, ""]) -> Bracket:
        """Look at the guess next, or in the middle if it falls outside; not at all if the zero is found."""
        length = jnp.where(self._inside(guess), guess, (self.low.length + self.high.length) / 2)
        return self._replace(length=jnp.where(self.found, self.length, length))

    def narrow(self, seen: Look, enough: Float[Array, ""], state: Iterate) -> Bracket:
        """The interval after a look at `length`."""
        slope = state.inertial(seen.length) + seen.slope
        low, high = (
            Look(*(jnp.where(seen_there, new, old) for new, old in zip(seen, before, strict=True)))
            for seen_there, before in ((slope < 0, self.low), (slope >= 0, self.high))
        )
        found = self.found | (jnp.abs(slope) <= enough)
        narrower = Bracket(low, high, self.length, found)
        newton = seen.length - slope / (state.inertial_curvature + seen.curvature)
        return narrower.propose(jnp.where(narrower._inside(newton), newton, narrower.lowest(state)))

    def lowest(self, state: Iterate) -> Float[Array, ""]:
        """Where the parabola plus the greater of the tangents at both ends is lowest."""
        low, high = self.low, self.high
        gap = (low.value - low.length * low.slope) - (high.value - high.length * high.slope)
        meeting = gap / (high.slope - low.slope)
        left, right = (-(state.inertial_slope + end.slope) / state.inertial_curvature for end in (high, low))
        return jnp.clip(meeting, left, right)


class Solution(NamedTuple):
    """Minimiser of a step problem (m/s, rad/s), with the forces that go with it (N, N m)."""

    velocity: Float[Array, " nv"]
    twists: Vectors
    wrenches: Vectors
    joint_force: Float[Array, " nv"]
    iterations: Int[Array, ""]
    converged: Bool[Array, ""]


class Iterate(NamedTuple):
    """A velocity, the forces there, and the Newton direction from it."""

    v: Float[Array, " nv"]
    twists: Vectors
    model: LocalModel
    direction: Float[Array, " nv"]
    twist_direction: Vectors
    inertial_slope: Float[Array, ""]  # of the quadratic part of the objective along the direction, J
    inertial_curvature: Float[Array, ""]
    decrement: Float[Array, ""]  # -gradient . direction, J
    resolution: Float[Array, ""]  # what rounding leaves of the decrement at the minimum, J
    iteration: Int[Array, ""]

    def at(self, length) -> tuple[Float[Array, " nv"], Vectors]:
        """Velocity and twists after a step of this length along the direction."""
        moved = zip(self.twists, self.twist_direction, strict=True)
        return self.v + length * self.direction, tuple(u + length * along for u, along in moved)

    def inertial(self, length) -> Float[Array, ""]:
        """Slope of the quadratic part of the objective after a step of this length, J."""
        return self.inertial_slope + length * self.inertial_curvature

    def goal(self, tolerance: float) -> Float[Array, ""]:
        """Decrement at which the minimum is reached, J."""
        return jnp.maximum(tolerance, self.resolution)


def cold_start(problem: StepProblem) -> Iterate:
    """Newton direction from the motion without ground."""
    v = solve_spd_fast(problem.metric, problem.momentum)
    twists = problem.twists(v)
    return newton_direction(problem, v, twists, problem.local_model(v, twists), jnp.zeros((), jnp.int32))


def warm_start(problem: StepProblem, guess: Guess, tolerance: float) -> Iterate:
    """From the solution of the step whose forces are linear about the guess.

    The first direction uses the same Hessian again. Where the guess was good, as it mostly is, this second solve
    with one factorisation is all there is to do; where it was not, the iterate has overshot to where the ground has
    no stiffness, and this Hessian is the better one (measured: docs/contact.md).
    """
    twists, model = guess.model(problem, tolerance)
    hessian = problem.hessian(model)
    at_rest = tuple(w + fall for w, fall in zip(model.wrench, _fall(model, twists), strict=True))
    joints_at_rest = model.joint_force + model.joint_stiffness * guess.velocity
    v = solve_spd_fast(hessian, problem.momentum + problem.dt * problem.generalised(at_rest, joints_at_rest))
    wrench, joint_force = problem.forces(v)
    here = model._replace(wrench=wrench, joint_force=joint_force)
    return _direction(problem, v, problem.twists(v), here, hessian, jnp.zeros((), jnp.int32))


def _fall(model: LocalModel, twists: Vectors) -> Vectors:
    """How much less the wrenches are for these twists, in the linear model."""
    return tuple((rate * u[:, None]).sum(-1) for rate, u in zip(model.stiffness, twists, strict=True))


def newton_direction(problem: StepProblem, v, twists, model: LocalModel, iteration) -> Iterate:
    """Newton direction from v, where the forces are those of `model`."""
    return _direction(problem, v, twists, model, problem.hessian(model), iteration)


def _direction(problem: StepProblem, v, twists, model: LocalModel, hessian, iteration) -> Iterate:
    inertial = product(problem.metric, v) - problem.momentum
    gradient = inertial - problem.dt * problem.generalised(model.wrench, model.joint_force)
    direction = -solve_spd_fast(hessian, gradient)
    return Iterate(
        v,
        twists,
        model,
        direction,
        twist_direction=problem.twists(direction),
        inertial_slope=(inertial * direction).sum(),
        inertial_curvature=(direction * product(problem.metric, direction)).sum(),
        decrement=-(gradient * direction).sum(),
        resolution=_resolution(hessian, v),
        iteration=iteration,
    )


def along(
    problem: StepProblem, state: Iterate, softness: Float[Array, ""] | float = 1.0
) -> Callable[[Float[Array, ""]], Look]:
    """What is seen along the direction, on ground that is softened, as a function of the step length."""
    harder = 1 / softness
    groups = zip(problem.contacts, state.twists, state.twist_direction, strict=True)
    lines = [jax.vmap(each_line)(group.laws, *(harder * part for part in line)) for group, *line in groups]

    def look(length):
        ground = [
            jax.vmap(each_look)(line, jnp.broadcast_to(length, len(twists)))
            for line, twists in zip(lines, state.twists, strict=True)
        ]
        value, slope, curvature = (
            softness * total(part.sum() for part in parts) for parts in zip(*ground, strict=True)
        )
        if problem.joints is not None:
            v = state.v + length * state.direction
            force, rate = problem.joints.response(v)
            value = value + problem.joints.potential(v)
            slope = slope - (force * state.direction).sum()
            curvature = curvature + (rate * state.direction**2).sum()
        return Look(length, *(problem.dt * x for x in (value, slope, curvature)))

    return look


@jax.jit  # functions of their own, which native code can call for each foot
def each_line(law: Law, twist: Float[Array, " n"], direction: Float[Array, " n"]) -> LawAlongLine:
    return law.along(twist, direction)


@jax.jit
def each_look(line: LawAlongLine, length: Float[Array, ""]) -> Derivatives:
    return line.derivatives(length)


def _resolution(hessian: Float[Array, "nv nv"], v: Float[Array, " nv"]) -> Float[Array, ""]:
    """Decrement that rounding leaves at the minimum, J.

    A machine with relative spacing e holds v_i to e |v_i|, and makes momenta and twists of it with products and sums,
    each of which rounds alike: say four times that, dv_i = 4 e |v_i|. From the minimum it costs dv'H dv <= nv sum_i
    H_ii dv_i^2 (Cauchy and Schwarz), and no decrement below that means anything. In float32 an ANYmal (30 kg) that
    lands at 1.4 m/s has 4e-10 J, which is 4e-6 m/s of its mass; at rest it is far below any tolerance, and in float64
    always.
    """
    rounding = 4 * jnp.finfo(v.dtype).eps * v
    return len(v) * (jnp.diagonal(hessian) * rounding**2).sum()


def finish(state: Iterate, converged: Bool[Array, ""]) -> Solution:
    """Take the last step, and the forces of its linear model: a full step balances momentum to rounding.

    A step that has not converged stays where its last search ended: a full step could overshoot (of ANYmals stopped
    after two or three iterations the worst tenth would end 3 to 13 times as far above the minimum).
    """
    length = jnp.where(converged, 1.0, 0.0).astype(state.v.dtype)
    model = state.model
    v, twists = state.at(length)
    fall = _fall(model, state.twist_direction)
    return Solution(
        velocity=v,
        twists=twists,
        wrenches=tuple(w - length * change for w, change in zip(model.wrench, fall, strict=True)),
        joint_force=model.joint_force - length * model.joint_stiffness * state.direction,
        iterations=state.iteration,
        converged=converged & jnp.isfinite(v).all(),
    )
