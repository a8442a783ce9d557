"""Kinds of joint that the listed robots lack: balls, several joints on one body, turned slides, springs."""

import jax
import mujoco
import numpy as np
import pytest

from softground.robots import Robot

from .robot_cases import assert_close

MODELS = {
    "ball": """
<mujoco><worldbody>
  <body name="base" pos="0 0 1" euler="10 20 30">
    <joint name="slide" type="slide" axis="1 2 3" pos="0.1 0 0" stiffness="30" springref="0.2"/>
    <joint name="turn" type="hinge" axis="0 1 1" pos="0.1 0.2 0.3" armature="0.3" damping="0.7" ref="20"/>
    <geom size="0.1 0.2 0.3" type="box" pos="0.1 0 0"/>
    <body name="arm" pos="0.3 0.1 0" euler="0 40 0">
      <joint name="ball" type="ball" pos="0.05 0 0.02"/>
      <geom size="0.1 0.2" type="capsule" pos="0 0 -0.2"/>
      <body name="plate" pos="0 0 -0.4" euler="30 0 0">
        <geom size="0.1 0.1 0.02" type="box" mass="1.5"/>
        <body name="toe" pos="0.1 0 0">
          <joint name="lift" type="slide" axis="0 0 1"/>
          <joint name="yaw" type="hinge" axis="0 0 1" pos="0.02 0 0"/>
          <joint name="pitch" type="hinge" axis="0 1 0" pos="0 0.03 0"/>
          <geom name="ball_of_foot" size="0.05" mass="0.7"/>
        </body>
      </body>
    </body>
  </body>
</worldbody></mujoco>""",
    "two free bodies": """
<mujoco><worldbody>
  <body name="one" pos="0 0 1"><freejoint name="f1"/><geom size="0.1 0.2 0.3" type="box" pos="0.1 0 0"/>
    <body name="leg" pos="0 0 -0.4"><joint name="ball" type="ball"/>
      <geom name="foot" size="0.1" pos="0 0 0.2"/></body>
  </body>
  <body name="two" pos="2 0 1"><freejoint name="f2"/><geom size="0.2 0.1 0.3" type="box"/></body>
</worldbody></mujoco>""",
    "on a fixed frame": """
<mujoco><worldbody>
  <body name="post" pos="1 2 3" euler="0 0 90"><geom size="0.1"/>
    <body name="swing" pos="0.2 0 0"><joint name="hinge" axis="0 1 0" pos="0 0 0.5"/>
      <geom name="foot" size="0.1" pos="0 0 -0.3"/></body>
  </body>
</worldbody></mujoco>""",
}
FEET = {"ball": ["ball_of_foot"], "two free bodies": ["foot"], "on a fixed frame": ["foot"]}


@pytest.mark.parametrize("name", MODELS)
def test_against_mujoco(name, tmp_path):
    file = tmp_path / "model.xml"
    file.write_text(MODELS[name])
    robot = Robot.load(file, feet=FEET[name])
    model = robot.mujoco_model()
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
    data.qvel = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    q, v = data.qpos.copy(), data.qvel.copy()

    @jax.jit
    def evaluate(q, v):
        kin = robot.kinematics(q)
        return (
            robot.mass_matrix(kin),
            robot.bias_force(kin, v),
            robot.passive_force(kin, v),
            robot.foot_poses(kin)[0],
            robot.foot_jacobians(kin),
            robot.integrate(q, v, 0.4),
            robot.difference(q, robot.integrate(q, v, 0.4)),
        )

    inertia, bias, passive, position, jacobian, moved, back = evaluate(q, v)
    expected = np.zeros((model.nv, model.nv))
    for i, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, expected[i], unit)
    linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jacGeom(model, data, linear, angular, model.geom(FEET[name][0]).id)
    assert_close(inertia, expected)
    assert_close(bias, data.qfrc_bias)
    assert_close(passive, data.qfrc_damper + data.qfrc_spring)
    assert_close(position[0], data.geom_xpos[model.geom(FEET[name][0]).id])
    assert_close(jacobian[0], np.vstack([linear, angular]))
    mujoco.mj_integratePos(model, q, v, 0.4)
    assert_close(moved, q)
    assert_close(back, 0.4 * v, 1e-12)


def test_rest_is_a_safe_point_of_the_exponential_map(tmp_path):
    """Derivatives of integrate and difference stay finite and exact at zero rotation."""
    file = tmp_path / "model.xml"
    file.write_text(MODELS["ball"])
    robot = Robot.load(file, feet=FEET["ball"])
    q = np.asarray(robot.posture)
    zero = np.zeros(robot.nv)
    slope = jax.jacfwd(lambda v: robot.difference(q, robot.integrate(q, v, 1.0)))(zero)
    assert_close(slope, np.eye(robot.nv), 1e-12)
