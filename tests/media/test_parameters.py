"""Parameters of media, as a user expects: replaced, differentiated and batched, for every medium and named ground."""

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.errors import MediumError
from softground.media import FootMedium, Medium
from softground.robots import Robot
from softground.robots.shapes import Cylinder
from softground.simulation import Simulator

SOLE = Cylinder(radius=0.05, length=0.15)
STEPS, DT = 40, 4e-3
FACTORS = jnp.array([1.0, 1.3, 1.0 + 1e-5, 1.0 - 1e-5])


class Case(NamedTuple):
    """A medium, and which of its parameters (a function of the medium) changes how deep a foot sinks."""

    make: Callable[[], Medium]
    parameter: Callable[[Medium], object]


CASES = {
    "sand": Case(media.sand, lambda m: m.strength),
    "pebbles": Case(media.pebbles, lambda m: m.scale),
    "beads": Case(media.beads, lambda m: m.strength),
    "elements": Case(media.Elements, lambda m: m.scale),
    "scm": Case(media.Scm, lambda m: m.k_phi),
    "foam": Case(media.foam, lambda m: m.stiffness),
    "firm": Case(media.firm, lambda m: m.stiffness),
    "wedge": Case(media.Wedge, lambda m: m.zeta),
    "wrench_space": Case(lambda: media.sand().for_foot(SOLE, planar=True), lambda m: m.strength),
    "remembering": Case(lambda: media.Remembering(media.sand()), lambda m: m.ground.strength),
    "noisy": Case(lambda: media.Noisy(media.foam(), 1.0, seed=2), lambda m: m.ground.stiffness),
    "stretches": Case(
        lambda: media.ViscoElastic(media.Stretches([1.0], [8e5, 9e5]), 1e4), lambda m: m.stiffness.values
    ),
}
FOOT = Robot.load("foot")


def sinkage(medium: Medium):
    """How deep the foot is at the end of a fall, m."""
    simulator = Simulator(FOOT, medium, DT)
    return simulator.rollout(simulator.initial_state(height=0.005), None, STEPS)[1].depth[-1, 0]


def scaled(case: Case, factor) -> Medium:
    """The medium with its parameter larger by a factor."""
    medium = case.make()
    return eqx.tree_at(case.parameter, medium, jnp.asarray(case.parameter(medium)) * factor)


@cache
def sinkages(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Sinkage for several factors on the parameter, and its derivative (forward mode), in one program."""
    with_slope = lambda factor: jax.jvp(lambda f: sinkage(scaled(CASES[name], f)), (factor,), (1.0,))  # noqa: E731
    depths, slopes = jax.jit(lambda factors: jax.lax.map(with_slope, factors))(FACTORS)
    return np.asarray(depths), np.asarray(slopes)


def test_every_medium_is_here():
    """A medium that is written must stand in this test."""
    tried = {type(part) for case in CASES.values() for part in [case.make()]}
    shipped = {value for value in vars(media).values() if isinstance(value, type) and issubclass(value, Medium)}
    assert shipped - tried == {Medium, FootMedium}


@pytest.mark.parametrize("name", CASES)
def test_replacing_in_the_simulator_is_building_with_it(name):
    """`tree_at` on the ground of a simulator that has been built gives, number by number, the simulator built with
    the other value, and what its feet meet."""
    built, replaced = built_and_replaced(CASES[name])
    pair = (replaced, replaced.feet_medium), (built, built.feet_medium)
    assert jax.tree.structure(pair[0]) == jax.tree.structure(pair[1])
    for one, other in zip(*map(jax.tree.leaves, pair), strict=True):
        np.testing.assert_array_equal(one, other)
    depths, _ = sinkages(name)
    assert abs(float(depths[1] / depths[0]) - 1) > 1e-3


@pytest.mark.parametrize("name", ["sand", "foam", "wedge"])
def test_a_simulator_with_a_replaced_parameter_runs_as_one_made_inside(name):
    """Numbers that are known when the simulator is built, against those that are traced; a medium of each family."""
    _, replaced = built_and_replaced(CASES[name])
    roll = eqx.filter_jit(lambda sim, state: sim.rollout(state, None, STEPS)[1].depth[-1, 0])
    depth = roll(replaced, replaced.initial_state(height=0.005))
    assert float(depth) == pytest.approx(float(sinkages(name)[0][1]), rel=1e-9)


def built_and_replaced(case: Case) -> tuple[Simulator, Simulator]:
    """With the parameter 1.3 times as large: from the medium on, and put into a simulator that has been built."""
    value = np.asarray(case.parameter(case.make())) * 1.3
    built = Simulator(FOOT, eqx.tree_at(case.parameter, case.make(), value), DT)
    first = Simulator(FOOT, case.make(), DT)
    return built, eqx.tree_at(lambda sim: case.parameter(sim.ground.medium), first, value)


@pytest.mark.parametrize("name", CASES)
def test_derivative_through_a_medium_and_a_simulator_made_inside(name):
    """Forward mode against central differences."""
    depths, slopes = sinkages(name)
    assert float(slopes[0]) == pytest.approx(float(depths[2] - depths[3]) / 2e-5, rel=2e-4)


@pytest.mark.parametrize("name", ["sand", "foam", "wedge"])
def test_gradient_is_the_derivative(name):
    """Reverse mode against forward mode, for a medium of each family."""
    gradient = jax.jit(jax.grad(lambda factor: sinkage(scaled(CASES[name], factor))))(1.0)
    assert float(gradient) == pytest.approx(float(sinkages(name)[1][0]), rel=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_dataclasses_replace(name):
    """Constructor and fields have the same names: `replace` with every field gives the same medium."""
    medium = CASES[name].make()
    same = replace(medium, **{field.name: getattr(medium, field.name) for field in fields(medium)})
    assert jax.tree.structure(same) == jax.tree.structure(medium)
    for one, other in zip(jax.tree.leaves(same), jax.tree.leaves(medium), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: media.sand(-1.0), "strength of a resistive medium must be positive and finite, got -1"),
        (lambda: media.Resistive(np.nan), "scale of a resistive medium"),
        (lambda: media.foam(0.0), "stiffness of the ground must be positive"),
        (lambda: media.Wedge(growth=-1.0), "growth of a wedge medium"),
        (lambda: media.Noisy(media.sand(), -1.0), "sigma of the noise must be >= 0"),
        (lambda: media.Remembering(media.sand(), 0.0), "length of the ground's memory must be positive"),
    ],
)
def test_bad_parameters_are_refused(make, text):
    with pytest.raises(MediumError, match=text):
        make()
