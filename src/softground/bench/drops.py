"""Robots dropped in any orientation: what the ground does to them, counted, and the worst kept.

All bodies meet the ground. Joints are limp but for dampers, so that nothing but gravity gives energy. What is asked:

- every state is finite, and hardly a step (0.1 %) fails to converge;
- at the end the robot rests;
- the ground gives no energy: step by step, the work of the ground on the robot and the change of what its springs hold
  do not come out positive, but for rounding and, of grains in elements, what corners rounded by the temperature eps
  leave: the power of a law is at most Phi(0) - Phi(u), and Phi(0) at most (1 + sqrt 2)/2 eps for each body and foot;
- no body is deeper than its law explains: at all times the ground has taken from each body at least what its law asks
  for the volume that the body displaces (`displaced`).
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
from softground.bench.displaced import displaced, least_rate, level_rate
from softground.media.base import Medium
from softground.media.named import named_medium
from softground.native.parts import by_native_code
from softground.robots import Robot
from softground.robots.base import vertical_coordinate
from softground.robots.tree import FREE
from softground.runs import Run
from softground.simulation import Control, Simulator, State
from softground.whole_file import write_whole

ROBOTS, GROUNDS = ("g1", "go1", "anymal", "robosimian"), ("sand", "pebbles", "foam", "firm")
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
CHUNK, KEPT = 16, 3
PAYS_FROM = 20_000
"""Steps from which on native code is made: it holds the accounts of a step as well as the step."""
EVERY = 20
"""Steps between two looks at what bodies displace."""
WORTH = 1e-3
"""Of the weight over a metre: energy from which on a body's share of it is looked at."""
#: What is asked of all drops together; energies of the weight over a metre.
NOT_CONVERGED, ROUNDING, MOVING, PAID = 1e-3, 1e-9, 0.01, 1.0


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


class Looks(NamedTuple):
    """A drop at some instants (leading axis)."""

    q: Float[Array, "*n nq"]
    taken: Float[Array, "*n b"]  # J, that the ground has taken from each body and its feet so far


def measure(
    robots=ROBOTS,
    grounds=GROUNDS,
    count: int = 16,
    seconds: float = 8.0,
    dt: float = 0.002,
    seed: int = 0,
    out: str | Path | None = None,
) -> dict:
    """Drops of every robot on every ground, `count` each; out: folder for results as they come and the worst (JSON)."""
    rows: dict[str, Any] = {}
    with Progress(transient=True, console=Console(stderr=True)) as progress:
        task = progress.add_task("drops", total=len(robots) * len(grounds) * count)
        for name in robots:
            robot = Robot.load(name, contacts="all")
            for ground in grounds:
                simulator = Simulator(robot, _ground(ground), dt)
                starts = [random_start(simulator, np.random.default_rng([seed, k])) for k in range(count)]
                tally, looks = dropped(
                    simulator, starts, round(seconds / dt), lambda done: progress.advance(task, done)
                )
                paid = _paid(simulator, looks)
                row = rows[f"{name} on {ground}"] = _row(simulator, tally, paid, round(seconds / dt))
                row["allowed_gain_share"] = _allowed_gain(simulator, seconds)
                if out is not None:
                    settings = {"robot": name, "ground": ground, "dt": dt, "seconds": seconds, "seed": seed}
                    _write(Path(out) / f"{name}_{ground}.json", settings | row)
                    _keep(Path(out), settings, starts, tally, paid)
    checks = _checks(rows)
    return {
        "drops": sum(row["drops"] for row in rows.values()),
        "passed": all(check["passed"] for check in checks),
        "checks": checks,
        "dt": dt,
        "seconds": seconds,
        "seed": seed,
        "cases": rows,
    }


def _ground(name: str) -> Medium:
    """A ground by name, for feet that come down on any side."""
    return named_medium(name).on_any_side()


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


def dropped(simulator: Simulator, starts: list[State], steps: int, advance=lambda done: None) -> tuple[Tally, Looks]:
    """What became of drops (leading axis)."""
    limp = limp_joints(simulator.robot)
    here = simulator.with_backend("native" if steps * len(starts) >= PAYS_FROM else "xla")
    run = jax.jit(lambda states: jax.lax.map(lambda state: _drop(here, limp, state, steps), states))
    parts = []
    for first in range(0, len(starts), CHUNK):
        chunk = starts[first : first + CHUNK]
        padded = chunk + chunk[:1] * (min(CHUNK, len(starts)) - len(chunk))
        parts.append(run(jax.tree.map(lambda *leaves: jnp.stack(leaves), *padded)))
        advance(len(chunk))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(starts)], *parts)


def limp_joints(robot: Robot) -> Control:
    """No more than dampers in the joints."""
    damping = DAMPING * np.minimum(np.asarray(robot.torque_limit), 100.0)
    return Control(position=np.zeros(robot.nu), kd=damping)


class Drop(NamedTuple):
    """A drop under way."""

    state: State
    held: Float[Array, ""]  # J, in the ground's springs
    taken: Float[Array, " b"]  # J, as of `Looks`
    tally: Tally


def _drop(simulator: Simulator, limp: Control, start: State, steps: int) -> tuple[Tally, Looks]:
    robot, parts = simulator.robot, (simulator.source_of_native(), limp)

    def some(drop: Drop, _):
        after = by_native_code(_some, parts, drop) if simulator.backend == "native" else _some(parts, drop)
        return after, Looks(after.state.q, after.taken)

    zero, none = jnp.zeros_like(start.time), jnp.zeros((), jnp.int32)
    blank = Tally(none, jnp.asarray(True), none, zero, zero, zero - jnp.inf, zero, zero)
    first = Drop(start, _held(simulator, start), jnp.zeros(len(robot.bodies), zero.dtype), blank)
    drop, looks = jax.lax.scan(some, first, None, length=-(-steps // EVERY))
    energy = robot.kinetic_energy(drop.state.q, drop.state.v)
    return drop.tally._replace(speed=jnp.sqrt(2 * energy / jnp.sum(jnp.asarray(robot.parameters.mass)))), looks


def _some(parts: tuple[Simulator, Control], drop: Drop) -> Drop:
    """Steps up to the next look."""
    return jax.lax.scan(lambda drop, _: (_step(*parts, drop), None), drop, None, length=EVERY)[0]


def _step(simulator: Simulator, limp: Control, drop: Drop) -> Drop:
    robot, state, tally = simulator.robot, drop.state, drop.tally
    after, record = simulator.step(state, limp)
    assert record.body_wrench_world is not None
    assert record.body_depth is not None
    kin = robot.kinematics(state.q)
    of_feet = simulator.dt * (record.wrench_world * robot.foot_twists(kin, after.v)).sum(-1)
    of_bodies = simulator.dt * (record.body_wrench_world * robot.touching_twists(kin, after.v)).sum(-1)
    carried = np.array([[float(foot.body == body.body) for foot in robot.feet] for body in robot.bodies])
    held = _held(simulator, after)
    gain = of_feet.sum() + of_bodies.sum() + held - drop.held
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
    return Drop(after, held, drop.taken - of_bodies - (carried * of_feet).sum(-1), tally)


def _held(simulator: Simulator, state: State) -> Float[Array, ""]:
    """Energy in the ground's springs, J."""
    robot = simulator.robot
    kin = robot.kinematics(state.q)
    return simulator.energy(state) - robot.kinetic_energy(kin, state.v) - robot.potential_energy(kin)


def _paid(simulator: Simulator, looks: Looks) -> np.ndarray:
    """For each drop, the least that any body has paid of what its law asks for where it is; inf where none is due."""
    robot, medium = simulator.robot, simulator.ground.medium
    poses = jax.jit(jax.vmap(robot.touching_poses))
    found = []
    for q, taken in zip(*looks, strict=True):
        moments = displaced(robot, *map(np.asarray, poses(q)))
        due = level_rate(medium) * moments > WORTH * float(robot.weight)
        found.append(np.where(due, taken / (least_rate(medium) * np.where(due, moments, 1.0)), np.inf).min())
    return np.array(found)


def _row(simulator: Simulator, tally: Tally, paid: np.ndarray, steps: int) -> dict[str, float]:
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
        "least_paid": float(paid.min()),
    }


def _allowed_gain(simulator: Simulator, seconds: float) -> float:
    """Energy that rounded corners of the law may give in a drop, of the weight over a metre."""
    robot, eps = simulator.robot, getattr(simulator.ground.medium, "eps", 0.0)
    corners = (1 + np.sqrt(2)) / 2 * float(eps) * (len(robot.feet) + len(robot.bodies))
    return corners * seconds / float(robot.weight)


def _checks(rows: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """Claims about all drops, as studies print them."""
    of = lambda key: [row[key] for row in rows.values()]  # noqa: E731
    drops = np.array(of("drops"))
    share = lambda key: float(np.average(of(key), weights=drops))  # noqa: E731
    paid = min(of("least_paid"))
    given = max(np.subtract(of("total_gain_share"), of("allowed_gain_share")).tolist())
    claims = [
        ("not finite", sum(of("not_finite")), "= 0", not any(of("not_finite"))),
        *_below("share of steps not converged", share("not_converged_share"), NOT_CONVERGED),
        *_below("share that moves at the end", 1 - share("at_rest_share"), MOVING),
        *_below("most energy given in a drop beyond what eps allows, of weight x 1 m", given, ROUNDING),
        ("least paid of what depth must cost", paid, f"> {PAID:g}", paid > PAID),
    ]
    return [dict(zip(("name", "value", "expected", "passed"), claim, strict=True)) for claim in claims]


def _below(name: str, value: float, limit: float) -> list[tuple[str, float, str, bool]]:
    return [(name, value, f"< {limit:g}", value < limit)]


def _keep(folder: Path, settings: dict[str, Any], starts: list[State], tally: Tally, paid: np.ndarray) -> None:
    """The drops with most trouble of each kind: not finite or not converged, most energy given, least paid, fastest."""
    kinds = {
        "solver": np.lexsort((-tally.iterations, -tally.not_converged, tally.finite)),
        "gain": np.argsort(-tally.total_gain),
        "paid": np.argsort(paid),
        "speed": np.argsort(-tally.speed),
    }
    for kind, order in kinds.items():
        for rank, number in enumerate(order[:KEPT]):
            numbers = {name: float(part[number]) for name, part in tally._asdict().items()} | {
                "paid": float(paid[number])
            }
            start = {"q": np.asarray(starts[number].q).tolist(), "v": np.asarray(starts[number].v).tolist()}
            name = f"{settings['robot']}_{settings['ground']}_{kind}_{rank}.json"
            _write(folder / "worst" / name, {**settings, "number": int(number), **start, **numbers})


def again(path: str | Path) -> Run:
    """A drop that was kept, simulated again, to be looked at."""
    kept = json.loads(Path(path).read_text())
    robot = Robot.load(kept["robot"], contacts="all")
    simulator = Simulator(robot, _ground(kept["ground"]), kept["dt"])
    start = simulator.initial_state(kept["q"], kept["v"])
    return simulator.run(limp_joints(robot), kept["seconds"], state=start, every=5)


def _write(path: Path, document: dict[str, Any]) -> None:
    text = json.dumps(document)
    write_whole(path, lambda temporary: temporary.write_text(text))
