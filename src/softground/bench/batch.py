"""Steps per second of many robots at once, beside MJX with rigid contact in the same process.

Only steps that have converged count: a rate is that of all steps times their share. Ours says of every step whether it
has. MJX does not, so its answer is compared with that of `MANY_ITERATIONS` from the same state.
"""

from __future__ import annotations

import contextlib
import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground import media
from softground.bench.motions import Motion, motion_named
from softground.bridges.rigid_peer import rigid_peer
from softground.contact import BatchNewton, Newton
from softground.simulation import Simulator, State
from softground.simulation.batch import rollout_batch
from softground.simulation.simulator import Backend

#: Temperature in batches, W: in float32 a lower one is lost in rounding.
EPS = 0.02
#: Iterations that MJX is given: few, as its users do for speed.
MJX_ITERATIONS = 4
#: Iterations after which MJX' answer is taken for exact, and of how many steps one is looked at: it takes long.
MANY_ITERATIONS, LOOK_EVERY = 20, 10
#: An MJX step has converged if dv'M dv to the exact one is below this, J: 6e-5 m/s of a robot of 30 kg. Our own
#: measure is stricter (`contact/newton.py`).
MJX_TOLERANCE = 1e-7
#: Robots whose steps are looked at one by one.
SAMPLE = 1024


def measure(
    sizes=None,
    robot: str = "anymal",
    motion: str = "walking",
    steps: int | None = None,
    dt: float = 0.002,
    repeats: int = 5,
    eps: float = EPS,
    height: float | None = None,
) -> dict:
    """Median converged steps per second of both on the default device; height (m): by default the motion's."""
    on_cpu = jax.default_backend() == "cpu"
    sizes = sizes or ((16, 64) if on_cpu else (4096, 32768))
    steps = steps or (50 if on_cpu else 200)
    moving = motion_named(motion, robot)
    moving = moving if height is None else moving._replace(height=height)
    results = {str(n): _compare(moving, n, steps, dt, repeats, eps) for n in sizes}
    device = jax.devices()[0]
    return {
        "device": f"{device.platform}: {device.device_kind}",
        "robot": moving.robot.name,
        "motion": motion,
        "precision": str(jnp.zeros(()).dtype),
        "steps": steps,
        "dt": dt,
        "eps": eps,
        "height": moving.height,
        "batches": results,
    }


def _compare(motion: Motion, batch: int, steps: int, dt: float, repeats: int, eps: float) -> dict:
    native, xla = (_softground(motion, batch, dt, eps, backend) for backend in ("native", "xla"))
    states, peer = native[1], _Mjx(motion, dt)
    data = peer.data(states)
    jobs = [
        *(jax.jit(lambda s, one=one: rollout_batch(one, s, motion.policy, steps)) for one in (native[0], xla[0])),
        jax.jit(lambda data: peer.rollout(data, steps)),
    ]
    starts = [states, states, data]
    ends = [job(start) for job, start in zip(jobs, starts, strict=True)]  # compiled
    times = [[_seconds(job, start) for job, start in zip(jobs, starts, strict=True)] for _ in range(repeats)]
    sample = jax.tree.map(lambda leaf: leaf[:SAMPLE], states)
    shares = np.array(
        [*(_converged(one[0], sample, motion, steps) for one in (native, xla)), peer.converged(sample, steps)]
    )
    rates = batch * steps / np.array(times) * shares  # (repeats, 3) converged steps a second
    return {
        **dict(zip(("native", "xla", "mjx"), map(float, np.median(rates, axis=0)), strict=True)),
        "ratio": float(np.median(rates[:, 0] / rates[:, 2])),
        "xla_ratio": float(np.median(rates[:, 1] / rates[:, 2])),
        **dict(zip(("converged", "xla_converged", "mjx_converged"), map(float, shares), strict=True)),
        "finite": all(bool(jnp.isfinite(end.q).all()) for end in ends[:2]),
        "mjx_finite": bool(jnp.isfinite(ends[2]).all()),
    }


def _softground(motion: Motion, batch: int, dt: float, eps: float, backend: Backend) -> tuple[Simulator, State]:
    """Robots at the height of the motion, with random velocities."""
    solver = Newton() if jax.default_backend() == "cpu" else BatchNewton()
    simulator = Simulator(motion.robot, media.sand(eps=eps), dt, solver=solver, backend=backend)
    one = simulator.initial_state(height=motion.height)
    states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), one)
    velocity = 0.1 * jax.random.normal(jax.random.key(0), states.v.shape, states.v.dtype)
    return simulator, eqx.tree_at(lambda s: s.v, states, velocity)


def _converged(simulator: Simulator, states: State, motion: Motion, steps: int) -> float:
    """Share of our steps that did."""

    def advance(state, _):
        state, record = simulator.step(state, motion.policy(state))
        return state, record.converged

    return float(jax.jit(jax.vmap(lambda s: jax.lax.scan(advance, s, None, length=steps)[1]))(states).mean())


class _Mjx:
    """The rigid peer, stepped by MJX."""

    def __init__(self, motion: Motion, dt: float):
        with contextlib.redirect_stdout(sys.stderr):  # it says on standard output which optional parts are missing
            from mujoco import mjx

        self.motion, self._step = motion, mjx.step
        peer = rigid_peer(motion.robot, dt, motion.kp, motion.kd)
        peer.opt.iterations = peer.opt.ls_iterations = MJX_ITERATIONS
        self._model, self._blank = mjx.put_model(peer), mjx.make_data(peer)
        peer.opt.iterations = peer.opt.ls_iterations = MANY_ITERATIONS
        self._exact = mjx.put_model(peer)

    def data(self, states: State):
        return jax.vmap(lambda q, v: self._blank.replace(qpos=q, qvel=v))(states.q, states.v)

    def step(self, data, exactly: bool = False):
        control = self.motion.target(data.time).astype(data.qpos.dtype)
        return self._step(self._exact if exactly else self._model, data.replace(ctrl=control))

    def rollout(self, data, steps: int):
        """Positions at the end of a batch."""
        return jax.lax.scan(lambda d, _: (jax.vmap(self.step)(d), None), data, None, length=steps)[0].qpos

    def converged(self, states: State, steps: int) -> float:
        """Share of the steps (of every tenth) that end within `MJX_TOLERANCE` of the exact one."""

        robot = self.motion.robot

        def advance(data, _):
            after = self.step(data)
            change = after.qvel - self.step(data, exactly=True).qvel
            close = change @ robot.mass_matrix(robot.kinematics(data.qpos)) @ change < MJX_TOLERANCE
            return jax.lax.fori_loop(1, LOOK_EVERY, lambda _, data: self.step(data), after), close

        run = jax.vmap(lambda data: jax.lax.scan(advance, data, None, length=max(steps // LOOK_EVERY, 1))[1])
        return float(jax.jit(run)(self.data(states)).mean())


def _seconds(function, argument) -> float:
    start = time.perf_counter()
    jax.block_until_ready(function(argument))
    return time.perf_counter() - start
