"""Parts of the viewer: hulls against the medium's vertices, thinning that keeps peaks, the clock, robot meshes."""

import numpy as np
import pytest

from softground.bridges.viewer.clock import PlaybackClock
from softground.bridges.viewer.curves import Curves, around, thinned
from softground.bridges.viewer.plot_drawing import data_with_cursor
from softground.bridges.viewer.robot_meshes import body_meshes
from softground.bridges.viewer.wrench_hulls import force_vertices_of, has_wrench_space, hull_faces
from softground.media import firm, sand
from softground.robots import Robot
from softground.simulation import Ground, Simulator
from softground.surfaces import Plane

from .viewer_cases import HandClock


def volume(points, faces):
    """Of a closed surface with outward faces."""
    a, b, c = (points[faces[:, k].astype(int)] for k in range(3))
    return np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6


def test_hull_of_a_cube_with_a_point_inside():
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)] + [[0.5, 0.5, 0.5]], float)
    faces = hull_faces(corners)
    assert len(faces) == 2 * len(corners) - 4
    assert volume(corners, faces) == pytest.approx(1.0)
    assert 8 not in faces[faces.any(axis=1)]


def test_hull_of_points_in_a_plane_is_seen_from_both_sides():
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1], [0.5, 0, 0.5]], float)
    faces = hull_faces(square)
    a, b, c = (square[faces[:, k].astype(int)] for k in range(3))
    areas = np.cross(b - a, c - a)[:, 1] / 2
    assert areas[areas > 0].sum() == pytest.approx(1.0)
    assert areas[areas < 0].sum() == pytest.approx(-1.0)


@pytest.mark.parametrize("points", [np.zeros((7, 3)), np.outer(np.arange(7.0), [1, 2, 3])], ids=["point", "line"])
def test_hull_without_extent_has_no_area(points):
    assert not hull_faces(points).any()


def test_forces_of_the_hull_are_those_of_the_medium():
    """On a slope the vertices of the medium, in the surface's frame, are turned into the world."""
    slope = 0.2
    robot = Robot.load("foot")
    simulator = Simulator(robot, Ground(sand(), Plane(slope)))
    state = simulator.initial_state(height=-0.03)
    forces = force_vertices_of(simulator)(np.asarray(state.q))
    from softground.contact.feet import feet_in_ground

    feet = feet_in_ground(robot, state.q, simulator.ground.surface)
    import jax

    vertices = jax.jit(jax.vmap(lambda medium, foot: medium.vertices(foot)))
    wrenches = np.asarray(vertices(simulator.feet_medium, feet))[0]  # fx, fz, torque
    cos, sin = np.cos(slope), np.sin(slope)
    x, z = wrenches[:, 0], wrenches[:, 1]
    expected = np.stack([cos * x - sin * z, np.zeros_like(x), sin * x + cos * z], -1)
    np.testing.assert_allclose(forces[0], expected, atol=1e-9)
    assert not forces[0, -1].any()  # the origin
    assert forces[0, :, 2].max() > 50  # N, at 3 cm


def test_only_granular_ground_has_a_wrench_space():
    robot = Robot.load("foot")
    assert has_wrench_space(Simulator(robot, sand()))
    assert not has_wrench_space(Simulator(robot, firm()))


def test_thinning_keeps_the_peaks():
    time = np.linspace(0, 60, 30_000)
    values = np.stack([np.sin(time), np.zeros_like(time)])
    values[0, 12_345], values[1, 777] = 50.0, -30.0
    thin = thinned(Curves("", time, values, ("a", "b"), ((0, 0, 0),) * 2), 1000)
    assert len(thin.time) <= 1000
    assert (np.diff(thin.time) > 0).all()
    assert thin.values[0].max() == 50.0
    assert thin.values[1].min() == -30.0
    assert abs(thin.time[thin.values[0].argmax()] - time[12_345]) < 60 / 500


def test_short_curves_stay_as_they_are():
    curves = Curves("", np.arange(5.0), np.ones((1, 5)), ("a",), ((0, 0, 0),))
    assert thinned(curves, 5) is curves


@pytest.mark.parametrize(("cursor", "first", "last"), [(0.0, 0, 10), (3.0, 0, 10), (30.0, 25, 35), (60.0, 50, 60)])
def test_plots_of_long_runs_show_the_time_around_the_cursor(cursor, first, last):
    time = np.linspace(0, 60, 6001)
    shown = around(Curves("", time, np.sin(time)[None], ("a",), ((0, 0, 0),)), cursor)
    assert (shown.time[0], shown.time[-1]) == pytest.approx((first, last))
    np.testing.assert_array_equal(shown.values[0], np.sin(shown.time))


@pytest.mark.parametrize("cursor", [0.0, 1.3, 4.0])
def test_the_cursor_is_a_line_at_its_time(cursor):
    curves = Curves("", np.arange(5.0), np.arange(5.0)[None] ** 2, ("a",), ((0, 0, 0),))
    time, curve, line = data_with_cursor(curves, cursor, (-1.0, 20.0))
    assert (np.diff(time) >= 0).all()
    assert time[line.argmax()] == cursor
    assert (line == 20.0).sum() == 1
    assert curve[line.argmax()] == pytest.approx(np.interp(cursor, np.arange(5.0), np.arange(5.0) ** 2))


def test_clock_plays_pauses_seeks_and_repeats():
    now = HandClock()
    clock = PlaybackClock(10.0, now)
    now.time += 5
    assert clock.cursor() == 0.0  # not playing yet
    clock.play()
    now.time += 2
    assert clock.cursor() == pytest.approx(2.0)
    clock.speed = 0.5
    now.time += 2
    assert clock.cursor() == pytest.approx(3.0)
    clock.pause()
    now.time += 7
    assert clock.cursor() == pytest.approx(3.0)
    clock.seek(9.5)
    clock.play()
    now.time += 2
    assert clock.cursor() == pytest.approx(0.5)  # repeated
    clock.loop = False
    now.time += 100
    assert clock.cursor() == 10.0
    assert not clock.playing
    clock.play()
    assert clock.cursor() == 0.0  # from the start again
    clock.seek(-3)
    assert clock.cursor() == 0.0


def test_robot_meshes_are_closed_and_carry_the_models_colours():
    model = Robot.load("robosimian").mujoco_model(meshes=True)
    meshes = body_meshes(model, np.array([], int))
    assert {mesh.body for mesh in meshes} <= set(range(1, model.nbody))
    assert sum(len(mesh.vertices) for mesh in meshes) > 1000
    for mesh in meshes:
        assert mesh.faces.max() < len(mesh.vertices)
        assert np.isfinite(mesh.vertices).all()
        assert volume(mesh.vertices.astype(float), mesh.faces) > 0  # faces look outwards
