"""Time of one step on one core, beside MuJoCo's `mj_step` of the same robot on a rigid plane."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager

import jax
import mujoco
import mujoco.rollout
import numpy as np

from softground import media
from softground.bench.motions import Motion, motion_named, walks
from softground.bridges.rigid_peer import rigid_peer
from softground.errors import OptionError, unknown_name
from softground.media.base import Medium
from softground.simulation import Simulator

ROBOTS, MOTIONS, GROUNDS = ("robosimian", "anymal"), ("walking", "swaying"), ("sand",)
#: Strength of the sand on which RoboSimian (980 N) walks: at 1 it sinks beyond all data (`softground.demo`).
HEAVY = {"robosimian": 2.0}


def measure(
    robots=ROBOTS, motions=MOTIONS, grounds=GROUNDS, seconds: float = 2.0, dt: float = 0.002, repeats: int = 15
) -> dict:
    """Median microseconds per step of both, interleaved so that a noisy machine disturbs both alike."""
    cases = [(*case, ground) for case in _moving(robots, motions) for ground in grounds]
    with one_core():
        rows = {
            f"{robot} {motion} on {ground}": _compare(
                motion_named(motion, robot), _medium(ground, robot, motion), seconds, dt, repeats
            )
            for robot, motion, ground in cases
        }
    return {"steps": rows, "dt": dt, "seconds": seconds}


def _moving(robots, motions) -> list[tuple[str, str]]:
    """All pairs; of several motions, a robot that does not walk has the others."""
    pairs = [(robot, motion) for robot in robots for motion in motions]
    return [(robot, motion) for robot, motion in pairs if len(motions) == 1 or motion != "walking" or walks(robot)]


def _medium(ground: str, robot: str, motion: str) -> Medium:
    known = {"sand": media.sand, "pebbles": media.pebbles, "foam": media.foam, "firm": media.firm}
    if ground not in known:
        raise OptionError(unknown_name("ground", ground, known))
    if ground == "sand" and motion == "walking":
        return media.sand(HEAVY.get(robot, 1.0))
    return known[ground]()


def _compare(motion: Motion, medium: Medium, seconds: float, dt: float, repeats: int) -> dict:
    steps = round(seconds / dt)
    ours, record = _softground(motion, medium, steps, dt)
    theirs = _mujoco(motion, steps, dt)
    times = np.array([(_seconds(ours), _seconds(theirs)) for _ in range(repeats)])
    softground_us, mujoco_us = np.median(times, axis=0) / steps * 1e6
    iterations = np.asarray(record.iterations)
    return {
        "softground_us": float(softground_us),
        "mujoco_us": float(mujoco_us),
        "ratio": float(np.median(times[:, 0] / times[:, 1])),
        "iterations": float(iterations.mean()),
        "iterations_99": float(np.percentile(iterations, 99)),
        "converged": float(np.mean(record.converged)),
    }


def _softground(motion: Motion, medium: Medium, steps: int, dt: float):
    simulator = Simulator(motion.robot, medium, dt)
    start = simulator.initial_state(height=motion.height)
    run = jax.jit(lambda state: simulator.rollout(state, motion.policy, steps)[0])
    _, record = jax.jit(lambda state: simulator.rollout(state, motion.policy, steps))(start)

    def job():
        jax.block_until_ready(run(start))

    job()
    return job, record


def _mujoco(motion: Motion, steps: int, dt: float):
    model = rigid_peer(motion.robot, dt, motion.kp, motion.kd)
    data = mujoco.MjData(model)
    simulator = Simulator(motion.robot, media.Firm(), dt)
    data.qpos[:] = simulator.initial_state(height=motion.height).q
    mujoco.mj_forward(model, data)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.empty(size)
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    targets = np.asarray(jax.vmap(motion.target)(dt * np.arange(steps)))

    def job():
        mujoco.rollout.rollout(model, data, state[None], targets[None])

    job()
    return job


def _seconds(job) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


@contextmanager
def one_core():
    """Keep the whole process on one core, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
