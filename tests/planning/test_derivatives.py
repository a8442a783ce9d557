"""Sparse derivatives of a whole gait problem against finite differences: limbs of different length, wavy sand."""

import equinox as eqx
import jax
import numpy as np
import pytest
import scipy.sparse as sp

from softground.media.named import sand
from softground.planning import FootSplines, GaitProblem
from softground.planning.blocks import numbers_of, star_colouring
from softground.planning.guesses import random_unknowns
from softground.planning.problem import walking_problem
from softground.planning.stages import Damping
from softground.planning.transcription import Transcription
from softground.robots import Robot
from softground.robots.dynamics_derivatives import inverse_dynamics_derivatives
from softground.simulation import Ground
from softground.surfaces import Plane, Wave

from .foot_problem import foot_problem

EPS = 0.7
STEP = 1e-6
# RoboSimian with limbs of one, two and three joints: as sparse, and quicker to compile.
LOCKED = [f"{limb}_{joint}" for limb in ("front_right", "rear_left") for joint in ("knee", "ankle")] + [
    "rear_right_knee"
]


@pytest.fixture(scope="module")
def transcription() -> Transcription:
    ground = Ground(sand(2.0), Wave(0.05, 2.0))
    plain = walking_problem(Robot.load("robosimian", lock=LOCKED), ground, knots=5, period=0.1)
    splines = (FootSplines(4, ("tilt",)), FootSplines(4, ("x",), weight=2.0))
    fields = {name: getattr(plain, name) for name in ("robot", "ground", "knots", "dt", "costs", "initial")}
    return Transcription(GaitProblem(**fields, splines=splines))


@pytest.fixture(scope="module")
def point(transcription) -> np.ndarray:
    """Not one of those at which the patterns were found."""
    return random_unknowns(transcription.problem, transcription.layout, seed=7)


def dense(entries, rows, columns, shape) -> np.ndarray:
    return sp.coo_matrix((entries, (rows, columns)), shape=shape).toarray()


def jacobian_of(nlp, z) -> np.ndarray:
    return dense(nlp.jacobian(z), nlp.jacobian_rows, nlp.jacobian_columns, (nlp.n_rows, nlp.size))


def test_gradient_and_jacobian(transcription, point):
    """One unknown at a time, and every sixteenth at once with random signs: an entry not in the pattern shows."""
    nlp = transcription.nlp(EPS)
    slope, jacobian = nlp.gradient(point), jacobian_of(nlp, point)
    signs = np.random.default_rng(5).choice([-1.0, 1.0], (16, nlp.size))
    for direction in [*np.eye(nlp.size)[::9], *signs * (np.arange(nlp.size) % 16 == np.arange(16)[:, None])]:
        # Rounding of values up to 1e3 over the step: 1e-13 * 1e3 / 1e-6.
        rate = (nlp.constraints(point + STEP * direction) - nlp.constraints(point - STEP * direction)) / (2 * STEP)
        np.testing.assert_allclose(jacobian @ direction, rate, atol=2e-4, rtol=1e-5)
        rate = (nlp.objective(point + STEP * direction) - nlp.objective(point - STEP * direction)) / (2 * STEP)
        np.testing.assert_allclose(slope @ direction, rate, atol=2e-3, rtol=1e-5)


def test_exact_hessian(transcription, point):
    nlp = transcription.nlp(EPS, "exact")
    multipliers = np.random.default_rng(1).normal(size=nlp.n_rows)
    shape = (nlp.size, nlp.size)
    lower = dense(nlp.hessian(point, 0.0, multipliers), nlp.hessian_rows, nlp.hessian_columns, shape)
    hessian = lower + np.tril(lower, -1).T - np.diag(Damping().diagonal(transcription.layout, point))
    for k in np.random.default_rng(2).choice(nlp.size, 60, replace=False):
        ahead, behind = point.copy(), point.copy()
        ahead[k] += STEP
        behind[k] -= STEP
        rate = (jacobian_of(nlp, ahead) - jacobian_of(nlp, behind)).T @ multipliers / (2 * STEP)
        np.testing.assert_allclose(hessian[:, k], rate, atol=1e-3 * np.abs(hessian).max() ** 0.5, rtol=1e-4)


def test_curvature_by_native_code():
    """The same as by XLA, on ground that is an input of the code."""
    pytest.importorskip("llvmlite")
    made = Transcription(foot_problem())
    block, z = made.constraints[0].block, made.samples()[0]
    random = np.random.default_rng(0)
    multipliers, direction = random.normal(size=(len(block.columns), 9)), random.normal(size=block.columns.shape[1])
    given = z, EPS, multipliers, direction
    numbers, rest = numbers_of(block)

    def along(native, numbers, *given):
        return eqx.combine(numbers, rest).all_curvatures_along(*given, native=native)

    along = jax.jit(along, static_argnums=0)
    for slope in (0.1, -0.2):
        there = eqx.tree_at(lambda numbers: numbers.dynamics.surface, numbers, numbers_of(Plane(slope))[0])
        native, xla = (along(how, there, *given) for how in (True, False))
        np.testing.assert_allclose(native, xla, atol=1e-10 * np.abs(xla).max())


def test_gauss_newton_hessian_of_costs(transcription, point):
    """Costs are squares of residuals that are nearly linear: here compared where they are exactly so."""
    nlp = transcription.nlp(EPS)
    zero = np.zeros(nlp.n_rows)
    lower = dense(nlp.hessian(point, 1.0, zero), nlp.hessian_rows, nlp.hessian_columns, (nlp.size, nlp.size))
    hessian = lower + np.tril(lower, -1).T - np.diag(Damping().diagonal(transcription.layout, point))
    torques = transcription.layout.torque_at(np.arange(4)).reshape(-1)
    speeds = transcription.layout.v_at(np.arange(5))[:, 0]
    direction = np.zeros(nlp.size)
    direction[[*torques, *speeds]] = np.random.default_rng(0).normal(size=len(torques) + len(speeds))
    change = nlp.gradient(point + direction) - nlp.gradient(point)
    np.testing.assert_allclose(hessian @ direction, change, atol=1e-9 * np.abs(change).max())


def test_inverse_dynamics_derivatives():
    """Central differences of inverse dynamics, which is itself tested against MuJoCo and Pinocchio."""
    robot, rng = Robot.load("robosimian"), np.random.default_rng(3)
    q, v, a = np.asarray(robot.posture) + rng.normal(size=15), rng.normal(size=15), 5 * rng.normal(size=15)
    force = jax.jit(lambda q, v, a: robot.inverse_dynamics(q, v, a))
    found = jax.jit(lambda q, v, a: inverse_dynamics_derivatives(robot, robot.kinematics(q), v, a))(q, v, a)
    for which, derivative in enumerate(found):
        for k in range(15):
            shift = [np.zeros(15) for _ in range(3)]
            shift[which][k] = STEP
            ahead = force(*(x + s for x, s in zip((q, v, a), shift, strict=True)))
            behind = force(*(x - s for x, s in zip((q, v, a), shift, strict=True)))
            rate = np.asarray(ahead - behind) / (2 * STEP)
            np.testing.assert_allclose(derivative[:, k], rate, atol=1e-5, rtol=1e-7)


def test_star_colouring_of_an_arrow():
    """One hub that meets all others, which do not meet each other: two directions serve."""
    filled = np.eye(6, dtype=bool)
    filled[0] = filled[:, 0] = True
    colour = star_colouring(filled)
    assert colour.max() == 1
    assert (colour[1:] == colour[1]).all()
    assert colour[0] != colour[1]
