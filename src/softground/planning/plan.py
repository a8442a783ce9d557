"""What planning gives: a trajectory, how it was found, how good it is; as a dataset like that of a run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from softground.contact.feet import contact_jacobian, feet_in_ground, wrench_in_world
from softground.errors import FileFormatError
from softground.planning.metrics import GaitMetrics
from softground.planning.problem import GaitProblem
from softground.planning.trajectory import Trajectory
from softground.runs.dataset import RunInfo
from softground.runs.run import Run
from softground.simulation.controllers import TorqueSequence
from softground.simulation.simulator import Record, Simulator, State


@dataclass(frozen=True)
class StageReport:
    """How one stage went."""

    eps: float
    hessian: str
    coarse: int  # steps of the problem joined to one
    converged: bool
    reason: str
    iterations: int
    objective: float
    violation: float
    optimality: float
    seconds: float
    callback_seconds: dict[str, float]
    callback_calls: dict[str, int]
    history: list[tuple[float, float, float]] = field(repr=False)  # objective, violation, optimality


@dataclass(frozen=True)
class Report:
    """How a solve went. Violations are in the rows' units: m/s, rad/s, 100 N, 100 N m, decimetres, rad."""

    status: str  # "converged", "feasible", "interrupted" or "failed"
    reason: str
    iterations: int
    objective: float
    violation: float
    optimality: float
    seconds: float  # of the optimiser with its callbacks
    compile_seconds: float  # before: patterns and compilation
    stages: list[StageReport]

    def summary(self) -> dict:
        """The report without histories, for JSON."""
        result = asdict(self)
        for stage in result["stages"]:
            stage.pop("history")
        return result


class Solution(NamedTuple):
    """The optimiser's own numbers, from which derivatives of the optimum follow (`planning.sensitivity`)."""

    unknowns: np.ndarray
    multipliers: np.ndarray  # of rows: cost + multipliers . rows is stationary
    eps: float  # W


@dataclass(frozen=True)
class Plan:
    """A planned gait: its problem, the trajectory found, how it was found and how good it is.

    >>> import softground as sg
    >>> [field for field in sg.Plan.__dataclass_fields__]
    ['problem', 'trajectory', 'eps', 'metrics', 'report', 'solution']
    """

    problem: GaitProblem
    trajectory: Trajectory
    eps: float  # W, of the last stage
    metrics: GaitMetrics
    report: Report
    solution: Solution | None = None  # none where the last stage joined steps of the problem

    def summary(self) -> dict[str, Any]:
        """Everything about the plan but its trajectory, for JSON."""
        return {"metrics": self.metrics.as_dict(), "eps_w": self.eps, "report": self.report.summary()}

    def run(self, command: str = "", title: str = "") -> Run:
        """The plan in the format of a run: one sample per step, the last state in the recipe."""
        simulator = Simulator(self.problem.robot, self.problem.ground.smoothed(self.eps), self.problem.dt)
        history = _record(simulator, self.trajectory, self.problem.collocation * self.problem.dt)
        start, final = (_state(simulator, self.trajectory, knot) for knot in (0, -1))
        torque = self.trajectory.torque
        info = RunInfo(
            steps=len(torque),
            outside_data=int(history.outside_data.any(1).sum()),
            compile_seconds=self.report.compile_seconds,
            command=command,
            title=title,
        )
        torques = TorqueSequence(torque, np.asarray(self.problem.dt), np.asarray(0.0))
        run = Run.of(simulator, start, final, history, torques, info)
        dataset = run.dataset
        dataset.attrs["plan"] = json.dumps({"metrics": self.metrics.as_dict(), "report": asdict(self.report)})
        if self.solution is not None:
            note = {"eps_w": self.solution.eps}
            dataset["plan_unknowns"] = ("unknown", self.solution.unknowns, note)
            dataset["plan_multipliers"] = ("row", self.solution.multipliers, note)
        return run


def _state(simulator: Simulator, trajectory: Trajectory, knot: int) -> State:
    state = simulator.initial_state(trajectory.q[knot], trajectory.v[knot])
    time = 0.0 if knot == 0 else trajectory.seconds
    return State(jnp.asarray(time), state.q, state.v, state.memory, state.twists)


def _record(simulator: Simulator, trajectory: Trajectory, until_collocation: float) -> Record:
    """What happens in every step of a trajectory: the wrenches follow from the feet's next twists, and from their
    poses `until_collocation` (s) after the step began."""
    robot, surface, medium = simulator.robot, simulator.ground.surface, simulator.feet_medium

    def one(time, q, v, v_next, torque):
        feet = feet_in_ground(robot, robot.kinematics(q), surface)
        outside = jax.vmap(lambda medium, foot: medium.outside_data(foot))(medium, feet)
        kin = robot.kinematics(robot.integrate(q, v_next, until_collocation))
        met = feet_in_ground(robot, kin, surface)
        twists = contact_jacobian(met, robot.foot_jacobians(kin), medium) @ v_next
        wrenches = jax.vmap(lambda medium, foot, u: medium.law(foot, (), simulator.dt).wrench(u))(medium, met, twists)
        true = jnp.ones((), bool)
        world = wrench_in_world(met, wrenches, medium)
        zero = jnp.zeros((), int)
        return Record(time, q, v, torque, world, feet.depth, feet.tilt, twists, zero, true, true, outside)

    steps = len(trajectory.torque)
    time = np.arange(steps) * trajectory.dt
    arrays = (time, trajectory.q[:-1], trajectory.v[:-1], trajectory.v[1:], trajectory.torque)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(*arrays))


def solution_of(run: Run) -> Solution:
    """The optimiser's solution in a plan's run."""
    if "plan_multipliers" not in run:
        raise FileFormatError("this run holds no solution of an optimiser: plan it with `softground plan`")
    unknowns, multipliers = run["plan_unknowns"], run["plan_multipliers"]
    return Solution(unknowns.values, multipliers.values, float(unknowns.attrs["eps_w"]))


def trajectory_of(run: Run) -> Trajectory:
    """The trajectory in a plan's (or a run's) run, sampled at every step."""
    if int(run.attrs["every"]) != 1:
        raise FileFormatError(f"a trajectory needs a sample at every step, this run keeps one of {run.attrs['every']}")
    _, final = run.rebuild("final")
    return Trajectory(
        np.concatenate([run["configuration"].values, np.asarray(final.q)[None]]),
        np.concatenate([run["velocity"].values, np.asarray(final.v)[None]]),
        run["torque"].values,
        float(run.attrs["dt_s"]),
    )
