"""Random models at random states against MuJoCo, which reads the same text by itself."""

import mujoco
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from softground.robots import Robot

from .numpy_dynamics import equations_of_motion
from .random_models import models

MODELS = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],  # shrinking would take minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("models") / "model.xml"


def mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    matrix = np.zeros((model.nv, model.nv))
    for i, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, matrix[i], unit)
    return matrix


def at_random(model: mujoco.MjModel, seed: int) -> mujoco.MjData:
    """A random state, nothing in contact."""
    rng = np.random.default_rng(seed)
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
    data.qvel = rng.normal(size=model.nv)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    mujoco.mj_forward(model, data)
    return data


def terms_of_mass(model: mujoco.MjModel, data: mujoco.MjData, mass: np.ndarray) -> np.ndarray:
    """Size of the terms whose sums the entries of a mass matrix are: m r^2 of all bodies, which may cancel.

    A joint whose axis goes through a light body far from the origin has a small entry made of large terms.
    """
    levers = model.body_mass @ np.square(data.xipos).sum(axis=1)
    size = np.sqrt(np.diag(mass) + levers)
    return np.outer(size, size)


@MODELS
@given(text=models(), seed=st.integers(0, 10**6))
def test_acceleration(text, seed, file):
    """M and the force to round-off of their terms; M a = f then holds a to |1/M| (error of f + error of M times a)."""
    file.write_text(text)
    robot = Robot.load(file, feet=["sole"])
    model = mujoco.MjModel.from_xml_string(text)
    data = at_random(model, seed)
    mass, force = equations_of_motion(robot, data.qpos, data.qvel)
    expected = mass_matrix(model, data)
    assert np.abs((mass - expected) / terms_of_mass(model, data, expected)).max() < ROUND_OFF
    terms = 1 + np.abs(data.qfrc_passive).max() + np.abs(data.qfrc_bias).max()  # 1 N m: of terms that cancel
    assert np.abs(force - (data.qfrc_passive - data.qfrc_bias)).max() < ROUND_OFF * terms
    error = np.linalg.norm(np.linalg.solve(mass, force) - data.qacc)
    spread = np.linalg.eigvalsh(expected)
    assert error < model.nv * ROUND_OFF * (terms + spread[-1] * np.linalg.norm(data.qacc)) / spread[0]


ROUND_OFF = 1e-12
"""A few thousand units in the last place: sums over some ten bodies, with lever arms of several metres."""


@MODELS
@given(text=models(), seed=st.integers(0, 10**6), choice=st.integers(0, 10**6))
def test_locked_joints(text, seed, choice, file):
    """A robot with locked joints has the equations of the whole one held still at them (MuJoCo's, both sides)."""
    file.write_text(text)
    full = mujoco.MjModel.from_xml_string(text)
    names = [full.joint(j).name for j in range(full.njnt)]
    rng = np.random.default_rng(choice)
    locked = [name for name in names[1:] if rng.random() < 0.5]
    data = at_random(full, seed)
    posture = {name: tuple(data.joint(name).qpos) for name in names}
    robot = Robot.load(file, feet=["sole"], lock=locked, posture=posture)
    small = robot.mujoco_model()
    kept = np.concatenate([data.joint(name).qpos for name in names if name not in locked])
    dofs = np.concatenate([_dofs(full, name) for name in names if name not in locked])
    data.qvel[np.setdiff1d(np.arange(full.nv), dofs)] = 0.0
    mujoco.mj_forward(full, data)
    other = mujoco.MjData(small)
    other.qpos, other.qvel = kept, data.qvel[dofs]
    mujoco.mj_forward(small, other)
    expected = mass_matrix(full, data)[np.ix_(dofs, dofs)]
    terms = terms_of_mass(full, data, expected)
    assert np.abs((mass_matrix(small, other) - expected) / terms).max() < ROUND_OFF
    bias, passive = data.qfrc_bias[dofs], data.qfrc_passive[dofs]
    size = 1 + np.abs(bias).max() + np.abs(passive).max()
    assert np.abs(other.qfrc_bias - bias).max() < ROUND_OFF * size
    assert np.abs(other.qfrc_passive - passive).max() < ROUND_OFF * size


def _dofs(model: mujoco.MjModel, name: str) -> np.ndarray:
    joint = model.joint(name)
    return np.arange(joint.dofadr[0], joint.dofadr[0] + len(joint.damping))
