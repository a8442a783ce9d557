"""Newton with a fixed number of iterations: the same minimiser, or a flag."""

import jax
import numpy as np
import pytest

from softground.contact import BatchNewton, Newton, solve

from .instances import DT, EPS, Instances, instances

COUNT = 100


@pytest.fixture(scope="module")
def batch() -> Instances:
    return Instances(*(part[:COUNT] for part in instances()))


@pytest.fixture(scope="module")
def exact(batch):
    return jax.jit(lambda p: jax.lax.map(lambda one: solve(one, None, Newton()), p))(batch.problems(EPS))


def run(solver: BatchNewton, problems, twists=None):
    """The whole batch at once, as on an accelerator."""
    if twists is None:
        return jax.jit(jax.vmap(lambda one: solve(one, None, solver)))(problems)
    return jax.jit(jax.vmap(lambda one, start: solve(one, start, solver)))(problems, twists)


@pytest.fixture(scope="module")
def many(batch):
    """30 iterations, asked to converge as far as Newton does.

    The default line search is short, for warm starts: with 4 evaluations a sixth of these cold starts has
    not converged after 30 iterations, with 8 all have.
    """
    return run(BatchNewton(iterations=30, line_search=8, tolerance=1e-12), batch.problems(EPS))


def test_many_iterations_reach_newtons_solution(batch, exact, many):
    """Both end with a decrement below 1e-12 J = |dv|_H^2, H at least the mass matrix."""
    assert many.converged.all()
    assert (many.iterations == 29).all()
    change = np.asarray(many.velocity - exact.velocity)
    energy = np.einsum("bi,bij,bj->b", change, batch.mass, change)
    print(f"\n|dv| between the solvers: {np.abs(change).max():.1e}, {energy.max():.1e} J")
    assert energy.max() < 4e-12
    assert np.abs(change).max() < 2e-6


def test_forces_balance_momentum(batch, many):
    force = np.einsum("bfn,bfnv->bv", many.wrenches, batch.jacobian)
    left = np.einsum("bij,bj->bi", batch.mass, many.velocity)
    assert np.abs(left - batch.momentum - DT * force).max() < 1e-9 * np.abs(batch.momentum).max()


@pytest.mark.parametrize("iterations", [1, 4])
def test_steps_that_have_not_converged_are_flagged(batch, exact, iterations):
    """From a cold start most need more; those without a flag are solved to the default tolerance, 1e-7 J."""
    few = run(BatchNewton(iterations=iterations), batch.problems(EPS))
    change = np.asarray(few.velocity - exact.velocity)
    energy = np.einsum("bi,bij,bj->b", change, batch.mass, change)
    converged = np.asarray(few.converged)
    print(f"\n{iterations} iterations from cold: {converged.mean():.0%} converged")
    assert np.isfinite(change).all()
    assert not converged.all()
    assert (energy[converged] < 1e-6).all()
    assert energy[~converged].max() > 1e-6  # the flag was needed
    if iterations > 1:
        assert converged.any()


def test_warm_start_at_the_solution_needs_one_iteration(batch, exact):
    again = run(BatchNewton(iterations=1), batch.problems(EPS), exact.twists)
    assert again.converged.all()
    assert np.abs(again.velocity - exact.velocity).max() < 2e-6


def test_nan_is_flagged_and_stays_in_its_step(batch):
    momentum = batch.momentum.copy()
    momentum[3, 0] = np.nan
    found = run(BatchNewton(iterations=4), batch._replace(momentum=momentum).problems(EPS))
    assert not found.converged[3]
    assert np.isfinite(np.delete(np.asarray(found.velocity), 3, axis=0)).all()
