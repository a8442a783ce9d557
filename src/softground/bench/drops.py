"""Robots dropped in any orientation: what the ground does to them, counted, and the worst kept.

All bodies meet the ground. Joints are limp but for dampers, so that nothing but gravity gives energy: step by step the
work of the ground on the robot and the change of what its springs hold must not come out positive.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int
from rich.console import Console
from rich.progress import Progress

from softground.arrays import Array
from softground.bench.step import medium_named
from softground.robots import Robot
from softground.robots.base import vertical_coordinate
from softground.robots.tree import FREE
from softground.simulation import Control, Simulator, State
from softground.whole_file import write_whole

ROBOTS, GROUNDS = ("g1", "go1", "anymal", "robosimian"), ("foam", "firm")
HEIGHT = (0.05, 0.5)
"""Least and greatest height (m) of the lowest point at the start."""
SPEED = 0.5
"""Spread (m/s, rad/s) of velocities at the start."""
BEND = 0.3
"""Spread (rad) of joint angles about the posture."""
DAMPING = 0.05
"""Of the joints: N m s/rad for each N m of the actuator's limit, of which no more than 100 N m count."""
STILL = 0.05
"""Speed (m/s) of the mass as a whole, sqrt(2 E / m), below which a robot is at rest."""
CHUNK, KEPT = 16, 5


class Tally(NamedTuple):
    """One drop."""

    not_converged: Int[Array, ""]  # steps
    finite: Bool[Array, ""]
    iterations: Int[Array, ""]
    greatest_gain: Float[Array, ""]  # J, that the ground gave in a step
    total_gain: Float[Array, ""]  # J, over all steps in which it gave any
    deepest: Float[Array, ""]  # m, of any body at any time
    deepest_at_rest: Float[Array, ""]  # m, of any body at the end
    speed: Float[Array, ""]  # m/s, sqrt(2 E / m) at the end


def measure(
    robots=ROBOTS,
    grounds=GROUNDS,
    count: int = 16,
    seconds: float = 4.0,
    dt: float = 0.002,
    seed: int = 0,
    out: str | Path | None = None,
) -> dict:
    """Drops of every robot on every ground, `count` each; out: folder for the worst of each (JSON)."""
    rows: dict[str, Any] = {}
    with Progress(transient=True, console=Console(stderr=True)) as progress:
        task = progress.add_task("drops", total=len(robots) * len(grounds) * count)
        for name in robots:
            robot = Robot.load(name, contacts="all")
            for ground in grounds:
                simulator = Simulator(robot, medium_named(ground), dt)
                starts = [random_start(simulator, np.random.default_rng([seed, k])) for k in range(count)]
                tally = dropped(simulator, starts, round(seconds / dt), lambda done: progress.advance(task, done))
                rows[f"{name} on {ground}"] = _row(simulator, tally, round(seconds / dt))
                if out is not None:
                    _keep(Path(out), name, ground, dt, starts, tally)
    return {
        "drops": sum(row["drops"] for row in rows.values()),
        "not_finite": sum(row["not_finite"] for row in rows.values()),
        "not_converged_share": float(np.mean([row["not_converged_share"] for row in rows.values()])),
        "dt": dt,
        "seconds": seconds,
        "cases": rows,
    }


def random_start(simulator: Simulator, random: np.random.Generator) -> State:
    """Any orientation, joints about the posture, some height and speed."""
    robot = simulator.robot
    q = np.array(robot.posture)
    hinges = np.array([i for i in robot.dof_q if i >= 0])
    dofs = np.flatnonzero(np.array(robot.dof_q) >= 0)
    low, high = np.asarray(robot.joint_range)[dofs].T
    q[hinges] = np.clip(q[hinges] + BEND * random.normal(size=len(hinges)), low, high)
    if robot.tree.joint_type[0] == FREE:
        turn = random.normal(size=4)
        q[3:7] = turn / np.linalg.norm(turn)
    else:  # a planar base: x, z and pitch come first
        q[2] = random.uniform(-np.pi, np.pi)
    q[vertical_coordinate(robot)] += 1.0
    return simulator.initial_state(q, SPEED * random.normal(size=robot.nv), height=float(random.uniform(*HEIGHT)))


def dropped(simulator: Simulator, starts: list[State], steps: int, advance=lambda done: None) -> Tally:
    """What became of drops (leading axis)."""
    limp = _limp(simulator.robot)
    here = simulator.for_steps(steps * len(starts))
    run = jax.jit(lambda states: jax.lax.map(lambda state: _drop(here, limp, state, steps), states))
    parts = []
    for first in range(0, len(starts), CHUNK):
        chunk = starts[first : first + CHUNK]
        padded = chunk + chunk[:1] * (min(CHUNK, len(starts)) - len(chunk))
        tally = run(jax.tree.map(lambda *leaves: jnp.stack(leaves), *padded))
        parts.append(tally)
        advance(len(chunk))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(starts)], *parts)


def _limp(robot: Robot) -> Control:
    """No more than dampers in the joints."""
    damping = DAMPING * np.minimum(np.asarray(robot.torque_limit), 100.0)
    return Control(position=np.zeros(robot.nu), kd=damping)


def _drop(simulator: Simulator, limp: Control, start: State, steps: int) -> Tally:
    robot, dt = simulator.robot, simulator.dt

    def stored(state: State) -> Float[Array, ""]:
        return simulator.energy(state) - robot.kinetic_energy(state.q, state.v) - robot.potential_energy(state.q)

    def step(carry, _):
        state, before, tally = carry
        after, record = simulator.step(state, limp)
        assert record.body_wrench_world is not None
        assert record.body_depth is not None
        kin = robot.kinematics(state.q)
        work = (record.wrench_world * robot.foot_twists(kin, after.v)).sum()
        work = dt * (work + (record.body_wrench_world * robot.touching_twists(kin, after.v)).sum())
        held = stored(after)
        gain = work + held - before
        deepest = record.body_depth.max()
        tally = Tally(
            tally.not_converged + ~record.converged,
            tally.finite & record.finite,
            tally.iterations + record.iterations,
            jnp.maximum(tally.greatest_gain, gain),
            tally.total_gain + jnp.maximum(gain, 0.0),
            jnp.maximum(tally.deepest, deepest),
            deepest,
            tally.speed,
        )
        return (after, held, tally), None

    zero, none = jnp.zeros_like(start.time), jnp.zeros((), jnp.int32)
    blank = Tally(none, jnp.asarray(True), none, zero, zero, zero - jnp.inf, zero, zero)
    (final, _, tally), _ = jax.lax.scan(step, (start, stored(start), blank), None, length=steps)
    speed = jnp.sqrt(2 * robot.kinetic_energy(final.q, final.v) / jnp.sum(jnp.asarray(robot.parameters.mass)))
    return tally._replace(speed=speed)


def _row(simulator: Simulator, tally: Tally, steps: int) -> dict[str, float]:
    scale = float(simulator.robot.weight)  # J: its weight over a metre
    return {
        "drops": len(tally.speed),
        "not_finite": int((~tally.finite).sum()),
        "not_converged_share": float(tally.not_converged.sum() / (steps * len(tally.speed))),
        "iterations": float(tally.iterations.mean() / steps),
        "at_rest_share": float((tally.speed < STILL).mean()),
        "greatest_gain_share": float(tally.greatest_gain.max() / scale),
        "total_gain_share": float(tally.total_gain.max() / scale),
        "deepest_mm": 1e3 * float(tally.deepest.max()),
        "deepest_at_rest_mm": 1e3 * float(tally.deepest_at_rest.max()),
    }


def _keep(folder: Path, robot: str, ground: str, dt: float, starts: list[State], tally: Tally) -> None:
    """The drops with most trouble: not finite, then not converged, then most energy given."""
    trouble = np.lexsort((-tally.total_gain, -tally.not_converged, tally.finite))
    for rank, number in enumerate(trouble[:KEPT]):
        numbers = {name: float(part[number]) for name, part in tally._asdict().items()}
        start = {"q": np.asarray(starts[number].q).tolist(), "v": np.asarray(starts[number].v).tolist()}
        document = json.dumps({"robot": robot, "ground": ground, "dt": dt, **start, **numbers})
        write_whole(folder / f"{robot}_{ground}_{rank}.json", lambda path, text=document: path.write_text(text))
