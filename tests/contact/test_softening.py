"""Steps in which Newton goes round among corners of the ground, and the way by softer ground out of them.

The steps were met among two million of an ANYmal under random torques and pushes, up to its trunk in sand: of the 59
that had not converged after 200 iterations six are kept (tests/data/steps).
"""

import json
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.contact import Newton
from softground.contact.guess import Guess
from softground.contact.softening import DECADES, LINGERING, PATIENCE, SOFTENED, is_softened, softness
from softground.robots import Robot
from softground.simulation import Control, Simulator

KEPT = Path(__file__).parents[1] / "data/steps/round_and_round.json"


@pytest.fixture(scope="module")
def found():
    """Problems, guesses, and how a solver ends on each: iterations, whether converged, and the solver's own measure of
    how far the minimum is below (J), by the whole Hessian."""
    document = json.loads(KEPT.read_text())
    simulator = Simulator(Robot.load(document["robot"]), media.named_medium(document["ground"]), document["dt"])
    start = simulator.initial_state()
    steps = [
        (one["state"]["q"], one["state"]["v"], tuple(one["state"]["twists"]), one["torque"])
        for one in document["steps"]
    ]
    batch = jax.tree.map(
        lambda *leaves: jnp.array(leaves), *[jax.tree.map(np.asarray, step, is_leaf=_listed) for step in steps]
    )

    def by(solver: Newton):
        def solved(step):
            q, v, twists, torque = step
            state = eqx.tree_at(lambda s: (s.q, s.v, s.twists), start, (q, v, twists))
            problem = simulator.problem(state, Control(torque))
            solution = solver(problem, Guess(state.v, state.twists))
            end = solution.velocity
            model = problem.local_model(end, problem.twists(end))
            gradient = problem.gradient(end, model.wrench, model.joint_force)
            left = gradient @ jnp.linalg.solve(problem.hessian(model), gradient)
            return solution.iterations, solution.converged, left, problem.objective(end)

        return jax.jit(lambda steps: jax.lax.map(solved, steps))(batch)

    return by


def _listed(leaf) -> bool:
    return isinstance(leaf, list)


def test_steps_that_go_round_arrive_by_way_of_softer_ground(found):
    iterations, converged, left, least = found(Newton())
    assert converged.all()
    assert (iterations <= 2 * (PATIENCE + SOFTENED)).all()
    assert (left < 1e-9).all()  # J; the kinetic energy of such a robot is hundreds
    _, stuck, far, above = found(replace(Newton(), softens=False))
    assert not stuck.any()
    assert (far > 1e-6).all()
    assert (least < above).all()


def test_what_ends_on_softened_ground_has_not_converged(found):
    for most in (PATIENCE + 1, PATIENCE + SOFTENED - 1):
        iterations, converged, _, _ = found(replace(Newton(), max_iterations=most))
        assert (iterations == most).all()
        assert not converged.any()


def test_the_ground_hardens_from_its_softest_to_what_it_is():
    count = jnp.arange(2 * (PATIENCE + SOFTENED))
    soft = np.asarray(jax.vmap(lambda k: softness(k, jnp.float64))(count))
    np.testing.assert_array_equal(soft[:PATIENCE], 1.0)
    middle = soft[PATIENCE : PATIENCE + SOFTENED]
    np.testing.assert_allclose(middle[:LINGERING], 10.0**DECADES)
    falls = middle[LINGERING:] / middle[LINGERING - 1 : -1]
    np.testing.assert_allclose(falls, falls[0])
    np.testing.assert_allclose(middle[-1] * falls[0], 1.0)  # the next is the ground as it is
    np.testing.assert_array_equal(soft, np.tile(soft[: PATIENCE + SOFTENED], 2))
    np.testing.assert_array_equal(is_softened(count), soft > 1)


@pytest.mark.parametrize("medium", [media.sand(), media.foam()], ids=["sand", "foam"])
def test_softened_forces_are_those_of_the_softened_potential(medium):
    """s Phi(u / s), by JAX's derivatives of it."""
    simulator = Simulator(Robot.load("foot"), medium)
    state = simulator.initial_state(height=-0.03)

    @jax.jit
    def forces(twists, s):
        (group,) = simulator.problem(state, Control(jnp.zeros(3))).contacts
        potential = lambda u: s * group.potential(u / s)  # noqa: E731
        return *group.response(twists, s), -jax.grad(potential)(twists), jax.hessian(potential)(twists)

    twists = jnp.array([[1e-5, -2e-5, 3e-5]])  # where the ground at its temperature of 1 mW is round
    for s in (1.0, 30.0):
        wrench, rate, first, second = forces(twists, s)
        np.testing.assert_allclose(wrench, first, rtol=1e-9, atol=1e-9)
        second = second[0, :, 0, :]
        np.testing.assert_allclose(rate[0], second, rtol=1e-8, atol=1e-9 * float(jnp.abs(second).max()))
