"""What soft ground costs inside of MJX: batches stepped by `sg.mjx.Ground`, beside `mjx.step` on a rigid plane."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

from softground.bench.batch_peers import ITERATIONS
from softground.bench.in_mujoco import soft_model
from softground.bench.motions import Motion, swaying
from softground.bridges.rigid_peer import rigid_peer
from softground.media import medium_of
from softground.media.base import Medium
from softground.simulation import Simulator

SIZES = (256,)
BACKENDS = ("native", "xla")


def measure(
    robots=("go1",),
    grounds=("sand", "foam"),
    sizes=SIZES,
    backends=BACKENDS,
    steps: int = 100,
    dt: float = 0.004,
    repeats: int = 5,
) -> dict:
    """Steps a second of all, interleaved, with servos that sway about the posture; MJX's solver has few iterations, as
    its users choose for speed, and the same in both."""
    rows = {
        f"{size} {robot} on {ground}, {backend}": row
        for robot in robots
        for ground in grounds
        for size in sizes
        for backend, row in _compare(swaying(robot), medium_of(ground), size, backends, steps, dt, repeats).items()
    }
    device = jax.devices()[0]
    precision = str(jnp.zeros(()).dtype)
    return {"batches": rows, "device": f"{device.platform}: {device.device_kind}", "precision": precision, "dt": dt}


def _compare(
    motion: Motion, medium: Medium, size: int, backends: Any, steps: int, dt: float, repeats: int, height: float = 0.01
) -> dict[str, dict]:
    """A row for every backend."""
    from softground.bridges.mjx import Ground

    start = np.asarray(Simulator(motion.robot, medium, dt).initial_state(height=height).q, dtype=float)
    model = soft_model(motion, dt)
    feet = {foot.name: foot.shape for foot in motion.robot.feet}
    posture = np.asarray(motion.robot.posture)
    jobs = {"mjx": _Job(motion, rigid_peer(motion.robot, dt, motion.kp, motion.kd), None, start, size, steps)}
    for backend in backends:
        ground = Ground(model, medium, feet=feet, posture=posture, backend=backend)
        jobs[backend] = _Job(motion, model, ground, start, size, steps)
    compiled, seen = {}, {}
    for name, job in jobs.items():
        began = time.perf_counter()
        seen[name] = job.run()
        compiled[name] = time.perf_counter() - began
    taken = np.array([[job.seconds() for job in jobs.values()] for _ in range(repeats)])
    rates = dict(zip(jobs, size * steps / np.median(taken, axis=0), strict=True))
    rows = {}
    for name in backends:
        rounds, converged = (np.asarray(x) for x in seen[name][1:])
        rows[name] = {
            "steps_per_s": float(rates[name]),
            "mjx_per_s": float(rates["mjx"]),
            "ratio": float(np.median(taken[:, list(jobs).index(name)] / taken[:, 0])),
            "rounds": float(rounds.mean()),
            "agreed": float(converged.mean()),
            "compile_s": compiled[name],
        }
    return rows


class _Job:
    """Robots of one model with random velocities, and a program of many steps of theirs."""

    def __init__(self, motion: Motion, model: mujoco.MjModel, ground: Any, start: np.ndarray, size: int, steps: int):
        from mujoco import mjx

        model.opt.iterations = model.opt.ls_iterations = ITERATIONS
        mjx_model = mjx.put_model(model)
        blank = mjx.make_data(model)
        dtype = blank.qpos.dtype
        one = blank.replace(qpos=jnp.asarray(start, dtype))
        velocity = 0.1 * jax.random.normal(jax.random.key(0), (size, model.nv), dtype)
        self._start = jax.vmap(lambda v: one.replace(qvel=v))(velocity)
        if ground is not None:
            self._start = self._start, jax.jit(jax.vmap(lambda data: ground.reset(mjx_model, data)))(self._start)

        def told(data):
            return data.replace(ctrl=motion.target(data.time).astype(dtype))

        step: Any = None if ground is None else ground.step

        def soft(state, _):
            data, memory = jax.vmap(lambda data, memory: step(mjx_model, told(data), memory))(*state)
            return (data, memory), (memory.rounds, memory.converged)

        def rigid(data, _):
            return jax.vmap(lambda data: mjx.step(mjx_model, told(data)))(data), None

        def rollout(state):
            state, seen = jax.lax.scan(rigid if ground is None else soft, state, None, length=steps)
            return (state if ground is None else state[0]).qpos, *(seen or ())

        self._rollout = jax.jit(rollout)

    def run(self) -> Any:
        """Positions at the end, and what was seen of the steps."""
        return jax.block_until_ready(self._rollout(self._start))

    def seconds(self) -> float:
        began = time.perf_counter()
        self.run()
        return time.perf_counter() - began
