"""Robots, grounds and compiled functions that the tests of physics share."""

import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground import media
from softground.contact.feet import feet_in_ground
from softground.media.base import Medium
from softground.robots import Robot
from softground.simulation import Control, Ground, Simulator, State
from softground.simulation.simulator import BACKEND_VARIABLE
from softground.surfaces import Plane

MEDIA = {
    "sand": media.sand,
    "pebbles": media.pebbles,
    "visco_elastic": media.ViscoElastic,
    "firm": media.Firm,
    "grains": media.grains,
    "mud": media.mud,
}

#: A sole of 0.2 kg without anything on it: constant inertia, a potential energy linear in its position.
LIGHT_FOOT = """
<mujoco>
  <compiler angle="radian" inertiafromgeom="false"/>
  <custom><text name="softground_feet" data="sole"/></custom>
  <worldbody>
    <body name="foot">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <joint name="pitch" type="hinge" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="0.2" diaginertia="4e-4 4e-4 4e-4"/>
      <site name="sole" type="cylinder" size="0.05 0.075"/>
    </body>
  </worldbody>
</mujoco>
"""
#: A ball that rolls in the plane.
BALL = """
<mujoco>
  <compiler angle="radian" inertiafromgeom="false"/>
  <custom><text name="softground_feet" data="ball"/></custom>
  <worldbody>
    <body name="ball">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <joint name="pitch" type="hinge" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="1e-3 1e-3 1e-3"/>
      <geom name="ball" type="sphere" size="0.05"/>
    </body>
  </worldbody>
</mujoco>
"""
#: A block of 0.5 kg, free in space: its sole is 0.2 m x 0.1 m, its centre of mass 1 mm above it (so low that
#: friction hardly tips it).
BLOCK = """
<mujoco>
  <compiler angle="radian" inertiafromgeom="false"/>
  <custom><text name="softground_feet" data="sole"/></custom>
  <worldbody>
    <body name="block">
      <freejoint name="base"/>
      <inertial pos="0 0 0.001" mass="0.5" diaginertia="5e-4 2e-3 2e-3"/>
      <site name="sole" type="box" size="0.1 0.05 0.025"/>
    </body>
  </worldbody>
</mujoco>
"""
#: One driven hinge with limits on a light foot, with rotor inertia.
PENDULUM = """
<mujoco>
  <compiler angle="radian" inertiafromgeom="false"/>
  <option gravity="0 0 0"/>
  <custom><text name="softground_feet" data="sole"/></custom>
  <worldbody>
    <body name="base" pos="0 0 10">
      <joint name="z" type="slide" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="50" diaginertia="1 1 1"/>
      <body name="arm">
        <joint name="hinge" type="hinge" axis="0 1 0" range="-0.5 0.5"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
        <site name="sole" type="cylinder" size="0.05 0.075" pos="0 0 -0.3"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="hinge" ctrllimited="true" ctrlrange="-20 20"/></actuator>
</mujoco>
"""


@cache
def robot(name: str) -> Robot:
    return Robot.load(name)


@cache
def inline(text: str) -> Robot:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        path.write_text(text)
        return Robot.load(path)


@cache
def ground_medium(name: str) -> Medium:
    return MEDIA[name]()


def simulator(robot_name: str, medium: str, dt: float = 2e-3, slope: float = 0.0) -> Simulator:
    return _simulator(robot_name, medium, dt, slope, os.environ.get(BACKEND_VARIABLE, "auto"))


@cache
def _simulator(robot_name: str, medium: str, dt: float, slope: float, backend) -> Simulator:
    return Simulator(robot(robot_name), Ground(ground_medium(medium), Plane(slope)), dt, backend=backend)


def step(sim: Simulator, state: State, control=None):
    return _stepped(sim, state, _given(sim, control))


@eqx.filter_jit
def _stepped(sim: Simulator, state: State, control):
    return sim.step(state, control)


def _given(sim: Simulator, control):
    """No control is no torque, by the program for torques."""
    return jnp.zeros(sim.robot.nu) if control is None else control


#: Steps in a piece of a run: runs of all lengths are put together from one program.
PIECE = 10


def rollout(sim: Simulator, state: State, control, steps: int):
    """The state after so many steps, and their records: `sim.rollout`, by the program of `trajectory`."""
    states, records = trajectory(sim, state, control, steps)
    return jax.tree.map(lambda x: jnp.asarray(x[steps]), states), records


def trajectory(sim: Simulator, state: State, control, steps: int):
    """States (steps + 1 of them, the memory of the ground included) and records."""
    control = _given(sim, control)
    states, records = [jax.tree.map(lambda x: x[None], state)], []
    for _ in range(-(-steps // PIECE)):
        state, passed, record = _traced(sim, state, control)
        states.append(passed)
        records.append(record)
    joined = [jax.tree.map(lambda *parts: np.concatenate(parts), *trees) for trees in (states, records)]
    return jax.tree.map(lambda x: x[: steps + 1], joined[0]), jax.tree.map(lambda x: x[:steps], joined[1])


@eqx.filter_jit
def _traced(sim: Simulator, state: State, control):
    def body(state, _):
        after, record = sim.step(state, control)
        return after, (after, record)

    end, (states, records) = jax.lax.scan(body, state, None, length=PIECE)
    return end, states, records


@eqx.filter_jit
def stored_energy(sim: Simulator, states: State):
    """Energy (n,) in the ground under all feet, J."""

    def one(state):
        feet = feet_in_ground(sim.robot, state.q, sim.ground.surface)
        return jax.vmap(lambda m, foot, memory: m.stored_energy(foot, memory))(
            sim.feet_medium, feet, state.memory[0]
        ).sum()

    return jax.vmap(one)(states)


@eqx.filter_jit
def robot_energy(sim: Simulator, states: State):
    """Kinetic and potential energy (n,), J."""

    def one(state):
        return sim.robot.kinetic_energy(state.q, state.v), sim.robot.potential_energy(state.q)

    return jax.vmap(one)(states)


def hold(sim: Simulator, q=None, kp: float = 3000.0, kd: float = 100.0) -> Control:
    """A PD controller that keeps the joints where they are in q."""
    posture = np.asarray(sim.robot.posture if q is None else q)
    actuators = np.array(sim.robot.dof_q)[np.array(sim.robot.actuated)]
    return Control(position=jnp.asarray(posture[actuators]), kp=kp, kd=kd)


def weight(robot: Robot) -> float:
    return float(robot.total_mass) * 9.81


def pendulum(damping: float = 0.0) -> Simulator:
    sim = Simulator(inline(PENDULUM), ground_medium("sand"), 2e-3)
    return eqx.tree_at(lambda s: s.robot.damping, sim, np.array([0.0, damping]))
