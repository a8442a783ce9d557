"""Steps in MuJoCo as a `Run`, for figures, videos, the viewer and costs."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np

from softground.bridges.mujoco.carrying import model_name
from softground.bridges.mujoco.ground import Ground
from softground.errors import OptionError, RobotError
from softground.media.base import COMPONENTS
from softground.robots import Robot
from softground.robots.unsupported import REFUSALS
from softground.runs import Run
from softground.runs.dataset import RunInfo
from softground.simulation.controllers import as_controller
from softground.simulation.simulator import Record, Simulator, State


class Recorder:
    """Keeps steps as they happen.

        recorder = sg.mujoco.Recorder(ground, "robot.xml")
        for _ in range(1000):
            ground.step(model, data)
            recorder.keep()
        recorder.run().plot("steps.png")

    robot: the file from which the model was made, or a `Robot` loaded from it. Files of runs hold no model, but where
    it came from. Of what a `Robot` does not have (tendons, equalities, ...) a run knows nothing: it has the motion and
    the forces of the ground and of the actuators, which were MuJoCo's.
    """

    def __init__(self, ground: Ground, robot: Robot | str | Path):
        self._ground = ground
        self._robot = robot if isinstance(robot, Robot) else _loaded(ground, robot)
        _check(ground, self._robot)
        dt = float(ground.model.opt.timestep)
        self._parameters = ground.parameters
        self._simulator = Simulator(self._robot, ground.ground, dt)
        self._samples: list[dict[str, np.ndarray]] = []
        self._start: State | None = None
        self._not_converged = 0

    def keep(self) -> None:
        """Keep the step just taken."""
        ground, last = self._ground, self._ground.last
        if ground.parameters != self._parameters:
            raise OptionError(
                f"the ground has changed ({self._parameters}, now {ground.parameters}), and a run has one: make a "
                "recorder for each"
            )
        time, q, v = ground.began
        if self._start is None:
            self._start = self._state(time, q, v)
        self._not_converged += not ground.converged
        self._samples.append(
            {
                "time": np.array(time),
                "q": q.copy(),
                "v": v.copy(),
                "torque": ground.torques[list(self._robot.actuated)],
                "wrench_world": last.wrench_world.copy(),
                "depth": last.depth.copy(),
                "tilt": last.tilt.copy(),
                "twist": last.twist[:, COMPONENTS[self._simulator.twist_kind]].copy(),
                "iterations": last.iterations.copy(),
                "converged": np.array(ground.converged),
                "finite": last.finite.copy(),
                "outside_data": last.outside_data.copy(),
                "body_wrench_world": last.body_wrench_world.copy(),
                "body_depth": last.body_depth.copy(),
            }
        )

    def run(self, title: str = "") -> Run:
        """What was kept, as a run from its first step to where the robot is now."""
        if self._start is None:
            raise OptionError("nothing was kept: call keep() after every step")
        stacked = {name: np.stack([sample[name] for sample in self._samples]) for name in self._samples[0]}
        if not self._robot.bodies:
            stacked["body_wrench_world"] = stacked["body_depth"] = None  # type: ignore[assignment]
        steps = len(self._samples)
        record = Record(**stacked)
        final = self._state(*self._ground.here)
        control = None
        if self._robot.nu:
            control = as_controller(stacked["torque"], self._simulator.dt, float(self._start.time))
        info = RunInfo(
            steps=steps,
            not_converged=self._not_converged,
            outside_data=int(stacked["outside_data"].any(1).sum()),
            iterations=int(stacked["iterations"].sum()),
            title=title or f"{self._robot.name} in MuJoCo",
        )
        return Run.of(self._simulator, self._start, final, record, control, info)

    def _state(self, time: float, q: np.ndarray, v: np.ndarray) -> State:
        memory = self._ground.memory
        copied = [jax.tree.map(np.copy, parts) for parts in (memory.ground, memory.twists)]
        return State(np.array(time), q.copy(), v.copy(), *copied)


def _loaded(ground: Ground, path: str | Path) -> Robot:
    """The robot of a file, without what a `Robot` does not have."""
    feet = {foot.name: foot.shape for foot in ground.carrier.feet}
    ignore = [refusal.name for refusal in REFUSALS if refusal.remove]
    contacts = [body.name for body in ground.carrier.bodies]
    return Robot.load(path, feet=feet, ignore=ignore, contacts=contacts or "feet")


def _check(ground: Ground, robot: Robot) -> None:
    """RobotError where the robot is not the model."""
    model, name = ground.model, model_name(ground.model)
    sizes = (robot.nq, robot.nv)
    if sizes != (model.nq, model.nv):
        raise RobotError(f"{robot.name} has (nq, nv) = {sizes}, {name} has {(model.nq, model.nv)}: load the same file")
    for own, of_robot in zip(ground.carrier.feet, robot.feet, strict=False):
        same = own.name == of_robot.name and own.shape == of_robot.shape
        if not same or not np.allclose(own.position, of_robot.position, atol=1e-6):
            raise RobotError(
                f"foot {own.name} ({own.shape}) of {name} is {of_robot.name} ({of_robot.shape}) of {robot.name}: load "
                "it with the same feet and in the same posture"
            )
    if len(ground.carrier.feet) != len(robot.feet) or len(ground.carrier.bodies) != len(robot.bodies):
        raise RobotError(f"{robot.name} must have the feet and contacts of the ground: {', '.join(ground.foot_names)}")
