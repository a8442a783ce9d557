"""Every shape answers alike: its answers agree with one another, and files keep it. A shape of one's own joins in."""

import json
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh

from softground import media
from softground.bridges.viewer.footprints import Sole, lowering
from softground.control.whole_body.constraints.feasibility import wrench_cone
from softground.errors import MediumError, RobotError
from softground.experiments.campaign.options import read_foot
from softground.experiments.rigs.resistive import wrench_change
from softground.media.base import COMPONENTS, FootInGround
from softground.robots import Box, Cylinder, HalfCylinder, MeshFoot, Polygon, Robot, Shape, Sphere, register_shape
from softground.robots.shapes import SHAPES, Capsule, Compound, ConvexMesh, Ellipsoid, Part, shape_from_dict
from softground.runs.description import describe, restore

SIDE, HEIGHT = 0.06, 0.04


@dataclass(frozen=True)
class Hexagon(Shape):
    """A foot as an outsider would write it: this class, and a line that registers it."""

    name = "hexagon"
    side: float  # m
    height: float  # m

    @property
    def outline(self):
        angle = np.pi / 3 * np.arange(6)
        return self.side * np.c_[np.cos(angle), np.sin(angle)]

    @property
    def extent(self):
        return 2 * self.side, np.sqrt(3) * self.side, self.height


AREA = 1.5 * np.sqrt(3) * SIDE**2


@pytest.fixture
def hexagon():
    register_shape(Hexagon)
    yield Hexagon(SIDE, HEIGHT)
    del SHAPES["hexagon"]


def mesh() -> MeshFoot:
    cone = trimesh.creation.cone(0.05, 0.1, sections=12)
    return MeshFoot(np.asarray(cone.vertices), np.asarray(cone.faces), "cone.stl")


EXAMPLES: dict[str, Shape] = {
    "sphere": Sphere(0.03),
    "cylinder": Cylinder(0.05, 0.15),
    "box": Box(0.2, 0.1, 0.05),
    "half-cylinder": HalfCylinder(0.04, 0.08),
    "polygon": Polygon([(0.12, 0.0), (-0.08, 0.06), (-0.08, -0.05)], 0.03),
    "mesh": mesh(),
    "capsule": Capsule(0.03, 0.1),
    "ellipsoid": Ellipsoid(0.1, 0.06, 0.04),
    "convex-mesh": ConvexMesh(tuple((x, y, z) for x in (-0.1, 0.1) for y in (-0.05, 0.05) for z in (-0.02, 0.02))),
    "compound": Compound((Part.at(Capsule(0.03, 0.1), np.zeros(3), np.eye(3)),)),
    "my hexagon": Hexagon(SIDE, HEIGHT),
}
FLAT = [name for name, shape in EXAMPLES.items() if shape.serves_robots and not shape.rolls]
each = pytest.mark.parametrize("shape", EXAMPLES.values(), ids=EXAMPLES)
each_flat = pytest.mark.parametrize("shape", [EXAMPLES[name] for name in FLAT], ids=FLAT)


def test_every_registered_shape_is_tested():
    assert {shape.name for shape in EXAMPLES.values()} >= set(SHAPES)


@each
def test_outline_and_panels_fill_the_extent(shape):
    """Panels lie within the box around the shape, and reach its sides but for half a panel."""
    low, high = shape.outline.min(0), shape.outline.max(0)
    np.testing.assert_allclose(high - low, shape.extent[:2], rtol=1e-2)  # circles are polygons
    centre = shape.panels().centre
    size = np.array(shape.extent)
    assert (np.ptp(centre, axis=0) <= size + 1e-12).all()
    assert (np.ptp(centre, axis=0) >= 0.85 * size).all()
    if shape.serves_robots:  # parts of bodies do not stand on their origin
        assert centre[:, 2].min() >= -shape.clearance - 1e-12
    assert np.hypot(*shape.outline.T).max() <= shape.farthest + 1e-12
    assert shape.half_width == min(shape.extent[:2]) / 2


@each_flat
def test_panels_close_the_foot_but_for_its_top(shape):
    """The area vectors of a closed surface sum to zero, so those without the top give minus the sole's area."""
    panels = shape.panels()
    np.testing.assert_allclose(panels.area @ panels.normal, [0, 0, -shape.area], atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(panels.normal, axis=1), 1.0)


@each_flat
def test_moments_are_those_of_the_quadrature_and_of_the_sole(shape):
    area, first, second = shape.moments()
    points, areas = shape.quadrature()
    np.testing.assert_allclose([areas.sum(), *(areas @ points)], [area, *first], rtol=1e-12, atol=1e-16)
    np.testing.assert_allclose((areas[:, None] * points).T @ points, second, rtol=1e-12, atol=1e-16)
    down = shape.panels()
    sole = down.area[down.normal[:, 2] < -0.99]
    assert sole.sum() == pytest.approx(area)


@each_flat
def test_half_planes_hold_the_centre_and_touch_the_outline(shape):
    normals, distances = shape.half_planes()
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
    reached = (shape.outline @ normals.T).max(0)
    np.testing.assert_allclose(reached, distances, rtol=0.083)  # an octagon for a disc: 1 / cos(22.5 degrees)
    assert (shape.moments()[1] / shape.area @ normals.T < distances).all()


@each
def test_nearest_points(shape):
    points = np.random.default_rng(0).uniform(-0.2, 0.2, (200, 2))
    found = shape.nearest(points)
    np.testing.assert_allclose(shape.nearest(found), found, atol=1e-12)
    assert (np.hypot(*found.T) <= shape.farthest + 1e-9).all()
    assert (np.linalg.norm(points - found, axis=1) <= np.linalg.norm(points - shape.moments()[1], axis=1) + 0.2).all()


def test_what_rolls_and_what_is_round():
    rolling = {name for name, shape in EXAMPLES.items() if shape.rolls}
    assert rolling == {"sphere", "half-cylinder"}
    assert all((shape.clearance > 0) == shape.rolls for shape in EXAMPLES.values())
    assert {name for name, shape in EXAMPLES.items() if shape.is_round} == {"sphere", "cylinder", "capsule"}
    assert {name for name, shape in EXAMPLES.items() if not shape.is_mirrored} == {
        "polygon",
        "mesh",
        "convex-mesh",
        "compound",
    }


@each
def test_files_keep_it(shape, hexagon):
    document = json.loads(json.dumps(shape.to_dict()))
    again = shape_from_dict(document)
    assert again.to_dict() == shape.to_dict()
    assert again.identity() == shape.identity()
    if shape.serves_robots:
        assert again == shape
        assert restore(json.loads(json.dumps(describe(shape, {}))), {}) == shape


def test_names_are_checked():
    with pytest.raises(RobotError, match=r"unknown foot 'cone'.*box.*register_shape"):
        shape_from_dict({"type": "cone"})
    with pytest.raises(RobotError, match="taken"):
        register_shape(type("Other", (Shape,), {"name": "box"}))
    with pytest.raises(RobotError, match="must be Box, Cylinder"):
        Robot.load("g1", feet={"left_foot": mesh()})


@pytest.mark.parametrize("law", ["plane", "3d"])
def test_a_rectangle_written_as_a_polygon_is_a_box(law):
    """To the ground: panels of any outline against those of the box, summed by resistive force theory."""
    box = Box(0.2, 0.1, 0.05)
    written = Polygon(box.outline, box.height)
    assert wrench_change(written.panels(), box.panels(3), box.height, law) < 0.01
    soles = [media.Wedge().for_foot(shape, planar=False).sole for shape in (written, box)]
    np.testing.assert_allclose([soles[0].length, soles[0].width], [soles[1].length, soles[1].width])


# -- a shape of one's own ------------------------------------------------------------------------------------------


def pushed_down(ground: media.FootMedium, depth: float, speed: float) -> np.ndarray:
    """Force and torque on a level foot, N and N m: all six components."""
    foot = FootInGround(jnp.asarray(depth), jnp.array([0.0, 0.0, -depth]), jnp.eye(3), jnp.eye(3))
    twist = jnp.array([0.0, 0.0, -speed, 0.0, 0.0, 0.0])[COMPONENTS[ground.kind]]
    wrench = np.zeros(6)
    force = jax.jit(lambda foot: ground.law(foot, ground.initial_memory(foot), jnp.asarray(1e-3)).wrench(twist))
    wrench[COMPONENTS[ground.kind]] = force(foot)
    return wrench


def test_a_shape_of_ones_own_in_foam(hexagon):
    """Springs and dampers on its area, k depth + b speed (k, b in N/m and N s/m per m2)."""
    foam = media.foam()
    force = pushed_down(foam.for_foot(hexagon, planar=False), 0.002, 0.01)
    expected = AREA * (float(foam.stiffness) * 0.002 + float(foam.damping) * 0.01)
    np.testing.assert_allclose(force, [0, 0, expected, 0, 0, 0], rtol=1e-9, atol=1e-9 * expected)


def test_a_shape_of_ones_own_in_sand(hexagon):
    """A flat sole pushed down meets scale times area times depth (1 N/cm3: alpha_z of Li et al. 2013 at 90 degrees).

    The fit is within 2 % (rms over poses and directions) of resistive force theory: 6 % is three times that.
    """
    force = pushed_down(media.Resistive(0.5).for_foot(hexagon, planar=True), 0.03, 0.1)
    expected = 0.5e6 * AREA * 0.03
    np.testing.assert_allclose(force, [0, 0, expected, 0, 0, 0], atol=0.06 * expected)


def test_a_shape_of_ones_own_elsewhere(hexagon):
    """Under a wedge, before a controller, in the viewer, on a command line and on a robot."""
    sole = media.Wedge().for_foot(hexagon, planar=True).sole
    np.testing.assert_allclose(sole.length * sole.width, AREA)
    cone = wrench_cone(hexagon, 0.5, 1.0)
    assert (cone @ [0, 0, 1, 0, 0.9 * np.sqrt(3) / 2 * SIDE, 0] <= 1e-12).all()
    assert (cone @ [0, 0, 1, 0, 1.1 * SIDE, 0]).max() > 0
    pressed = Sole(hexagon, np.zeros(3), np.eye(3), np.array([0.0, 0.0, 1.0]), 0.01)
    np.testing.assert_allclose(lowering(np.array([[0.9 * SIDE, 0, 0], [2 * SIDE, 0, 0]]), pressed), [0.01, 0])
    assert read_foot(f"hexagon:{SIDE},{HEIGHT}") == hexagon
    robot = Robot.load("foot", feet={"foot": hexagon})
    assert robot.feet[0].shape is hexagon


def test_a_sole_without_symmetry_is_refused_with_the_remedy():
    for ground in (media.sand(), media.Wedge()):
        with pytest.raises(MediumError, match=r"mirror image.*Robot.load\(..., feet="):
            ground.for_foot(EXAMPLES["polygon"], planar=True)
