"""Each surface against what is known of its shape from elsewhere."""

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.interpolate
import scipy.optimize
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from softground.surfaces import HeightField, MeshSurface, Plane, Ramp, Wave, mesh, minimal_rotation

from .grounds import bumps, field_of_bumps, heights, look, mesh_of_bumps, points_near

angle = st.floats(-1.5, 1.5)
coordinate = st.floats(-5.0, 5.0)


def distances(ground, points):
    return np.asarray(look(ground, jnp.asarray(points))[0])


@settings(deadline=None, max_examples=50)
@given(angle, st.floats(-4.0, 4.0), st.tuples(coordinate, coordinate, coordinate), coordinate, coordinate)
def test_plane_rises_along_its_heading(slope, heading, point, run, gap):
    """Walking `run` along the heading raises it by run tan(slope); gaps count along the normal."""
    plane = Plane(slope, heading, point)
    ascent = np.array([np.cos(heading), np.sin(heading)])
    on_plane = np.append(np.array(point[:2]) + run * ascent, point[2] + run * np.tan(slope))
    normal = np.append(-np.sin(slope) * ascent, np.cos(slope))
    scale = 1.0 + abs(on_plane[2])
    assert plane.height(jnp.asarray(on_plane[:2])) == pytest.approx(on_plane[2], abs=1e-9 * scale)
    assert plane.signed_distance(jnp.asarray(on_plane + gap * normal)) == pytest.approx(gap, abs=1e-12 * scale)


def test_planes_in_a_batch():
    slopes = jnp.linspace(-0.5, 0.5, 7)
    planes = eqx.filter_vmap(Plane)(slopes)
    d = eqx.filter_vmap(lambda plane: plane.signed_distance(jnp.array([1.0, 0.0, 0.0])))(planes)
    np.testing.assert_allclose(d, -np.sin(slopes), atol=1e-14)


def test_distance_differentiates_in_the_slope():
    d = jax.grad(lambda slope: Plane(slope).signed_distance(jnp.array([1.0, 0.0, 0.0])))(0.3)
    assert d == pytest.approx(-np.cos(0.3), abs=1e-14)


@settings(deadline=None, max_examples=50)
@given(st.floats(0.0, 3.0), st.floats(-3.2, 3.2))
def test_minimal_rotation_moves_only_in_the_plane_of_the_tilt(tilt, heading):
    """The axis e_z x n stays where it is, and e_z goes to n."""
    normal = jnp.array([np.sin(tilt) * np.cos(heading), np.sin(tilt) * np.sin(heading), np.cos(tilt)])
    axis = jnp.array([-np.sin(heading), np.cos(heading), 0.0])
    rotation = minimal_rotation(normal)
    np.testing.assert_allclose(rotation @ axis, axis, atol=1e-10)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-10)


def closest_by_search(ground, point, heading, reach):
    """Distance to the profile along the heading, by a dense search refined with scipy."""
    along = np.array([np.cos(heading), np.sin(heading)])

    def gap(t):
        xy = point[:2] + t * along
        return np.hypot(t, float(height_of(ground, xy)) - point[2])

    found = scipy.optimize.minimize_scalar(gap, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-9})
    return found.fun


height_of = eqx.filter_jit(lambda ground, xy: ground.height(xy))


@pytest.mark.parametrize(
    ("ground", "heading"),
    [(Wave(0.05, 0.5, 0.4), 0.4), (Wave(-0.1, 0.6, -1.0, 2.0), -1.0), (Ramp(0.7, 0.3, 0.4), 0.4)],
)
def test_closest_point_within_a_quarter_of_the_radius(ground, heading):
    """Error below 1e-7 of the least radius of curvature, as the docstrings say."""
    radius = 1.0 / float(ground.greatest_curvature())
    points = points_near(ground, 0.25 * radius)[:15]
    searched = [closest_by_search(ground, p, heading, 0.5 * radius) for p in points]
    np.testing.assert_allclose(np.abs(distances(ground, points)), searched, atol=1e-7 * radius)


def test_ramp_meets_both_planes_and_has_its_radius():
    slope, radius = 0.5, 0.4
    ramp = Ramp(slope, radius, point=(1.0, 0.0, 0.2))
    assert ramp.height(jnp.array([-4.0, 3.0])) == pytest.approx(0.2, abs=1e-12)
    assert ramp.height(jnp.array([6.0, 3.0])) == pytest.approx(0.2 + 5.0 * np.tan(slope), abs=1e-12)
    h = jax.grad(lambda x: ramp.height(jnp.stack([x, 0.0])))
    bend, tilt = jax.grad(h)(1.0), h(1.0)
    assert (1.0 + tilt**2) ** 1.5 / bend == pytest.approx(radius, rel=1e-12)


def test_height_field_equals_scipy_to_the_edge():
    random = np.random.default_rng(1)
    x, y = 0.5 + 0.2 * np.arange(9), -1.0 + 0.1 * np.arange(12)
    heights = random.normal(size=(9, 12))
    field = HeightField(heights, (0.2, 0.1), origin=(0.5, -1.0))
    oracle = scipy.interpolate.RectBivariateSpline(x, y, heights)
    points = random.uniform([x[0], y[0]], [x[-1], y[-1]], (200, 2))
    h, gradient, hessian = jax.jit(jax.vmap(field.jet))(jnp.asarray(points))
    for value, order in (
        (h, (0, 0)),
        (gradient[:, 0], (1, 0)),
        (gradient[:, 1], (0, 1)),
        (hessian[:, 0, 0], (2, 0)),
        (hessian[:, 0, 1], (1, 1)),
        (hessian[:, 1, 1], (0, 2)),
    ):
        expected = oracle(*points.T, dx=order[0], dy=order[1], grid=False)
        np.testing.assert_allclose(value, expected, atol=1e-11 * (1.0 + np.abs(expected).max()))


def test_height_field_bounds_its_own_curvature():
    field = field_of_bumps()
    xy = np.random.default_rng(0).uniform(-0.6, 0.6, (500, 2))
    _, _, hessian = jax.jit(jax.vmap(field.jet))(jnp.asarray(xy))
    greatest = np.linalg.norm(hessian, ord=2, axis=(1, 2)).max()
    assert greatest <= float(field.greatest_curvature()) < 3.0 * greatest


def test_height_field_goes_on_as_a_constant_smoothly():
    field = field_of_bumps()
    line = jnp.stack([jnp.linspace(0.55, 2.0, 3000), jnp.full(3000, 0.1)], axis=1)
    h, gradient, hessian = jax.jit(jax.vmap(field.jet))(line)
    outside = line[:, 0] > 0.6 + 2 * 0.04
    np.testing.assert_allclose(h[outside], h[-1], atol=1e-14)
    # C2: neighbouring samples 0.5 mm apart differ by that step times the third derivative, no jump.
    third = np.abs(np.diff(hessian[:, 0, 0])).max()
    assert third < 0.05 * np.abs(hessian[:, 0, 0]).max()
    assert abs(float(h[-1]) - bumps(0.6, 0.1)) < 0.04 * np.abs(gradient).max()


def test_height_field_by_extent_is_that_by_spacing():
    heights = np.random.default_rng(0).normal(size=(5, 6))
    one, two = HeightField(heights, (0.5, 0.2)), HeightField(heights, extent=(2.0, 1.0))
    np.testing.assert_allclose(one.spline.spacing, two.spline.spacing)


@pytest.mark.parametrize("suffix", [".npy", ".csv"])
def test_height_field_from_a_file(tmp_path, suffix):
    heights = np.random.default_rng(0).normal(size=(5, 6))
    path = tmp_path / f"heights{suffix}"
    np.save(path, heights) if suffix == ".npy" else np.savetxt(path, heights, delimiter=",")
    field = HeightField.load(path, 0.1)
    assert field.height(jnp.array([0.4, 0.2])) == pytest.approx(heights[4, 2], abs=1e-12)


def test_mesh_of_a_sphere():
    ball = trimesh.creation.icosphere(subdivisions=3, radius=0.5)
    facet_error = 0.5 - np.linalg.norm(ball.triangles_center, axis=1).min()
    ground = MeshSurface(ball, 0.07)
    directions = np.random.default_rng(0).normal(size=(300, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = np.linspace(0.35, 0.7, 300)
    np.testing.assert_allclose(distances(ground, directions * radii[:, None]), radii - 0.5, atol=1.5 * facet_error)
    normals = look(ground, jnp.asarray(directions * 0.5))[1]
    assert (np.sum(np.asarray(normals) * directions, axis=1) > np.cos(0.05)).all()


def test_mesh_of_a_box_away_from_its_edges_and_outside_its_grid():
    box = trimesh.creation.box((1.0, 0.8, 0.6))
    ground = MeshSurface(box, 0.05)
    p = np.random.default_rng(0).uniform([-0.2, -0.1, 0.22], [0.2, 0.1, 0.45], (200, 3))
    np.testing.assert_allclose(distances(ground, p), p[:, 2] - 0.3, atol=1e-3)
    far = np.array([[0.0, 0.0, 3.0], [2.0, 0.0, 0.0], [0.0, -5.0, 0.1], [3.0, 3.0, 3.0]])
    exact = np.linalg.norm(np.maximum(np.abs(far) - np.array([0.5, 0.4, 0.3]), 0.0), axis=1)
    np.testing.assert_allclose(distances(ground, far), exact, rtol=0.1)
    nowhere, top = heights(ground, jnp.array([[2.0, 0.0], [0.1, 0.1]]))
    assert np.isnan(nowhere)
    assert top == pytest.approx(0.3, abs=1e-3)


def test_mesh_distance_is_exact_at_the_nodes():
    """Samples against the closed form of a box, signs included, with nodes on faces, edges and corners."""
    ground = MeshSurface(trimesh.creation.box((1.0, 0.8, 0.6)), 0.1, padding=0.2)
    first, last = (np.asarray(corner) for corner in ground.bounds())
    axes = [np.linspace(a, b, round((b - a) / 0.1) + 1) for a, b in zip(first, last, strict=True)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    beyond = np.abs(nodes) - np.array([0.5, 0.4, 0.3])
    exact = np.linalg.norm(np.maximum(beyond, 0.0), axis=1) + np.minimum(beyond.max(axis=1), 0.0)
    np.testing.assert_allclose(distances(ground, nodes), exact, atol=1e-12)


def test_mesh_of_a_slope():
    slope = 0.3
    block = trimesh.creation.box((1.2, 1.0, 0.6))
    block.apply_transform(trimesh.transformations.rotation_matrix(-slope, (0, 1, 0)))
    ground, plane = (
        MeshSurface(block, 0.06),
        Plane(slope, point=(-0.3 * np.sin(slope), 0.0, 0.3 * np.cos(slope))),
    )
    points = 0.6 * points_near(plane, 0.0)
    points[:, 2] = heights(plane, jnp.asarray(points[:, :2])) + np.linspace(-0.06, 0.06, 40)
    np.testing.assert_allclose(distances(ground, points), distances(plane, points), atol=1e-3)


def test_mesh_of_a_terrain_is_the_height_field_of_it():
    """Both stand for the same bumps: facets of 30 mm err by h'' x 0.03^2 / 8 = 0.1 mm, as may the grid."""
    mesh, field = mesh_of_bumps(), field_of_bumps()
    points = points_near(field, 0.04)
    np.testing.assert_allclose(distances(mesh, points), distances(field, points), atol=2e-4)
    normals = [look(ground, jnp.asarray(points))[1] for ground in (mesh, field)]
    np.testing.assert_allclose(*normals, atol=5e-3)


def test_mesh_turned_inside_out_is_the_same_solid():
    box = trimesh.creation.box((1.0, 0.8, 0.6))
    box.invert()
    assert float(MeshSurface(box, 0.1).signed_distance(jnp.zeros(3))) < -0.2


def block_with_a_bump(width: float, height: float) -> trimesh.Trimesh:
    """A block of 1 x 0.2 x 0.15 m with a pyramid on its top, which is at z = 0."""
    box = trimesh.creation.box((1.0, 0.2, 0.15))
    box.apply_translation([0.0, 0.0, -0.075])
    top = np.flatnonzero(box.vertices[:, 2] == 0.0)
    outer = top[np.argsort(np.arctan2(*box.vertices[top, 1::-1].T))]
    corner = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * width / 2
    first, tip = len(box.vertices), len(box.vertices) + 4
    vertices = np.concatenate([box.vertices, corner + np.array([*PLACE, 0]), [[*PLACE, height]]])
    faces = [face for face in box.faces if not np.isin(face, top).all()]
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 0)):
        faces += [[outer[i], outer[j], first + j], [outer[i], first + j, first + i], [first + i, first + j, tip]]
    solid = trimesh.Trimesh(vertices, faces)
    assert solid.is_watertight
    return solid


PLACE = (0.011, 0.007)  # m, of the bump: between the nodes


def test_a_detail_between_the_nodes_is_not_lost_in_silence():
    """A pyramid narrower than the grid, which misses its tip, gives a warning; corners of a block give none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MeshSurface(trimesh.creation.box((1.0, 0.8, 0.6)).subdivide().subdivide(), 0.1)
    with pytest.warns(UserWarning, match=r"details that a spacing of 0.06 m loses: \d+ vertices are up to 0.0"):
        coarse = MeshSurface(block_with_a_bump(0.03, 0.02), 0.06)
    assert distances(coarse, np.array([[*PLACE, 0.02]]))[0] > 0.01


def test_a_grid_is_refined_for_details(monkeypatch):
    """A stone 16 mm high and 120 mm wide, a fifth of the spacing that a plain block of this size is given here."""
    monkeypatch.setattr(mesh, "NODES_ALONG", 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ground = MeshSurface(block_with_a_bump(0.12, 0.016))
    assert float(ground.spline.spacing[0]) < 1 / 22
    assert distances(ground, np.array([[*PLACE, 0.016]]))[0] < 0.004


def test_mesh_from_a_file(tmp_path):
    path = tmp_path / "box.stl"
    trimesh.creation.box((1.0, 0.8, 0.6)).export(path)
    assert heights(MeshSurface(path, 0.1), jnp.zeros((1, 2))) == pytest.approx(0.3, abs=2e-3)
