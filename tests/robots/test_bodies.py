"""Bodies that meet the ground: which geoms of a file they are made of, and where geometry says that they touch."""

import numpy as np
import pytest

from softground.errors import RobotError
from softground.robots import Robot
from softground.robots.shapes import (
    Box,
    Capsule,
    Compound,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    Part,
    Shape,
    Sphere,
    shape_from_dict,
)
from softground.robots.shapes.rolling_points import directions

ORIGIN, UPRIGHT = np.zeros(3), np.eye(3)
SOLIDS: dict[str, Shape] = {
    "sphere": Sphere(0.05),
    "capsule": Capsule(0.03, 0.2),
    "ellipsoid": Ellipsoid(0.1, 0.05, 0.03),
    "box": Box(0.2, 0.1, 0.04),
    "cylinder": Cylinder(0.04, 0.15),
    "mesh": ConvexMesh.around(np.random.default_rng(0).normal(size=(300, 3)) * [0.1, 0.05, 0.02]),
}
each = pytest.mark.parametrize("shape", SOLIDS.values(), ids=SOLIDS)


@each
def test_panels_close_the_surface(shape):
    """The vector area of a closed surface is zero, and its flux of x / 3 is the volume of what it contains."""
    panels = shape.closed_panels(2)
    vector = panels.area[:, None] * panels.normal
    assert np.abs(vector.sum(0)).max() < 1e-3 * panels.area.sum()
    inside = np.random.default_rng(1).uniform(-1, 1, (100_000, 3))
    middle = (panels.centre.min(0) + panels.centre.max(0)) / 2
    half = 0.51 * np.ptp(panels.centre, axis=0)
    share = shape.contains(middle + inside * half).mean()
    # 100,000 draws have a standard deviation of at most 0.16 % of the box; panels of curved faces lie 1 % inside.
    assert (vector * panels.centre).sum() / 3 == pytest.approx(share * (2 * half).prod(), rel=0.025)


@each
def test_rolling_points_are_where_the_surface_is_lowest(shape):
    """Against the panels' lowest points, in directions all over the sphere.

    A cylinder that neither lies nor stands is exact as well, because its rims are.
    """
    normal = directions(200)
    points = shape.rolling_points()
    lowest = np.einsum("dpi,di->dp", points.lowest(normal), normal).min(1)
    panels = shape.closed_panels(4)
    corners = [panels.centre + a * panels.edges[:, 0] + b * panels.edges[:, 1] for a in (-1, 1) for b in (-1, 1)]
    found = (np.concatenate(corners) @ normal.T).min(0)
    np.testing.assert_allclose(lowest, found, atol=0.02 * max(shape.extent))


def test_corners_share_the_areas_of_faces():
    """A box that lies flat has the area of its face on the four corners of it, and nothing looks down elsewhere."""
    box = Box(0.2, 0.1, 0.04)
    areas = np.maximum(-box.rolling_points().vector_area @ [0, 0, 1.0], 0.0)
    assert np.sort(areas) == pytest.approx([0] * 4 + [0.2 * 0.1 / 4] * 4)
    without_sole = box.rolling_points(sole=False).vector_area
    np.testing.assert_allclose(np.maximum(-without_sole @ [0, 0, 1.0], 0.0), 0.0)


def test_what_is_inside_another_part_does_not_touch():
    box, ball = Part.at(Box(0.2, 0.2, 0.2), [0, 0, -0.1], UPRIGHT), Part.at(Sphere(0.05), ORIGIN, UPRIGHT)
    assert len(Compound((box, ball)).rolling_points().centre) == 8
    beside = Part.at(Sphere(0.05), [0.2, 0, 0], UPRIGHT)
    assert len(Compound((box, beside)).rolling_points().centre) == 9
    foot = Part.at(Sphere(0.05), [0.2, 0, 0], UPRIGHT, is_foot=True)
    assert len(Compound((box, beside, foot)).rolling_points().centre) == 8


def test_walls_end_at_feet():
    """A shank whose file has its foot among its geoms too: the ball is the foot's, and the bar is lowest beside it."""
    bar = Part.at(Box(0.016, 0.016, 0.2), [0, 0, -0.2], UPRIGHT)
    ball, foot = (Part.at(Sphere(0.02), [0, 0, -0.2], UPRIGHT, is_foot=is_foot) for is_foot in (False, True))
    shank = Compound((bar, ball, foot))
    assert shank.panels().area.sum() == pytest.approx(0.016**2 + 4 * 0.016 * 0.18, rel=0.02)
    assert shank.rolling_points().centre[:, 2].min() == pytest.approx(0.0)
    assert -0.19 < shank.points_with_walls().centre[:, 2].min() < -0.17


def test_fewer_points_keep_what_touches_first():
    """Of a fine mesh of a box sixteen points are enough, and all of the area goes with them."""
    box = np.array(np.meshgrid(*[np.linspace(-1, 1, 9)] * 3)).reshape(3, -1).T * [0.1, 0.05, 0.02]
    mesh = ConvexMesh(tuple(map(tuple, box)))
    points, normal = mesh.rolling_points(), directions(300)
    few = points.fewer(8)
    lowest = [np.einsum("dpi,di->dp", one.lowest(normal), normal).min(1) for one in (points, few)]
    np.testing.assert_allclose(*lowest, atol=1e-12)
    np.testing.assert_allclose(few.vector_area.sum(0), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "shape", [*SOLIDS.values(), Compound((Part.at(Capsule(0.03, 0.2), [1, 2, 3], UPRIGHT),))], ids=str
)
def test_files_keep_shapes(shape):
    assert shape_from_dict(shape.to_dict()) == shape


MODEL = """<mujoco><worldbody>
  <geom name="floor" type="plane" size="1 1 1" contype="2" conaffinity="2"/>
  <body name="trunk" pos="0 0 1"><freejoint/>
    <geom name="shell" type="box" size="0.1 0.1 0.1" contype="2" conaffinity="0" mass="1"/>
    <geom name="paint" type="sphere" size="0.5" contype="1" conaffinity="1" mass="0"/>
    <body name="tail"><geom name="tip" type="capsule" size="0.02 0.1" pos="0.3 0 0" contype="2" mass="0.1"/></body>
    <body name="leg" pos="0 0 -0.2"><joint name="knee" axis="0 1 0"/>
      <geom name="shank" type="cylinder" size="0.02 0.1" contype="0" conaffinity="2" mass="1"/>
      <geom name="toe" type="sphere" size="0.03" pos="0 0 -0.1" contype="2" mass="0.1"/></body>
  </body></worldbody></mujoco>"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(MODEL)
    return path


def kinds(robot: Robot) -> dict[str, list[str]]:
    return {body.name: [type(part.shape).__name__ for part in body.shape.parts] for body in robot.bodies}


def test_the_file_says_what_collides(file):
    """By the bits of its floor; what is welded to a body is part of it, and the toe is the foot's own."""
    robot = Robot.load(file, feet=["toe"], contacts="all")
    assert kinds(robot) == {"trunk": ["Box", "Capsule"], "leg": ["Cylinder", "Sphere", "Sphere"]}
    (tail,) = [part for part in robot.bodies[0].shape.parts if isinstance(part.shape, Capsule)]
    np.testing.assert_allclose(tail.position, [0.3, 0, 0])
    toe = np.linalg.norm(robot.bodies[1].shape.rolling_points().centre - [0, 0, -0.1], axis=1)
    assert toe.min() > 0.019  # of the shank's lower end only the rim, at 0.02 m, is not inside the foot
    assert Robot.load(file, feet=["toe"]).bodies == ()


def test_bodies_and_geoms_by_name(file):
    assert kinds(Robot.load(file, feet=["toe"], contacts=["tail"])) == {"trunk": ["Capsule"]}
    assert kinds(Robot.load(file, feet=["toe"], contacts=["paint"])) == {"trunk": ["Sphere"]}
    again = Robot.from_recipe(Robot.load(file, feet=["toe"], contacts=["tail"]).recipe)
    assert kinds(again) == {"trunk": ["Capsule"]}
    for contacts, complaint in ((["tial"], "tail"), ("everything", "'feet', 'all' or a list"), ([], "no collision")):
        with pytest.raises(RobotError, match=complaint):
            Robot.load(file, feet=["toe"], contacts=contacts)


def test_meshes_of_a_urdf_are_bodies_where_they_are_wanted():
    pytest.importorskip("importlib.metadata").distribution("example-robot-data")
    robot = Robot.load("g1", contacts="all")
    pelvis = next(body for body in robot.bodies if body.name == "pelvis")
    assert isinstance(pelvis.shape.parts[0].shape, ConvexMesh)
    assert 0.05 < max(pelvis.shape.extent) < 0.5  # m
    assert robot.sha256 != Robot.load("g1").sha256
