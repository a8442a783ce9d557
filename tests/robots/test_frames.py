"""Named frames, and the matrix of centroidal momentum, against Pinocchio."""

import jax
import numpy as np
import pytest

from softground.errors import RobotError
from softground.robots import Robot

from .robot_cases import assert_close, compiled
from .test_dynamics_against_pinocchio import Translation, pinocchio_model

pinocchio = pytest.importorskip("pinocchio")

FRAMES = {
    "icub": ("l_sole", "root_link", "chest", "r_elbow_1"),
    "talos": ("left_sole_link", "base_link", "torso_2_link"),
}


@pytest.fixture(scope="module", params=FRAMES)
def case(request):
    """Translation to Pinocchio, its model and data at a state, and ours there."""
    names = FRAMES[request.param]
    robot = compiled(request.param).robot
    q, v, _ = compiled(request.param).random_state(3)
    model = pinocchio_model(robot)
    translation, data = Translation(robot, model), model.createData()
    b = translation.velocity_map(q)
    x = translation.configuration(q)
    pinocchio.forwardKinematics(model, data, x, b @ v, translation.velocity_map_rate(q, v))
    pinocchio.computeJointJacobians(model, data, x)
    pinocchio.updateFramePlacements(model, data)
    pinocchio.ccrba(model, data, x, b @ v)
    pinocchio.jacobianCenterOfMass(model, data, x)
    ours = jax.jit(
        lambda q, v: (robot.frames(q, v, names), robot.centroidal_momentum_matrix(q), robot.center_of_mass_jacobian(q))
    )(q, v)
    return model, data, b, v, ours


def test_frames_by_name(case):
    """Feet and bodies: pose, Jacobian, twist, and acceleration at zero joint acceleration."""
    model, data, b, v, (frames, *_) = case
    world = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for name in frames.names:
        ours, number = frames[name], model.getFrameId(name)
        jacobian = pinocchio.getFrameJacobian(model, data, number, world) @ b
        assert_close(ours.position, data.oMf[number].translation)
        assert_close(ours.rotation, data.oMf[number].rotation)
        assert_close(ours.jacobian, jacobian)
        assert_close(ours.twist, jacobian @ v)
        bias = pinocchio.getFrameClassicalAcceleration(model, data, number, world).vector
        assert_close(ours.bias_acceleration, bias)


def test_momentum_matrix_and_centre_of_mass(case):
    _, data, b, v, (_, matrix, jacobian) = case
    assert_close(matrix, data.Ag @ b)
    assert_close(matrix @ v, data.hg.vector)
    assert_close(jacobian, data.Jcom @ b)


def test_an_unknown_frame_is_named_with_the_known_ones():
    robot = Robot.load("foot")
    with pytest.raises(RobotError, match=f"foot: unknown frame 'hand': must be one of .*{robot.feet[0].name}"):
        robot.frames(robot.posture, np.zeros(robot.nv), ["hand"])
    frames = jax.eval_shape(lambda q: robot.frames(q, np.zeros(robot.nv), [robot.feet[0].name]), robot.posture)
    with pytest.raises(RobotError, match="unknown frame 'hand'"):
        frames["hand"]
