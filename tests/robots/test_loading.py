"""Loading: what a robot says of itself, and every bad input met with an error of ours."""

import copy
import importlib.metadata
import importlib.util

import numpy as np
import pytest

from softground.errors import RobotError
from softground.robots import Box, Robot, available, catalogue

from .robot_cases import ROBOTS, compiled

URDF = """
<robot name="hopper">
  <link name="base"><inertial><mass value="3"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://nowhere/base.dae"/></geometry></visual></link>
  <link name="shin">{inertial}<collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <link name="sole"/>
  <joint name="knee" type="revolute"><parent link="base"/><child link="shin"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="40" velocity="3"/><dynamics damping="0.3" friction="0.2"/></joint>
  <joint name="weld" type="fixed"><parent link="shin"/><child link="sole"/><origin xyz="0 0 -0.4"/></joint>
</robot>"""
INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'


def write(tmp_path, text, name="robot.urdf"):
    file = tmp_path / name
    file.write_text(text)
    return file


def test_urdf(tmp_path):
    robot = Robot.load(write(tmp_path, URDF.format(inertial=INERTIAL)), feet={"sole": Box(0.2, 0.1, 0.02)})
    assert robot.joint_names == ("floating_base", "knee")
    assert robot.body_names == ("base", "shin")
    assert robot.dof_names[-2:] == ("floating_base_wz", "knee")
    assert robot.actuated == (6,)
    np.testing.assert_allclose(robot.torque_limit, [40])
    assert robot.limited == (6,)
    np.testing.assert_allclose(robot.joint_range[6], [-1, 2])
    np.testing.assert_allclose(robot.damping[6], 0.3)
    np.testing.assert_allclose(robot.friction_loss[6], 0.2)
    np.testing.assert_allclose(robot.feet[0].position, [0, 0, -0.4])
    assert robot.feet[0].body == 1
    assert robot.mujoco_model().nu == 1


def test_missing_inertia_names_the_links(tmp_path):
    with pytest.raises(RobotError, match="no mass or inertia on moving links shin"):
        Robot.load(write(tmp_path, URDF.format(inertial="")), feet=["sole"])


def test_massless_mjcf_body(tmp_path):
    text = '<mujoco><worldbody><body name="ghost"><joint name="j"/></body></worldbody></mujoco>'
    with pytest.raises(RobotError, match="ghost"):
        Robot.load(write(tmp_path, text, "robot.xml"), feet=["ghost"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<mujoco><worldbody>", "not well-formed XML"),
        ("<sdf/>", "must be <mujoco>"),
        ("<mujoco><worldbody><bodi/></worldbody></mujoco>", "MuJoCo cannot read it"),
        (
            "<robot name='r'><link name='a'/><joint name='j' type='revolute'/></robot>",
            "no mass or inertia|cannot",
        ),
        ("<mujoco/>", "no joints"),
        ("", "not well-formed XML"),
    ],
)
def test_broken_files(tmp_path, text, message):
    with pytest.raises(RobotError, match=message):
        Robot.load(write(tmp_path, text, "robot.xml"))


def test_missing_file_and_unknown_name():
    with pytest.raises(RobotError, match=r"neither a file nor in the catalogue.*Did you mean anymal"):
        Robot.load("anymall")


def test_unknown_keyframe_and_posture_joint():
    with pytest.raises(RobotError, match="unknown keyframe 'sit': must be one of stand"):
        Robot.load("foot", posture="sit")
    with pytest.raises(RobotError, match=r"unknown joint 'front_left_hips'.*Did you mean front_left_hip"):
        Robot.load("robosimian", posture={"front_left_hips": 0.1})


def test_missing_package_names_the_extra(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name in ("anymal", "ant", "icub"):
        with pytest.raises(RobotError, match=r"pip install softground\[robots\]"):
            Robot.load(name)


def test_motor_limits_of_mjcf(tmp_path):
    text = """
<mujoco><worldbody><body name="a"><joint name="p"/><geom size="0.1"/>
<body name="b"><joint name="q"/><geom size="0.1"/>
<body name="c"><joint name="r" actuatorfrcrange="-7 7"/><geom size="0.1"/></body></body></body></worldbody>
<actuator><motor joint="r" gear="3"/>
<position joint="p" kp="50" ctrlrange="-1 1" forcerange="-20 20" gear="2"/>
</actuator></mujoco>"""
    robot = Robot.load(write(tmp_path, text, "arm.xml"), feet=["c"])
    assert robot.actuated == (2, 0)
    np.testing.assert_allclose(robot.torque_limit, [7, 40])


def test_recipe_loads_the_same_robot_again():
    robot = Robot.load("anymal", lock={"LF_HAA": 0.2}, feet=["LF_FOOT"])
    again = Robot.from_recipe(copy.deepcopy(robot.recipe))
    assert hash(again.recipe) == hash(robot.recipe)
    assert again.sha256 == robot.sha256 != compiled("anymal").robot.sha256


def test_available_lists_every_robot():
    listing = {line.name: line for line in available()}
    assert set(ROBOTS) == set(catalogue.NAMES) == set(listing)
    # total masses of the papers: zhu2019 (foot, RoboSimian) and romualdi2021's iCub
    assert listing["foot"].mass == pytest.approx(7.357)
    assert (listing["robosimian"].dofs, listing["robosimian"].mass) == (15, pytest.approx(99.888, abs=1e-9))
    assert (listing["icub"].dofs, listing["icub"].mass) == (29, pytest.approx(33.06, abs=5e-3))


def test_robosimian_pitch_inertias_follow_the_table():
    """The parallel-axis sums written in the model's header."""
    robot = compiled("robosimian").robot
    limb = 0.072 + 4.404 * 0.085 * (0.2877 / 2 - 0.085)
    foot = 0.076 + 5.735 * 0.141 * (0.3436 / 2 - 0.141)
    torso = 0.70 + 4.0 * (0.2933**2 + 0.1885**2) + 37.7 * 0.02**2
    pitch = dict(zip(robot.body_names, robot.parameters.inertia[:, 1, 1], strict=True))
    assert pitch["torso"] == pytest.approx(torso, abs=1e-3)
    assert pitch["rear_left_shank"] == pytest.approx(limb, abs=1e-3)
    assert pitch["front_right_foot"] == pytest.approx(foot, abs=1e-3)


def test_mujoco_model_is_kept_and_draws_meshes_if_asked():
    robot = compiled("g1").robot
    assert robot.mujoco_model() is robot.mujoco_model()
    drawn = robot.mujoco_model(meshes=True)
    assert drawn.nmesh > 20
    assert robot.mujoco_model().nmesh == 0
    np.testing.assert_allclose(drawn.body_mass, robot.mujoco_model().body_mass)
    assert drawn.nq == robot.nq
