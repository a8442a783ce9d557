"""Native steps beside those of XLA, from many random states: how far apart they end.

Differences are measured in the robot's own metric, |dv|_M / |v|_M with |v|_M^2 = v'M v, twice the kinetic energy: the
metric of the step. Single velocities are no measure of a step in single precision: a light link at the end of heavy
ones is held by differences of large numbers, and moves by their rounding (RoboSimian's last link by up to 1e-4 of its
velocity, with either backend).
"""

from __future__ import annotations

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.bench.robustness import random_states
from softground.media.named import named_medium
from softground.native.parts import say_why_not
from softground.robots import Robot
from softground.simulation import Record, Simulator, State

ROBOTS, GROUNDS = ("robosimian", "anymal", "go1"), ("sand", "pebbles", "foam", "firm")
PRECISIONS = {"float64": jnp.float64, "float32": jnp.float32}


def measure(robots=ROBOTS, grounds=GROUNDS, states: int = 10_000, dt: float = 0.002, seed: int = 0) -> dict:
    """Greatest and median differences of the velocities reached, in double and single precision, over the steps that
    both say have converged; and how far either is from the step in double precision."""
    rows = {f"{robot} on {ground}": _compare(robot, ground, states, dt, seed) for robot in robots for ground in grounds}
    return {"pairs": rows, "states": states, "dt": dt}


def _compare(robot: str, ground: str, states: int, dt: float, seed: int) -> dict:
    model = Robot.load(robot)
    native, xla = (Simulator(model, named_medium(ground), dt, backend=backend) for backend in ("native", "xla"))
    starts = random_states(xla, np.random.default_rng(seed), states, jnp.float32)  # the same in both precisions
    metric = np.asarray(_metrics(model, starts.q.astype(jnp.float64)))
    result, exact = {}, None
    for name, dtype in PRECISIONS.items():
        cast = jax.tree.map(lambda leaf, dtype=dtype: leaf.astype(dtype), starts)
        (found, reason), (wanted, _) = _stepped(native, cast), _stepped(xla, cast)
        if reason is not None:
            return {"stays_with_xla": reason}
        both = np.asarray(found[1].converged & wanted[1].converged)
        by_native, by_xla = (np.asarray(after.v, float) for after, _ in (found, wanted))
        exact = by_xla if exact is None else exact
        apart = _relative(by_native - by_xla, exact, metric)[both]
        single = (np.abs(by_native - by_xla).max(1) / np.abs(exact).max(1))[both]
        result |= {
            f"{name}_greatest": float(apart.max()),
            f"{name}_median": float(np.median(apart)),
            f"{name}_single_velocity": float(single.max()),
            f"{name}_not_converged": int((~both).sum()),
        }
        if exact is not by_xla:
            errors = {"native": by_native, "xla": by_xla}
            greatest = {of: _relative(v - exact, exact, metric).max() for of, v in errors.items()}
            result |= {f"{name}_{of}_error": float(error) for of, error in greatest.items()}
    return result


def _stepped(simulator: Simulator, states: State) -> tuple[tuple[State, Record], str | None]:
    """One step from every state, and why it was not native where it was not."""
    say_why_not.cache_clear()  # it says so once for every reason, and here for every pair
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        after = jax.jit(lambda s: jax.lax.map(simulator.step, s))(states)
    return after, next((str(one.message) for one in said if "stay with XLA" in str(one.message)), None)


@eqx.filter_jit
def _metrics(robot: Robot, q: Float[Array, "n nq"]) -> Float[Array, "n nv nv"]:
    return jax.lax.map(lambda one: robot.mass_matrix(robot.kinematics(one)), q)


def _relative(change: np.ndarray, velocity: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """|change|_M / |velocity|_M, row by row."""
    length = [np.einsum("ni,nij,nj->n", v, metric, v) for v in (change, velocity)]
    return np.sqrt(np.maximum(length[0], 0.0) / length[1])
