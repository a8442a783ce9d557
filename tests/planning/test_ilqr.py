"""Iterative LQR: one sweep solves a linear-quadratic problem, several solve a pendulum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.planning.ilqr import Horizon, ShortProblem, improved, receding, rolled_out

A = np.array([[1.0, 0.1], [0.0, 0.95]])
B = np.array([[0.0], [0.2]])
START = np.array([1.0, -0.5])
LENGTH = 12


def linear() -> ShortProblem:
    return ShortProblem(lambda x, u: A @ x + B @ u, lambda x, u: x @ x + 0.1 * (u @ u), lambda x: 3 * (x @ x))


def test_one_sweep_solves_a_linear_problem():
    """The states are linear in the controls, so the optimum is that of a least-squares problem in all controls."""
    powers = [np.linalg.matrix_power(A, k) for k in range(LENGTH + 1)]
    free = np.stack([power @ START for power in powers])
    forced = np.zeros((LENGTH + 1, 2, LENGTH))
    for k in range(1, LENGTH + 1):
        for j in range(k):
            forced[k, :, j] = (powers[k - 1 - j] @ B)[:, 0]
    weight = np.sqrt(np.array([1.0] * LENGTH + [3.0]))[:, None]
    matrix = np.concatenate([(weight[..., None] * forced).reshape(-1, LENGTH), np.sqrt(0.1) * np.eye(LENGTH)])
    target = -np.concatenate([(weight * free).reshape(-1), np.zeros(LENGTH)])
    expected = np.linalg.lstsq(matrix, target, rcond=None)[0]

    @jax.jit
    def swept(start, controls):
        plan = rolled_out(linear(), start, controls)
        return improved(linear(), plan._replace(damping=jnp.asarray(0.0)))

    found = swept(START, np.zeros((LENGTH, 1)))
    np.testing.assert_allclose(found.controls[:, 0], expected, atol=1e-10)
    assert float(found.cost) == pytest.approx(np.square(matrix @ expected - target).sum(), rel=1e-10)


def pendulum() -> ShortProblem:
    """A pendulum that hangs at 0, held at 0.8 rad by an actuator."""
    step = lambda x, u: x + 0.05 * jnp.stack([x[1], u[0] - 9.81 * jnp.sin(x[0]) - 0.2 * x[1]])  # noqa: E731
    cost = lambda x, u: (x[0] - 0.8) ** 2 + 0.1 * x[1] ** 2 + 1e-3 * (u @ u)  # noqa: E731
    return ShortProblem(step, cost, lambda x: 10 * (x[0] - 0.8) ** 2)


def test_sweeps_reach_a_stationary_point_and_never_raise_the_cost():
    problem, start = pendulum(), jnp.zeros(2)
    plan = jax.jit(lambda controls: rolled_out(problem, start, controls))(jnp.zeros((20, 1)))
    sweep = jax.jit(lambda plan: improved(problem, plan))
    costs = [float(plan.cost)]
    for _ in range(20):
        plan = sweep(plan)
        costs.append(float(plan.cost))
    assert (np.diff(costs) <= 0).all()
    slope = jax.jit(jax.grad(lambda controls: rolled_out(problem, start, controls).cost))(plan.controls)
    assert float(jnp.abs(slope).max()) < 1e-6


def test_receding_horizon_holds_the_pendulum():
    walk = jax.jit(lambda horizon: receding(pendulum(), horizon, 60))
    end, states, controls = walk(Horizon.at(jnp.zeros(2), jnp.zeros((20, 1))))
    assert states.shape == (60, 2)
    np.testing.assert_array_equal(end.state, states[-1])
    replayed = jax.jit(
        lambda controls: jax.lax.scan(lambda x, u: 2 * (pendulum().step(x, u),), jnp.zeros(2), controls)
    )(controls)[1]
    np.testing.assert_allclose(states, replayed, atol=1e-9)
    assert float(states[-1, 0]) == pytest.approx(0.8, abs=0.05)
