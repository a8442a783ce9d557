"""MuJoCo C as the oracle: every quantity at random states, on the same compiled model."""

import mujoco
import numpy as np
import pytest

from .robot_cases import assert_close

SEEDS = (0, 1)


@pytest.fixture(params=SEEDS)
def state(request, case):
    """Our results and MuJoCo's data at one random state."""
    q, v, a = case.random_state(request.param)
    model = case.robot.mujoco_model()
    data = mujoco.MjData(model)
    data.qpos, data.qvel = q, v
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    mujoco.mj_forward(model, data)
    mujoco.mj_subtreeVel(model, data)
    return case.robot, case.evaluate(q, v, a), model, data, a


def dense_mass_matrix(model, data):
    """M column by column, the same in every version of MuJoCo."""
    matrix = np.zeros((model.nv, model.nv))
    for i, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, matrix[i], unit)
    return matrix


def test_mass_matrix_and_bias(state):
    _, ours, model, data, _ = state
    assert_close(ours["mass_matrix"], dense_mass_matrix(model, data))
    assert_close(ours["bias_force"], data.qfrc_bias)


def test_inverse_dynamics(state):
    _, ours, model, data, a = state
    assert_close(ours["inverse_dynamics"], dense_mass_matrix(model, data) @ a + data.qfrc_bias)


def test_passive_force(state):
    _, ours, _, data, _ = state
    assert_close(ours["passive_force"], data.qfrc_damper + data.qfrc_spring)


def test_body_poses(state):
    robot, ours, model, data, _ = state
    bodies = [model.body(name).id for name in robot.body_names]
    position, rotation = ours["body_poses"]
    assert_close(position, data.xpos[bodies])
    assert_close(rotation, data.xmat[bodies].reshape(-1, 3, 3))


def test_foot_jacobians_and_twists(state):
    robot, ours, model, data, _ = state
    position, _ = ours["foot_poses"]
    for k, foot in enumerate(robot.feet):
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        body = model.body(robot.body_names[foot.body]).id
        mujoco.mj_jac(model, data, linear, angular, np.array(position[k]), body)
        jacobian = np.vstack([linear, angular])
        assert_close(ours["foot_jacobians"][k], jacobian)
        assert_close(ours["foot_twists"][k], jacobian @ data.qvel)


def test_momentum(state):
    _, ours, model, data, _ = state
    # Relative to the motion of single bodies: the total nearly cancels in some states.
    mass = model.body_subtreemass[0]
    assert_close(ours["center_of_mass"], data.subtree_com[0])
    assert_close(ours["centroidal_momentum"][:3], mass * data.subtree_linvel[0])
    assert_close(ours["centroidal_momentum"][3:], data.subtree_angmom[0])


def test_energy(state):
    _, ours, _, data, _ = state
    assert_close(ours["potential_energy"], data.energy[0])
    assert_close(ours["kinetic_energy"], data.energy[1])


def test_integrate_moves_as_mujoco(state):
    _, ours, model, data, _ = state
    q = data.qpos.copy()
    mujoco.mj_integratePos(model, q, data.qvel, 0.3)
    assert_close(ours["moved"], q)
