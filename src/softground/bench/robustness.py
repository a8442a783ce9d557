"""Many robots in random motion: random states, random torques, and a count of what went wrong."""

from __future__ import annotations

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.progress import Progress

from softground import media
from softground.contact.feet import feet_in_ground
from softground.robots import Robot
from softground.robots.base import vertical_coordinate
from softground.simulation import Simulator, State

TILT = 0.5  # rad, spread of joint angles and base orientation about the posture
SPEED = 1.0  # m/s and rad/s, spread of velocities
HEIGHT = 0.3  # m, greatest height of the lowest foot above the ground; the least is 5 cm below it
TORQUE = 0.5  # share of the actuator limits (of 50 N m where an actuator has none), drawn for every step


def measure(
    states: int = 8192, steps: int = 1000, robot: str = "robosimian", dt: float = 0.002, seed: int = 0, chunk: int = 256
) -> dict:
    """Random initial states and torques on sand: counts of non-finite and non-converged steps."""
    model = Robot.load(robot)
    simulator = Simulator(model, media.sand(), dt)
    limit = np.minimum(np.asarray(model.torque_limit), 100.0) * TORQUE

    def one(start: State, key):
        def advance(carry, key):
            torque = limit * jax.random.uniform(key, (model.nu,), minval=-1.0, maxval=1.0)
            after, record = simulator.step(carry, torque.astype(start.q.dtype))
            return after, (record.converged, record.finite, record.iterations, record.outside_data.any())

        return jax.lax.scan(advance, start, jax.random.split(key, steps))[1]

    def many(starts: State, keys):
        flags = jax.lax.map(lambda args: one(*args), (starts, keys))
        converged, finite, iterations, outside = flags
        return (~converged).sum(), (~finite).sum(), iterations.sum(), iterations.max(), outside.sum()

    run = jax.jit(many)
    totals, most, begin = np.zeros(4), 0, time.perf_counter()
    with Progress(transient=True, console=Console(stderr=True)) as progress:
        task = progress.add_task("random states", total=states)
        for first in range(0, states, chunk):
            size = min(chunk, states - first)
            starts = random_states(simulator, np.random.default_rng([seed, first]), size)
            keys = jax.random.split(jax.random.key(seed + first), size)
            *counts, worst, outside = (int(x) for x in run(starts, keys))
            totals += [*counts, outside]
            most = max(most, worst)
            progress.advance(task, size)
    n = states * steps
    not_converged, not_finite, iterations, outside = totals
    return {
        "robot": model.name,
        "states": states,
        "steps": steps,
        "dt": dt,
        "not_finite": int(not_finite),
        "not_converged": int(not_converged),
        "not_converged_share": float(not_converged / n),
        "iterations_mean": float(iterations / n),
        "iterations_max": most,
        "outside_data_share": float(outside / n),
        "microseconds_per_step": (time.perf_counter() - begin) / n * 1e6,
    }


def random_states(simulator: Simulator, rng: np.random.Generator, count: int) -> State:
    """States with every coordinate and velocity drawn at random, near flat ground (leading axis)."""
    robot, surface = simulator.robot, simulator.ground.surface
    posture = np.asarray(robot.posture)
    change = TILT * rng.standard_normal((count, robot.nv))
    q = np.array(jax.jit(jax.vmap(lambda d: robot.integrate(jnp.asarray(posture), d, 1.0)))(change))
    depth = jax.jit(jax.vmap(lambda q: feet_in_ground(robot, q, surface).depth.max()))(q)
    q[:, vertical_coordinate(robot)] += np.asarray(depth) + rng.uniform(-0.05, HEIGHT, count)
    v = SPEED * rng.standard_normal((count, robot.nv))
    one = simulator.initial_state()
    batch = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape)), one)
    return eqx.tree_at(lambda s: (s.q, s.v), batch, (jnp.asarray(q), jnp.asarray(v)))
