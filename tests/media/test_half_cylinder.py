"""The half-cylinder foot in the media that know it: surface, resistive force theory, springs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from softground.media import Firm, Resistive, ViscoElastic
from softground.media.base import FootInGround
from softground.media.resistive.medium import fit_error
from softground.media.resistive.stress import plane_stress
from softground.media.resistive.wrench import surface_of, wrenches
from softground.robots.feet import Foot
from softground.robots.shapes import HalfCylinder

SHAPE = HalfCylinder(radius=0.04, width=0.08)
DOWN = np.array([[0.0, 0.0, -0.02, 0.0, 0.0, 0.0]])


def foot_at(depth, turn=0.0, pitch=0.0, lean=0.0):
    rotation = Rotation.from_euler("ZYX", [turn, pitch, lean]).as_matrix()
    return FootInGround(
        jnp.asarray(depth), jnp.array([0.0, 0.0, SHAPE.radius - depth]), jnp.asarray(rotation), jnp.eye(3)
    )


def test_surface():
    surface = surface_of(SHAPE)
    assert surface.area.sum() == pytest.approx(np.pi * SHAPE.radius * SHAPE.width + np.pi * SHAPE.radius**2, rel=1e-12)
    np.testing.assert_allclose(np.linalg.norm(surface.normal, axis=1), 1, rtol=1e-12)
    # Divergence theorem: the open top is all that is missing from a closed surface.
    np.testing.assert_allclose(
        surface.area @ surface.normal, [0, 0, -2 * SHAPE.radius * SHAPE.width], rtol=2e-3, atol=1e-9
    )


@pytest.mark.parametrize("depth", [0.005, 0.02, 0.04])
def test_straight_down_is_the_integral_over_the_arc(depth):
    def stress(angle):
        under = depth - SHAPE.radius * (1 - np.cos(angle))
        normal = np.array([np.sin(angle), 0.0, -np.cos(angle)])
        return plane_stress(normal, np.array([0.0, 0.0, -1.0]))[2] * max(under, 0.0)

    waterline = np.arccos(1 - depth / SHAPE.radius)
    expected = 2 * SHAPE.radius * SHAPE.width * quad(stress, 0, waterline)[0]
    found = wrenches(surface_of(SHAPE, 3), "plane", np.eye(3)[None], np.array([depth]), DOWN, SHAPE.radius)[0, 0, 0]
    assert found[2] == pytest.approx(expected, rel=3e-3)


@pytest.mark.parametrize(("planar", "law"), [(True, "plane"), (True, "3d"), (False, "3d")])
def test_fit_is_close_to_its_samples(planar, law):
    error = np.array(list(fit_error(SHAPE, planar, law).values()))
    assert error[:, 0].max() < 0.05
    assert error[:, 1].max() < 0.025


def test_rolls_and_turns_in_grains():
    """At any pitch the same, and turned about the vertical the wrench turns along."""
    medium = Resistive(1.36).for_foot(SHAPE, planar=False)
    vertices = eqx.filter_jit(medium.vertices)
    level = np.asarray(vertices(foot_at(0.02)))
    pitched = np.asarray(vertices(foot_at(0.02, pitch=0.4)))
    size = np.linalg.norm(level[:, :3], axis=1).max()
    assert np.abs(pitched[:, :3] - level[:, :3]).max() < 0.06 * size
    turn = Rotation.from_euler("z", 0.7).as_matrix()
    turned = np.asarray(vertices(foot_at(0.02, turn=0.7)))
    np.testing.assert_allclose(turned, (level.reshape(-1, 2, 3) @ turn.T).reshape(level.shape), atol=1e-9)


@pytest.mark.parametrize("to_edge", [False, True])
def test_line_of_springs(to_edge):
    """Pushed down: stiffness times area times depth. Rolling meets nothing, leaning a restoring torque."""
    medium = ViscoElastic(to_edge=to_edge).for_foot(SHAPE, planar=False)
    depth, dt = 0.01, jnp.asarray(1e-3)
    wrench = jax.jit(lambda foot, twist: medium.law(foot, medium.initial_memory(foot), dt).wrench(twist))
    foot = foot_at(depth, pitch=0.3)
    still = np.asarray(wrench(foot, jnp.zeros(6)))
    assert still[2] == pytest.approx(float(medium.medium.stiffness) * SHAPE.radius * SHAPE.width * depth, rel=1e-12)
    np.testing.assert_allclose(np.delete(still, 2), 0, atol=1e-9)
    rolling = jnp.array([0, 0, 0, 0, 2.0, 0])  # about the contact line
    np.testing.assert_allclose(wrench(foot, rolling), still, atol=1e-9)
    torque = float(wrench(foot_at(depth, lean=0.1), jnp.zeros(6))[3])
    second_moment = SHAPE.radius * SHAPE.width * SHAPE.width**2 / 12
    assert torque == pytest.approx(
        -float(medium.medium.stiffness) * second_moment * np.sin(0.1) * np.cos(0.1), rel=1e-9
    )


def test_line_of_springs_holds_against_turning_and_lets_roll():
    """The springs' stretch, which is what a sole that rolls remembers, over steps of rolling and of turning."""
    medium = ViscoElastic(friction=10.0).for_foot(SHAPE, planar=False)
    dt, steps, rate = jnp.asarray(1e-3), 20, 2.0

    @eqx.filter_jit
    def advance(foot, memory, twist):
        law = medium.law(foot, memory, dt)
        return law, medium.remember(foot, memory, law, twist, dt)

    def wrench_after(*spin):
        twist, memory = jnp.array([0.0, 0.0, 0.0, *spin]), medium.initial_memory(foot_at(0.01))
        for step in range(steps):
            turned = foot_at(0.01, turn=step * float(dt) * spin[2], pitch=step * float(dt) * spin[1])
            law, memory = advance(turned, memory, twist)
        return np.asarray(law.wrench(twist))

    rolled = wrench_after(0.0, rate, 0.0)
    np.testing.assert_allclose(np.delete(rolled, 2), 0.0, atol=1e-9)
    turned = wrench_after(0.0, 0.0, rate)
    second_moment = SHAPE.radius * SHAPE.width * SHAPE.width**2 / 12
    angle = (steps - 1) * 1e-3 * rate  # at the start of the last step
    expected = -second_moment * (float(medium.medium.stiffness) * angle + float(medium.medium.damping) * rate)
    assert turned[5] == pytest.approx(expected, rel=angle**2)  # arms turn by the angle, springs stay straight


def test_frame_is_the_axis_of_the_arc():
    foot = Foot("foot", 0, SHAPE, np.zeros(3), np.eye(3))
    assert foot.clearance == SHAPE.radius
    reference = Firm().for_foot(SHAPE, planar=True).reference(foot_at(0.01))
    np.testing.assert_allclose(reference, [0, 0, -SHAPE.radius])
