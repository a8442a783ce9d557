"""The solid wedge: closed forms beside quadrature of resistive force theory, its area, how it grows."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from softground.media.resistive.stress import plane_stress
from softground.media.wedge import FlatSole, RoundSole, lateral_force, sagittal_force, shear_force, solid_under
from softground.media.wedge.resistance import wall_stress

from .wedge_cases import (
    FLAT,
    GROWTH,
    PHI,
    POSES,
    ROUND,
    SLOPE,
    ZETA,
    directions,
    integral,
    integrated,
    normals,
    outline,
    shoelace,
    solid,
)


@pytest.mark.parametrize(("shape", "depth", "tilt"), POSES)
def test_closed_forms_equal_the_surface_integral(shape, depth, tilt):
    found = solid(shape, depth, tilt)
    _, wedge = outline(shape, depth, tilt)
    forces, moments = [], []
    for direction in directions():
        force, moment = integrated(wedge, direction)
        forces.append((ZETA * shape.width * force, sagittal_force(found.faces, direction, PHI, ZETA, shape.width)))
        lead = found.faces.load * (normals(shape) @ direction > 0)
        stress = plane_stress(normals(shape), np.broadcast_to(direction, (len(lead), 3)))
        closed = (lead * (-found.faces.depth * stress[:, 0] - found.faces.x * stress[:, 2])).sum()
        moments.append((moment, closed))
    for pairs in (forces, moments):
        expected, value = (np.array(one) for one in zip(*pairs, strict=True))
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
        assert np.abs(expected).max() > 0


@pytest.mark.parametrize(("shape", "depth", "tilt"), POSES)
def test_shear_equals_the_frontal_integral(shape, depth, tilt):
    """Cut by planes parallel to the frontal one, the wedge's lower side is a level line, moved along (v_y, v_z)."""
    found = solid(shape, depth, tilt)
    _, wedge = outline(shape, depth, tilt)
    below = sum(
        abs(end[0] - start[0]) * integral(start, end, lambda x, z: z) for start, end in itertools.pairwise(wedge)
    )
    for along, _, up in directions():
        # The plane law has x for the direction along the plane.
        stress = plane_stress(np.array([0.0, 0.0, -1.0]), np.array([along, 0.0, up]))[0] if up < 0 else 0.0
        value = shear_force(found.faces, np.array([0.0, along, up]), PHI, ZETA, shape.width)
        assert value == pytest.approx(ZETA * shape.width * stress * below, rel=1e-8, abs=1e-12)
        mirrored = shear_force(found.faces, np.array([0.0, -along, up]), PHI, ZETA, shape.width)
        assert mirrored == -value


@pytest.mark.parametrize(("shape", "depth", "tilt"), POSES)
def test_area_is_that_of_the_outline(shape, depth, tilt):
    """The arc by 4000 chords: relative to the wedge's area its polygon is off by some 1e-7."""
    sole, wedge = outline(shape, depth, tilt)
    expected = shoelace(np.concatenate([sole, wedge[1:-1]]))
    assert solid(shape, depth, tilt).area == pytest.approx(expected, rel=1e-5, abs=1e-12)


def test_printed_factor_for_a_level_sole():
    """(8): alpha W I_z / (2 tan phi), with I_z = ((z + h)^2 - z^2) / cos phi on each flank once the wedge has grown."""
    depth, height = 0.05, FLAT.length / 2 * SLOPE
    found = solid_under(FlatSole(jnp.asarray(FLAT.length), jnp.asarray(FLAT.width)), depth, 0.0, PHI, 1e3)
    printed = ((depth + height) ** 2 - depth**2) / np.cos(PHI) / (2 * SLOPE)
    np.testing.assert_allclose(found.faces.load, [printed, printed, 0, 0], rtol=1e-12, atol=1e-15)


def test_round_wedge_saturates_and_flat_one_grows():
    sole = RoundSole(jnp.asarray(ROUND.radius), jnp.asarray(ROUND.width))
    full = ROUND.radius**2 * (SLOPE - PHI)  # two tangents less the sector between them
    deep = [solid_under(sole, depth, 0.0, PHI, GROWTH).area for depth in (0.002, 0.005, 0.0085, 0.02, 0.1)]
    assert (np.diff(deep[:3]) > 0).all()
    np.testing.assert_allclose(deep[3:], full, rtol=1e-9)
    flat = [solid(FLAT, depth, 0.0).area for depth in (1e-4, 0.01, 0.03, 1.0)]
    assert (np.diff(flat) > 0).all()
    assert flat[-1] == pytest.approx(FLAT.length**2 / 4 * SLOPE, rel=1e-6)


@pytest.mark.parametrize("slip", [0.0, 1e-4, 0.02, 10.0])
def test_bulldozing_is_a_wall_that_grows(slip):
    """(9) beside the integral of the wall's stress over its depth and length."""
    depth, length = 0.03, 0.05
    wall = plane_stress(np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    grown = quad(lambda y: np.exp(-y / length), 0, slip)[0] if slip < 1 else length
    expected = quad(lambda z: -wall[0] * z, 0, depth)[0] * grown
    value = lateral_force(jnp.asarray(depth), jnp.asarray(slip), jnp.asarray(length), wall_stress())
    assert float(value) == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert lateral_force(jnp.asarray(depth), jnp.asarray(-slip), jnp.asarray(length), wall_stress()) == 0
