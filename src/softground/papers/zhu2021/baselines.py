"""IV.D.1: iterative LQR with a horizon of a quarter of a second, re-planned at every step, on flat sand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from softground.control.posture import hold_posture
from softground.media.named import sand
from softground.papers.drawing import blank, strip_figure
from softground.papers.study import Check, Film, Findings, Options, Row, Study, Table
from softground.papers.zhu2021 import gaits
from softground.papers.zhu2021.table_one import STATED_VELOCITY_ERROR
from softground.planning.base_motion import base_motion
from softground.planning.guesses import stance
from softground.planning.ilqr import ShortProblem, receding
from softground.planning.problem import posture_height
from softground.planning.smoothing import smoothed
from softground.robots import Robot
from softground.simulation import Ground, Simulator, State, run
from softground.simulation.figures import COLOURS, STYLE

DT, HORIZON = 0.005, 0.25  # s, as the paper tuned them
SECONDS, QUICK_SECONDS = 3.0, 0.05
SETTLE = 1.0  # s, held by servos before
EPS = 0.1
"""W: the ground that iterative LQR plans on and runs on. Sharper, its derivatives say less about a finite step."""
SPEED_WEIGHT, ATTITUDE_WEIGHT, HEIGHT_WEIGHT, EFFORT_WEIGHT = 100.0, 0.01, 0.01, 1e-5
FALLEN_HEIGHT, FALLEN_PITCH = 0.25, 1.1
"""m, rad: where the paper ends an episode."""


def perform(options: Options) -> Findings:
    robot = gaits.robot()
    seconds = QUICK_SECONDS if options.quick else SECONDS
    simulator = Simulator(robot, smoothed(Ground(sand(gaits.STRENGTH)), EPS), DT)
    standing = settled(simulator)
    torques = planned_online(simulator, standing, seconds, horizon=0.05 if options.quick else HORIZON)
    walked = run(simulator, standing, torques, progress=False)
    found = measured(robot, walked)
    return Findings(
        checks=_checks(found),
        metrics=found,
        tables=[Table("baselines", "Iterative LQR on flat sand", [found])],
        figures={"ilqr": figure(robot, walked), "strip": strip(walked, seconds)},
        films={"ilqr": Film(walked, "iterative LQR, 0.25 s ahead")},
        notes=[
            gaits.STRENGTH_NOTE,
            f"Steps of {DT:g} s, {HORIZON:g} s ahead, two sweeps before every step, of which the first control is "
            f"applied; the costs are the path costs of the gait problem. Planner and ground share eps = {EPS:g} W.",
            f"The start is a stance held by servos for {SETTLE:g} s, and their torques. A fall is where the paper ends "
            f"an episode: torso below {FALLEN_HEIGHT:g} m, or pitched by more than {FALLEN_PITCH:g} rad.",
            "The paper's other baselines, PPO and TRPO, are not repeated.",
        ],
    )


def settled(simulator: Simulator) -> State:
    """At rest in a stance, after servos have held it for a while."""
    posture = stance(simulator.robot)
    state = simulator.initial_state(posture, height=0.0)
    hold = hold_posture(simulator.robot, posture)
    advance = jax.jit(
        lambda state: jax.lax.fori_loop(0, round(SETTLE / DT), lambda _, s: simulator.step(s, hold)[0], state)
    )
    return advance(state)


def planned_online(simulator: Simulator, start: State, seconds: float, horizon: float) -> np.ndarray:
    """Torques (steps, nu) of iterative LQR, re-planned before every step."""
    robot = simulator.robot
    problem = short_problem(simulator, start)
    x = jnp.concatenate([start.q, start.v])
    hold = holding_torque(robot, simulator, start)
    controls = jnp.tile(hold, (round(horizon / DT), 1))
    plan = jax.jit(lambda x, controls: receding(problem, x, controls, round(seconds / DT)))
    return np.asarray(plan(x, controls)[1])


def holding_torque(robot: Robot, simulator: Simulator, state: State) -> jax.Array:
    """What the servos give in a stance (N m)."""
    hold = hold_posture(robot, stance(robot))
    return jax.jit(lambda s: simulator.step(s, hold)[1].torque)(state)


def short_problem(simulator: Simulator, start: State) -> ShortProblem:
    """The gait problem's path costs (zhu2021 IV.D) and the simulator's step, for states (q, v)."""
    robot, base = simulator.robot, base_motion(simulator.robot)
    height = posture_height(robot)

    def step(x, torque):
        state = State(start.time, x[: robot.nq], x[robot.nq :], start.memory, jnp.zeros_like(start.twists))
        after, _ = simulator.step(state, torque)
        return jnp.concatenate([after.q, after.v])

    def path_cost(x):
        speed = SPEED_WEIGHT * (x[robot.nq + base.forward_v] - gaits.SPEED) ** 2
        attitude = ATTITUDE_WEIGHT * x[base.attitude_q[0]] ** 2
        return speed + attitude + HEIGHT_WEIGHT * (x[base.up_q] - height) ** 2

    return ShortProblem(step, lambda x, torque: path_cost(x) + EFFORT_WEIGHT * (torque @ torque), path_cost)


def measured(robot: Robot, walked: xr.Dataset) -> Row:
    """How far it came before it fell, if it fell."""
    base = base_motion(robot)
    q, time = walked["configuration"].values, walked["time"].values
    down = (q[:, base.up_q] < FALLEN_HEIGHT) | (np.abs(q[:, base.attitude_q[0]]) > FALLEN_PITCH)
    fallen = int(np.argmax(down)) if down.any() else len(q) - 1
    speed = walked["velocity"].values[: fallen + 1, base.forward_v]
    return {
        "falls": bool(down.any()),
        "until (s)": float(time[fallen]),
        "way (m)": float(q[fallen, base.forward_q] - q[0, base.forward_q]),
        "Mv (m/s)": float(np.abs(speed - gaits.SPEED).mean()),
        "greatest pitch (rad)": float(np.abs(q[: fallen + 1, base.attitude_q[0]]).max()),
        "lowest torso (m)": float(q[: fallen + 1, base.up_q].min()),
        "greatest torque (N m)": float(np.abs(walked["torque"].values[: fallen + 1]).max()),
    }


def _checks(found: Row) -> list[Check]:
    return [
        Check("it tips over, or sinks to the ground", found["falls"], str(found["falls"]), "True"),
        Check(
            "it follows the speed worse than the planned gait: Mv (m/s)",
            found["Mv (m/s)"] > STATED_VELOCITY_ERROR,
            found["Mv (m/s)"],
            f"> {STATED_VELOCITY_ERROR:g}",
        ),
    ]


def strip(walked: xr.Dataset, seconds: float) -> Figure:
    """Five moments."""
    moments = np.linspace(0.0, seconds - DT, 5).tolist()
    return strip_figure({"": walked}, moments, window=(-0.95, 0.95, -1.15, 0.5), follow=True)


def figure(robot: Robot, walked: xr.Dataset) -> Figure:
    """Speed, pitch and height over time."""
    base, time = base_motion(robot), walked["time"].values
    q = walked["configuration"].values
    with matplotlib.rc_context(STYLE):
        result = blank(8.2, 2.4)
        panels = result.subplots(1, 3, sharex=True)
        panels[0].plot(time, walked["velocity"].values[:, base.forward_v], color=COLOURS[0])
        panels[0].axhline(gaits.SPEED, color="#888888", lw=0.8, ls=":")
        panels[1].plot(time, q[:, base.attitude_q[0]], color=COLOURS[0])
        panels[2].plot(time, q[:, base.up_q], color=COLOURS[0])
        for axes, label in zip(panels, ("speed (m/s)", "pitch (rad)", "height of the torso (m)"), strict=True):
            axes.set(xlabel="time (s)", ylabel=label)
    return result


STUDY = Study(
    "zhu2021",
    "baselines",
    "iterative LQR on flat sand (IV.D.1)",
    "with steps of 5 ms and 0.25 s ahead, re-planned after every control, it shifts the body forward a little and then "
    "tips over.",
    perform,
)
