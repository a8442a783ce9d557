"""IV.D.1: iterative LQR with a horizon of a quarter of a second, re-planned at every step, on flat sand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from softground.bridges.side_pictures import blank, strip_figure
from softground.control.posture import hold_posture
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, Video, above
from softground.papers.zhu2021 import gaits
from softground.planning import BaseAttitude, BaseHeight, Effort, ForwardSpeed
from softground.planning.guesses import stance
from softground.planning.ilqr import Horizon, ShortProblem, receding
from softground.planning.problem import GaitProblem
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.runs import Run, run
from softground.runs.figures import COLOURS, STYLE
from softground.simulation import Simulator, State

DT = 0.005  # s, as the paper tuned it
SECONDS, QUICK_SECONDS = 3.0, 0.05
CHUNK = 50
"""Steps between two looks at the robot: a line of progress, and whether it has fallen."""
SETTLE = 1.0  # s, held by joint PD control before
FALLEN_HEIGHT, FALLEN_PITCH = 0.25, 1.1
"""m, rad: where the paper ends an episode."""


@dataclass(frozen=True)
class Setting:
    """How far ahead and how well iterative LQR plans, and on what ground."""

    horizon: float = 0.25  # s, as the paper tuned it
    sweeps: int = 2  # before every step
    eps: float = 0.1
    """W, of the ground that it plans on and runs on. Sharper, derivatives say less about a finite step."""


SETTINGS = {
    "as in the paper": Setting(),
    "five sweeps a step": Setting(sweeps=5),
    "0.5 s ahead": Setting(horizon=0.5),
    "ground smoothed by 1 W": Setting(eps=1.0),
}
"""The first is the study, the others ask whether its outcome hangs on a choice of ours."""
QUICK = {"as in the paper": Setting(horizon=0.05)}


def perform(options: Options) -> Findings:
    settings, seconds = (QUICK, QUICK_SECONDS) if options.quick else (SETTINGS, SECONDS)
    runs = {label: walked(label, setting, seconds) for label, setting in settings.items()}
    rows = {label: measured(past) for label, past in runs.items()}
    label, first = next(iter(runs.items()))
    return Findings(
        checks=checks(rows[label]),
        metrics=rows,
        tables=[Table("baselines", "Iterative LQR on flat sand", [{"": name} | row for name, row in rows.items()])],
        figures={"ilqr": figure(runs), "strip": strip(first)},
        videos={"ilqr": Video(first, "iterative LQR, 0.25 s ahead")},
        notes=[
            gaits.STRENGTH_NOTE,
            f"Steps of {DT:g} s, {Setting().horizon:g} s ahead, {Setting().sweeps} sweeps before every step, of which "
            f"the first control is applied; the costs are the path costs of the gait problem. Planner and ground share "
            f"eps = {Setting().eps:g} W.",
            f"The start is a stance held by joint PD control for {SETTLE:g} s, and its torques. A fall is where the "
            f"paper ends an episode: torso below {FALLEN_HEIGHT:g} m, or pitched by more than {FALLEN_PITCH:g} rad.",
            "The paper's other baselines, PPO and TRPO, are `zhu2021/reinforcement`.",
        ],
    )


def walked(label: str, setting: Setting, seconds: float) -> Run:
    """What becomes of the robot within some seconds, or until it has fallen."""
    problem = gaits.problem_on(gaits.slope(0.0))
    simulator = Simulator(problem.robot, problem.ground.smoothed(setting.eps), DT)
    standing = settled(simulator)
    return run(
        simulator, standing, planned_online(problem, simulator, standing, label, setting, seconds), progress=False
    )


def settled(simulator: Simulator) -> State:
    """At rest in a stance, after PD control has held it for a while."""
    posture = stance(simulator.robot)
    start, hold = simulator.initial_state(posture, height=0.0), hold_posture(simulator.robot, posture)
    advance = jax.jit(
        lambda state: jax.lax.fori_loop(0, round(SETTLE / DT), lambda _, s: simulator.step(s, hold)[0], state)
    )
    rest = advance(start)
    return State(start.time, rest.q, rest.v, rest.memory, rest.twists)


def planned_online(
    problem: GaitProblem, simulator: Simulator, start: State, label: str, setting: Setting, seconds: float
) -> np.ndarray:
    """Torques (steps, nu) of iterative LQR, re-planned before every step; says on standard error how it goes."""
    base = base_motion(simulator.robot)
    console = Console(stderr=True, highlight=False)
    hold = hold_posture(simulator.robot, stance(simulator.robot))
    torque = jax.jit(lambda state: simulator.step(state, hold)[1].torque)(start)
    now = Horizon.at(jnp.concatenate([start.q, start.v]), jnp.tile(torque, (round(setting.horizon / DT), 1)))
    steps = round(seconds / DT)
    short = short_problem(problem, simulator, start)
    ahead = jax.jit(lambda now: receding(short, now, min(steps, CHUNK), setting.sweeps))
    torques = np.zeros((0, simulator.robot.nu))
    while len(torques) < steps:
        now, _, controls = ahead(now)
        torques = np.concatenate([torques, controls])
        x, z, pitch = (float(now.state[i]) for i in (base.forward_q, base.up_q, *base.attitude_q))
        console.print(
            f"iterative LQR, {label}: {DT * len(torques):.2f} of {seconds:g} s, torso at x {x:.2f} m, z {z:.2f} m, "
            f"pitch {pitch:.2f} rad",
            soft_wrap=True,
        )
        if fallen(np.array([z]), np.array([pitch])).any():
            break
    return torques


def short_problem(problem: GaitProblem, simulator: Simulator, start: State) -> ShortProblem:
    """The gait problem's path costs (zhu2021 IV.D) and the simulator's step, for states (q, v)."""
    robot, base = simulator.robot, base_motion(simulator.robot)
    speed, attitude, height, effort = (
        _cost(problem, kind) for kind in (ForwardSpeed, BaseAttitude, BaseHeight, Effort)
    )

    def step(x, torque):
        state = State(
            start.time, x[: robot.nq], x[robot.nq :], start.memory, jax.tree.map(jnp.zeros_like, start.twists)
        )
        after, _ = simulator.step(state, torque)
        return jnp.concatenate([after.q, after.v])

    def path_cost(x):
        return (
            speed.weight * (x[robot.nq + base.forward_v] - speed.speed) ** 2
            + attitude.weight * (x[base.attitude_q[0]] - attitude.pitch) ** 2
            + height.weight * (x[base.up_q] - height.height) ** 2
        )

    return ShortProblem(step, lambda x, torque: path_cost(x) + effort.weight * (torque @ torque), path_cost)


def _cost(problem: GaitProblem, kind: type) -> Any:
    """The problem's cost of a kind."""
    return next(cost for cost in problem.costs if isinstance(cost, kind))


def fallen(height: np.ndarray, pitch: np.ndarray) -> np.ndarray:
    """Where the torso is too low or too steep."""
    return (height < FALLEN_HEIGHT) | (np.abs(pitch) > FALLEN_PITCH)


def torso(past: Run, robot: Robot) -> dict[str, np.ndarray]:
    """Place, height, pitch and speed of the torso over time."""
    base, q = base_motion(robot), past["configuration"].values
    return {
        "x": q[:, base.forward_q],
        "height of the torso (m)": q[:, base.up_q],
        "pitch (rad)": q[:, base.attitude_q[0]],
        "speed (m/s)": past["velocity"].values[:, base.forward_v],
    }


def measured(past: Run) -> Row:
    """How far it came before it fell, if it fell."""
    x, height, pitch, speed = torso(past, gaits.robot()).values()
    down = fallen(height, pitch)
    end = int(np.argmax(down)) if down.any() else len(down) - 1
    return {
        "falls": bool(down.any()),
        "until (s)": float(past["time"].values[end]),
        "way (m)": float(x[end] - x[0]),
        "Mv (m/s)": float(np.abs(speed[: end + 1] - gaits.SPEED).mean()),
        "greatest pitch (rad)": float(np.abs(pitch[: end + 1]).max()),
        "lowest torso (m)": float(height[: end + 1].min()),
        "greatest torque (N m)": float(np.abs(past["torque"].values[: end + 1]).max()),
    }


def checks(found: Row) -> list[Check]:
    """What the paper says of it."""
    return [
        Check("it tips over, or sinks to the ground", found["falls"], str(found["falls"]), "True"),
        above("it shifts the body forward before: way (m)", found["way (m)"], bar.SHIFTS_FORWARD),
        above(
            "it follows the speed worse than the planned gait: Mv (m/s)",
            found["Mv (m/s)"],
            bar.STATED_VELOCITY_ERROR,
        ),
    ]


def strip(past: Run) -> Figure:
    """Five moments."""
    moments = np.linspace(0.0, past["time"].values[-1], 5).tolist()
    return strip_figure({"": past}, moments, window=(-0.95, 0.95, -1.15, 0.5), follow=True)


def figure(runs: dict[str, Run]) -> Figure:
    """Speed, pitch and height over time."""
    with matplotlib.rc_context(STYLE):
        result = blank(8.6, 2.5)
        panels = result.subplots(1, 3, sharex=True)
        for (label, past), colour in zip(runs.items(), COLOURS, strict=False):
            values = torso(past, gaits.robot())
            for axes, name in zip(panels, list(values)[1:], strict=True):
                axes.plot(past["time"].values, values[name], color=colour, label=label)
                axes.set(xlabel="time (s)", ylabel=name)
        panels[0].axhline(FALLEN_HEIGHT, color="#888888", lw=0.8, ls=":")
        panels[2].axhline(gaits.SPEED, color="#888888", lw=0.8, ls=":")
        panels[0].legend(fontsize=7)
    return result


STUDY = Study(
    "zhu2021",
    "baselines",
    "iterative LQR on flat sand (IV.D.1)",
    "with steps of 5 ms and 0.25 s ahead, re-planned after every control, it shifts the body forward a little and then "
    "tips over.",
    perform,
)
