"""Robots in space: a free base among the unknowns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.media.named import sand
from softground.planning import ClosedForm, GaitProblem, InsideData
from softground.planning.constraints import Cycle, unit_quaternions
from softground.planning.layout import Layout, Unknowns
from softground.robots import Robot
from softground.simulation import Ground, Simulator

EPS, DT = 1.0, 0.02


@pytest.fixture(scope="module")
def anymal() -> Robot:
    return Robot.load("anymal")


def test_a_simulated_step_obeys_the_rows(anymal):
    """Met at its start, a step of the planner is the simulator's: turning base, quaternion and all."""
    ground, rng = Ground(sand(2.0)), np.random.default_rng(0)
    simulator = Simulator(anymal, ground.smoothed(EPS), DT)
    torque = rng.normal(size=anymal.nu)
    first = simulator.initial_state(v=0.3 * rng.normal(size=anymal.nv), height=-0.03)
    after = jax.jit(lambda state: simulator.step(state, jnp.asarray(torque))[0])(first)
    dynamics, layout = ClosedForm(anymal, ground, DT, collocation=0.0), Layout.of(anymal, 2, 12)
    q, v = np.stack([first.q, after.q]), np.stack([first.v, after.v])
    z = layout.put_together(Unknowns(q, v, dynamics.lift(q, v, EPS), torque[None], np.zeros(0)))
    rows = np.asarray(jax.jit(lambda z: dynamics.block(layout).all_rows(z, EPS))(z))
    # The step is solved to 1e-12 J: 1e-6 m/s of 30 kg at worst, 15 N m/s over dt, in units of 100 N.
    assert np.abs(rows).max() < 1e-5
    assert np.abs(after.q[3:7] - first.q[3:7]).max() > 1e-3  # it did turn


def test_only_the_first_quaternion_needs_a_row(anymal):
    """Steps of any length keep the length of a quaternion: of the next knot's nothing is said."""
    layout = Layout.of(anymal, 3, 12)
    (bounded,) = unit_quaternions(anymal, layout)
    np.testing.assert_array_equal(bounded.block.columns, [[3, 4, 5, 6]])
    q, v = jnp.asarray(anymal.posture), jnp.arange(18.0) / 9
    assert bounded.block.all_rows(jnp.zeros(layout.size).at[:19].set(q), EPS) == pytest.approx(np.ones((1, 1)))
    assert jnp.linalg.norm(anymal.integrate(q, v, 0.3)[3:7]) == pytest.approx(1.0, abs=1e-12)
    assert unit_quaternions(Robot.load("foot"), Layout(3, 3, 3, 3, 3)) == []


def test_a_cycle_says_nothing_twice(anymal):
    """Rows of a cycle, of its step and of the quaternion's length are independent: multipliers are what they are."""
    problem, layout = GaitProblem(anymal, Ground(sand(2.0)), 2, DT, costs=()), Layout.of(anymal, 2, 0)
    blocks = [one.block for one in (*unit_quaternions(anymal, layout), *Cycle().blocks(problem, layout))]

    def rows(z):
        q, v = z[layout.q_at(np.arange(2))], z[layout.v_at(1)]
        return jnp.concatenate([q[1] - anymal.integrate(q[0], v, DT), *(one.all_rows(z, EPS)[0] for one in blocks)])

    at = np.zeros(layout.size)
    at[layout.q_at(np.arange(2))] = anymal.posture
    slopes = np.asarray(jax.jit(jax.jacfwd(rows))(jnp.asarray(at)))
    assert np.linalg.matrix_rank(slopes) == len(slopes)


def test_round_feet_are_bounded_in_depth_alone(anymal):
    problem = GaitProblem(anymal, Ground(sand(2.0)), 3, DT, costs=())
    (bounded,) = InsideData().blocks(problem, Layout.of(anymal, 3, 12))
    assert len(bounded.upper) == 4
    assert np.isfinite(bounded.upper).all()
    rows = jax.jit(lambda q: bounded.block.rows(q, None, EPS))(jnp.asarray(anymal.posture))
    assert rows.shape == (4,)
