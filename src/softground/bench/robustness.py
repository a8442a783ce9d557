"""Many robots in random motion: random states, torques and pushes, and a count of what went wrong.

The hardest steps are kept, so that they can be looked at: those that did not converge, then those that took the most
iterations.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from rich.console import Console
from rich.progress import Progress

from softground.arrays import Array
from softground.contact import BatchNewton, Newton
from softground.contact.feet import feet_in_ground
from softground.media.named import named_medium
from softground.native.parts import by_native_code
from softground.robots import Robot
from softground.robots.base import vertical_coordinate
from softground.simulation import Simulator, State
from softground.whole_file import write_whole

TILT = 0.5  # rad, spread of joint angles and base orientation about the posture
SPEED = 1.0  # m/s and rad/s, spread of velocities
HEIGHT = 0.3  # m, greatest height of the lowest foot above the ground; the least is 5 cm below it
TORQUE = 0.5  # share of the actuator limits (of 100 N m where an actuator has more, or none)
PUSH = 0.3  # m/s and rad/s, spread of the change of velocity that a push is
#: Steps for which torques are held, before the next ones and a push.
HELD = 10
#: Temperature on a GPU, W, where numbers have single precision: as in `batch`.
GPU_EPS = 0.02
#: How many of the hardest steps are kept.
KEPT = 10
#: What not converging, and not being finite, count for beside iterations.
NOT_CONVERGED, NOT_FINITE = 1_000, 1_000_000


class Tally(NamedTuple):
    """Counts over the steps of one robot, and the hardest of them."""

    not_converged: Int[Array, ""]
    not_finite: Int[Array, ""]
    iterations: Int[Array, ""]
    outside_data: Int[Array, ""]
    hardness: Int[Array, ""]
    hardest: State  # at its start
    torque: Float[Array, " nu"]  # N m, in it


def measure(
    states: int = 8192,
    steps: int = 1000,
    robot: str = "robosimian",
    grounds=("sand",),
    dt: float = 0.002,
    seed: int = 0,
    chunk: int | None = None,
    out: str | Path | None = None,
) -> dict:
    """Counts of non-finite and non-converged steps over random states, torques and pushes, for every ground.

    states: how many robots, `chunk` at a time; steps: of each. out: folder for the hardest steps (JSON).
    """
    on_gpu = jax.default_backend() == "gpu"
    chunk = chunk or (16384 if on_gpu else 256)
    rows, hardest = {}, []
    for ground in grounds:
        medium = named_medium(ground)
        if on_gpu and hasattr(medium, "eps"):
            medium = eqx.tree_at(lambda m: m.eps, medium, np.asarray(GPU_EPS))
        solver = BatchNewton() if on_gpu else Newton()
        simulator = Simulator(Robot.load(robot), medium, dt, solver=solver, backend="native")
        rows[ground], found = _measure(simulator, states, max(steps // HELD, 1), chunk, seed, ground)
        hardest += found
    hardest = sorted(hardest, key=lambda one: -one["hardness"])[:KEPT]
    if out is not None:
        for k, one in enumerate(hardest):
            document = json.dumps({"robot": robot, "dt": dt, **one})
            write_whole(Path(out) / f"hardest_{k}.json", lambda path, text=document: path.write_text(text))
    device = jax.devices()[0]
    return {
        "device": f"{device.platform}: {device.device_kind}",
        "robot": robot,
        "states": states,
        "steps": steps,
        "dt": dt,
        "not_finite": sum(row["not_finite"] for row in rows.values()),
        "not_converged": sum(row["not_converged"] for row in rows.values()),
        "grounds": rows,
        "hardest": [f"{one['ground']}: {one['hardness']}" for one in hardest],
    }


def _measure(simulator: Simulator, states: int, calls: int, chunk: int, seed: int, ground: str):
    """One ground: its row, and its hardest steps."""
    robot, dtype = simulator.robot, jnp.float32 if jax.default_backend() == "gpu" else jnp.zeros(()).dtype
    limit = TORQUE * np.minimum(np.asarray(robot.torque_limit), 100.0)

    @jax.jit
    def many(states: State, tallies: Tally, key):
        torques, pushes = jax.random.split(key)
        rows = len(states.q)
        torque = (limit * jax.random.uniform(torques, (rows, robot.nu), minval=-1.0, maxval=1.0)).astype(dtype)
        push = PUSH * jax.random.normal(pushes, states.v.shape, dtype)
        states = eqx.tree_at(lambda s: s.v, states, states.v + push)
        return jax.vmap(lambda *one: by_native_code(_held, simulator, *one))(states, tallies, torque)

    totals, most, found, begin = np.zeros(4, np.int64), 0, [], time.perf_counter()
    with Progress(transient=True, console=Console(stderr=True)) as progress:
        task = progress.add_task(f"random states on {ground}", total=states * calls)
        for first in range(0, states, chunk):
            size = min(chunk, states - first)
            now = random_states(simulator, np.random.default_rng([seed, first]), size, dtype)
            tally = _blank(now, robot.nu)
            for key in jax.random.split(jax.random.key(seed + first), calls):
                now, tally = many(now, tally, key)
                progress.advance(task, size)
            totals += [int(np.asarray(part, np.int64).sum()) for part in tally[:4]]
            most = max(most, int(tally.hardness.max()) % NOT_CONVERGED)
            found += _hardest(tally, ground)
    seconds, n = time.perf_counter() - begin, states * calls * HELD
    not_converged, not_finite, iterations, outside = totals.tolist()
    row = {
        "total_steps": n,
        "not_finite": not_finite,
        "not_converged": not_converged,
        "not_converged_share": not_converged / n,
        "iterations_mean": iterations / n,
        "iterations_max": most,
        "outside_data_share": outside / n,
        "microseconds_per_step": seconds / n * 1e6,
    }
    return row, found


def _held(simulator: Simulator, state: State, tally: Tally, torque: Float[Array, " nu"]) -> tuple[State, Tally]:
    """`HELD` steps under one torque."""
    simulator = simulator.source_of_native()

    def advance(carry, _):
        state, tally = carry
        after, record = simulator.step(state, torque)
        hardness = record.iterations + NOT_CONVERGED * ~record.converged + NOT_FINITE * ~record.finite
        harder = hardness > tally.hardness
        hardest, worst_torque = jax.tree.map(
            lambda new, old: jnp.where(harder, new, old), (state, torque), (tally.hardest, tally.torque)
        )
        tally = Tally(
            tally.not_converged + ~record.converged,
            tally.not_finite + ~record.finite,
            tally.iterations + record.iterations,
            tally.outside_data + record.outside_data.any(),
            jnp.maximum(hardness, tally.hardness).astype(jnp.int32),
            hardest,
            worst_torque,
        )
        return (after, tally), None

    return jax.lax.scan(advance, (state, tally), None, length=HELD)[0]


def _blank(states: State, nu: int) -> Tally:
    rows = len(states.q)
    none = jnp.zeros(rows, jnp.int32)
    return Tally(none, none, none, none, none, states, jnp.zeros((rows, nu), states.q.dtype))


def _hardest(tally: Tally, ground: str) -> list[dict[str, Any]]:
    """The hardest steps of a batch, the hardest first, as JSON values."""
    order = np.argsort(-np.asarray(tally.hardness))[:KEPT]
    return [
        {
            "ground": ground,
            "hardness": int(tally.hardness[k]),
            "torque": np.asarray(tally.torque[k]).tolist(),
            "state": {
                "q": np.asarray(tally.hardest.q[k]).tolist(),
                "v": np.asarray(tally.hardest.v[k]).tolist(),
                "twists": [np.asarray(of_group[k]).tolist() for of_group in tally.hardest.twists],
            },
        }
        for k in order
    ]


def random_states(simulator: Simulator, rng: np.random.Generator, count: int, dtype=None) -> State:
    """States with every coordinate and velocity drawn at random, near flat ground (leading axis)."""
    robot, surface = simulator.robot, simulator.ground.surface
    posture = np.asarray(robot.posture)
    change = TILT * rng.standard_normal((count, robot.nv))
    q = np.array(jax.jit(jax.vmap(lambda d: robot.integrate(jnp.asarray(posture), d, 1.0)))(change))
    depth = jax.jit(jax.vmap(lambda q: feet_in_ground(robot, q, surface).depth.max()))(q)
    q[:, vertical_coordinate(robot)] += np.asarray(depth) + rng.uniform(-0.05, HEIGHT, count)
    v = SPEED * rng.standard_normal((count, robot.nv))
    one = simulator.initial_state(dtype=dtype)
    batch = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape)), one)
    return eqx.tree_at(lambda s: (s.q, s.v), batch, (jnp.asarray(q, one.q.dtype), jnp.asarray(v, one.v.dtype)))
