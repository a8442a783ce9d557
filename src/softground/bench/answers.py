"""Answers of a library of strides: random commands inside its range, none of them in it, planned and replayed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from softground.media.named import medium_of
from softground.planning.library import Command, Library, fingerprint, shipped
from softground.planning.plan import Plan
from softground.planning.problem import walking_problem
from softground.planning.programs import kept_call
from softground.planning.replay import EPS, TIME_STEP, follower_of
from softground.planning.size import walking_eps
from softground.planning.steady import gait_of
from softground.planning.strides import from_library, stride_problem
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.runs.verdict import FallWatch, wilson
from softground.simulation import Ground, Simulator
from softground.simulation.controllers import as_controller
from softground.simulation.simulator import State
from softground.surfaces import Plane
from softground.whole_file import write_whole

KNOTS = 181


def measure(
    commands: int = 50,
    seed: int = 1,
    robot: str = "robosimian",
    ground: str = "sand",
    open_loop: bool = False,
    out: str | Path | None = None,
) -> dict[str, Any]:
    """Share of random commands that the shipped library answers with a gait, and that walk when replayed.

    Speeds and slopes are drawn evenly between the least and the greatest of the library's, strengths evenly in their
    logarithm. Nothing is searched for: what the library does not lead to is counted as not solved. open_loop: replays
    without feedback. out: file to which rows are written as they come (JSON).
    """
    model = Robot.load(robot)
    library = next(one for one in shipped() if one.robot == fingerprint(model))
    rows: dict[str, dict[str, Any]] = {}
    for number, command in enumerate(drawn(library, commands, seed), 1):
        rows[str(number)] = _answered(model, ground, command, not open_loop)
        if out is not None:
            text = json.dumps(_summary(rows, library, seed), indent=1)
            write_whole(Path(out), lambda path, text=text: path.write_text(text))
    return _summary(rows, library, seed)


def drawn(library: Library, count: int, seed: int) -> list[Command]:
    """Commands inside a library's range: between those that it has, none of them its own."""
    known = np.array([entry[0] for entry in library.entries])
    known[:, 2] = np.log(known[:, 2])
    values = np.random.default_rng(seed).uniform(known.min(axis=0), known.max(axis=0), (count, 3))
    values[:, 2] = np.exp(values[:, 2])
    return [Command(*map(float, row)) for row in values]


def _answered(robot: Robot, ground: str, command: Command, feedback: bool) -> dict[str, Any]:
    soil = Ground(medium_of(ground, robot, strength=command.strength), Plane(slope=command.slope))
    problem = walking_problem(robot, soil, command.speed, knots=KNOTS)
    began, processor = time.perf_counter(), time.process_time()
    stride = from_library(stride_problem(problem), walking_eps(robot))
    plan = None if stride is None else gait_of(problem, stride)
    row = {
        "command": command.in_words(),
        "solved": plan is not None and plan.report.status == "converged",
        "seconds": time.perf_counter() - began,
        "processor_seconds": time.process_time() - processor,
    }
    return row if plan is None or not row["solved"] else row | _replayed(plan, feedback)


def _replayed(plan: Plan, feedback: bool) -> dict[str, Any]:
    """What becomes of the gait in the simulator: as `planning.replay`, but one program serves all commands."""
    robot, gait = plan.problem.robot, plan.trajectory
    simulator = Simulator(robot, plan.problem.ground.sharpened(EPS), TIME_STEP)
    every = round(gait.dt / TIME_STEP)
    start = simulator.initial_state(gait.q[0], gait.v[0])
    follower = follower_of(plan, feedback=feedback)
    q = np.asarray(kept_call(_configurations, (simulator, follower, start), np.zeros((gait.knots - 1, every))))
    fallen = FallWatch(simulator, gait.q[0])
    forward = base_motion(robot).forward_q
    return {
        "violation": plan.report.violation,
        "optimality": plan.report.optimality,
        "cost_of_transport": plan.metrics.cost_of_transport,
        "lifts": " ".join(map(str, plan.metrics.lifts)),
        "fell": not np.isfinite(q).all() or any(fallen(one) is not None for one in q),
        "speed_kept": float((q[-1, forward] - gait.q[0, forward]) / (gait.q[-1, forward] - gait.q[0, forward])),
    }


def _configurations(parts: tuple[Simulator, Any, State], steps):
    """Configurations at the plan's knots, of a follower from a state; steps: an array (knots, steps between them)."""
    simulator, follower, start = parts
    controller = as_controller(follower, simulator.dt, start.time, 1)

    def advance(carry, _):
        state, memory = carry
        memory, now = controller(memory, state)
        return (simulator.step(state, now)[0], memory), None

    def to_next_knot(carry, steps):
        carry, _ = jax.lax.scan(advance, carry, steps)
        return carry, carry[0].q

    return jax.lax.scan(to_next_knot, (start, controller.init(start)), steps)[1]


def _summary(rows: dict[str, dict[str, Any]], library: Library, seed: int) -> dict[str, Any]:
    solved = [row for row in rows.values() if row["solved"]]
    walked = [row for row in solved if not row["fell"]]
    low, high = wilson(len(walked), len(rows))
    processor = [row["processor_seconds"] for row in rows.values()]
    return {
        "entries": len(library.entries),
        "seed": seed,
        "solved": f"{len(solved)} of {len(rows)}",
        "solved_and_replayed_without_a_fall": f"{len(walked)} of {len(rows)} ({low:.0%} to {high:.0%})",
        "speed_kept_median": float(np.median([row["speed_kept"] for row in walked])) if walked else float("nan"),
        "speed_kept_least": min((row["speed_kept"] for row in walked), default=float("nan")),
        "processor_seconds_median": float(np.median(processor)),
        "processor_seconds_worst": max(processor),
        "commands": rows,
    }
