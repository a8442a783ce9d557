"""The solver in a batch: all members at once, in single precision, each to the minimum or to a flag."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.bench.motions import swaying
from softground.contact import BatchNewton, Newton
from softground.contact.guess import steady
from softground.contact.solve import solve
from softground.simulation import Simulator

from .instances import DT, EPS, Instances, instances

COUNT = 100


@pytest.fixture(scope="module")
def batch() -> Instances:
    return Instances(*(part[:COUNT] for part in instances()))


@pytest.fixture(scope="module")
def exact(batch):
    return jax.jit(lambda p: jax.lax.map(lambda one: solve(one, None, Newton()), p))(batch.problems(EPS))


def run(solver: Newton, problems, near=None):
    """The whole batch at once, as on an accelerator; `near`: solutions to start from."""
    if near is None:
        return jax.jit(jax.vmap(lambda one: solve(one, None, solver)))(problems)
    guesses = jax.vmap(steady)(near.velocity, near.twists)
    return jax.jit(jax.vmap(lambda one, guess: solve(one, guess, solver)))(problems, guesses)


#: From a cold start, to the tolerance of single robots: 1,000 of these problems took at most 23 iterations.
THOROUGH = BatchNewton(max_iterations=40, max_line_search=12, stride=6, tolerance=1e-12)


@pytest.fixture(scope="module")
def many(batch):
    return run(THOROUGH, batch.problems(EPS))


def test_a_batch_reaches_the_same_minimum(batch, exact, many):
    """Both end with a decrement below 1e-12 J = |dv|_H^2, H at least the mass matrix."""
    assert many.converged.all()
    assert many.iterations.min() < many.iterations.max() < 40
    change = np.asarray(many.velocity - exact.velocity)
    energy = np.einsum("bi,bij,bj->b", change, batch.mass, change)
    print(f"\n|dv| between the solvers: {np.abs(change).max():.1e}, {energy.max():.1e} J")
    assert energy.max() < 4e-12
    assert np.abs(change).max() < 2e-6


def test_forces_balance_momentum(batch, many):
    force = np.einsum("bfn,bfnv->bv", many.wrenches[0], batch.jacobian)
    left = np.einsum("bij,bj->bi", batch.mass, many.velocity)
    assert np.abs(left - batch.momentum - DT * force).max() < 1e-9 * np.abs(batch.momentum).max()


@pytest.mark.parametrize("iterations", [1, 4])
def test_steps_that_have_not_converged_are_flagged(batch, exact, iterations):
    """From a cold start most need more; those without a flag are solved to 1e-12 J, those with one lie higher."""
    few = run(replace(THOROUGH, max_iterations=iterations), batch.problems(EPS))
    change = np.asarray(few.velocity - exact.velocity)
    energy = np.einsum("bi,bij,bj->b", change, batch.mass, change)
    converged = np.asarray(few.converged)
    print(f"\n{iterations} iterations from cold: {converged.mean():.0%} converged")
    assert np.isfinite(change).all()
    assert not converged.all()
    assert (energy[converged] < 4e-12).all()
    assert energy[~converged].max() > 1e-6  # the flag was needed
    if iterations > 1:
        assert converged.any()


def test_a_step_that_has_not_converged_is_no_worse_than_the_iterations_before(batch, exact):
    """Every iteration lowers the objective, so stopping early must not raise it: a last full step would, by 0.1 J."""
    problems = batch.problems(EPS)
    objective = jax.jit(jax.vmap(lambda problem, v: problem.objective(v)))
    least = np.asarray(objective(problems, exact.velocity))
    excess = [
        np.asarray(objective(problems, run(replace(THOROUGH, max_iterations=n), problems).velocity)) - least
        for n in (1, 2, 4)
    ]
    print("\nabove the minimum, J:", *(f"{one.max():.2e}" for one in excess))
    # Values of up to 100 J are rounded to 1e-14 J; a converged step is above the minimum by less than 1e-12 J.
    assert (np.diff(excess, axis=0) < 1e-11).all()


def test_warm_start_at_the_solution_needs_no_iteration(batch, exact):
    again = run(replace(THOROUGH, max_iterations=1), batch.problems(EPS), exact)
    assert again.converged.all()
    assert again.iterations.max() <= 1
    assert np.abs(again.velocity - exact.velocity).max() < 2e-6


def test_nan_is_flagged_and_stays_in_its_step(batch):
    momentum = batch.momentum.copy()
    momentum[3, 0] = np.nan
    found = run(BatchNewton(max_iterations=4), batch._replace(momentum=momentum).problems(EPS))
    assert not found.converged[3]
    assert found.iterations[3] == 0  # nobody waits for it
    assert np.isfinite(np.delete(np.asarray(found.velocity), 3, axis=0)).all()


# -- single precision ------------------------------------------------------------------------------

ROBOTS, STEPS = 64, 200


@pytest.fixture(scope="module")
def drop():
    """ANYmals dropped in sand from 1 and 10 cm with random velocities, swaying as in `bench batch`: float32.

    They fall, land between 40 and 180 ms, the feet slide and come to rest. Kept are the states of the way, and of
    every step how it was solved.
    """
    motion = swaying("anymal")
    sim = Simulator(motion.robot, media.sand(eps=0.02), 0.002, solver=BatchNewton())
    starts = []
    for seed, height in enumerate((0.01, 0.1)):
        one = sim.initial_state(height=height, dtype=jnp.float32)
        states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (ROBOTS // 2, *leaf.shape)), one)
        velocity = 0.1 * jax.random.normal(jax.random.key(seed), states.v.shape, jnp.float32)
        starts.append(eqx.tree_at(lambda s: s.v, states, velocity))
    states = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *starts)

    def advance(states, _):
        after, record = jax.vmap(lambda state: sim.step(state, motion.policy(state)))(states)
        return after, (states, record.converged, record.iterations)

    way = jax.jit(lambda s: jax.lax.scan(advance, s, None, length=STEPS)[1])(states)
    return sim, motion, *way


def test_every_step_of_a_batch_in_single_precision_converges(drop):
    """Three iterations with three looks along the line left 5 to 37 % of these steps unconverged.

    Of 13 million such steps with other seeds, on a GPU, a few in 10^5 had not converged after 12 iterations, of 20
    allowed. One in a thousand may fail here, for the sake of other seeds, processors and libraries.
    """
    _, _, _, converged, iterations = drop
    iterations = np.asarray(iterations)
    print(f"\niterations: mean {iterations.mean():.2f}, greatest {iterations.max()}")
    assert np.mean(converged) >= 0.999
    assert 0.1 < iterations.mean() < 2  # a batch whose steps never needed any would prove nothing, many are slow
    assert iterations.max() > 4


def test_single_precision_finds_the_minimum_of_double(drop):
    """The same steps in double, from the same states; in single precision as far as rounding allows.

    Two things part them. The solver stops at a decrement (|dv|_H^2, H at least the mass matrix) of nv (2 e)^2 sum_i
    H_ii v_i^2, with e = 1.2e-7 and, for the fastest of these ANYmals, a sum of 100 J: 1e-10 J. And the problem's data
    are rounded: a height of 0.5 m to 3e-8 m, so forces of 300 N that grow to it over 1 cm to 1e-3 N or, in 2 ms, 2e-6
    N s; momenta of 40 kg m/s to 2e-6 N s: each some 1e-13 J of 30 kg, ten times that of the legs. Twice the sum.
    """
    sim, motion, states, _, _ = drop
    chosen = jax.tree.map(lambda leaf: leaf[::9, ::5].reshape(-1, *leaf.shape[2:]), states)
    exact, thorough = (eqx.tree_at(lambda s: s.solver, sim, solver) for solver in (Newton(), THOROUGH))

    def double(state):
        state = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), state)
        return exact.step(state, motion.policy(state))[0].v, sim.robot.mass_matrix(sim.robot.kinematics(state.q))

    velocity, mass = jax.jit(lambda s: jax.lax.map(double, s))(chosen)
    after, record = jax.jit(jax.vmap(lambda state: thorough.step(state, motion.policy(state))))(chosen)
    change = np.asarray(after.v - velocity)
    energy = np.einsum("bi,bij,bj->b", change, mass, change)[np.asarray(record.converged)]
    print(f"\n|dv|_M^2 to double: median {np.median(energy):.1e}, greatest {energy.max():.1e} J")
    assert np.mean(record.converged) >= 0.999
    assert energy.max() < 2e-10
