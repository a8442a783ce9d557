"""Ground that changes from place to place: which value a foot gets, and what is refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.errors import MediumError
from softground.media import Field, Stretches, ViscoElastic
from softground.media.base import FootInGround
from softground.media.visco_elastic.medium import Memory
from softground.robots.shapes import Box, Sphere

SOLE = Box(0.2, 0.1, 0.05)
STIFFNESS = Stretches([1.0, 2.0], [8e5, 1e6, 2e6])
DAMPING = Stretches([1.5], [1e4, 1e3])
DT = jnp.asarray(1e-3)


class Slope(Field):
    """Stiffer towards +y: a field of one's own."""

    here: np.ndarray
    per_metre: np.ndarray

    def __call__(self, position):
        return self.here + self.per_metre * position[1]


def pressed(x: float, y: float = 0.0) -> FootInGround:
    """A flat foot 1 cm in level ground."""
    return FootInGround(jnp.asarray(0.01), jnp.array([x, y, -0.01]), jnp.eye(3), jnp.eye(3))


@eqx.filter_jit
def wrench(medium, foot, anchored_at, twist):
    """With the anchors of a foot that touched down at some other place."""
    memory = medium.initial_memory(anchored_at)
    return medium.law(foot, memory, DT).wrench(twist)


def test_stretches_are_constant_between_edges():
    at = jax.vmap(lambda x: STIFFNESS(jnp.array([x, 7.0, -1.0])))
    np.testing.assert_array_equal(
        at(jnp.array([-5.0, 0.999, 1.0, 1.5, 1.999, 2.0, 9.0])), [8e5, 8e5, 1e6, 1e6, 1e6, 2e6, 2e6]
    )


@pytest.mark.parametrize("shape", [SOLE, Sphere(0.03)], ids=lambda shape: type(shape).__name__)
@pytest.mark.parametrize("x", [0.5, 1.2, 1.8, 3.0])
def test_foot_meets_the_ground_of_its_place(x, shape):
    twist = jnp.array([0.01, 0.02, -0.03]) if isinstance(shape, Sphere) else 0.01 * jnp.arange(1.0, 7.0)
    k, b = (float(field(np.array([x, 0.0, 0.0]))) for field in (STIFFNESS, DAMPING))
    varying, uniform = (
        medium.for_foot(shape, False) for medium in (ViscoElastic(STIFFNESS, DAMPING), ViscoElastic(k, b))
    )
    foot = pressed(x)
    found, expected = (wrench(medium, foot, foot, twist) for medium in (varying, uniform))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_all_points_share_the_value_where_the_foot_touched_down():
    """A sole that reaches over an edge, and has been carried over it since: what counts is where it came down."""
    varying, uniform = (ViscoElastic(k).for_foot(SOLE, False) for k in (STIFFNESS, 8e5))
    foot, came_down = pressed(1.03), pressed(0.98)
    twist = jnp.zeros(6)
    np.testing.assert_allclose(
        wrench(varying, foot, came_down, twist), wrench(uniform, foot, came_down, twist), rtol=1e-12, atol=1e-12
    )


def test_memory_and_energy_follow_the_place():
    varying, uniform = (ViscoElastic(k, b).for_foot(SOLE, False) for k, b in ((STIFFNESS, DAMPING), (1e6, 1e3)))
    foot, twist = pressed(1.7), jnp.array([0.3, -0.1, -0.05, 0.2, 0.1, 0.4])

    @eqx.filter_jit
    def after(medium):
        memory = medium.initial_memory(foot)
        memory = Memory(memory.anchor + jnp.array([2e-3, 1e-3, 0.0]), memory.normal_force)
        law = medium.law(foot, memory, DT)
        return medium.remember(foot, memory, law, twist, DT), medium.stored_energy(foot, memory)

    for one, other in zip(jax.tree.leaves(after(varying)), jax.tree.leaves(after(uniform)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_field_of_ones_own_can_be_differentiated():
    """dF/d(parameter) of the vertical force at rest: depth times area, times the derivative of the field."""
    medium = ViscoElastic(Slope(np.asarray(8e5), np.asarray(1e5))).for_foot(SOLE, False)
    foot = pressed(0.0, y=2.0)

    def lift(stiffness):
        changed = eqx.tree_at(lambda bound: bound.medium.stiffness, medium, stiffness)
        return wrench(changed, foot, foot, jnp.zeros(6))[2]

    np.testing.assert_allclose(lift(medium.medium.stiffness), 1e6 * 0.02 * 0.01, rtol=1e-12)
    slopes = jax.grad(lift)(jax.tree.map(jnp.asarray, medium.medium.stiffness))
    np.testing.assert_allclose([slopes.here, slopes.per_metre], np.array([1.0, 2.0]) * 0.02 * 0.01, rtol=1e-12)


@pytest.mark.parametrize(
    ("edges", "values", "text"),
    [
        ([1.0, 1.0], [1.0, 2.0, 3.0], r"increasing, got \[1.0, 1.0\]"),
        ([2.0, 1.0], [1.0, 2.0, 3.0], "increasing"),
        ([np.nan], [1.0, 2.0], "finite"),
        ([1.0], [1.0], "one value more"),
        (1.0, [1.0, 2.0], "one value more"),
        ([1.0], [8e5, 0.0], r"positive and finite, got \[800000.0, 0.0\]"),
        ([1.0], [8e5, np.inf], "positive"),
    ],
)
def test_bad_stretches_are_refused(edges, values, text):
    with pytest.raises(MediumError, match=text):
        Stretches(edges, values)


@pytest.mark.parametrize("bad", [lambda position: 8e5, np.array([8e5, 1e6]), 0.0, -8e5])
def test_bad_stiffness_is_refused(bad):
    with pytest.raises(MediumError, match="stiffness of the ground must be"):
        ViscoElastic(stiffness=bad)
