"""Derivatives of one step against differences: by state, torque, medium and slope; first and second order."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.contact import Newton
from softground.media import ViscoElastic
from softground.simulation import Ground, Simulator
from softground.surfaces import Plane

from .physics_cases import robot

# Differences need the solution to rounding, not to the default 1e-12 J.
EXACT = Newton(tolerance=1e-26)


@dataclass(frozen=True)
class Case:
    """A foot in a smooth point of its ground, and the names of the medium's parameters."""

    medium: media.Medium
    parameters: tuple[str, ...]
    v: tuple[float, float, float]
    depth: float = 0.02
    stretch: float = 0.0  # m, of the springs along x
    robot: str = "foot"


SAND = ("strength", "eps")
SPRINGS = ("stiffness", "damping", "friction")
CASES = {
    # Warm enough that all vertices weigh in, as in planning; and the default, with feet that stick and that
    # plough.
    "sand-warm": Case(media.sand(eps=0.1), SAND, (0.01, -0.02, 0.05)),
    "sand-stick": Case(media.sand(), SAND, (1e-4, -1e-4, 1e-3)),
    "sand-plough": Case(media.sand(), SAND, (0.3, -0.4, 0.5)),
    "visco_elastic-stick": Case(ViscoElastic(friction=0.6), SPRINGS, (0.02, -0.05, 0.1)),
    # Spring and speed ask for a multiple of what friction can hold: all points slip, far from the edge of
    # the disc.
    "visco_elastic-slip": Case(ViscoElastic(friction=0.3), SPRINGS, (0.5, -0.05, 0.1), stretch=-0.03),
    "robosimian": Case(media.sand(eps=0.1), SAND, (0.01, -0.02, 0.05), robot="robosimian"),
}


def step(sim: Simulator, state, parameters: tuple[str, ...], x):
    """Next (q, v) and the record as a function of one vector: q, v, torque, medium parameters (as factors of
    their values), slope."""
    robot = sim.robot
    q, v, torque, factors, slope = jnp.split(x, np.cumsum([robot.nq, robot.nv, robot.nu, len(parameters)]))
    get = lambda sim: [getattr(sim.ground.medium, name) for name in parameters]  # noqa: E731
    sim = eqx.tree_at(get, sim, [p * f for p, f in zip(get(sim), factors, strict=True)])
    sim = eqx.tree_at(lambda s: s.ground.surface, sim, Plane(slope[0]))
    after, record = sim.step(eqx.tree_at(lambda s: (s.q, s.v), state, (q, v)), torque)
    return jnp.concatenate([after.q, after.v]), record


def compiled(derivative):
    """A derivative of weights @ step by x. The simulator is an argument, so cases that differ only in numbers
    share one compilation."""

    @eqx.filter_jit
    def evaluate(sim, state, parameters, weights, x):
        return derivative(lambda x: weights @ step(sim, state, parameters, x)[0])(x)

    return evaluate


record = eqx.filter_jit(step)
forward = compiled(jax.jacfwd)
reverse = compiled(jax.jacrev)
forward_reverse = compiled(lambda f: jax.jacfwd(jax.jacrev(f)))


class Step:
    """One step of a case, the point at which it is differentiated, and its derivatives."""

    def __init__(self, case: Case):
        self.case = case
        self.sim = Simulator(robot(case.robot), Ground(case.medium), 2e-3, solver=EXACT)
        state = self.sim.initial_state(v=None, height=-case.depth)
        random = np.random.default_rng(0)
        rest = 0.02 * random.normal(size=self.sim.robot.nv - 3)
        if case.stretch:
            stretched = state.memory[0].anchor.at[..., 0].add(case.stretch)
            state = eqx.tree_at(lambda s: s.memory[0].anchor, state, stretched)
        self.state = state
        q, nu = np.array(state.q), self.sim.robot.nu
        q[2:] += np.r_[0.05, rest]
        v = np.r_[case.v, 0.02 * random.normal(size=len(rest))]
        self.point = np.r_[q, v, random.normal(size=nu), np.ones(len(case.parameters)), 0.03]
        self.nq, self.nv, self.nu = len(q), len(v), nu
        # Steps of the differences: small beside the width of the softmax, eps / |p|, in m/s.
        width = 1e-5 if case.parameters == SAND and float(case.medium.eps) < 0.01 else 1e-3
        speed = 0.02 * width
        self.steps = np.r_[
            np.full(len(q), 1e-6),
            np.full(len(v), speed),
            np.full(nu, 1e3 * speed),
            np.full(len(case.parameters), 1e-4),
            1e-5,
        ]
        self.every = np.eye(len(q) + len(v))  # weights that keep all of the next state

    def record(self, x):
        return record(self.sim, self.state, self.case.parameters, x)[1]

    def value(self, x):
        return record(self.sim, self.state, self.case.parameters, x)[0]

    def derivative(self, compiled, weights, x):
        return np.asarray(compiled(self.sim, self.state, self.case.parameters, weights, x))


@pytest.fixture(params=CASES, scope="module")
def case(request) -> Step:
    return Step(CASES[request.param])


def differences(function, point, steps):
    """Derivatives (out, in) by central differences with one Richardson extrapolation: an error of fourth
    order."""
    columns = []
    for i, h in enumerate(steps):
        e = np.zeros_like(point)
        e[i] = h
        near = (np.asarray(function(point + e)) - np.asarray(function(point - e))) / (2 * h)
        far = (np.asarray(function(point + 2 * e)) - np.asarray(function(point - 2 * e))) / (4 * h)
        columns.append((4 * near - far) / 3)
    return np.stack(columns, -1)


def test_point_is_in_the_regime_it_is_named_after(case, request):
    name = request.node.callspec.params["case"]
    level = np.r_[case.point[:-1], 0.0]
    record = case.record(level)
    assert record.converged
    wrench, friction = np.asarray(record.wrench_world[0]), getattr(case.sim.ground.medium, "friction", None)
    if name.endswith("slip"):
        bound = float(friction) * np.asarray(case.state.memory[0].normal_force).sum()
        np.testing.assert_allclose(abs(wrench[0]), bound, rtol=1e-9)
    elif friction is not None:
        assert abs(wrench[0]) < 0.8 * float(friction) * wrench[2]
    assert wrench[2] > 1.0


def test_first_derivatives(case):
    """1e-6 of the largest entry by each input, and differences of values of size one lose 1e-14 / h
    (some tens of roundings, because the step solves a system). An input that
    does nothing in a regime (friction in stick, the temperature of a foot that ploughs) must have derivative
    zero."""
    jacobian = case.derivative(forward, case.every, case.point)
    oracle = differences(case.value, case.point, case.steps)
    scale = np.abs(oracle).max(0)
    noise = 1e-14 * np.abs(case.point).max() / case.steps
    error = np.abs(jacobian - oracle).max(0)
    print(f"\nfirst derivatives: {np.max(error / scale.clip(1e-5)):.1e}")
    assert (scale[: case.nq + case.nv + case.nu] > 0).all()
    assert (error <= 1e-6 * scale + noise).all(), error / scale


def test_reverse_mode_agrees(case):
    backward = case.derivative(reverse, case.every, case.point)
    jacobian = case.derivative(forward, case.every, case.point)
    assert (np.abs(backward - jacobian) <= 1e-9 * np.abs(jacobian).max(0).clip(1e-3)).all()


def test_second_derivatives(case):
    """Of a weighted sum of the next state, against differences of first derivatives: 1e-4 by each input. They are those
    of two forward modes (test_native_step.py)."""
    if case.case.robot != "foot":
        pytest.skip("the foot shows it; a Hessian of 45 inputs takes a minute to compile")
    weights = np.random.default_rng(2).normal(size=case.nq + case.nv)
    gradient = lambda x: weights @ case.derivative(forward, case.every, x)  # noqa: E731
    hessian = case.derivative(forward_reverse, weights, case.point)
    oracle = differences(gradient, case.point, case.steps)
    # Inputs have different units: compare in units of each input's step.
    units = np.outer(case.steps, case.steps)
    scale = np.abs(oracle * units).max(0)
    error = np.abs((hessian - oracle) * units).max(0)
    noise = 4e-15 * np.abs(gradient(case.point) * case.steps).max()
    print(f"\nsecond derivatives: {np.max(error / (scale + 1e4 * noise)):.1e}")
    assert (error <= 1e-4 * scale + noise).all(), error / scale
    assert scale.max() > 1e4 * noise  # there is curvature to see
    np.testing.assert_allclose(hessian * units, hessian.T * units, atol=1e-9 * np.abs(hessian * units).max())
