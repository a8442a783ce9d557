"""Identification of the ground from torques, encoders and base velocity, on a drop whose ground is known."""

from dataclasses import replace

import jax
import mujoco
import numpy as np
import pytest

from softground.control.terrain_identification import Sensed, SensorNoise, TerrainIdentifier, Uncertainty
from softground.errors import OptionError
from softground.media import Wedge
from softground.robots import Robot
from softground.robots.shapes import HalfCylinder
from softground.simulation import Simulator

HOPPER = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="trunk" pos="0 0 0.3">
      <freejoint/>
      <inertial pos="0 0 0" mass="5" diaginertia="0.05 0.06 0.07"/>
      <body name="leg">
        <joint name="hip" axis="0 1 0" armature="0.01" damping="0.05"/>
        <inertial pos="0 0 -0.1" mass="1" diaginertia="0.004 0.004 0.001"/>
        <site name="foot" pos="0 0 -0.2"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="hip"/></actuator>
</mujoco>
"""
GROUND = Wedge(zeta=2.0, saturation_length=0.02)
DT, STEPS, IN_AIR = 0.002, 120, 15


@pytest.fixture(scope="module")
def hopper(tmp_path_factory) -> Robot:
    path = tmp_path_factory.mktemp("robots") / "hopper.xml"
    path.write_text(HOPPER)
    return Robot.load(path, feet={"foot": HalfCylinder(0.04, 0.08)})


@pytest.fixture(scope="module")
def drop(hopper):
    """A leg that swings a little falls upright into the ground: states of the steps, and the ground's wrenches."""
    simulator = Simulator(hopper, GROUND, DT)
    start = simulator.initial_state(v=[0.02, 0.01, -0.3, 0, 0, 0, 0.3], height=0.02)
    torque = 0.3 * np.sin(np.arange(STEPS) / 10)[:, None]
    final, record = jax.jit(lambda state: simulator.rollout(state, torque))(start)
    velocity = np.concatenate([record.v, final.v[None]])
    return Sensed(np.asarray(record.q), velocity[:-1], velocity[1:], torque), np.asarray(record.wrench_world)


@pytest.fixture(scope="module")
def identifier(hopper) -> TerrainIdentifier:
    guess = replace(GROUND, zeta=1.0, saturation_length=0.05)
    return TerrainIdentifier(hopper, guess, ("zeta", "saturation_length"), dt=DT, uncertainty=Uncertainty(height=0.003))


@pytest.fixture(scope="module")
def beliefs(identifier, drop):
    """After each step; the foot is 2 cm above the ground at the start, by guess 1.8."""
    program = jax.jit(lambda stream: identifier.over(identifier.start(stream.q[0], -0.018), stream))
    return jax.tree.map(np.asarray, program(drop[0]))


def test_sensed_force_is_the_grounds(hopper, identifier, drop):
    """By MuJoCo's inverse dynamics and foot Jacobian."""
    stream, wrenches = drop
    model = hopper.mujoco_model()
    data = mujoco.MjData(model)
    sensed = jax.jit(jax.vmap(lambda one: identifier._sensed_force(hopper.kinematics(one.q), one)))(stream)
    for k in (IN_AIR // 2, STEPS // 2, STEPS - 1):
        data.qpos[:], data.qvel[:] = stream.q[k], stream.v[k]
        data.qacc[:] = (stream.v_after[k] - stream.v[k]) / DT
        mujoco.mj_inverse(model, data)
        of_motion = data.qfrc_inverse.copy()
        of_motion[6:] -= stream.torque[k]
        np.testing.assert_allclose(sensed[k], of_motion, atol=1e-9)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacSite(model, data, linear, angular, model.site("foot").id)
        of_ground = linear.T @ wrenches[k, 0, :3] + angular.T @ wrenches[k, 0, 3:]
        # The simulator damps the hinge by its velocity at the end of a step, the sensed force has it at the start.
        late = 0.05 * np.abs(stream.v_after[k] - stream.v[k]).max()
        np.testing.assert_allclose(sensed[k], of_ground, atol=late + 1e-6)


def test_zeta_and_level_are_found_as_the_foot_sinks(beliefs):
    assert beliefs.parameters[-1, 0] == pytest.approx(2.0, rel=0.02)
    assert beliefs.height[-1] == pytest.approx(-(0.2 + 0.04 + 0.02), abs=5e-4)  # leg, radius, height of the drop
    assert abs(np.log(beliefs.parameters[-1, 0] / 2.0)) < 3 * beliefs.deviations[-1, 0]


def test_a_foot_in_the_air_teaches_nothing(beliefs):
    """But time passes: parameters may drift."""
    np.testing.assert_allclose(beliefs.parameters[IN_AIR], [1.0, 0.05], rtol=1e-3)
    assert (beliefs.deviations[IN_AIR] > 0.999 * np.log(Uncertainty().factor)).all()


def test_lambda_stays_a_guess_without_a_slip_to_the_side(beliefs):
    """The foot slips by a millimetre sideways: the pile beside it has hardly begun to saturate."""
    assert beliefs.parameters[-1, 1] == pytest.approx(0.05, rel=0.1)
    assert beliefs.deviations[-1, 1] > 0.9 * np.log(Uncertainty().factor)


def test_noise_of_velocities_in_order():
    np.testing.assert_array_equal(
        SensorNoise(1.0, 2.0, 3.0, 4.0).of_velocity(8), [2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0]
    )


def test_bad_requests(hopper, tmp_path):
    with pytest.raises(OptionError, match=r"unknown parameter of Wedge .zetta.: must be one of .*zeta"):
        TerrainIdentifier(hopper, GROUND, ("zetta",))
    with pytest.raises(OptionError, match="first guess of shear must be positive"):
        TerrainIdentifier(hopper, replace(GROUND, shear=0.0), ("shear",))
    with pytest.raises(OptionError, match="filter_time must be at least a period"):
        TerrainIdentifier(hopper, GROUND, ("zeta",), filter_time=1e-3)
    path = tmp_path / "fixed.xml"
    path.write_text(HOPPER.replace("<freejoint/>", ""))
    with pytest.raises(OptionError, match="a base that floats"):
        TerrainIdentifier(Robot.load(path, feet={"foot": HalfCylinder(0.04, 0.08)}), GROUND, ("zeta",))
