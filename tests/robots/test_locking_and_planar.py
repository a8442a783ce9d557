"""Locked joints and planar reductions: the smaller robot must be the larger one held still."""

from fnmatch import fnmatch

import jax
import mujoco
import numpy as np
import pytest

from softground.errors import RobotError
from softground.robots import Robot

from .robot_cases import assert_close, compiled


def held(full: Robot, small: Robot, q_small, v_small):
    """The state of the full robot whose other joints rest at its posture; also the map of velocities."""
    q, v = np.array(full.posture), np.zeros(full.nv)
    columns = np.zeros((full.nv, small.nv))
    for i, name in enumerate(small.joint_names):
        j = full.joint_names.index(name)
        width = 7 if full.tree.joint_type[j] == 0 else 1
        dofs = 6 if width == 7 else 1
        a, b = full.tree.q_address[j], small.tree.q_address[i]
        q[a : a + width] = q_small[b : b + width]
        a, b = full.tree.dof_address[j], small.tree.dof_address[i]
        v[a : a + dofs] = v_small[b : b + dofs]
        columns[a : a + dofs, b : b + dofs] = np.eye(dofs)
    return q, v, columns


@pytest.mark.parametrize("lock", [["*_HAA", "RH_KFE"], {"*_HAA": None, "RH_KFE": 1.0}])
def test_locked_robot_is_the_full_one_held_still(lock):
    full = compiled("anymal")
    small = Robot.load("anymal", lock=lock)
    assert small.nv == full.robot.nv - 5
    assert small.nu == full.robot.nu - 5
    rng = np.random.default_rng(0)
    q_small = np.array(small.posture)
    mujoco.mj_integratePos(small.mujoco_model(), q_small, rng.normal(size=small.nv), 0.5)
    v_small = rng.normal(size=small.nv)
    q, v, columns = held(full.robot, small, q_small, v_small)
    expected = full.evaluate(q, v, np.zeros_like(v))
    inertia, bias, feet = jax.jit(lambda q, v: (small.mass_matrix(q), small.bias_force(q, v), small.foot_poses(q)))(
        q_small, v_small
    )
    assert_close(inertia, columns.T @ expected["mass_matrix"] @ columns)
    assert_close(bias, columns.T @ expected["bias_force"])
    assert_close(feet[0], expected["foot_poses"][0])
    assert_close(feet[1], expected["foot_poses"][1])


def test_locking_one_of_several_joints_on_a_body(tmp_path):
    """The joints before the locked one turn with it: the case that baking the pose alone gets wrong."""
    text = """
<mujoco><worldbody><body name="b" pos="0 0 1" euler="10 20 30">
  <joint name="first" axis="1 0 0" pos="0.1 0 0"/><joint name="second" axis="0 1 0" pos="0 0.2 0"/>
  <joint name="third" type="slide" axis="0 0 1"/>
  <geom type="box" size="0.1 0.2 0.3" pos="0.3 0 0"/>
  <site name="sole" type="box" size="0.1 0.05 0.01" pos="0.1 0.2 0.3"/></body></worldbody></mujoco>"""
    file = tmp_path / "model.xml"
    file.write_text(text)
    full = Robot.load(file, feet=["sole"])
    small = Robot.load(file, feet=["sole"], lock={"second": 0.7})
    keep = [0, 2]
    q = np.array([0.4, 0.7, 0.2])
    v = np.array([0.5, 0.0, 0.3])
    assert_close(small.mass_matrix(q[keep]), full.mass_matrix(q)[np.ix_(keep, keep)])
    assert_close(small.bias_force(q[keep], v[keep]), full.bias_force(q, v)[np.array(keep)])
    assert_close(small.foot_poses(q[keep])[0], full.foot_poses(q)[0])


@pytest.mark.parametrize(("name", "lock"), [("go1", {}), ("anymal", {"*_HAA": 0.0})])
def test_planar_robot_moves_as_the_full_one_in_the_plane(name, lock):
    full, small = compiled(name), Robot.load(name, planar=True, lock=lock)
    assert small.planar
    assert not full.robot.planar
    assert small.joint_names[:3] == ("base_x", "base_z", "base_pitch")
    q_small = np.array(small.posture)
    q_small[:2] += [0.3, 0.1]  # no pitch: the free quaternion stays that of the posture
    v_small = np.random.default_rng(1).normal(size=small.nv)
    q = np.array(full.robot.posture)
    q[0], q[2] = q_small[:2]
    for pattern, value in lock.items():
        for joint, address in zip(full.robot.joint_names, full.robot.tree.q_address, strict=True):
            if fnmatch(joint, pattern):
                q[address] = value
    v = np.zeros(full.robot.nv)
    columns = np.zeros((full.robot.nv, small.nv))
    columns[[0, 2, 4], [0, 1, 2]] = 1.0
    for i, joint in enumerate(small.joint_names[3:], start=3):
        j = full.robot.joint_names.index(joint)
        q[full.robot.tree.q_address[j]] = q_small[i]
        columns[full.robot.tree.dof_address[j], i] = 1.0
    v = columns @ v_small
    expected = full.evaluate(q, v, np.zeros_like(v))
    assert_close(small.mass_matrix(q_small), columns.T @ expected["mass_matrix"] @ columns)
    assert_close(small.bias_force(q_small, v_small), columns.T @ expected["bias_force"])
    assert_close(small.foot_poses(q_small)[0], expected["foot_poses"][0])
    twists = np.asarray(small.foot_twists(q_small, v_small))
    assert np.abs(twists[:, [1, 3, 5]]).max() < 1e-12  # nothing moves across the plane


def test_planar_leaves_a_planar_robot_alone():
    assert Robot.load("walker2d", planar=True).joint_names == compiled("walker2d").robot.joint_names


def test_planar_may_be_asked_of_a_planar_robot_with_a_keyframe():
    assert Robot.load("robosimian", planar=True).nv == Robot.load("robosimian").nv


def test_planar_needs_joints_in_the_plane():
    with pytest.raises(RobotError, match=r"cannot be made planar.*lock"):  # its hips are spread by 0.1 rad
        Robot.load("anymal", planar=True)
    with pytest.raises(RobotError, match="cannot be made planar"):
        Robot.load("ant", planar=True, lock=["ankle_*"])


def test_unknown_joint_in_lock():
    with pytest.raises(RobotError, match=r"Did you mean.*LF_HAA"):
        Robot.load("anymal", lock=["LF_HAB"])


def test_a_string_is_not_a_list_of_joints():
    with pytest.raises(RobotError, match="must be a list"):
        Robot.load("anymal", lock="LF_HAA")


def test_a_lock_must_be_a_number():
    with pytest.raises(RobotError, match="must be locked at a number"):
        Robot.load("anymal", lock={"LF_HAA": "bent"})


def test_locking_everything_is_refused():
    with pytest.raises(RobotError, match="no joint free"):
        Robot.load("foot", lock=["*"])


PENDULUM = """
<mujoco><worldbody><body name="a"><joint name="driven"/><geom size="0.1"/>
<body name="b" pos="0 0 -0.3"><joint name="free"/><geom name="tip" size="0.1"/></body></body></worldbody>
<actuator><motor joint="driven"/></actuator>{}</mujoco>"""


def test_locking_the_last_motor_gives_none_to_other_joints(tmp_path):
    file = tmp_path / "pendulum.xml"
    file.write_text(PENDULUM.format(""))
    assert Robot.load(file, feet=["tip"], lock=["driven"]).actuated == ()
    assert Robot.load(file, feet=["tip"], lock=["free"]).actuated == (0,)


def test_what_ties_a_locked_joint_to_a_free_one_is_not_dropped(tmp_path):
    file = tmp_path / "pendulum.xml"
    tie = '<equality><joint joint1="driven" joint2="free"/></equality>'
    file.write_text(PENDULUM.format(tie))
    with pytest.raises(RobotError, match="an equality ties joint 'free' to 'driven', which is locked: lock both"):
        Robot.load(file, feet=["tip"], lock=["driven"])
    assert Robot.load(file, feet=["tip"], lock=["driven"], ignore=["equality"]).joint_names == ("free",)
    rope = (
        '<tendon><fixed name="rope" {}><joint joint="driven" coef="1"/><joint joint="free" coef="1"/></fixed></tendon>'
    )
    file.write_text(PENDULUM.format(rope.format('stiffness="3"')))
    with pytest.raises(RobotError, match="tendon 'rope' pulls a joint that is locked"):
        Robot.load(file, feet=["tip"], lock=["driven"])
    file.write_text(PENDULUM.format(rope.format("")))
    assert Robot.load(file, feet=["tip"], lock=["driven"]).joint_names == ("free",)


def test_a_thruster_on_the_base_does_not_vanish_with_it(tmp_path):
    """The free joint becomes x, z and pitch: a motor on it would go with the joint."""
    file = tmp_path / "hopper.xml"
    file.write_text("""
<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint name="base"/><geom size="0.1"/>
<body name="b" pos="0 0 -0.3"><joint name="hip" axis="0 1 0"/><geom name="tip" size="0.1"/></body></body></worldbody>
<actuator><motor name="thrust" joint="base" gear="0 0 1 0 0 0"/></actuator></mujoco>""")
    with pytest.raises(RobotError, match=r"actuators other than motors.*\(thrust\)"):
        Robot.load(file, feet=["tip"], planar=True)
    assert Robot.load(file, feet=["tip"], planar=True, ignore=["actuator"]).actuated == ()
