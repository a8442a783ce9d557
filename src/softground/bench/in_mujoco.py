"""What soft ground costs inside of MuJoCo: a step of `sg.mujoco.Ground` beside `mj_step` on a rigid plane.

Both are called from Python, as users do, with servos that sway about the posture. The rigid peer has ball feet and
nothing else that collides, so MuJoCo has no more to do than we have.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import mujoco
import numpy as np

from softground.bench.motions import Motion, swaying
from softground.bench.step import one_core
from softground.bridges.mujoco import Ground
from softground.bridges.rigid_peer import rigid_peer, use_pd
from softground.media import firm, medium_of
from softground.media.base import Medium
from softground.robots.loading import build
from softground.simulation import Simulator

ROBOTS, GROUNDS = ("walker2d", "ant", "go1", "g1"), ("sand", "foam")


def measure(
    robots=ROBOTS, grounds=GROUNDS, seconds: float = 1.0, dt: float = 0.002, repeats: int = 15, height: float = 0.01
) -> dict:
    """Mean microseconds per step of both, interleaved so that a noisy machine disturbs both alike.

    Every repetition is the same motion, so that each of its steps has a median over repetitions: what else the machine
    does between two calls drops out, and steps that are harder than others count.
    """
    with one_core():
        rows = {
            f"{robot} on {ground}": _compare(swaying(robot), medium_of(ground), seconds, dt, repeats, height)
            for robot in robots
            for ground in grounds
        }
    return {"steps": rows, "dt": dt, "seconds": seconds}


class _Loop(NamedTuple):
    """A model that is stepped from one state under one series of commands."""

    model: mujoco.MjModel
    data: mujoco.MjData
    start: np.ndarray
    targets: np.ndarray
    step: Callable[[mujoco.MjModel, mujoco.MjData], None]

    def seconds(self) -> np.ndarray:
        """Time that each step takes."""
        model, data, step, clock = self.model, self.data, self.step, time.perf_counter
        mujoco.mj_resetData(model, data)
        data.qpos[:] = self.start
        taken = np.empty(len(self.targets))
        for k, target in enumerate(self.targets):
            data.ctrl[:] = target
            began = clock()
            step(model, data)
            taken[k] = clock() - began
        return taken


def _compare(motion: Motion, medium: Medium, seconds: float, dt: float, repeats: int, height: float) -> dict:
    began = time.perf_counter()
    ours, ground = _soft(motion, medium, seconds, dt, height)
    ours.seconds()
    compile_s = time.perf_counter() - began
    theirs = _rigid(motion, seconds, dt, height)
    theirs.seconds()
    times = np.array([[ours.seconds(), theirs.seconds()] for _ in range(repeats)])
    ours_us, theirs_us = np.median(times, axis=0)[:, 1:].mean(1) * 1e6  # the first step resets the ground
    rounds, agreed = _rounds(ours, ground)
    return {
        "ground_us": float(ours_us),
        "mj_step_us": float(theirs_us),
        "ratio": float(ours_us / theirs_us),
        "rounds": rounds,
        "agreed": agreed,
        "compile_s": compile_s,
    }


def _rounds(loop: _Loop, ground: Ground) -> tuple[float, float]:
    """Mean number of rounds, and the share of steps whose end the ground and MuJoCo agree on."""
    seen: list[tuple[int, bool]] = []

    def step(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        ground.step(model, data)
        seen.append((ground.rounds, ground.converged))

    loop._replace(step=step).seconds()
    rounds, agreed = np.mean(np.array(seen, dtype=float), axis=0)
    return float(rounds), float(agreed)


def _soft(motion: Motion, medium: Medium, seconds: float, dt: float, height: float) -> tuple[_Loop, Ground]:
    robot, model = motion.robot, soft_model(motion, dt)
    feet = {foot.name: foot.shape for foot in robot.feet}
    ground = Ground(model, medium, feet=feet, posture=np.asarray(robot.posture))
    return _loop(motion, model, Simulator(robot, medium, dt), seconds, height, ground.step), ground


def soft_model(motion: Motion, dt: float) -> mujoco.MjModel:
    """The robot with servos, of which nothing collides."""
    spec = build(motion.robot.recipe).spec
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    use_pd(spec, motion.robot, motion.kp, motion.kd)
    spec.option.timestep, spec.option.integrator = dt, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return spec.compile()


def _rigid(motion: Motion, seconds: float, dt: float, height: float) -> _Loop:
    model = rigid_peer(motion.robot, dt, motion.kp, motion.kd)
    return _loop(motion, model, Simulator(motion.robot, firm(), dt), seconds, height, mujoco.mj_step)


def _loop(motion: Motion, model: mujoco.MjModel, simulator: Simulator, seconds: float, height: float, step) -> _Loop:
    dt = float(simulator.dt)
    targets = np.asarray(jax.jit(jax.vmap(motion.target))(dt * np.arange(round(seconds / dt))), dtype=float)
    start = np.asarray(simulator.initial_state(height=height).q, dtype=float)
    return _Loop(model, mujoco.MjData(model), start, targets, step)
