"""A simulated foot that a PID drives along a trajectory (IV.C.1), and how far its wrenches are from recorded ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.control.pid import Pid
from softground.experiments.learning.grid import component_weights
from softground.experiments.learning.validation import normalised_error
from softground.experiments.protocol import Recording, low_pass, moved
from softground.experiments.trajectory import FootTrajectory
from softground.media.base import COMPONENTS, Medium
from softground.media.resistive import surface_of, wrenches
from softground.robots import Robot
from softground.robots.shapes import Cylinder
from softground.simulation import Control, Ground, Simulator, State
from softground.surfaces import Plane

FOOT = Cylinder(radius=0.05, length=0.25)
"""As long as the DEM rig's, so that neither goes under."""
KP, KI, KD = (8000.0, 20000.0, 300.0), (4000.0, 6000.0, 1000.0), (200.0, 400.0, 10.0)
GRAIN_INERTIA = (14.714, 14.714, 0.122)
"""M_g: kg, kg, kg m2."""
REFERENCE = 0.1572
"""m up the foot's axis: the point about which torques are given, as in the paper's measurements."""
CUTOFF = 5.0
"""Hz, of the low-pass filter on recorded wrenches: grains are coarse and their forces noisy."""
NAMES = ("fx", "fz", "ty")


@dataclass(frozen=True)
class Track:
    """A foot along a trajectory."""

    time: np.ndarray  # (n,) s
    pose: np.ndarray  # (n, 3) x m, z m, pitch rad
    wrench: np.ndarray  # (n, 3) fx N, fz N, ty N m about the reference point, world
    converged: bool


def foot_simulator(medium: Medium, dt: float = 0.001) -> Simulator:
    """The paper's foot on level ground."""
    robot = Robot.load("foot", feet={"sole": FOOT})
    return Simulator(robot, Ground(medium, Plane()), dt, grain_inertia=GRAIN_INERTIA)


def follow(medium: Medium, trajectory: FootTrajectory, dt: float = 0.001) -> Track:
    """Drive the foot of the paper along a trajectory through a medium."""
    simulator = foot_simulator(medium, dt)
    start = simulator.initial_state(trajectory.corners()[0], trajectory.velocities()[0])
    pose, wrench, converged = jax.jit(lambda state: records_along(simulator, trajectory, state))(start)
    time = dt * np.arange(len(pose))
    return Track(time, np.asarray(pose), np.asarray(wrench), bool(converged.all()))


def records_along(simulator: Simulator, trajectory: FootTrajectory, state: State):
    """Poses (n, 3), planar wrenches (n, 3) about the reference point, and whether steps converged, every step."""
    steps = round(trajectory.duration / float(simulator.dt))
    _, record = simulator.rollout(state, TrajectoryFollower.of(simulator, trajectory, steps), steps)
    return record.q, at_reference(record.wrench_world[:, 0], record.q[:, 2]), record.converged


class TrajectoryFollower(eqx.Module):
    """A controller with memory: PID along a trajectory, sampled at every step from time 0; it remembers the
    integral."""

    pid: Pid
    desired: Float[Array, "n 6"]  # m, rad, m/s, rad/s
    integral: Float[Array, "3"]  # at the start
    dt: Float[Array, ""]  # s

    @classmethod
    def of(cls, simulator: Simulator, trajectory: FootTrajectory, steps: int) -> TrajectoryFollower:
        times = float(simulator.dt) * np.arange(steps)
        line = np.clip(np.searchsorted(trajectory.time, times, side="right") - 1, 0, len(trajectory.time) - 2)
        desired = np.concatenate([trajectory.at(times), trajectory.velocities()[line]], axis=1)
        # Before it moves the integral carries the foot's weight.
        integral = np.array([0.0, float(simulator.robot.weight) / KI[1], 0.0])
        return cls(Pid(KP, KI, KD), desired, integral, simulator.dt)

    def init(self, state: State) -> Float[Array, "3"]:
        return jnp.asarray(self.integral)

    def __call__(self, integral: Float[Array, "3"], state: State) -> tuple[Float[Array, "3"], Control]:
        goal = jnp.asarray(self.desired)[jnp.round(state.time / self.dt).astype(int)]
        effort, integral = self.pid(integral, goal[:3] - state.q, goal[3:] - state.v, self.dt)
        return integral, Control(effort)


def at_reference(wrench, pitch) -> Any:
    """Planar wrenches (n, 3) about the point `REFERENCE` up the foot's axis, of wrenches (n, 6) about the sole's
    centre."""
    xp = jnp if isinstance(wrench, jax.Array) else np
    axis = xp.stack([xp.sin(pitch), xp.zeros_like(pitch), xp.cos(pitch)], axis=-1)
    return moved(wrench, REFERENCE * axis)[:, COMPONENTS["planar"]]


def recorded(record: Recording, trajectory: FootTrajectory, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Recorded planar wrenches (n, 3) about the reference point at times (s): as they are, and filtered."""
    even = np.linspace(record.time[0], record.time[-1], len(record.time))
    raw = np.stack([np.interp(even, record.time, column) for column in record.wrench.T], axis=1)
    raw = at_reference(raw, trajectory.at(even)[:, 2])
    smooth = low_pass(even, raw, CUTOFF)
    raw, smooth = (np.stack([np.interp(time, even, c) for c in series.T], axis=1) for series in (raw, smooth))
    return raw, smooth


def errors(simulated: np.ndarray, measured: np.ndarray) -> dict[str, float]:
    """Root mean square differences over those of the measured wrenches: by component, and together."""
    only = dict(zip(NAMES, np.eye(len(NAMES)), strict=True))
    shares = only | {"together": component_weights("planar")}
    return {name: normalised_error(simulated, measured, weights) for name, weights in shares.items()}


def resistive_scale(record: Recording, trajectory: FootTrajectory) -> float:
    """Scale (N/cm3) of the resistive medium whose wrenches along a trajectory are nearest to the recorded ones."""
    time = np.linspace(0.0, trajectory.duration, 121)
    _, measured = recorded(record, trajectory, time)
    generic = np.concatenate([_generic(trajectory, time, line) for line in range(len(trajectory.time) - 1)])
    weights = component_weights("planar")
    own, other = generic * weights, measured * weights
    return float((own * other).sum() / (own * own).sum())


def _generic(trajectory: FootTrajectory, time: np.ndarray, line: int) -> np.ndarray:
    """Planar wrenches (n, 3) of the generic medium at the times that fall on one straight line of the trajectory."""
    last = line == len(trajectory.time) - 2
    inside = (time >= trajectory.time[line]) & ((time < trajectory.time[line + 1]) | last)
    pose, (vx, vz, spin) = trajectory.at(time[inside]), trajectory.velocities()[line]
    if not len(pose):
        return np.empty((0, 3))
    turns = np.zeros((len(pose), 3, 3))
    turns[:, 0, 0] = turns[:, 2, 2] = np.cos(pose[:, 2])
    turns[:, 0, 2], turns[:, 2, 0], turns[:, 1, 1] = np.sin(pose[:, 2]), -np.sin(pose[:, 2]), 1.0
    twist = np.array([[vx, 0.0, vz, 0.0, spin, 0.0]])
    sole = np.stack([
        wrenches(surface_of(FOOT), "plane", turn[None], np.array([max(-z, 0.0)]), twist)[0, 0, 0]
        for turn, z in zip(turns, pose[:, 1], strict=True)
    ])  # fmt: skip
    return at_reference(sole, pose[:, 2])
