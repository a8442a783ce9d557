"""IV.C.4: what one frame costs, and on what the time is spent."""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import matplotlib
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.contact.feet import feet_in_ground
from softground.control.posture import hold_posture
from softground.media.named import sand
from softground.papers import thresholds as bar
from softground.papers.study import Findings, Options, Study, Table, above, below
from softground.robots import Robot
from softground.runs.figures import COLOURS, STYLE
from softground.simulation import Simulator, State

PAPER_FRAME = 0.343  # s: Matlab on a 2.4 GHz i7; 13 bodies, 12 joints, 4 contacts
PAPER_SHARES = {"solve": 0.90, "wrench spaces": 0.05, "dynamics": 0.05}
"""The paper names the first two; what it leaves is the rest of a frame."""


def perform(options: Options) -> Findings:
    robot = Robot.load("robosimian")
    simulator = Simulator(robot, sand(2.0))
    steps, repeats = (200, 3) if options.quick else (1000, 7)
    times = frame_times(simulator, steps, repeats)
    whole, dt = sum(times.values()), float(simulator.dt)
    factor = PAPER_FRAME / whole
    rows = [
        {
            "part": name,
            "paper (ms)": 1e3 * PAPER_FRAME * PAPER_SHARES[name],
            "ours (ms)": 1e3 * seconds,
            "paper (%)": 100 * PAPER_SHARES[name],
            "ours (%)": 100 * seconds / whole,
        }
        for name, seconds in times.items()
    ]
    rows.append(
        {"part": "frame", "paper (ms)": 1e3 * PAPER_FRAME, "ours (ms)": 1e3 * whole, "paper (%)": 100, "ours (%)": 100}
    )
    return Findings(
        checks=[
            above("factor over the paper's frame", factor, bar.FASTER),
            below("interactive: time of a frame / time step it simulates", whole / dt, bar.INTERACTIVE),
        ],
        metrics={
            "frame_s": whole,
            "paper_factor": factor,
            "parts_s": times,
            "bodies": len(robot.body_names),
            "joints": robot.nu,
            "contacts": len(robot.feet),
        },
        tables=[Table("frame", "Where the time of a frame goes", rows)],
        figures={"frame": figure(times)},
        notes=[
            "Processor time on one core, the least of several repetitions of a compiled loop: other programs on the "
            "machine hardly change it. The paper's was another machine, so the factor is one of orders of magnitude.",
            "The robot stands and holds its posture, which makes for an easy problem: one or two iterations a step. "
            "`softground bench step` measures robots that walk and sway, beside MuJoCo.",
            "Dynamics: kinematics, mass matrix, bias forces, foot Jacobians. Wrench spaces: the feet's poses in the "
            "ground and the vertices there. Solve: the convex problem and the integration.",
            "Parts are differences of loops that do ever more; the compiler mixes them in the whole step, so that "
            "their borders are not sharp.",
        ],
    )


def frame_times(simulator: Simulator, steps: int, repeats: int) -> dict[str, float]:
    """Seconds of a frame by part, for a robot that stands and holds its posture."""
    control = hold_posture(simulator.robot)
    start, _ = jax.jit(lambda s: simulator.rollout(s, control, 300))(simulator.initial_state(height=0.005))
    whole = _seconds(lambda s: simulator.step(s, control)[0], start, steps, repeats)
    dynamics = _seconds(lambda s: _moved(s, _dynamics(simulator, s)), start, steps, repeats)
    spaces = _seconds(lambda s: _moved(s, _dynamics(simulator, s) + _spaces(simulator, s)), start, steps, repeats)
    spaces = max(spaces, dynamics)
    return {"dynamics": dynamics, "wrench spaces": spaces - dynamics, "solve": max(whole - spaces, 0.0)}


def _dynamics(simulator: Simulator, state: State):
    """A number that depends on all of the robot's dynamics, so that none of it is optimised away."""
    robot, kin = simulator.robot, simulator.robot.kinematics(state.q)
    parts = robot.mass_matrix(kin), robot.bias_force(kin, state.v), robot.foot_jacobians(kin)
    return sum(part.sum() for part in parts)


def _spaces(simulator: Simulator, state: State):
    """The same of the feet's wrench spaces."""
    feet = feet_in_ground(simulator.robot, simulator.robot.kinematics(state.q), simulator.ground.surface)
    laws = jax.vmap(lambda medium, *args: medium.law(*args, simulator.dt))(simulator.feet_medium, feet, state.memory[0])
    return sum(leaf.sum() for leaf in jax.tree.leaves(laws))


def _moved(state: State, number) -> State:
    """The state with a change too small to matter that the compiler cannot foresee."""
    return State(state.time, state.q + 1e-30 * number, state.v, state.memory, state.twists)


def _seconds(step: Callable[[State], State], start: State, steps: int, repeats: int) -> float:
    """Processor time of one step inside a compiled loop."""
    loop = jax.jit(lambda s: jax.lax.fori_loop(0, steps, lambda _, state: step(state), s))
    jax.block_until_ready(loop(start))
    best = jnp.inf
    for _ in range(repeats):
        began = time.process_time()
        jax.block_until_ready(loop(start))
        best = min(best, time.process_time() - began)
    return float(best) / steps


def figure(times: dict[str, float]) -> Figure:
    """Bars of a frame's time, logarithmic, the paper's beside ours."""
    whole = sum(times.values())
    with matplotlib.rc_context(STYLE):
        result = blank(6.2, 2.2)
        axes = result.subplots()
        for place, (label, seconds, shares) in enumerate(
            [
                ("ours", whole, {name: value / whole for name, value in times.items()}),
                ("paper", PAPER_FRAME, {name: PAPER_SHARES[name] for name in times}),
            ]
        ):
            left = 0.0
            for (name, share), colour in zip(shares.items(), COLOURS, strict=False):
                axes.barh(place, share, left=left, height=0.55, color=colour, label=name if place == 0 else None)
                left += share
            axes.text(1.01, place, f"{1e3 * seconds:.3g} ms", va="center")
            axes.text(-0.01, place, label, va="center", ha="right")
        axes.set_yticks([])
        axes.set_xlim(0, 1.14)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
        axes.set_xlabel("share of a frame")
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        result.legend(loc="outside upper center", ncols=3, fontsize=8)
    return result


STUDY = Study(
    "zhu2019",
    "speed",
    "what does a frame cost? (IV.C.4)",
    "0.343 s a frame for 13 bodies, 12 joints and 4 contacts; about 90 % solving, 5 % interpolating wrench spaces.",
    perform,
)
