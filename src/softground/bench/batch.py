"""Steps per second of many robots at once, beside MJX with rigid contact in the same process."""

from __future__ import annotations

import contextlib
import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground import media
from softground.bench.marching import March, march
from softground.bridges.rigid_peer import rigid_peer
from softground.contact import BatchNewton, Newton
from softground.robots import Robot
from softground.simulation import Simulator, State
from softground.simulation.batch import rollout_batch

#: Temperature in batches, W: in float32 a lower one is lost in rounding.
EPS = 0.02
#: Iterations that MJX is given: few, as its users do for speed.
MJX_ITERATIONS = 4


def measure(
    sizes=None, robot: str = "anymal", steps: int | None = None, dt: float = 0.002, repeats: int = 5, eps: float = EPS
) -> dict:
    """Median steps per second of both on the default device, and the share of our steps that did not converge."""
    on_cpu = jax.default_backend() == "cpu"
    sizes = sizes or ((16, 64) if on_cpu else (4096, 32768))
    steps = steps or (50 if on_cpu else 200)
    model = Robot.load(robot)
    results = {str(n): _compare(model, n, steps, dt, repeats, eps) for n in sizes}
    device = jax.devices()[0]
    return {
        "device": f"{device.platform}: {device.device_kind}",
        "robot": model.name,
        "precision": str(jnp.zeros(()).dtype),
        "steps": steps,
        "dt": dt,
        "eps": eps,
        "batches": results,
    }


def _compare(robot: Robot, batch: int, steps: int, dt: float, repeats: int, eps: float) -> dict:
    motion = march(robot)
    simulator, states = _softground(robot, batch, dt, eps)
    ours = jax.jit(lambda states: rollout_batch(simulator, states, motion.policy, steps))
    theirs, data = _mjx(robot, motion, states, steps, dt)
    rates = []
    ours(states)
    theirs(data)
    for _ in range(repeats):
        rates.append([batch * steps / _seconds(ours, states), batch * steps / _seconds(theirs, data)])
    softground, mjx = np.median(rates, axis=0)
    return {
        "softground": float(softground),
        "mjx": float(mjx),
        "ratio": float(np.median([a / b for a, b in rates])),
        "not_converged": _not_converged(simulator, states, motion, min(steps, 100)),
        "finite": bool(jnp.isfinite(ours(states).q).all()),
        "mjx_finite": bool(jnp.isfinite(theirs(data)).all()),
    }


def _softground(robot: Robot, batch: int, dt: float, eps: float) -> tuple[Simulator, State]:
    """Robots dropped from a small height with random velocities."""
    solver = Newton(tolerance=1e-9) if jax.default_backend() == "cpu" else BatchNewton()
    simulator = Simulator(robot, media.sand(eps=eps), dt, solver=solver)
    one = simulator.initial_state(height=0.01)
    states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), one)
    velocity = 0.1 * jax.random.normal(jax.random.key(0), states.v.shape, states.v.dtype)
    return simulator, eqx.tree_at(lambda s: s.v, states, velocity)


def _mjx(robot: Robot, motion: March, states: State, steps: int, dt: float):
    with contextlib.redirect_stdout(sys.stderr):  # it says on standard output which optional parts are missing
        from mujoco import mjx

    peer = rigid_peer(robot, dt, motion.kp, motion.kd)
    peer.opt.iterations = peer.opt.ls_iterations = MJX_ITERATIONS
    model = mjx.put_model(peer)
    blank = mjx.make_data(peer)
    data = jax.vmap(lambda q, v: blank.replace(qpos=q, qvel=v))(states.q, states.v)

    def advance(data, _):
        def one(data):
            return mjx.step(model, data.replace(ctrl=motion.target(data.time).astype(data.qpos.dtype)))

        return jax.vmap(one)(data), None

    return jax.jit(lambda data: jax.lax.scan(advance, data, None, length=steps)[0].qpos), data


def _not_converged(simulator: Simulator, states: State, motion: March, steps: int) -> float:
    def advance(state, _):
        state, record = simulator.step(state, motion.policy(state))
        return state, record.converged

    sample = jax.tree.map(lambda leaf: leaf[:1024], states)
    converged = jax.jit(jax.vmap(lambda s: jax.lax.scan(advance, s, None, length=steps)[1]))(sample)
    return float(1 - converged.mean())


def _seconds(function, argument) -> float:
    start = time.perf_counter()
    jax.block_until_ready(function(argument))
    return time.perf_counter() - start
