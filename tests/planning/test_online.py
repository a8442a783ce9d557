"""Planning while walking: the linear-quadratic problem and the horizon against other solvers, and what they do."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import quadprog
from scipy.optimize import minimize

from softground.errors import MediumError
from softground.media.named import foam
from softground.planning import solve, standard_stages
from softground.planning.online import Horizon, Replanning, answers
from softground.planning.online.horizon import Goal, Guess, Stage
from softground.planning.replay import replayed
from softground.planning.size import walking_eps
from softground.simulation import Ground, Simulator

from .foot_problem import foot_problem, level_flight

TIME_STEP, STEPS = 0.01, 4
SUNK = 0.08  # m, where sand carries it


@pytest.fixture(scope="module")
def plan():
    problem = foot_problem()
    start = level_flight(problem)
    start.q[:, 1] -= SUNK
    return solve(problem, start, stages=standard_stages(walking_eps(problem.robot)), progress=False)


@pytest.fixture(scope="module")
def controller(plan):
    return Replanning.of(plan, TIME_STEP, steps=STEPS)


@pytest.fixture(scope="module")
def solved(controller):
    return jax.jit(
        lambda strength, goal, guess, start, most: controller.horizon.solved(strength, goal, guess, start, most)
    )


def at_row(controller, row):
    every, reference = controller.every, controller.reference
    return jax.jit(lambda row: (reference.goal(row, every, STEPS), reference.guess(row, every, STEPS)))(row)


@pytest.mark.parametrize(("steps", "live"), [(3, 3), (5, 4)])
def test_a_step_solves_the_quadratic_programme(steps, live):
    """Against quadprog, all states, torques and twists being unknowns; behind the plan's end nothing moves."""
    rng = np.random.default_rng(steps)
    x, s, u = 4, 3, 2
    state_cost, push_cost = rng.uniform(0.5, 2.0, x), rng.uniform(0.5, 2.0, u)
    horizon = Horizon(None, np.zeros(u), np.zeros(u), state_cost, push_cost, np.ones(()))  # pyright: ignore
    on = (np.arange(steps) < live).astype(float)
    nothing = np.eye(s + x, x, -s)
    by_state = np.where(on[:, None, None], rng.normal(size=(steps, s + x, x)), nothing)
    stages = Stage(
        by_state, on[:, None, None] * rng.normal(size=(steps, s + x, u)), on[:, None] * rng.normal(size=(steps, s + x))
    )
    root = rng.normal(size=(x, x))
    goal = Goal(rng.normal(size=(steps + 1, x)), np.zeros((steps, u)), on, root @ root.T + np.eye(x))
    guess = Guess(
        rng.normal(size=(steps + 1, x)),
        np.zeros((steps, s)),
        on[:, None] * rng.normal(size=(steps, u)),
        np.zeros((steps, u, x)),
    )
    step = horizon.step(*jax.tree.map(jnp.asarray, (goal, guess, stages)))

    states, twists = (steps + 1) * x, steps * s
    weight = np.concatenate([*(on[:, None] * state_cost), np.zeros(x), np.zeros(twists), np.tile(push_cost, steps)])
    hessian = np.diag(weight + 1e-8)  # of what nothing is asked of
    hessian[states - x : states, states - x : states] += goal.value
    at = np.concatenate([guess.state.ravel(), np.zeros(twists), guess.push.ravel()])
    aim = np.concatenate([goal.state.ravel(), np.zeros(twists + steps * u)])
    equal, right = [np.eye(x, len(at))], [np.zeros(x)]
    for k in range(steps):
        rows = np.zeros((s + x, len(at)))
        rows[:, k * x : (k + 1) * x] = -stages.by_state[k]
        rows[:s, states + k * s : states + (k + 1) * s] = np.eye(s)
        rows[s:, (k + 1) * x : (k + 2) * x] = np.eye(x)
        rows[:, states + twists + k * u : states + twists + (k + 1) * u] = -stages.by_push[k]
        equal.append(rows)
        right.append(np.asarray(stages.off[k]))
    equal, right = np.concatenate(equal), np.concatenate(right)
    best = quadprog.solve_qp(hessian, hessian @ (aim - at), equal.T, right, len(right))[0]
    found = np.concatenate([step.state.ravel(), step.twist.ravel(), step.push.ravel()])
    np.testing.assert_allclose(found, best, atol=1e-6)


def test_stages_are_the_rows_to_first_order(controller):
    """Along any change of state and torque the rows stay as they are, and the offset takes them to nothing."""
    rng = np.random.default_rng(0)
    horizon, (goal, guess) = controller.horizon, at_row(controller, 15)
    stirred = guess._replace(
        state=guess.state + 0.01 * rng.normal(size=guess.state.shape),
        twist=jnp.asarray(guess.twist),
        push=jnp.asarray(5.0 * rng.normal(size=guess.push.shape)),
    )
    stages = jax.jit(lambda goal, guess: horizon.stages(1.2, goal, guess))(goal, stirred)
    rows = jax.jit(lambda guess: horizon.rows(1.2, goal, guess))
    small = 1e-6

    def slope(k, state, push, both):
        """Of the rows of step k, as its state, its torque and (twists, next state) change."""
        twists = guess.twist.shape[1]

        def at(length):
            return stirred._replace(
                state=stirred.state.at[k].add(length * state).at[k + 1].add(length * both[twists:]),
                twist=stirred.twist.at[k].add(length * both[:twists]),
                push=stirred.push.at[k].add(length * push),
            )

        return (rows(at(small))[k] - rows(at(-small))[k]) / (2 * small)

    here = rows(stirred)
    for k in range(STEPS):
        state, push = rng.normal(size=guess.state.shape[1]), rng.normal(size=guess.push.shape[1])
        both = stages.by_state[k] @ state + stages.by_push[k] @ push
        np.testing.assert_allclose(slope(k, state, push, both), 0.0, atol=2e-4)  # terms of 1e2 cancel
        np.testing.assert_allclose(slope(k, 0 * state, 0 * push, stages.off[k]), -here[k], atol=2e-4)


def test_on_the_plan_the_answer_is_the_plan(controller, solved):
    goal, guess = at_row(controller, 15)
    found, _ = solved(1.0, goal, guess, goal.state[0], 12)
    np.testing.assert_allclose(found.state, goal.state, atol=1e-5)
    np.testing.assert_allclose(found.push, 0.0, atol=1e-2)  # N m, of 100


@pytest.fixture(scope="module")
def by_row(controller):
    """What is asked of a horizon from a start, as functions of all unknowns in a row."""
    horizon, (goal, guess) = controller.horizon, at_row(controller, 15)
    sizes = np.cumsum([guess.state[1:].size, guess.twist.size])

    def unpacked(z, start):
        state, twist, push = jnp.split(z, sizes)
        state = jnp.concatenate([start[None], state.reshape(STEPS, -1)])
        return Guess(state, twist.reshape(guess.twist.shape), push.reshape(guess.push.shape), guess.gain)

    def rows(z, start, strength):
        return horizon.rows(strength, goal, unpacked(z, start)).ravel()

    return SimpleNamespace(
        cost=jax.jit(jax.value_and_grad(lambda z, start, _: horizon.cost(goal, unpacked(z, start)))),
        rows=jax.jit(rows),
        slope=jax.jit(jax.jacfwd(rows)),
        merit=jax.jit(lambda z, start, strength: horizon.merit(strength, goal, unpacked(z, start))),
    )


@pytest.mark.parametrize("strength", [1.0, 1.6])
def test_off_the_plan_the_answer_is_the_optimum_of_another_solver(controller, solved, by_row, strength):
    """SciPy's SLSQP on all unknowns at once, with derivatives by forward differentiation."""
    goal, guess = at_row(controller, 15)
    start = goal.state[0] + np.array([0.0, 0.005, 0.02, 0.15, -0.1, 0.0])
    found, _ = solved(strength, goal, guess, start, 60)
    packed = lambda one: np.concatenate([one.state[1:].ravel(), one.twist.ravel(), one.push.ravel()])  # noqa: E731
    best = minimize(
        by_row.cost, packed(guess), (start, strength), jac=True, method="SLSQP",
        constraints={"type": "eq", "fun": by_row.rows, "jac": by_row.slope, "args": (start, strength)},
        options={"maxiter": 200, "ftol": 1e-12},
    )  # fmt: skip
    assert best.success
    z = packed(found)
    assert np.abs(by_row.rows(z, start, strength)).max() < 1e-4
    assert by_row.cost(z, start, strength)[0] == pytest.approx(best.fun, rel=1e-3)
    assert by_row.merit(z, start, strength) < 0.5 * by_row.merit(packed(guess), start, strength)


def test_while_it_is_walked_the_strength_of_the_ground_is_found_out(plan, controller):
    report, run = replayed(plan, controller, strength=1.5)
    asked = answers(controller, run)
    assert asked.strength[0] == 1.0
    assert asked.strength[-1] == pytest.approx(1.5, rel=0.05)
    assert len(asked.milliseconds) == plan.trajectory.knots - 1
    assert asked.iterations.max() <= controller.most
    assert report.speed_kept == pytest.approx(1.0, abs=0.3)


def test_between_answers_torques_are_feedback_about_the_last_one_within_limits(plan, controller):
    simulator = Simulator(plan.problem.robot, plan.problem.ground, TIME_STEP)
    state = simulator.initial_state(plan.trajectory.q[0], plan.trajectory.v[0])
    memory = controller.init(state)
    _, on_plan = controller.answered(memory, state)
    np.testing.assert_allclose(on_plan.torque, controller.joints(state).torque, atol=1e-12)
    gain = jnp.ones_like(memory.newest.gain)
    memory = memory._replace(newest=memory.newest._replace(gain=gain), last=memory.last._replace(gain=gain))
    away = replace(state, v=state.v + 0.5)
    _, torque = controller.answered(memory, away)
    np.testing.assert_allclose(torque.torque, on_plan.torque - 3 * 0.5, atol=1e-9)
    _, torque = replace(controller, limit=np.full(3, 0.5)).answered(memory, away)
    assert np.abs(torque.torque).max() == pytest.approx(0.5)


def test_what_cannot_be_replanned_says_so(plan):
    other: Any = SimpleNamespace(problem=replace(plan.problem, ground=Ground(foam())), trajectory=plan.trajectory)
    with pytest.raises(MediumError, match="granular"):
        Replanning.of(other, TIME_STEP)
