"""Native steps beside those of XLA, from many random states: how far apart they end."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from softground.bench.robustness import random_states
from softground.media.named import named_medium
from softground.robots import Robot
from softground.simulation import Simulator

ROBOTS, GROUNDS = ("robosimian", "anymal", "go1"), ("sand", "pebbles", "foam", "firm")


def measure(robots=ROBOTS, grounds=GROUNDS, states: int = 10_000, dt: float = 0.002, seed: int = 0) -> dict:
    """Greatest differences of the velocities reached, relative to the greatest of the robot, in double and single
    precision, over the steps that both say have converged."""
    rows = {f"{robot} on {ground}": _compare(robot, ground, states, dt, seed) for robot in robots for ground in grounds}
    return {"pairs": rows, "states": states, "dt": dt}


def _compare(robot: str, ground: str, states: int, dt: float, seed: int) -> dict:
    native, xla = (
        Simulator(Robot.load(robot), named_medium(ground), dt, backend=backend) for backend in ("native", "xla")
    )
    starts = random_states(xla, np.random.default_rng(seed), states)
    result = {}
    for name, dtype in (("float64", jnp.float64), ("float32", jnp.float32)):
        cast = jax.tree.map(lambda leaf, dtype=dtype: leaf.astype(dtype), starts)
        found, wanted = (jax.jit(lambda s, sim=sim: jax.lax.map(sim.step, s))(cast) for sim in (native, xla))
        both = np.asarray(found[1].converged & wanted[1].converged)
        speed = np.abs(wanted[0].v).max(1)
        apart = (np.abs(found[0].v - wanted[0].v).max(1) / speed)[both]
        result |= {
            f"{name}_greatest": float(apart.max()),
            f"{name}_median": float(np.median(apart)),
            f"{name}_not_converged": int((~both).sum()),
        }
    return result
