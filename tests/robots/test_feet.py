"""Feet: frames and shapes from sites, geoms and bodies."""

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from softground.errors import RobotError
from softground.robots import Box, Cylinder, HalfCylinder, Robot, Sphere, catalogue

from .robot_cases import ROBOTS, compiled

MODEL = """
<mujoco>
  <custom><text name="softground_feet" data="flat ball"/></custom>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="leg" pos="0 0 1"><freejoint name="base"/>
      <geom name="shank" type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" contype="0" conaffinity="0"/>
      <geom name="ball" size="0.04" pos="0.1 0 -0.4"/>
      <geom name="pad" type="box" size="0.1 0.05 0.02" pos="0 0 -0.5"/>
      <geom name="side_pad" type="box" size="0.02 0.05 0.1" pos="0 0.2 -0.3" euler="0 90 0"/>
      <geom name="drum" type="cylinder" size="0.05 0.1" pos="0 0.4 -0.3" euler="180 0 0"/>
      <site name="plain" pos="0 0 -0.52"/>
      <site name="flat" type="box" size="0.1 0.05 0.01" pos="0 0 -0.52"/>
      <site name="round" type="cylinder" size="0.06 0.1"/>
      <body name="bare" pos="0 0.1 0"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        <joint name="j" axis="0 1 0"/></body>
    </body>
  </worldbody>
</mujoco>"""


@pytest.fixture
def model(tmp_path):
    file = tmp_path / "leg.xml"
    file.write_text(MODEL)
    return file


CASES = {
    "flat": (Box(0.2, 0.1, 0.02), (0, 0, -0.52)),
    "round": (Cylinder(0.06, 0.2), (0, 0, 0)),
    "ball": (Sphere(0.04), (0.1, 0, -0.4)),
    "shank": (Sphere(0.03), (0, 0, -0.4)),
    "pad": (Box(0.2, 0.1, 0.04), (0, 0, -0.52)),
    "side_pad": (Box(0.2, 0.1, 0.04), (0, 0.2, -0.32)),
    "drum": (Cylinder(0.05, 0.2), (0, 0.4, -0.4)),
    "leg": (Box(0.2, 0.1, 0.04), (0, 0, -0.52)),  # its lowest collision geom is the pad
}


@pytest.mark.parametrize("name", CASES)
def test_shape_and_frame(model, name):
    robot = Robot.load(model, feet=[name])
    (foot,) = robot.feet
    shape, position = CASES[name]
    np.testing.assert_allclose([getattr(foot.shape, f) for f in vars(shape)], list(vars(shape).values()), atol=1e-12)
    assert type(foot.shape) is type(shape)
    np.testing.assert_allclose(foot.position, position, atol=1e-9)
    assert foot.clearance == (shape.radius if isinstance(shape, Sphere) else 0.0)
    np.testing.assert_allclose(foot.rotation @ foot.rotation.T, np.eye(3), atol=1e-12)
    assert foot.rotation[2, 2] == pytest.approx(1.0)  # z up along the foot at the posture
    assert np.linalg.det(foot.rotation) == pytest.approx(1.0)


def test_marked_feet(model):
    assert [foot.name for foot in Robot.load(model).feet] == ["flat", "ball"]


def test_explicit_shape(model):
    (foot,) = Robot.load(model, feet={"bare": Cylinder(0.1, 0.2)}).feet
    assert foot.shape == Cylinder(0.1, 0.2)


@pytest.mark.parametrize("name", ["bare", "plain"])
def test_a_foot_without_a_shape_is_refused(model, name):
    """A body without geometry, a site that is a point: nothing is made up for them."""
    with pytest.raises(RobotError, match=rf"foot '{name}' has no shape.*feet=\{{'{name}': Box\("):
        Robot.load(model, feet=[name])
    (foot,) = Robot.load(model, feet={name: Sphere(0.05)}).feet
    assert foot.shape == Sphere(0.05)


LEG = """
<mujoco><worldbody><body name="trunk" pos="0 0 1" euler="{attitude}">{base}
  <geom type="box" size="0.2 0.1 0.05"/>
  <body name="shin" pos="0 0 -0.3"><joint name="knee" axis="0 1 0" pos="{anchor}"/>
    <geom name="foot" type="{kind}" size="{radius} {half}" pos="0.03 0.01 -0.1" zaxis="{axis}"/>
  </body></body></worldbody></mujoco>"""
SPACE = '<freejoint name="root"/>'
PLANE = '<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>'
PLANE += '<joint name="pitch" axis="0 1 0"/>'
RADIUS, HALF = 0.04, 0.15


def leg(tmp_path, axis: str, kind="capsule", base=SPACE, attitude="0 0 0", anchor="0 0 0"):
    """A robot whose foot is a capsule or cylinder along `axis`, and the foot in the world at the posture."""
    file = tmp_path / "leg.xml"
    parts = dict(axis=axis, kind=kind, base=base, attitude=attitude, anchor=anchor, radius=RADIUS, half=HALF)
    file.write_text(LEG.format(**parts))
    robot = Robot.load(file, feet=["foot"])
    data = mujoco.MjData(robot.mujoco_model())
    data.qpos[:] = robot.posture
    mujoco.mj_forward(robot.mujoco_model(), data)
    (foot,) = robot.feet
    body = data.body("shin")
    turn = body.xmat.reshape(3, 3)
    geom = data.geom("foot")
    return foot, body.xpos + turn @ foot.position, turn @ foot.rotation, geom.xpos, geom.xmat.reshape(3, 3)[:, 2]


@pytest.mark.parametrize("anchor", ["0 0 0", "0 0 -0.4", "0.3 0 -0.1"])
@pytest.mark.parametrize("axis", ["0 0 1", "0 0 -1", "0.4 0.4 1", "-0.9 0 -1"])
def test_an_upright_capsule_stands_on_its_lower_end(tmp_path, axis, anchor):
    """Wherever its joint is."""
    foot, position, _, middle, along = leg(tmp_path, axis, anchor=anchor)
    assert foot.shape == Sphere(RADIUS)
    lower = min((middle + HALF * along, middle - HALF * along), key=lambda end: end[2])
    np.testing.assert_allclose(position, lower, atol=1e-12)


@pytest.mark.parametrize("kind", ["capsule", "cylinder"])
@pytest.mark.parametrize("axis", ["0 1 0", "0 -1 0", "1 0 0", "-1 0 0", "1 1 0", "-1 2 0.5", "1 0.2 -0.8"])
def test_what_lies_is_a_half_cylinder_along_it(tmp_path, axis, kind):
    """All of it, not one of its ends: turning the geom end for end changes nothing, the plan area is kept."""
    foot, position, turn, middle, along = leg(tmp_path, axis, kind)
    assert isinstance(foot.shape, HalfCylinder)
    np.testing.assert_allclose(position, middle, atol=1e-12)
    np.testing.assert_allclose(np.abs(turn[:, 1] @ along), 1.0)
    np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1.0)
    assert turn[2, 2] > np.sqrt(0.5) - 1e-9
    assert turn[0, 0] > -1e-9
    ends = np.pi * RADIUS**2 if kind == "capsule" else 0.0
    assert 2 * foot.shape.radius * foot.shape.width == pytest.approx(2 * RADIUS * 2 * HALF + ends)
    back = " ".join(str(-float(x)) for x in axis.split())
    other, position_back, turn_back, *_ = leg(tmp_path, back, kind)
    assert other.shape == foot.shape
    np.testing.assert_allclose(position_back, position, atol=1e-12)
    np.testing.assert_allclose(turn_back, turn, atol=1e-12)


@pytest.mark.parametrize("axis", ["1 0 0", "-1 0 0", "1 0 0.3"])
def test_what_lies_in_the_plane_of_a_planar_robot_is_a_flat_sole(tmp_path, axis):
    """As in the catalogue's walker2d: as long as the geom, at its underside."""
    foot, position, turn, middle, along = leg(tmp_path, axis, base=PLANE)
    assert foot.shape == Box(2 * (HALF + RADIUS), 2 * RADIUS, 2 * RADIUS)
    forward = along * np.sign(along[0])
    np.testing.assert_allclose(turn[:, 0], forward, atol=1e-12)
    np.testing.assert_allclose(turn[:, 1], [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(position, middle - RADIUS * turn[:, 2], atol=1e-12)
    across, *_ = leg(tmp_path, "0 1 0", base=PLANE)
    assert isinstance(across.shape, HalfCylinder)


def test_walker2d_would_stand_on_what_its_entry_says():
    """The capsule of its foot, read from Gymnasium's file, against the sole that the catalogue writes by hand."""
    by_hand = compiled("walker2d").robot
    path = catalogue.resolve("walker2d").path
    robot = Robot.load(path, feet=["foot_geom", "foot_left_geom"], posture={"rootz": 1.21})
    for foot, expected in zip(robot.feet, by_hand.feet, strict=True):
        np.testing.assert_allclose(list(vars(foot.shape).values()), list(vars(expected.shape).values()), atol=1e-9)
        np.testing.assert_allclose(foot.position, expected.position, atol=1e-9)
        np.testing.assert_allclose(foot.rotation, expected.rotation, atol=1e-9)


def test_the_sole_of_a_mesh_follows_the_axes_in_which_it_is_written(tmp_path):
    """MuJoCo turns meshes into their principal axes; a lopsided foot would stand on a tilted box."""
    file = tmp_path / "leg.xml"
    corners = np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.1, 0], [0.2, 0.1, 0], [0, 0, 0.15], [0.02, 0.1, 0.05]])
    text = " ".join(f"{x:g}" for x in corners.ravel())
    file.write_text(
        f'<mujoco><asset><mesh name="m" vertex="{text}"/></asset><worldbody><body name="foot" pos="0 0 1"><freejoint/>'
        '<geom type="mesh" mesh="m" pos="0.03 0 -0.2"/></body></worldbody></mujoco>'
    )
    (foot,) = Robot.load(file, feet=["foot"]).feet
    np.testing.assert_allclose(list(vars(foot.shape).values()), corners.max(0) - corners.min(0), atol=1e-7)  # single
    np.testing.assert_allclose(foot.position, [0.03 + 0.1, 0.05, -0.2], atol=1e-7)
    np.testing.assert_allclose(foot.rotation, np.eye(3), atol=1e-7)


def test_bad_shape(model):
    with pytest.raises(RobotError, match=r"must be Box, Cylinder, .* or Sphere, got 'round'"):
        Robot.load(model, feet={"bare": "round"})


def test_unknown_foot_names_close_matches(model):
    with pytest.raises(RobotError, match=r"unknown foot 'plane'.*Did you mean.*plain"):
        Robot.load(model, feet=["plane"])


def test_foot_on_the_world(model):
    with pytest.raises(RobotError, match="fixed to the world"):
        Robot.load(model, feet=["floor"])


def test_no_feet_lists_candidates(tmp_path):
    file = tmp_path / "leg.xml"
    file.write_text(MODEL.replace("softground_feet", "other").replace('name="plain"', 'name="sole"'))
    with pytest.raises(RobotError, match=r"no feet given.*softground_feet.*Candidates: sole, bare"):
        Robot.load(file)


@pytest.mark.parametrize("name", [name for name in ROBOTS if name != "foot"])
def test_catalogue_robots_stand_on_the_ground(name):
    """At the posture all soles touch z = 0 (Gymnasium's own stance of the ant is 6 mm low)."""
    robot = compiled(name).robot
    position, rotation = robot.foot_poses(jnp.asarray(robot.posture))
    heights = np.asarray(position[:, 2]) - [foot.clearance for foot in robot.feet]
    np.testing.assert_allclose(heights, 0.0, atol=1e-2 if name == "ant" else 1e-3)
    for foot, turn in zip(robot.feet, np.asarray(rotation), strict=True):
        if not isinstance(foot.shape, Sphere):
            assert turn[2, 2] > 0.999
            assert turn[0, 0] > 0.999  # soles point forward
