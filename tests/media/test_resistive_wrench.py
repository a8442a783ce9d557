"""Summing the stress over the foot: closed forms, refinement, invariants."""

import numpy as np
import pytest

from softground.errors import MediumError
from softground.media.resistive.directions import (
    SPEED,
    SPIN,
    directions,
    mirror_images,
    mirror_signs,
    planar_twists,
    point_twists,
    spatial_twists,
)
from softground.media.resistive.medium import DEPTHS, tilt_rotation
from softground.media.resistive.wrench import surface_of, wrenches
from softground.robots.shapes import Box, Cylinder, Sphere

FOOT = Cylinder(0.05, 0.15)
SHAPES = [FOOT, Box(0.2, 0.1, 0.02), Box(0.1, 0.06, 0.1), Sphere(0.03)]
DOWN = np.array([[0.0, 0.0, -SPEED, 0.0, 0.0, 0.0]])
TO_RIGHT = np.array([[SPEED, 0.0, 0.0, 0.0, 0.0, 0.0]])
UPRIGHT = np.eye(3)[None]
SETS = {"plane": planar_twists(), "3d": spatial_twists()}


def tilts(law):
    angle = np.linspace(-np.pi / 2, np.pi / 2, 9)
    heading = 0.0 if law == "plane" else 0.6
    return tilt_rotation(np.sin(angle) * np.cos(heading), np.sin(angle) * np.sin(heading), np.cos(angle))


def clearance(shape):
    return shape.radius if isinstance(shape, Sphere) else 0.0


@pytest.mark.parametrize("law", SETS)
@pytest.mark.parametrize(("shape", "area"), [(FOOT, np.pi * 0.05**2), (Box(0.2, 0.1, 0.02), 0.02)])
def test_sole_pushed_down_is_exactly_area_times_depth(shape, area, law):
    force = wrenches(surface_of(shape), law, UPRIGHT, DEPTHS, DOWN)[0, :, 0]
    np.testing.assert_allclose(force[:, 2], 1e6 * area * DEPTHS, rtol=1e-10)
    np.testing.assert_allclose(force[:, [0, 1, 3, 4, 5]], 0, atol=1e-9)


def test_wall_dragged_sideways_is_the_integral_of_depth():
    """Front of a box: force 0.37e6 w d^2/2 acting d/3 above the sole,
    and a small vertical stress 0.037e6 at the arm l/2.
    """
    box, depth = Box(0.2, 0.1, 0.3), np.array([0.01, 0.05, 0.1])
    wrench = wrenches(surface_of(box), "plane", UPRIGHT, depth, TO_RIGHT)[0, :, 0]
    load = 1e6 * box.width * depth**2 / 2
    np.testing.assert_allclose(wrench[:, 0], -0.37 * load, rtol=1e-9)
    np.testing.assert_allclose(wrench[:, 2], 0.037 * load, rtol=1e-9)
    pitch = -0.37 * load * depth / 3 - 0.037 * load * box.length / 2  # (r x f)_y = z fx - x fz
    # Elements carry their load at their middle: the arm is off by at most half an element's height.
    assert np.abs(wrench[:, 4] - pitch).max() < 0.37 * load.max() * 0.3 / 6 / 2


def test_cylinder_shows_its_silhouette_to_the_plane_law():
    depth = np.array([0.04])
    wrench = wrenches(surface_of(FOOT, 2), "plane", UPRIGHT, depth, TO_RIGHT)[0, 0, 0]
    assert wrench[0] == pytest.approx(-0.37e6 * 2 * FOOT.radius * depth[0] ** 2 / 2, rel=5e-3)


@pytest.mark.parametrize(
    ("shape", "area"),
    [
        (FOOT, np.pi * 0.05**2 + 2 * np.pi * 0.05 * 0.15),
        (Box(0.2, 0.1, 0.02), 0.02 + 2 * 0.02 * 0.3),
        (Sphere(0.03), 4 * np.pi * 0.03**2),
    ],
)
def test_surfaces_have_the_right_area_and_normals(shape, area):
    surface = surface_of(shape)
    assert surface.area.sum() == pytest.approx(area, rel=1e-12)
    np.testing.assert_allclose(np.linalg.norm(surface.normal, axis=1), 1, rtol=1e-12)
    middle = np.array([0, 0, 0 if isinstance(shape, Sphere) else 0.01])
    assert ((surface.centre - middle) * surface.normal).sum(1).min() > 0  # outward of a convex body


@pytest.mark.parametrize("law", SETS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_refining_the_surface_changes_wrenches_by_less_than_one_percent(shape, law):
    twists, unit = SETS[law][::3], np.repeat([1.0, SPEED / SPIN], 3)
    args = (law, tilts(law), DEPTHS, twists, clearance(shape))
    coarse, fine = (wrenches(surface_of(shape, n), *args) / unit for n in (1, 3))
    size = np.sqrt((np.linalg.norm(fine, axis=-1).max(-1) ** 2).mean(0))  # of the set, at each depth
    change = np.sqrt((np.linalg.norm(coarse - fine, axis=-1) ** 2).mean((0, 2)))
    assert (change < 0.01 * size).all()


@pytest.mark.parametrize("law", SETS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_wrench_opposes_its_twist(shape, law):
    twists = SETS[law]
    value = wrenches(surface_of(shape), law, tilts(law), DEPTHS, twists, clearance(shape))
    power = (value * twists).sum(-1)
    assert power.max() <= 1e-9 * np.abs(power).max()
    assert power.min() < 0


@pytest.mark.parametrize("law", SETS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_mirrored_foot_meets_the_mirrored_wrench(shape, law, axis):
    twists, flip = SETS[law], mirror_signs(axis)
    turns = tilts(law)
    images = flip[:3, None] * turns * flip[:3]
    args = (DEPTHS[::4], twists, clearance(shape))
    straight = wrenches(surface_of(shape), law, turns, *args)
    mirrored = wrenches(surface_of(shape), law, images, *args)
    there = mirror_images(twists, axis)
    size = np.abs(straight).max()
    np.testing.assert_allclose(mirrored[:, :, there], straight * flip, atol=1e-6 * size)


def test_depth_of_the_sphere_is_that_of_its_lowest_point():
    value = wrenches(surface_of(Sphere(0.03)), "3d", UPRIGHT, np.array([-0.001, 0.0, 0.002]), DOWN, 0.03)
    assert np.abs(value[0, 0]).max() == 0
    assert value[0, 2, 0, 2] > 0


def test_planar_directions_are_numbered_as_in_the_paper():
    unit = directions(26) / np.array([0.02, 0.02, 0.3])
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)
    np.testing.assert_allclose(unit[[0, 25]], [[0, 0, 1], [0, 0, -1]], atol=1e-12)
    np.testing.assert_allclose(unit[[9, 11, 13, 15]], [[0, -1, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(unit[1], [0, -np.sqrt(0.5), np.sqrt(0.5)], atol=1e-12)
    assert len(np.unique(directions(58).round(12), axis=0)) == 58
    with pytest.raises(MediumError, match="26"):
        directions(27)


@pytest.mark.parametrize("twists", [point_twists(), spatial_twists()], ids=["point", "spatial"])
def test_spatial_directions_are_unit_distinct_and_symmetric(twists):
    unit = twists / np.repeat([SPEED, SPIN], 3)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)
    assert len(np.unique(unit.round(9), axis=0)) == len(unit)
    for axis in (0, 1):
        images = unit[mirror_images(twists, axis)]
        np.testing.assert_allclose(images, unit * mirror_signs(axis), atol=1e-12)
