"""The bilevel form: eq 6 of zhu2021 solved, and equal to the closed form in the limit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

from softground.contact.feet import contact_jacobian, feet_in_ground
from softground.planning import Bilevel, ClosedForm, Stage, solve
from softground.planning.dynamics.bilevel import BarrierSupport, normaliser
from softground.planning.guesses import random_unknowns
from softground.planning.planner import DYNAMICS, GUESSES, stages_from
from softground.planning.stages import Damping, bilevel_stages, near_stages
from softground.planning.transcription import Transcription
from softground.simulation import Simulator

from .foot_problem import foot_problem, level_flight

Q, V = np.array([0.0, -0.03, 0.1]), np.array([0.2, -0.1, 0.3])  # a foot 3 cm deep that ploughs ahead
TORQUE = np.array([10.0, -5.0, 1.0])


@pytest.fixture(scope="module")
def bilevel() -> Bilevel:
    problem = foot_problem()
    return Bilevel(problem.robot, problem.ground, problem.dt)


@pytest.fixture(scope="module")
def next_velocity(bilevel):
    return jax.jit(lambda *arguments: bilevel.next_velocity(*arguments))


def test_barrier_law_is_the_gradient_of_a_convex_potential():
    vertices = np.random.default_rng(0).normal(size=(9, 3)) * 100
    vertices[-1] = 0.0
    law = BarrierSupport(jnp.asarray(vertices), jnp.asarray(0.5))
    twist = jnp.array([0.01, -0.02, 0.005])
    differentiated = jax.jit(lambda u: (jax.grad(law.potential)(u), jax.hessian(law.potential)(u)))
    (wrench, hessian), weights = jax.jit(lambda u: (law.response(u), law.weights(u)))(twist)
    np.testing.assert_allclose(wrench, -differentiated(twist)[0], rtol=1e-9)
    np.testing.assert_allclose(hessian, differentiated(twist)[1], rtol=1e-8)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.linalg.eigvalsh(hessian).min() > 0


def test_potential_along_a_line():
    """What line searches see is the potential's derivative."""
    law = BarrierSupport(jnp.array([[100.0, -50.0, 3.0], [-20.0, 150.0, 1.0], [0.0, 0.0, 0.0]]), jnp.asarray(0.2))
    twist, direction, step = jnp.array([0.01, -0.02, 0.1]), jnp.array([0.3, 0.1, -1.0]), 1e-5
    potential = jax.jit(lambda t: law.potential(twist + t * direction))
    value, slope, curvature = law.along(twist, direction).derivatives(jnp.asarray(0.1))
    ahead, here, behind = (float(potential(0.1 + shift)) for shift in (step, 0.0, -step))
    assert value == pytest.approx(here, rel=1e-12)
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)
    assert curvature == pytest.approx((ahead - 2 * here + behind) / step**2, rel=1e-3)


def test_normaliser_holds_over_ten_orders_of_magnitude():
    rng, find = np.random.default_rng(4), jax.jit(normaliser)
    for size in 10.0 ** np.arange(-4, 7):
        score = size * rng.normal(size=27)
        assert (1 / (score + find(score))).sum() == pytest.approx(1.0, abs=1e-9)


def test_weights_are_stationary_for_equation_6(bilevel, next_velocity):
    """The derivative of eq 6 by each weight is the same for all: the multiplier of their sum."""
    mu, dt, robot = 0.3, bilevel.dt, bilevel.robot
    velocity = next_velocity(Q, V, TORQUE, mu)

    def parts(q, v, velocity):
        kin = robot.kinematics(q)
        feet = feet_in_ground(robot, kin, bilevel.surface)
        jacobian = contact_jacobian(feet, robot.foot_jacobians(kin), bilevel.feet_medium)[0]
        medium, foot = jax.tree.map(lambda leaf: leaf[0], (bilevel.feet_medium, feet))
        vertices = medium.vertices(foot)
        weights = BarrierSupport(vertices, jnp.asarray(mu)).weights(jacobian @ velocity)
        return jacobian, vertices, weights, robot.mass_matrix(kin), robot.bias_force(kin, v)

    jacobian, vertices, weights, mass, bias = map(np.asarray, jax.jit(parts)(Q, V, velocity))
    force = TORQUE - bias

    def energy_after(w):
        reached = np.linalg.solve(mass, mass @ V + dt * (force + jacobian.T @ (w @ vertices)))
        return 0.5 * reached @ mass @ reached

    step = 1e-6
    slope = [(energy_after(weights + step * e) - energy_after(weights - step * e)) / (2 * step) for e in np.eye(27)]
    stationary = np.array(slope) - mu * dt / weights
    np.testing.assert_allclose(stationary, stationary.mean(), atol=1e-7 * np.abs(slope).max() + 1e-7)


def test_derivatives_by_the_implicit_function_theorem(next_velocity):
    step = 1e-6
    jacobians = jax.jit(jax.jacfwd(next_velocity, (0, 1, 2)))(Q, V, TORQUE, 0.3)
    for which, jacobian in enumerate(jacobians):
        for k in range(3):
            arguments = [[Q.copy(), V.copy(), TORQUE.copy()] for _ in range(2)]
            arguments[0][which][k] += step
            arguments[1][which][k] -= step
            ahead, behind = (next_velocity(*one, 0.3) for one in arguments)
            rate = np.asarray(ahead - behind) / (2 * step)
            np.testing.assert_allclose(jacobian[:, k], rate, rtol=1e-5, atol=1e-7)


def test_derivatives_of_the_whole_problem():
    """Jacobian and exact Hessian by the implicit function theorem, against differences, in forty columns."""
    problem, step, rng = foot_problem(), 1e-6, np.random.default_rng(1)
    transcription = Transcription(problem, Bilevel)
    nlp, z = transcription.nlp(0.3, "exact"), random_unknowns(problem, transcription.layout, seed=7)
    multipliers = rng.normal(size=nlp.n_rows)

    def jacobian(z):
        places = (nlp.jacobian_rows, nlp.jacobian_columns)
        return sp.coo_matrix((nlp.jacobian(z), places), shape=(nlp.n_rows, nlp.size)).toarray()

    places = (nlp.hessian_rows, nlp.hessian_columns)
    lower = sp.coo_matrix((nlp.hessian(z, 0.0, multipliers), places), shape=(nlp.size, nlp.size)).toarray()
    hessian = lower + np.tril(lower, -1).T - np.diag(Damping().diagonal(transcription.layout, z))
    here = jacobian(z)
    for k in rng.choice(nlp.size, 40, replace=False):
        shift = step * np.eye(nlp.size)[k]
        rate = (nlp.constraints(z + shift) - nlp.constraints(z - shift)) / (2 * step)
        # The inner problem is solved to 1e-12 J, the velocity of a foot of some kilograms to 1e-9 or so at worst.
        np.testing.assert_allclose(here[:, k], rate, atol=1e-3, rtol=1e-5)
        bent = (jacobian(z + shift) - jacobian(z - shift)).T @ multipliers / (2 * step)
        np.testing.assert_allclose(hessian[:, k], bent, atol=1e-5 * np.abs(hessian).max(), rtol=1e-4)


def test_tends_to_the_closed_form(next_velocity):
    """Both smoothings vanish in proportion: ten times less smoothing, ten times nearer to the sharp step."""
    problem = foot_problem()

    def sharp(eps):
        simulator = Simulator(problem.robot, problem.ground.smoothed(eps), problem.dt)
        return np.asarray(jax.jit(lambda s: simulator.step(s, jnp.asarray(TORQUE))[0].v)(simulator.initial_state(Q, V)))

    limit = sharp(1e-5)
    away = [np.abs(np.asarray(next_velocity(Q, V, TORQUE, mu)) - limit).max() for mu in (1e-2, 1e-3, 1e-4)]
    assert away[0] > 5 * away[1] > 25 * away[2]
    assert away[2] < 1e-3


def test_same_problem_in_both_forms():
    problem = foot_problem()
    stages = (Stage(0.1, iterations=80),)
    plans = [
        solve(problem, level_flight(problem), stages=stages, dynamics=form, progress=False)
        for form in (ClosedForm, Bilevel)
    ]
    for plan in plans:
        assert plan.report.violation <= 1e-3
        assert plan.metrics.velocity_error < 2e-3
    # With the curvature of its own steps the bilevel form reaches its optimum, as the closed form does.
    best = solve(problem, plans[1].trajectory, stages=near_stages(0.1), dynamics=Bilevel, progress=False)
    assert best.report.optimality <= 1e-6
    assert best.report.objective <= plans[1].report.objective


def test_steps_met_half_way_find_the_ground_in_time(bilevel):
    """A foot lands in the sand in steps of 40 ms: how deep it goes, against 512 steps.

    Met at its start, the first step ends deep in the ground that it has not felt.
    """

    @partial(jax.jit, static_argnums=(0, 1))
    def land(steps, collocation):
        dt = 0.16 / steps
        step = Bilevel(bilevel.robot, foot_problem().ground, dt, collocation)

        def advance(state, _):
            q, v = state
            reached = lambda v_next: step.next_velocity(step.met_pose(q, v_next), v, jnp.zeros(3), 1.0)  # noqa: E731
            v_next = jax.lax.fori_loop(0, 50, lambda _, v_next: (v_next + reached(v_next)) / 2, v)
            return (q + dt * v_next, v_next), None

        return jax.lax.scan(advance, (jnp.array([0.0, 0.005, 0.0]), jnp.array([0.0, -1.0, 0.0])), None, steps)[0]

    depth = {
        (steps, collocation): -float(land(steps, collocation)[0][1]) for steps in (4, 512) for collocation in (0.0, 0.5)
    }
    truth = depth[512, 0.5]
    assert depth[512, 0.0] == pytest.approx(truth, rel=0.02)
    assert abs(depth[4, 0.5] - truth) < 0.3 * abs(depth[4, 0.0] - truth)


def test_command_has_stages_for_every_form():
    """From a walk the bilevel form gets feasible by damping; smoothing grows with the temperature asked for."""
    for form in DYNAMICS.values():
        short, long = (stages_from(form, guess, 1.0) for guess in ("stride", "walk"))
        assert {"stride", "walk"} < set(GUESSES)
        assert sum(stage.iterations for stage in short) < sum(stage.iterations for stage in long)
    rough, first, last = stages_from(Bilevel, "walk", 2.0)
    assert {stage.eps for stage in (rough, first, last)} == {2 * bilevel_stages(1.0)[0].eps}
    assert first.damping.v > last.damping.v > rough.damping.v
    near = bilevel_stages(2.0, near=True)
    assert near[0].eps == rough.eps > near[-1].eps  # and sharper in the end, where a stride is near already
    assert near[-1].hessian == "exact"
