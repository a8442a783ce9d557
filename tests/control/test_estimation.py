"""Estimation of the ground: against batch least squares, and on feet that move, land, stand still and tremble."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.control import Estimate, Estimator
from softground.errors import OptionError
from softground.media import Noisy, ViscoElastic
from softground.media.visco_elastic import lemma, patch
from softground.media.visco_elastic.lemma import Pose
from softground.robots import Box, Robot
from softground.simulation import Simulator

DT, SIGMA = 1e-3, 5.0
SOLE = Box(0.19, 0.09, 0.02)  # iCub's
TRUTH = np.array([8e5, 1e4])
GUESS = TRUTH / 4


@eqx.filter_jit
def over(estimator: Estimator, guess: Estimate, wrenches, regressors, touches, instruments=None) -> Estimate:
    return estimator.over(guess, wrenches, regressors, touches, instruments)


@partial(jax.jit, static_argnames="count")
def stance(count: int):
    """Regressors (n, 6, 2) of a foot with some 14 kg on it that sways by millimetres and a degree, at 2 to 4 Hz."""
    t = DT * jnp.arange(count)

    def pose(t):
        sway = 2 * jnp.pi * jnp.array([2.0, 3.0, 4.0, 2.5, 3.5, 2.0]) * t
        offsets = jnp.array([2e-3, 1e-3, 3e-3, 0.01, 0.02, 0.01]) * jnp.sin(sway)
        centre = jnp.array([0.0, 0.0, -0.01]) + offsets[:3]
        return jnp.concatenate([centre, offsets[3:]])

    def regressor(t):
        here, rate = jax.jvp(pose, (t,), (jnp.ones(()),))
        turn = jnp.eye(3) + jnp.cross(jnp.eye(3), -here[3:])  # the angles are small
        return lemma.regressor(patch(SOLE), Pose(jnp.zeros(3), jnp.eye(3)), Pose(here[:3], turn), rate)

    return jax.vmap(regressor)(t)


def measured(regressors, parameters, seed: int) -> np.ndarray:
    """Wrenches with noise."""
    noise = SIGMA * np.random.default_rng(seed).normal(size=regressors.shape[:2])
    return np.einsum("tij,...j->ti", regressors, parameters) + noise


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
def test_recursive_estimates_are_those_of_batch_least_squares(forgetting):
    """Weighted with the inverse of the noise and powers of the forgetting factor; the first guess is one more row."""
    random, count = np.random.default_rng(0), 200
    sigmas = np.array([5.0, 4.0, 6.0, 0.5, 0.4, 0.6])
    estimator = Estimator(sigmas, stiffness_deviation=3e5, damping_deviation=2e4, forgetting=forgetting)
    regressors = random.normal(size=(count, 6, 2)) * [1e-4, 1e-3]
    wrenches = regressors @ TRUTH + sigmas * random.normal(size=(count, 6))
    found = over(estimator, estimator.start(*GUESS), wrenches, regressors, np.ones(count, bool))

    deviations = np.array([3e5, 2e4])
    for after in (1, 7, count):
        weights = np.sqrt(forgetting) ** np.arange(after)[::-1, None] / sigmas
        rows = [
            (weights[..., None] * regressors[:after] * deviations).reshape(-1, 2),
            np.sqrt(forgetting) ** after * np.eye(2),
        ]
        sides = [(weights * wrenches[:after]).ravel(), np.sqrt(forgetting) ** after * GUESS / deviations]
        design = np.concatenate(rows)
        batch = deviations * np.linalg.lstsq(design, np.concatenate(sides), rcond=None)[0]
        np.testing.assert_allclose(found.parameters[after - 1], batch, rtol=1e-10)
        covariance = deviations[:, None] * np.linalg.inv(design.T @ design) * deviations
        np.testing.assert_allclose(found.covariance[after - 1], covariance, rtol=1e-8)
    np.testing.assert_allclose(found.standard_deviations[-1], np.sqrt(np.diag(covariance)), rtol=1e-8)


def test_estimates_are_within_5_percent_in_less_than_a_second():
    """From a guess wrong by a factor of 4, with noise of 5 N and 5 N m on every component: in each of 50 runs."""
    regressors, estimator = stance(1000), Estimator(SIGMA)
    runs = np.stack([measured(regressors, TRUTH, seed) for seed in range(50)])
    found = jax.vmap(lambda run: over(estimator, estimator.start(*GUESS), run, regressors, jnp.ones(1000, bool)))(runs)
    errors = np.abs(np.asarray(found.parameters) / TRUTH - 1)
    settled = ((errors > 0.05) * np.arange(1, 1001)[:, None]).max(1)  # samples up to the last one outside
    print(f"\nwithin 5 % for good after {DT * settled.max(0)} s (k, b), median {DT * np.median(settled, axis=0)} s")
    assert (errors[:, -1] < 0.05).all()
    assert (settled < 1000).all()
    # The claimed covariance is that of the errors: e'P^-1 e has mean 2 and standard deviation 2.
    off = np.asarray(found.parameters[:, -1]) - TRUTH
    squared = np.einsum("ri,rij,rj->r", off, np.linalg.inv(found.covariance[:, -1]), off)
    assert abs(squared.mean() - 2) < 4 * 2 / np.sqrt(50)


def test_covariance_is_reset_when_the_foot_comes_down():
    """Another ground after a swing: with the reset it is found in less than a second, without it long after."""
    regressors = np.array(stance(2200))
    touches = np.ones(2200, bool)
    touches[1000:1200] = False
    truth = np.where(np.arange(2200)[:, None] < 1100, TRUTH, [2e6, 1e4])
    wrenches = np.einsum("tij,tj->ti", regressors, truth) + SIGMA * np.random.default_rng(0).normal(size=(2200, 6))
    wrenches[~touches], regressors[~touches] = np.nan, np.nan  # what a foot in the air measures does not matter
    estimator = Estimator(SIGMA)
    found = over(estimator, estimator.start(*GUESS), wrenches, regressors, touches)
    assert np.isfinite(found.parameters).all()
    np.testing.assert_array_equal(found.parameters[1000:1200], np.broadcast_to(found.parameters[999], (200, 2)))
    np.testing.assert_array_equal(found.covariance[1000:1200], np.broadcast_to(found.covariance[999], (200, 2, 2)))
    np.testing.assert_allclose(found.parameters[999], TRUTH, rtol=0.05)
    np.testing.assert_allclose(found.parameters[-1], [2e6, 1e4], rtol=0.05)
    # What is left of the uncertainty after the first sample tells that it was there again.
    assert found.standard_deviations[1200, 1] > 10 * found.standard_deviations[1199, 1]

    @jax.jit
    def without_reset(wrenches, regressors, touches):
        step = lambda estimate, sample: (estimator.update(estimate, *sample), None)  # noqa: E731
        return jax.lax.scan(step, estimator.start(*GUESS), (wrenches, regressors, touches))[0]

    stale = without_reset(wrenches, regressors, touches)
    assert abs(stale.stiffness / 2e6 - 1) > 0.2


def test_damping_stays_open_while_the_foot_does_not_move():
    regressors = np.array(stance(300))
    regressors[:, :, 1] = 0.0
    estimator = Estimator(SIGMA)
    wrenches = measured(regressors, TRUTH, 0)
    found = over(estimator, estimator.start(*GUESS), wrenches, regressors, np.ones(300, bool))
    np.testing.assert_allclose(found.stiffness[-1], TRUTH[0], rtol=0.01)
    np.testing.assert_array_equal(found.damping, GUESS[1])
    np.testing.assert_allclose(found.standard_deviations[:, 1], 1e4, rtol=1e-12)


def test_units_do_not_matter():
    """Parameters a million times larger and regressors as much smaller: the same estimates, to rounding."""
    regressors = np.asarray(stance(1000))
    wrenches, touches = measured(regressors, TRUTH, 0), np.ones(1000, bool)
    scale = np.array([1e6, 1e-3])
    plain, scaled = Estimator(SIGMA), Estimator(SIGMA, stiffness_deviation=1e12, damping_deviation=10.0)
    one = over(plain, plain.start(*GUESS), wrenches, regressors, touches)
    other = over(scaled, scaled.start(*(scale * GUESS)), wrenches, regressors / scale, touches)
    np.testing.assert_allclose(other.parameters / scale, one.parameters, rtol=1e-9)


def test_covariance_stays_symmetric_and_positive():
    """Over samples with so little noise that the covariance falls to 1e-24 of the first."""
    regressors, estimator = stance(20_000), Estimator(1e-3)
    wrenches = np.einsum("tij,j->ti", regressors, TRUTH)
    found = over(estimator, estimator.start(*GUESS), wrenches, regressors, np.ones(20_000, bool))
    covariance = np.asarray(found.covariance)
    sizes = found.standard_deviations[:, :, None] * found.standard_deviations[:, None]
    np.testing.assert_allclose(covariance / sizes, np.swapaxes(covariance, 1, 2) / sizes, rtol=0, atol=1e-12)
    assert (np.linalg.eigvalsh(covariance / sizes) > 0).all()
    np.testing.assert_allclose(found.parameters[-1], TRUTH, rtol=1e-9)


# -- in the simulator ------------------------------------------------------------------------------

#: A foot of 1.5 kg, and 5 kg above it on a spring, which an actuator shakes.
HOPPER = """
<mujoco>
  <compiler inertiafromgeom="false"/>
  <worldbody>
    <body name="foot">
      <freejoint/>
      <inertial pos="0 0 0.02" mass="1.5" diaginertia="0.01 0.01 0.01"/>
      <site name="sole"/>
      <body name="weight">
        <joint name="lift" type="slide" axis="0 0 1" stiffness="4000" damping="50"/>
        <inertial pos="0 0 0.05" mass="5" diaginertia="0.05 0.05 0.05"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="lift"/></actuator>
</mujoco>
"""


def test_instrument_takes_the_bias_of_noise_that_moves_the_foot():
    """A light foot on noisy ground: a wrench belongs to the pose at the start of a step and the twist at its end."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hopper.xml"
        path.write_text(HOPPER)
        robot = Robot.load(path, feet={"sole": SOLE})
    count = 2500
    simulator = Simulator(robot, Noisy(ViscoElastic(*TRUTH, friction=5.0), SIGMA, sigma_torque=0.1), DT)
    sole = patch(SOLE)
    forces = 5 * np.sin(2 * np.pi * 4 * DT * np.arange(count))[:, None]

    @jax.jit
    def simulate(state):
        def body(state, force):
            after, record = simulator.step(state, force)
            kinematics = robot.kinematics(state.q)
            (position,), (rotation,) = robot.foot_poses(kinematics)
            rest = lemma.rest_of(sole, state.memory[0].ground.anchor[0])
            twist = robot.foot_jacobians(kinematics)[0] @ after.v
            regressor = lemma.regressor(sole, rest, Pose(position, rotation), twist)
            return after, (record.wrench_world[0], regressor, record.depth[0])

        return jax.lax.scan(body, state, forces)[1]

    settled = 6.5 * 9.81 / (TRUTH[0] * sole.area)
    start = simulator.initial_state(height=-float(settled))
    wrenches, regressors, depth = simulate(start)
    assert depth.min() > 0
    estimator, touches = Estimator(np.repeat([SIGMA, 0.1], 3)), jnp.ones(count - 1, bool)
    guess = estimator.start(*GUESS)
    plain = over(estimator, guess, wrenches[1:], regressors[1:], touches)
    cured = over(estimator, guess, wrenches[1:], regressors[1:], touches, regressors[:-1])
    print(
        f"\nwithout instrument {plain.parameters[-1]}, with {cured.parameters[-1]} +- {cured.standard_deviations[-1]}"
    )
    off, sigmas = np.asarray(cured.parameters[-1]) - TRUTH, np.asarray(cured.standard_deviations[-1])
    assert (np.abs(off) < 3 * sigmas).all()
    assert plain.damping[-1] < TRUTH[1] - 6 * sigmas[1]


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"sigma": 0.0}, "sigma must be one positive number or six"),
        ({"sigma": -1.0}, "sigma"),
        ({"sigma": [1.0, 2.0]}, "sigma"),
        ({"stiffness_deviation": 0.0}, "stiffness_deviation must be positive"),
        ({"damping_deviation": np.inf}, "damping_deviation must be positive"),
        ({"forgetting": 0.0}, "forgetting must be above 0 and at most 1, got 0.0"),
        ({"forgetting": 1.1}, "forgetting"),
    ],
)
def test_bad_options_are_refused(options, text):
    with pytest.raises(OptionError, match=text):
        Estimator(**options)
