"""Pinocchio as the oracle, from the same files but with its own parsers: it checks the reading of models too.

Its conventions differ: quaternions xyzw, and the velocity of a free base wholly in the body frame. With B
the map from our base velocity (linear in the world, angular in the body) to its own, M = B' M_pin B, J =
J_pin B, and the force is B' tau_pin at acceleration B a + dB/dt v.
"""

import numpy as np
import pytest

from softground.robots import Robot, catalogue

from .robot_cases import assert_close, compiled

pinocchio = pytest.importorskip("pinocchio")

URDF_ROBOTS = ("anymal", "go1", "g1", "talos", "icub")
MJCF_ROBOTS = ("robosimian", "walker2d", "ant")


def pinocchio_model(robot: Robot):
    """Pinocchio's model of the same file, joints locked as in ours."""
    path = str(catalogue.resolve(robot.name).path)
    if robot.name in MJCF_ROBOTS:
        return pinocchio.buildModelFromMJCF(path)
    full = pinocchio.buildModelFromUrdf(path, pinocchio.JointModelFreeFlyer())
    locked = [name for name in list(full.names)[2:] if name not in robot.joint_names]
    reference = pinocchio.neutral(full)
    return pinocchio.buildReducedModel(full, [full.getJointId(n) for n in locked], reference)


class Translation:
    """Between our state and Pinocchio's."""

    def __init__(self, robot: Robot, model):
        self.robot, self.model = robot, model
        self.free = robot.tree.joint_type[0] == 0
        first = 1 if self.free else 0
        base_q, base_v = (7, 6) if self.free else (0, 0)
        self.q_order, self.v_order = np.arange(model.nq), np.arange(model.nv)
        for k, name in enumerate(robot.joint_names[first:]):
            if not model.existJointName(name):
                continue  # inside the composite joint of the base, which keeps MuJoCo's order
            joint = model.joints[model.getJointId(name)]
            self.q_order[joint.idx_q] = base_q + k
            self.v_order[joint.idx_v] = base_v + k

    def configuration(self, q):
        q = np.array(q)
        if self.free:
            q[3:7] = q[[4, 5, 6, 3]]
        return q[self.q_order]

    def base_rotation(self, q):
        return pinocchio.Quaternion(*np.array(q)[3:7]).matrix() if self.free else np.eye(3)

    def velocity_map(self, q):
        """B: Pinocchio's velocity = B v."""
        matrix = np.eye(self.robot.nv)
        if self.free:
            matrix[:3, :3] = self.base_rotation(q).T
        return matrix[self.v_order]

    def velocity_map_rate(self, q, v):
        """dB/dt v: the linear velocity of the base seen from the turning body, -omega x R' v."""
        rate = np.zeros(self.robot.nv)
        if self.free:
            rate[:3] = -np.cross(v[3:6], self.base_rotation(q).T @ v[:3])
        return rate[self.v_order]


@pytest.fixture(params=(*URDF_ROBOTS, *MJCF_ROBOTS))
def state(request):
    case = compiled(request.param)
    q, v, a = case.random_state(7)
    model = pinocchio_model(case.robot)
    assert model.nv == case.robot.nv
    translation = Translation(case.robot, model)
    reference = np.zeros(case.robot.nq)
    if case.robot.name == "walker2d":  # Pinocchio's slides start at zero where MuJoCo's start at `ref`
        reference[1] = 1.25
    if case.robot.name == "robosimian":
        reference[1] = 1.027
    return translation, model, (q - reference, q, v, a), case.evaluate(q, v, a)


def test_equations_of_motion(state):
    translation, model, (q_pin, q, v, a), ours = state
    data = model.createData()
    b = translation.velocity_map(q)
    x = translation.configuration(q_pin)
    inertia = pinocchio.crba(model, data, x)
    inertia = np.triu(inertia) + np.triu(inertia, 1).T
    assert_close(ours["mass_matrix"], b.T @ inertia @ b)
    acceleration = b @ a + translation.velocity_map_rate(q, v)
    assert_close(ours["inverse_dynamics"], b.T @ pinocchio.rnea(model, data, x, b @ v, acceleration))


SOLES = {
    "anymal": ("{}", (0, 0, 0.02325)),  # centre of the collision sphere
    "go1": ("{}", (0, 0, 0)),
    "g1": ("{}_ankle_roll_link", (0.035, 0, -0.035)),  # our frame: middle of the contact spheres
    "talos": ("{}", (0, 0, 0)),
    "icub": ("{}", (0, 0, 0)),
}
"""Frame of the file that holds each foot, and the foot's origin in it."""


@pytest.mark.parametrize("name", URDF_ROBOTS)
def test_feet(name):
    case = compiled(name)
    q, v, a = case.random_state(7)
    ours, model = case.evaluate(q, v, a), pinocchio_model(case.robot)
    translation, data = Translation(case.robot, model), model.createData()
    x, b = translation.configuration(q), translation.velocity_map(q)
    pinocchio.forwardKinematics(model, data, x, b @ v, translation.velocity_map_rate(q, v))
    pinocchio.computeJointJacobians(model, data, x)
    pinocchio.updateFramePlacements(model, data)
    world = pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
    pattern, offset = SOLES[name]
    for k, foot in enumerate(case.robot.feet):
        frame = model.getFrameId(pattern.format(foot.name.removesuffix("_sole") if name == "g1" else foot.name))
        pose = data.oMf[frame]
        arm = pose.rotation @ np.array(offset, float)
        jacobian = pinocchio.getFrameJacobian(model, data, frame, world) @ b
        jacobian[:3] += np.cross(jacobian[3:], arm, axis=0)
        bias = pinocchio.getFrameClassicalAcceleration(model, data, frame, world).vector.copy()
        omega = jacobian[3:] @ v
        bias[:3] += np.cross(bias[3:], arm) + np.cross(omega, np.cross(omega, arm))
        assert_close(ours["foot_poses"][0][k], pose.translation + arm)
        assert_close(ours["foot_poses"][1][k], pose.rotation)
        assert_close(ours["foot_jacobians"][k], jacobian)
        assert_close(ours["foot_bias_accelerations"][k], bias)
