"""Feet: frames and shapes from sites, geoms and bodies."""

import jax.numpy as jnp
import numpy as np
import pytest

from softground.errors import RobotError
from softground.robots import Box, Cylinder, Robot, Sphere

from .robot_cases import ROBOTS, compiled

MODEL = """
<mujoco>
  <custom><text name="softground_feet" data="plain ball"/></custom>
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
    "plain": (Cylinder(0.05, 0.15), (0, 0, -0.52)),
    "flat": (Box(0.2, 0.1, 0.02), (0, 0, -0.52)),
    "round": (Cylinder(0.06, 0.2), (0, 0, 0)),
    "ball": (Sphere(0.04), (0.1, 0, -0.4)),
    "shank": (Sphere(0.03), (0, 0, -0.4)),
    "pad": (Box(0.2, 0.1, 0.04), (0, 0, -0.52)),
    "side_pad": (Box(0.2, 0.1, 0.04), (0, 0.2, -0.32)),
    "drum": (Cylinder(0.05, 0.2), (0, 0.4, -0.4)),
    "leg": (Box(0.2, 0.1, 0.04), (0, 0, -0.52)),  # its lowest collision geom is the pad
    "bare": (Box(0.2, 0.1, 0.02), (0, 0, 0)),
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
    assert [foot.name for foot in Robot.load(model).feet] == ["plain", "ball"]


def test_explicit_shape(model):
    (foot,) = Robot.load(model, feet={"bare": Cylinder(0.1, 0.2)}).feet
    assert foot.shape == Cylinder(0.1, 0.2)


def test_bad_shape(model):
    with pytest.raises(RobotError, match="must be Sphere, Cylinder, Box or Polygon, got 'round'"):
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
