"""Steps per second of many robots at once, beside the same robots on a rigid plane in MJX and MuJoCo Warp.

Only steps that have converged count: a rate is that of all steps times their share. Ours says of every step whether it
has; for the peers see `batch_peers`.
"""

from __future__ import annotations

import importlib.util
import time
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground import media
from softground.bench.batch_peers import PEERS
from softground.bench.motions import Motion, motion_named
from softground.contact import BatchNewton, Newton
from softground.errors import OptionError, unknown_name
from softground.simulation import Ground, Simulator, State
from softground.simulation.batch import rollout_batch
from softground.simulation.simulator import Backend
from softground.terrain.footprints import Footprints

#: Temperature in batches, W: in float32 a lower one is lost in rounding.
EPS = 0.02
#: Robots whose steps are looked at one by one.
SAMPLE = 1024
#: What our native steps are timed beside, and the package that each needs.
AGAINST = {"xla": "jax", "mjx": "mujoco.mjx", "warp": "mujoco_warp"}
NOTHING = "none"


def measure(
    sizes=None,
    robot: str = "anymal",
    motion: str = "walking",
    steps: int | None = None,
    dt: float = 0.002,
    repeats: int = 5,
    eps: float = EPS,
    height: float | None = None,
    against=None,
    footprints: bool = False,
) -> dict:
    """Median converged steps per second on the default device.

    height (m): by default the motion's. against: some of `AGAINST` or `NOTHING`, by default all whose packages are
    installed.
    footprints: whether to time the same robots on ground that keeps their prints as well, and what that costs: over
    more steps, in which feet also stand and swing.
    """
    on_cpu = jax.default_backend() == "cpu"
    sizes = sizes or ((16, 64) if on_cpu else (4096, 8192, 32768))
    steps = steps or (50 if on_cpu and not footprints else 200)
    moving = motion_named(motion, robot)
    moving = moving if height is None else moving._replace(height=height)
    peers = _peers(against)
    results = {str(n): _compare(moving, n, steps, dt, repeats, eps, peers, footprints) for n in sizes}
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


def _peers(against) -> list[str]:
    """Names of what to time beside native steps."""
    if against and list(against) == [NOTHING]:
        return []
    for name in against or ():
        if name not in AGAINST:
            raise OptionError(unknown_name("peer", name, AGAINST))
    found = {name: importlib.util.find_spec(package) is not None for name, package in AGAINST.items()}
    for name in against or ():
        if not found[name]:
            raise OptionError(f"{name} needs the package {AGAINST[name]}: pip install 'softground[bench,warp]'")
    return list(against or (name for name in AGAINST if found[name]))


def _compare(
    motion: Motion, batch: int, steps: int, dt: float, repeats: int, eps: float, peers: list[str], footprints: bool
) -> dict:
    softground = _Softground(motion, batch, steps, dt, eps, "native")
    states = softground.states
    jobs: dict[str, Any] = {"softground": softground}
    for name in peers:
        jobs[name] = (
            _Softground(motion, batch, steps, dt, eps, "xla")
            if name == "xla"
            else PEERS[name](motion, dt, states, steps)
        )
    if footprints:
        peers = [*peers, "footprints"]
        printing = jobs["footprints"] = _Softground(motion, batch, steps, dt, eps, "native", Footprints())
    finite = {name: bool(np.isfinite(_on_host(job.run())).all()) for name, job in jobs.items()}  # and compiled
    times = np.array([[_seconds(job) for job in jobs.values()] for _ in range(repeats)])
    own = {name: job.states if isinstance(job, _Softground) else states for name, job in jobs.items()}
    sample = jax.tree.map(lambda leaf: leaf[:SAMPLE], own)
    shares = {name: job.converged(sample[name]) for name, job in jobs.items()}
    rates = batch * steps / times * np.array(list(shares.values()))  # (repeats, jobs) converged steps a second
    ours = rates[:, 0]
    result: dict[str, Any] = dict(zip(jobs, map(float, np.median(rates, axis=0)), strict=True))
    for name, theirs in zip(peers, rates.T[1:], strict=True):
        result["ratio" if name == "mjx" else f"{name}_ratio"] = float(np.median(ours / theirs))
    if footprints:
        result["footprints_cost"] = result.pop("footprints_ratio")  # of a step with them over one without
        result["footprints_bytes"] = sum(x.nbytes for x in jax.tree.leaves(printing.states.prints)) // batch  # a robot
    return {
        **result,
        **{"converged" if name == "softground" else f"{name}_converged": share for name, share in shares.items()},
        **{"finite" if name == "softground" else f"{name}_finite": sound for name, sound in finite.items()},
    }


class _Softground:
    """Robots at the height of the motion, with random velocities.

    A rollout takes the memory of the states that it is given, as a training loop lets it: what a robot's ground
    remembers is then nowhere copied. Copies to start from are made outside of what is timed (`ready`).
    """

    def __init__(
        self,
        motion: Motion,
        batch: int,
        steps: int,
        dt: float,
        eps: float,
        backend: Backend,
        footprints: Footprints | None = None,
    ):
        ground = Ground(media.sand(eps=eps), footprints=footprints)
        solver = Newton() if jax.default_backend() == "cpu" else BatchNewton()
        self.simulator = Simulator(motion.robot, ground, dt, solver=solver, backend=backend)
        one = self.simulator.initial_state(height=motion.height)
        states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), one)
        velocity = 0.1 * jax.random.normal(jax.random.key(0), states.v.shape, states.v.dtype)
        self.states: State = eqx.tree_at(lambda s: s.v, states, velocity)
        self.motion, self.steps = motion, steps
        self._start: State | None = None

    @cached_property
    def _rollout(self):
        def final(states: State) -> State:
            return rollout_batch(self.simulator, states, self.motion.policy, self.steps)

        return jax.jit(final, donate_argnums=0)

    def ready(self) -> None:
        """Have states to start from."""
        self._start = jax.block_until_ready(jax.tree.map(lambda leaf: leaf.copy(), self.states))

    def run(self) -> Any:
        """Positions at the end, on the device."""
        if self._start is None:
            self.ready()
        start, self._start = self._start, None
        return jax.block_until_ready(self._rollout(start)).q

    def converged(self, states: State) -> float:
        """Share of the steps from these states on that did."""

        def advance(state, _):
            state, record = self.simulator.step(state, self.motion.policy(state))
            return state, record.converged

        run = jax.vmap(lambda state: jax.lax.scan(advance, state, None, length=self.steps)[1])
        return float(jax.jit(run)(states).mean())


def _on_host(positions: Any) -> np.ndarray:
    """As NumPy has it, from an array of JAX or of Warp."""
    return positions.numpy() if hasattr(positions, "numpy") else np.asarray(positions)


def _seconds(job: Any) -> float:
    if isinstance(job, _Softground):
        job.ready()
    start = time.perf_counter()
    job.run()
    return time.perf_counter() - start
