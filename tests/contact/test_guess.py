"""Where solves start: extrapolated where the ground allows it, and servos as they move."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.contact.guess import Guess, steady
from softground.contact.problem import Contacts, StepProblem
from softground.control.trot import trot
from softground.media.wrench_space import SupportFunction
from softground.robots import Robot
from softground.simulation import Simulator
from softground.simulation.ground import Ground
from softground.surfaces import Plane

DT = 0.002


def two_vertices(eps=1e-3):
    """A foot that can be pushed with up to 10 N along +x or -x, and not otherwise."""
    return SupportFunction(jnp.array([[[10.0], [-10.0], [0.0]]]), jnp.array([eps]))


def problem():
    """A mass of 1 kg on such a foot."""
    one = jnp.ones((1, 1))
    return StepProblem(one, jnp.zeros(1), (Contacts(one[None], two_vertices()),), None, jnp.asarray(DT))


def guessed(last, before):
    kept = jnp.array([last, before, 2 * before - last])[:, None, None]  # on a straight line
    twists, model = jax.jit(lambda kept: Guess(jnp.zeros(1), (kept,)).model(problem()))(kept)
    wrench, stiffness = jax.jit(jax.vmap(lambda law, u: law.response(u)))(two_vertices(), twists[0])
    np.testing.assert_allclose(model.wrench[0], wrench, rtol=1e-12)
    np.testing.assert_allclose(model.stiffness[0], stiffness, rtol=1e-12)
    return float(twists[0][0, 0])


def test_a_steady_foot_is_extrapolated():
    """Within eps / 10 N = 1e-4 m/s the force is linear in the twist."""
    assert guessed(1e-5, 0.5e-5) == pytest.approx(1.5e-5, rel=1e-12)


def test_a_changing_foot_is_extrapolated_by_a_parabola():
    """t^2 at 3, 2 and 1 goes on as 16."""
    kept = 1e-7 * jnp.array([9.0, 4.0, 1.0])[:, None, None]
    assert float(Guess(jnp.zeros(1), (kept,)).model(problem())[0][0][0, 0]) == pytest.approx(16e-7, rel=1e-12)


def test_a_foot_that_slides_is_extrapolated():
    """There the force does not change, and any twist will do."""
    assert guessed(0.5, 0.4) == pytest.approx(0.6, rel=1e-12)


def test_a_foot_that_would_begin_to_slide_stays():
    """From sticking to sliding: 20 times eps / 10 N on, where no stiffness is left."""
    assert guessed(0.0, -2e-3) == 0.0


@pytest.mark.parametrize(("change", "stays"), [(1e-9, True), (1e-7, False)], ids=["steady", "changing"])
def test_a_foot_that_stands_steadily_stays(change, stays):
    """There the ground takes up DT 10^2/eps change^2 J: below 1e-14 J a second look at forces is spared."""
    last = 1e-5
    kept = jnp.array([last, last - change, last - 2 * change])[:, None, None]
    twists, _ = Guess(jnp.zeros(1), (kept,)).model(problem(), 1e-14)
    assert float(twists[0][0, 0]) == pytest.approx(last if stays else last + change, rel=1e-12)


def test_a_foot_that_slides_ever_slower_is_extrapolated():
    """There the ground takes up nothing, but what comes is not as what was."""
    kept = jnp.array([0.2, 0.3, 0.4])[:, None, None]
    assert float(Guess(jnp.zeros(1), (kept,)).model(problem(), 1e-12)[0][0][0, 0]) == pytest.approx(0.1)


def test_a_steady_guess_is_what_it_says():
    guess = steady(jnp.arange(3.0), (jnp.ones((1, 1)),))
    np.testing.assert_array_equal(guess.model(problem())[0][0], np.ones((1, 1)))


@pytest.fixture(scope="module")
def robosimian():
    robot = Robot.load("robosimian", posture="crouched")
    return robot, trot(robot, period=1.0, duty=0.65, step_length=0.25, lift=0.15)


@pytest.fixture(scope="module")
def anymal():
    robot = Robot.load("anymal")
    return robot, trot(robot, period=0.6, duty=0.6, step_length=0.1, lift=0.06)


@pytest.mark.parametrize(
    ("name", "ground"),
    [
        ("robosimian", Ground(media.sand(2.0))),
        ("robosimian", Ground(media.sand(2.0), Plane(slope=np.deg2rad(10.0)))),
        ("anymal", Ground(media.sand())),
        ("anymal", Ground(media.pebbles())),
    ],
    ids=["robosimian on sand", "robosimian uphill", "anymal on sand", "anymal on pebbles"],
)
def test_a_walking_step_takes_a_few_iterations(name, ground, request):
    """Feet land, stick, slide and lift, at the default temperature: mean at most 3, 99 of 100 within 10.

    With servos guessed at rest the mean is 7 to 11, and 99 of 100 within 18 to 33.
    """
    robot, gait = request.getfixturevalue(name)
    simulator = Simulator(robot, ground, DT, backend="native")
    start = simulator.initial_state(height=0.005)
    _, record = jax.jit(lambda state: simulator.rollout(state, gait, 900))(start)
    iterations = np.asarray(record.iterations)[250:]  # the feet begin to move at 0.5 s
    print(f"\n{name}: mean {iterations.mean():.1f}, 99 of 100 {np.percentile(iterations, 99):.0f}, {iterations.max()}")
    assert record.converged.all()
    assert iterations.mean() <= 3.0
    assert np.percentile(iterations, 99) <= 10
