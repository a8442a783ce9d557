"""Footprints: depths worked out by hand, the greatest kept, any frame at any time; the sheet they are pressed into."""

import numpy as np
import pytest

from softground.bridges.viewer.footprints import REPOSE, Footprints, Sole, lowering
from softground.bridges.viewer.ground_sheet import COARSEN, GRAINS, MOST_NODES, TILE_CELLS, grid_faces, ground_sheet
from softground.robots import Box, Cylinder, Polygon, Sphere
from softground.surfaces import Plane, Wave

UP = np.array([0.0, 0.0, 1.0])


def sole_at(shape, depth, x=0.0, y=0.0, axes=None, clearance=0.0):
    """A foot in level ground at height 0."""
    origin = np.array([x, y, clearance - depth])
    return Sole(shape, origin, np.eye(3) if axes is None else axes, UP, depth)


def points(*xs):
    return np.array([[x, 0.0, 0.0] for x in xs])


def flat_sheet(reach=0.5):
    return ground_sheet(Plane(), np.full(2, -reach), np.full(2, reach), 0.0125, 5.0)


def test_a_cylinder_leaves_a_flat_bottom_and_walls_at_the_angle_of_repose():
    sole = sole_at(Cylinder(0.05, 0.15), 0.04)
    below = lowering(points(0.0, 0.049, 0.07, 0.05 + 0.04 / REPOSE + 1e-6), sole)
    np.testing.assert_allclose(below, [0.04, 0.04, 0.04 - REPOSE * 0.02, 0.0], atol=1e-12)


def test_a_sphere_leaves_its_underside():
    radius, depth = 0.03, 0.01
    sole = sole_at(Sphere(radius), depth, clearance=radius)
    below = lowering(points(0.0, 0.02, 0.029), sole)
    np.testing.assert_allclose(below, [depth, depth - radius + np.sqrt(radius**2 - 0.02**2), 0.0], atol=1e-12)
    buried = sole_at(Sphere(radius), 0.05, clearance=radius)  # 2 cm of wall above the equator
    np.testing.assert_allclose(lowering(points(radius, radius + 0.01), buried), [0.02, 0.02 - 0.01 * REPOSE], atol=1e-9)


def test_a_box_is_longer_than_wide():
    sole = sole_at(Box(0.2, 0.1, 0.02), 0.02)
    along, across = lowering(np.array([[0.09, 0.0, 0.0], [0.0, 0.09, 0.0]]), sole)
    assert along == pytest.approx(0.02)
    assert across == pytest.approx(max(0.02 - 0.04 * REPOSE, 0.0))


def test_a_polygon_leaves_its_outline():
    """A triangle with its corner at +x: along x it reaches 0.1 m, across it there is half its width at x = 0."""
    sole = sole_at(Polygon([(0.1, 0.0), (-0.1, 0.06), (-0.1, -0.06)]), 0.02)
    places = np.array([[0.09, 0.0, 0.0], [0.0, 0.029, 0.0], [0.11, 0.0, 0.0], [-0.1, 0.07, 0.0]])
    np.testing.assert_allclose(lowering(places, sole), 0.02 - REPOSE * np.array([0.0, 0.0, 0.01, 0.01]), atol=1e-12)
    assert sole.reach == pytest.approx(np.hypot(0.1, 0.06) + 0.02 / REPOSE)


def test_a_tilted_sole_is_deeper_on_the_side_it_leans_to():
    """Leaning towards +x, the plane of the sole falls by tan(tilt) a metre along x."""
    tilt = 0.2
    axes = np.array([[np.cos(tilt), 0, np.sin(tilt)], [0, 1, 0], [-np.sin(tilt), 0, np.cos(tilt)]])
    below = lowering(points(-0.03, 0.0, 0.03), sole_at(Cylinder(0.05, 0.15), 0.04, axes=axes))
    np.testing.assert_allclose(below, 0.04 + np.tan(tilt) * np.array([-0.03, 0.0, 0.03]), atol=1e-12)


def test_a_foot_above_the_ground_leaves_nothing():
    prints = Footprints(flat_sheet())
    prints.press(0, 0, sole_at(Cylinder(0.05, 0.15), -0.01))
    assert prints.tiles == set()
    assert not lowering(points(0.0), sole_at(Cylinder(0.05, 0.15), -0.01)).any()


def test_the_ground_keeps_the_greatest_depth_and_every_frame_can_be_asked_for():
    prints = Footprints(flat_sheet())
    for frame, depth in ((3, 0.01), (5, 0.04), (9, 0.02)):
        prints.press(frame, 0, sole_at(Cylinder(0.05, 0.15), depth, x=0.1, y=0.1))
    greatest = lambda frame: max(prints.depths(tile, frame).max() for tile in prints.tiles)  # noqa: E731
    assert [greatest(f) for f in (2, 3, 4, 5, 8, 9, 100)] == pytest.approx([0, 0.01, 0.01, 0.04, 0.04, 0.04, 0.04])
    assert greatest(3) == pytest.approx(0.01)  # going back in time is as good
    for tile in prints.tiles:
        lowest = prints.surface(tile, 9)[:, 2].min()
        grains = GRAINS * COARSEN * prints.sheet.cell
        assert -0.04 - grains <= lowest <= grains


def test_two_feet_leave_two_prints():
    prints = Footprints(flat_sheet())
    prints.press(0, 0, sole_at(Cylinder(0.05, 0.15), 0.02, x=-0.3))
    prints.press(0, 1, sole_at(Cylinder(0.05, 0.15), 0.03, x=0.3))
    vertices = np.concatenate([prints.surface(tile, 0) for tile in prints.tiles])
    depths = np.concatenate([prints.depths(tile, 0) for tile in prints.tiles])
    for x, depth in ((-0.3, 0.02), (0.3, 0.03)):
        near = np.hypot(vertices[:, 0] - x, vertices[:, 1]) < 0.045
        np.testing.assert_allclose(depths[near], depth, atol=1e-7)


def test_without_history_only_the_latest_state_is_kept():
    prints = Footprints(flat_sheet(), keep_history=False)
    for frame in range(50):
        prints.press(frame, 0, sole_at(Cylinder(0.05, 0.15), 0.01 + 0.001 * frame))
    assert all(len(pressed.frames) == 1 for pressed in prints._pressed.values())


@pytest.mark.parametrize("surface", [Plane(0.1), Wave(0.1, 2.0)], ids=["plane", "wave"])
def test_tiles_lie_on_the_surface_and_meet_what_surrounds_them(surface):
    sheet = ground_sheet(surface, np.full(2, -0.5), np.full(2, 0.5), 0.0125, 5.0)
    vertices, normals = sheet.tile((1, 1))
    distance = np.array([float(surface.signed_distance(p)) for p in vertices[::60]])
    # Grains, and the sagitta h^2 k / 8 of coarse cells (h) on a wave of curvature k = A (2 pi / L)^2.
    sagitta = (COARSEN * sheet.cell) ** 2 * 0.1 * np.pi**2 / 4
    assert np.abs(distance).max() < GRAINS * COARSEN * sheet.cell + sagitta
    expected = np.array([np.asarray(surface.normal(p)) for p in vertices[::60]])
    np.testing.assert_allclose(normals[::60], expected, atol=0.02)
    border = vertices.reshape(TILE_CELLS + 1, TILE_CELLS + 1, 3)[0]
    neighbour = sheet.tile((0, 1))[0].reshape(TILE_CELLS + 1, TILE_CELLS + 1, 3)[-1]
    np.testing.assert_allclose(border, neighbour, atol=1e-12)
    coarse = sheet.vertices.reshape(len(sheet.x), len(sheet.y), 3)
    assert np.abs(coarse - border[0]).sum(-1).min() < 1e-12


def test_the_sheet_leaves_out_tiles_and_what_is_no_ground():
    sheet = flat_sheet()
    whole = len(sheet.faces())
    assert len(grid_faces(*sheet.z.shape)) == whole
    assert whole - len(sheet.faces({(0, 0), (1, 0)})) == 2 * 2 * (TILE_CELLS // COARSEN) ** 2
    holed = sheet.z.copy()
    holed[0, 0] = np.nan
    import dataclasses

    assert whole - len(dataclasses.replace(sheet, z=holed).faces()) == 2


def test_faces_look_up():
    sheet = flat_sheet()
    a, b, c = (sheet.vertices[sheet.faces()[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()


def test_a_large_field_gets_larger_cells():
    sheet = ground_sheet(Plane(), np.zeros(2), np.array([200.0, 100.0]), 0.01, 50.0)
    assert sheet.z.size < 1.5 * MOST_NODES
    assert sheet.cell > 0.01
