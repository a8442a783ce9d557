"""Whole runs in scenes that are turned about the vertical, or inclined with gravity: the same motion, turned along."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softground import media
from softground.media import Wedge
from softground.simulation import Ground, Simulator, State
from softground.surfaces import Plane

from .physics_cases import BLOCK, inline, rollout

#: A ball of 2 kg that is thrown.
THROWN = """
<mujoco>
  <compiler angle="radian" inertiafromgeom="false"/>
  <custom><text name="softground_feet" data="ball"/></custom>
  <worldbody>
    <body name="ball">
      <freejoint name="base"/>
      <inertial pos="0 0 0" mass="2" diaginertia="3e-3 3e-3 3e-3"/>
      <geom name="ball" type="sphere" size="0.06"/>
    </body>
  </worldbody>
</mujoco>
"""
BODIES = {"ball": THROWN, "block": BLOCK}
GROUNDS = {"sand": media.sand, "wedge": Wedge, "foam": media.foam}
STEPS = 200
#: Both runs solve their steps to 1e-12 J, each to its own rounding: 1e-6 m/s of a kilogram, over 0.4 s of a motion that
#: the ground damps.
SAME = 1e-6  # m, m/s, rad/s


def thrown(body: State, turn: Rotation) -> State:
    """A body where it is above the ground that flies ahead, down and sideways and spins, all turned."""
    linear, spin = turn.apply([0.8, 0.2, -0.3]), np.array([0.5, 2.0, -1.0])  # m/s, world; rad/s, body
    place, facing = turn.apply(np.array(body.q[:3])), turn.as_quat(scalar_first=True)
    return replace(body, q=jnp.asarray(np.r_[place, facing]), v=jnp.asarray(np.r_[linear, spin]))


def assert_turned(first: State, second: State, turn: Rotation) -> None:
    np.testing.assert_allclose(second.q[:3], turn.apply(np.array(first.q[:3])), atol=SAME)
    np.testing.assert_allclose(second.v[:3], turn.apply(np.array(first.v[:3])), atol=SAME)
    np.testing.assert_allclose(second.v[3:], first.v[3:], atol=SAME)
    facing, expected = (Rotation.from_quat(np.array(q), scalar_first=True) for q in (second.q[3:7], first.q[3:7]))
    assert ((turn * expected).inv() * facing).magnitude() < SAME


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("ground", GROUNDS)
def test_scenes_turned_and_inclined(ground, body):
    """A throw on level ground, to every heading; and on a slope, with gravity along its normal."""
    robot = inline(BODIES[body])
    level = Simulator(robot, Ground(GROUNDS[ground]()), 2e-3)
    above = level.initial_state(height=0.005)  # m
    final, record = rollout(level, thrown(above, Rotation.identity()), None, STEPS)
    assert float(jnp.linalg.norm(final.q[:2])) > 0.03  # m: it got somewhere, in the ground
    assert float(record.depth.max()) > 1e-4  # m
    for degrees in (22.5, 67.0, 180.0):
        turn = Rotation.from_euler("z", degrees, degrees=True)
        assert_turned(final, rollout(level, thrown(above, turn), None, STEPS)[0], turn)
    incline = Rotation.from_euler("y", -0.3)  # rises by 0.3 rad towards +x
    leaning = replace(robot, gravity=incline.apply(robot.gravity))
    slope = Simulator(leaning, Ground(GROUNDS[ground](), Plane(0.3)), 2e-3)
    start = thrown(above, incline)
    start = replace(start, memory=_memory(slope, start))
    assert_turned(final, rollout(slope, start, None, STEPS)[0], incline)


def _memory(simulator: Simulator, state: State):
    """What the ground remembers at the start, where this state's body is."""
    return jax.tree.map(jnp.asarray, simulator.initial_state(q=state.q, v=state.v).memory)
