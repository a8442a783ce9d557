"""Time of one step on one core, beside MuJoCo's `mj_step` of the same robot on a rigid plane."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from dataclasses import replace

import jax
import mujoco
import mujoco.rollout
import numpy as np

from softground import media
from softground.bench.excitation import ExcitationMotion, excitation_motion
from softground.bridges.rigid_peer import rigid_peer
from softground.contact.feet import feet_in_ground
from softground.robots import Robot
from softground.simulation import Simulator

ROBOTS = ("robosimian", "anymal")
#: Seconds per frame that zhu2019 (IV.C.4) report: Matlab, 13 bodies, 12 joints, 4 contacts.
PAPER_FRAME = 0.343


def measure(robots=ROBOTS, seconds: float = 2.0, dt: float = 0.002, repeats: int = 15, eps: float = 1e-3) -> dict:
    """Median microseconds per step of both, interleaved so that a noisy machine disturbs both alike."""
    with one_core():
        results = {name: _compare(Robot.load(name), seconds, dt, repeats, eps) for name in robots}
    planar = results.get("robosimian", next(iter(results.values())))
    return {"robots": results, "paper_factor": PAPER_FRAME / (planar["softground_us"] * 1e-6)}


def _compare(robot: Robot, seconds: float, dt: float, repeats: int, eps: float) -> dict:
    steps = round(seconds / dt)
    ours = _softground(robot, excitation_motion(robot), steps, dt, eps)
    theirs = _mujoco(robot, excitation_motion(robot), steps, dt)
    spaces = _wrench_spaces(robot, steps, dt, eps)
    times = np.array([(_seconds(ours), _seconds(theirs), _seconds(spaces)) for _ in range(repeats)])
    softground_us, mujoco_us, spaces_us = np.median(times, axis=0) / steps * 1e6
    return {
        "softground_us": float(softground_us),
        "mujoco_us": float(mujoco_us),
        "ratio": float(np.median(times[:, 0] / times[:, 1])),
        "wrench_spaces_us": float(spaces_us),
        "wrench_spaces_share": float(np.median(times[:, 2] / times[:, 0])),
        "iterations": ours.iterations,
        "contacts": theirs.contacts,
        "steps": steps,
        "dt": dt,
    }


def _softground(robot: Robot, motion: ExcitationMotion, steps: int, dt: float, eps: float):
    simulator = Simulator(robot, media.sand(eps=eps), dt)
    start = simulator.initial_state(height=0.01)
    run = jax.jit(lambda state: simulator.rollout(state, motion.policy, steps)[0])
    _, record = jax.jit(lambda state: simulator.rollout(state, motion.policy, steps))(start)

    def job():
        jax.block_until_ready(run(start))

    job()
    job.iterations = float(record.iterations.mean())
    return job


def _wrench_spaces(robot: Robot, steps: int, dt: float, eps: float):
    """The wrench sets of all feet, and nothing else, as often as a step asks for them."""
    simulator = Simulator(robot, media.sand(eps=eps), dt)
    feet = feet_in_ground(robot, simulator.initial_state(height=-0.03).q, simulator.ground.surface)

    def again(depth, _):
        laws = jax.vmap(lambda medium, foot: medium.law(foot, (), dt))(
            simulator.feet_medium, replace(feet, depth=depth)
        )
        wrenches = sum(leaf.reshape(len(depth), -1).sum(1) for leaf in jax.tree.leaves(laws))
        return depth + 1e-12 * wrenches, None  # each evaluation waits for the one before

    run = jax.jit(lambda depth: jax.lax.scan(again, depth, None, length=steps)[0])

    def job():
        jax.block_until_ready(run(feet.depth))

    job()
    return job


def _mujoco(robot: Robot, motion: ExcitationMotion, steps: int, dt: float):
    model = rigid_peer(robot, dt, motion.kp, motion.kd)
    data = mujoco.MjData(model)
    simulator = Simulator(robot, media.Firm(), dt)
    data.qpos[:] = simulator.initial_state(height=0.01).q
    mujoco.mj_forward(model, data)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.empty(size)
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    targets = np.asarray(motion.target(dt * np.arange(steps)))

    def job():
        mujoco.rollout.rollout(model, data, state[None], targets[None])

    job()
    job.contacts = int(data.ncon)
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
