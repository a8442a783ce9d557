"""What the potential of every medium promises: convex, and the closed forms are its derivatives."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.arrays import Array
from softground.media.base import COMPONENTS, FootInGround, Law, Medium
from softground.media.round_space import RoundSupport
from softground.media.wrench_space import SupportFunction

from .media_cases import CASES, FEET, random_foot, random_memory

DT = 1e-3
SAMPLES = 40


class Found(NamedTuple):
    """Of a law: what it says along a line of twists (n points), and at the line's first twist."""

    law: Law
    along_line: tuple  # the potential and its derivatives by `along`
    by_autodiff: tuple  # the same, by autodiff of the potential
    slopes: Array  # by the wrench
    wrench: Array
    response: tuple
    by_grad: Array
    by_jacobian: Array


@eqx.filter_jit
def evaluate(medium: Medium, feet, memories, lines, along) -> Found:
    """For every foot."""

    def one(foot, memory, line, s):
        law = medium.law(foot, memory, jnp.asarray(DT))
        on_line = law.along(line[0], line[1])
        potential = lambda s: law.potential(line[0] + s * line[1])  # noqa: E731
        slope, twist = jax.grad(potential), line[0]
        return Found(
            law=law,
            along_line=jax.vmap(on_line.derivatives)(s),
            by_autodiff=tuple(jax.vmap(function)(s) for function in (potential, slope, jax.grad(slope))),
            slopes=jax.vmap(lambda s: -law.wrench(line[0] + s * line[1]) @ line[1])(s),
            wrench=law.wrench(twist),
            response=law.response(twist),
            by_grad=-jax.grad(law.potential)(twist),
            by_jacobian=-jax.jacfwd(law.wrench)(twist),
        )

    return jax.vmap(one)(feet, memories, lines, along)


def stacked(trees):
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *trees)


@pytest.fixture(params=CASES, ids=str, scope="module")
def sampled(request):
    """The medium's answers for feet in random poses along random lines of twists."""
    case, random = request.param, np.random.default_rng(0)
    planar = FEET[case.foot_name][1]
    feet = [random_foot(random, planar) for _ in range(SAMPLES)]
    memories = [random_memory(random, case.medium, foot) for foot in feet]
    size = len(COMPONENTS[case.medium.kind])
    speeds = 10 ** random.uniform(-5, 0, (SAMPLES, 1, 1))  # m/s, from creep to a fall
    lines = speeds * random.normal(size=(SAMPLES, 2, size))
    along = np.sort(random.uniform(-3, 3, (SAMPLES, 21)), axis=1)
    found = evaluate(case.medium, stacked(feet), stacked(memories), lines, along)
    return lines, along, found


def test_wrench_is_the_negative_gradient(sampled):
    found = sampled[2]
    scale = np.abs(found.by_grad).max() + 1e-12
    np.testing.assert_allclose(found.wrench, found.by_grad, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(found.response[0], found.by_grad, rtol=0, atol=1e-12 * scale)


def test_hessian_is_the_second_derivative(sampled):
    hessian, by_jacobian = sampled[2].response[1], sampled[2].by_jacobian
    # Covariances of a softmax lose the digits that the spread of the vertices' scores takes: 1e-9 of the
    # largest.
    np.testing.assert_allclose(hessian, by_jacobian, rtol=1e-9, atol=1e-9 * np.abs(by_jacobian).max())
    lowest = np.linalg.eigvalsh(hessian).min()
    assert lowest >= -1e-9 * np.abs(hessian).max()
    assert np.abs(hessian).max() > 0


def test_potential_is_convex_along_lines(sampled):
    """Slopes along a line never fall, and every chord lies above: the slopes bound the growth between two
    points."""
    along, values, slopes = sampled[1], sampled[2].by_autodiff[0], sampled[2].slopes
    scale = np.abs(slopes).max(1, keepdims=True)
    assert (np.diff(slopes, axis=1) >= -1e-10 * scale).all()
    growth, step = np.diff(values, axis=1), np.diff(along, axis=1)
    rounding = 1e-12 * (np.abs(values).max(1, keepdims=True) + scale)
    assert (growth >= slopes[:, :-1] * step - rounding).all()
    assert (growth <= slopes[:, 1:] * step + rounding).all()


def test_derivatives_along_lines_are_those_of_the_potential(sampled):
    """What line searches use. Both sides lose the digits of a softmax's covariance, as above."""
    found = sampled[2]
    value, slope, curvature = map(np.asarray, found.along_line)
    potential, by_grad, by_hessian = map(np.asarray, found.by_autodiff)
    scale = np.abs(by_grad).max(1, keepdims=True)
    risen, expected = (one - one[:, :1] for one in (value, potential))  # a constant is left open
    assert (np.abs(risen - expected) <= 1e-12 * np.abs(potential).max(1, keepdims=True) + 1e-11 * scale).all()
    assert (np.abs(slope - by_grad) <= 1e-11 * scale).all()
    # A variance as a difference of squares (slope / eps)^2 eps: with eps = 1e-3 W this rounds at 1e-13
    # slope^2.
    rounding = 1e-9 * np.abs(by_hessian).max(1, keepdims=True) + 1e-11 * scale**2
    assert (np.abs(curvature - by_hessian) <= rounding).all()
    assert (curvature >= -rounding).all()
    assert np.abs(by_hessian).max() > 0


def test_potential_is_not_negative(sampled):
    """Never pulls: the ground does no work on a foot that stays or leaves, up to its springs."""
    assert (np.asarray(sampled[2].by_autodiff[0]) >= 0).all()


def test_support_function_is_bounded_by_the_temperature(sampled):
    """From below exactly, or by 2 eps where sets are round: their corner at zero is rounded as well."""
    lines, along, found = sampled
    law, values = found.law, found.by_autodiff[0]
    if not isinstance(law, SupportFunction | RoundSupport):
        pytest.skip("not a support function")
    twists = lines[:, None, 0] + along[..., None] * lines[:, None, 1]
    powers = lambda wrenches: np.einsum("fkn,fsn->fsk", wrenches, twists)  # noqa: E731
    eps, below = float(law.eps[0]), 0.0
    if isinstance(law, SupportFunction):
        exact = powers(-law.vertices)
    else:
        below, rims = 2 * eps, law.rims
        exact = np.hypot(powers(rims.cosine), powers(rims.sine)) - powers(rims.centre)
    excess = np.asarray(values) - exact.max(-1)
    rounding = 1e-12 * np.abs(exact).max()
    assert (excess >= -below - rounding).all()
    assert (excess <= eps * np.log(exact.shape[-1]) + rounding).all()


def test_law_without_closed_forms_follows_from_its_potential():
    """The base class: a potential alone makes a law."""

    class Drag(Law):
        def potential(self, twist):
            return (twist**2).sum() ** 1.5

    twist = jnp.array([1.0, -2.0, 0.5])
    wrench, hessian = Drag().response(twist)
    size = np.linalg.norm(twist)
    np.testing.assert_allclose(wrench, -3 * size * twist, rtol=1e-14)
    np.testing.assert_allclose(hessian, 3 * size * np.eye(3) + 3 * np.outer(twist, twist) / size, rtol=1e-14)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_foot_that_hardly_leans_meets_what_an_upright_one_does(case):
    """Rounding leaves feet that stand with tilts down to the smallest numbers, of either sign, about any axis."""
    lean = np.array([0.0, *(sign * size for size in (1e-300, 1e-22, 1e-14) for sign in (1, -1))])
    axis = np.array([[0.0, 0.0, 1.0]]) + lean[:, None] * np.array([1.0, 0.0 if FEET[case.foot_name][1] else -1.0, 0.0])
    rotation = np.broadcast_to(np.eye(3), (len(lean), 3, 3)).copy()
    rotation[:, :, 2], rotation[:, 2, :2] = axis, -axis[:, :2]
    depth, still = np.full(len(lean), 0.02), np.zeros((len(lean), 3))
    feet = FootInGround(depth, still, rotation, np.broadcast_to(np.eye(3), rotation.shape))
    twist = np.isin(COMPONENTS[case.medium.kind], 2) * -0.2 + 0.01
    wrenches = np.asarray(pushed(case.medium, feet, twist))
    np.testing.assert_allclose(wrenches, wrenches[:1].repeat(len(lean), 0), rtol=0, atol=1e-9 * np.abs(wrenches).max())
    assert np.abs(wrenches).max() > 1


@eqx.filter_jit
def pushed(medium: Medium, feet: FootInGround, twist):
    """Wrenches on feet (leading axis) that have been there all along and move with a twist."""
    return jax.vmap(lambda foot: medium.law(foot, medium.initial_memory(foot), jnp.asarray(DT)).wrench(twist))(feet)
