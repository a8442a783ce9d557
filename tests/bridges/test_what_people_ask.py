"""Answers of docs/from_mujoco.md and from_playground.md to what people ask, where no other test shows them."""

import jax
import mujoco
import numpy as np
import pytest

import softground as sg
from softground.envs import make

from ..envs.env_cases import FOOT

BOX = """
<mujoco><option integrator="implicitfast"/><worldbody>
  <geom name="floor" type="plane" size="1 1 1"/>
  <body name="body" pos="0 0 0.05"><freejoint/><geom name="box" type="box" size="0.1 0.05 0.05" mass="{mass}"/></body>
</worldbody></mujoco>
"""


def depth_at_rest(mass: float, soft: bool) -> float:
    """m, of a box on foam, or on MuJoCo's own floor."""
    model = mujoco.MjModel.from_xml_string(BOX.format(mass=mass))
    data, ground = mujoco.MjData(model), None
    if soft:
        sg.mujoco.take_out_floor(model)
        ground = sg.mujoco.Ground(model, sg.foam(), feet=["box"])
    for _ in range(2000):
        mujoco.mj_step(model, data) if ground is None else ground.step(model, data)
    assert np.abs(data.qvel).max() < 1e-4
    return 0.05 - float(data.qpos[2])


def test_a_heavier_body_sinks_deeper_on_foam_and_not_on_mujocos_own_floor():
    """F = stiffness x area x depth; MuJoCo scales its floor's softness by the mass that presses on it."""
    light, heavy = (depth_at_rest(mass, soft=True) for mass in (2.0, 6.0))
    assert light == pytest.approx(2.0 * 9.81 / (float(sg.foam().stiffness) * 0.2 * 0.1), rel=1e-3)
    assert heavy == pytest.approx(3 * light, rel=1e-3)
    assert depth_at_rest(6.0, soft=False) == pytest.approx(depth_at_rest(2.0, soft=False), rel=1e-3)


def test_gradients_go_through_steps_of_an_environment():
    """Of what three steps are worth, by the action, beside differences; with the backend that is chosen by itself."""
    env = make(FOOT)
    start = jax.jit(env.reset)(jax.random.key(0))

    @jax.jit
    def worth(action):
        def step(state, _):
            state = env.step(state, action)
            return state, state.reward

        return jax.lax.scan(step, start, None, length=3)[1].sum()

    action, h = np.array([0.3, -0.2, 0.1]), 1e-5
    found = jax.jit(jax.grad(worth))(action)
    expected = [float(worth(action + h * one) - worth(action - h * one)) / (2 * h) for one in np.eye(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max())
    assert np.abs(expected).max() > 1e-3
