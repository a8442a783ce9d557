"""Time of one step on one core, native and by XLA, beside MuJoCo's `mj_step` of the same robot on a rigid plane.

With contacts "all" also the time of the same step of the robot all of whose bodies meet the ground, over that of its
feet alone; the peer is then still on its feet.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import mujoco
import mujoco.rollout
import numpy as np

from softground import media
from softground.bench.motions import Motion, motion_named, walks
from softground.bridges.rigid_peer import rigid_peer
from softground.contact.newton import Newton
from softground.errors import OptionError, unknown_name
from softground.media.base import Medium
from softground.robots import Robot
from softground.robots.bodies import ALL, FEET
from softground.simulation import Simulator, State
from softground.simulation.simulator import Backend, Record

ROBOTS, MOTIONS, GROUNDS = ("robosimian", "anymal", "g1"), ("walking", "swaying"), ("sand",)
BOTH: tuple[Backend, ...] = ("native", "xla")
#: Strength of the grains on which RoboSimian (980 N) walks: at 1 it sinks beyond all data (`softground.demo`).
HEAVY = {"robosimian": 2.0}
SPRINGY = ("foam", "firm")
#: Decrement of the solver that steps are compared with, J: far below the tolerance of those that are timed.
EXACT = 1e-20


def measure(
    robots=ROBOTS,
    motions=MOTIONS,
    grounds=GROUNDS,
    seconds: float = 2.0,
    dt: float = 0.002,
    repeats: int = 15,
    contacts: str = FEET,
) -> dict:
    """Median microseconds of processor time per step of all, interleaved so that a noisy machine disturbs all alike.

    contacts: "feet", or "all" to time the robot with all of its bodies in contact as well.
    """
    if contacts not in (FEET, ALL):
        raise OptionError(unknown_name("contacts", contacts, (FEET, ALL)))
    cases = [(*case, ground) for case in _moving(robots, motions) for ground in grounds]
    with one_core():
        rows = {
            f"{robot} {motion} on {ground}": _compare(
                motion_named(motion, robot), _medium(ground, robot, motion), seconds, dt, repeats, contacts == ALL
            )
            for robot, motion, ground in cases
        }
    return {"steps": rows, "over_first_ground": _over_first(rows, cases), "dt": dt, "seconds": seconds}


def _over_first(rows: dict[str, dict], cases: list[tuple[str, str, str]]) -> dict[str, dict[str, float]]:
    """Times on further grounds over those on the first (elements of grains over the wrench space that they replace)."""
    found = {}
    for robot, motion, ground in cases:
        first = next(other for one, moves, other in cases if (one, moves) == (robot, motion))
        ours, theirs = (rows[f"{robot} {motion} on {name}"] for name in (ground, first))
        if ground != first:
            ratios = {backend: ours[f"{backend}_us"] / theirs[f"{backend}_us"] for backend in BOTH}
            found[f"{robot} {motion}: {ground} over {first}"] = ratios
    return found


def _moving(robots, motions) -> list[tuple[str, str]]:
    """All pairs; of several motions, a robot that does not walk has the others."""
    pairs = [(robot, motion) for robot in robots for motion in motions]
    return [(robot, motion) for robot, motion in pairs if len(motions) == 1 or motion != "walking" or walks(robot)]


def _medium(ground: str, robot: str, motion: str) -> Medium:
    heavy = motion == "walking" and ground not in SPRINGY
    return media.medium_of(ground, strength=HEAVY.get(robot) if heavy else None)


def _compare(motion: Motion, medium: Medium, seconds: float, dt: float, repeats: int, whole: bool) -> dict:
    steps = round(seconds / dt)
    native, xla = (timed_steps(motion, medium, steps, dt, backend) for backend in BOTH)
    jobs = [native.job, xla.job, mujoco_steps(motion, steps, dt)]
    if whole:
        bodies = motion._replace(robot=_whole(motion.robot))
        jobs += [timed_steps(bodies, medium, steps, dt, backend).job for backend in BOTH]
    times = np.array([[processor_seconds(job) for job in jobs] for _ in range(repeats)])
    native_us, xla_us, mujoco_us, *all_us = np.median(times, axis=0) / steps * 1e6
    of_bodies = {}
    if whole:
        ratios = np.median(times[:, 3:] / times[:, :2], axis=0)
        names = ("all_native_us", "all_xla_us", "all_over_feet", "all_over_feet_xla")
        of_bodies = dict(zip(names, map(float, (*all_us, *ratios)), strict=True))
    iterations = np.asarray(native.record.iterations)
    return {
        "native_us": float(native_us),
        "xla_us": float(xla_us),
        "mujoco_us": float(mujoco_us),
        "ratio": float(np.median(times[:, 0] / times[:, 2])),
        "xla_ratio": float(np.median(times[:, 1] / times[:, 2])),
        "iterations": float(iterations.mean()),
        "iterations_99": float(np.percentile(iterations, 99)),
        "converged": float(np.mean(native.record.converged)),
        "error": _error(motion, medium, steps, dt),
        "compile_s": native.compile_s,
        **of_bodies,
    }


def _whole(robot: Robot) -> Robot:
    """The robot, all of its bodies in contact."""
    return Robot.from_recipe(replace(robot.recipe, contacts=ALL))


class Timed(NamedTuple):
    """Steps to be timed, what they did, and how long it took to compile them (or to find them on disk), s."""

    job: Callable[[], None]
    record: Record
    compile_s: float


def timed_steps(motion: Motion, medium: Medium, steps: int, dt: float, backend: Backend) -> Timed:
    """Steps of a motion on a ground, compiled."""
    simulator = Simulator(motion.robot, medium, dt, backend=backend)
    start = simulator.initial_state(height=motion.height)
    run = jax.jit(lambda state: simulator.rollout(state, motion.policy, steps)[0])

    def job():
        jax.block_until_ready(run(start))

    compile_s = processor_seconds(job)
    return Timed(job, jax.jit(lambda state: simulator.rollout(state, motion.policy, steps)[1])(start), compile_s)


def _error(motion: Motion, medium: Medium, steps: int, dt: float) -> float:
    """Greatest difference (m/s, rad/s) of a velocity after one native step from that of an exact step by XLA."""
    exact = Simulator(motion.robot, medium, dt, solver=Newton(tolerance=EXACT), backend="xla")
    ours = exact.with_backend("native")
    ours = eqx.tree_at(lambda s: s.solver, ours, Newton())

    def advance(state: State, _):
        control = motion.policy(state)
        after = ours.next_state(state, control)
        return after, jnp.abs(after.v - exact.next_state(state, control).v).max()

    start = exact.initial_state(height=motion.height)
    return float(jax.jit(lambda state: jax.lax.scan(advance, state, None, length=steps)[1])(start).max())


def mujoco_steps(motion: Motion, steps: int, dt: float) -> Callable[[], None]:
    """The same steps of the rigid peer in MuJoCo C."""
    model = rigid_peer(motion.robot, dt, motion.kp, motion.kd)
    data = mujoco.MjData(model)
    simulator = Simulator(motion.robot, media.Firm(), dt)
    data.qpos[:] = simulator.initial_state(height=motion.height).q
    mujoco.mj_forward(model, data)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.empty(size)
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    targets = np.asarray(jax.jit(jax.vmap(motion.target))(dt * np.arange(steps)))

    def job():
        mujoco.rollout.rollout(model, data, state[None], targets[None])

    job()
    return job


def processor_seconds(job) -> float:
    """Of this process, which runs on one core: what others do there meanwhile does not count."""
    start = time.process_time()
    job()
    return time.process_time() - start


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
