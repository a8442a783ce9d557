"""Walks of a stepping biped: one compiled loop for all speeds."""

from __future__ import annotations

import time

import equinox as eqx
import jax
import numpy as np

from softground.control.stepping.controller import SteppingController, SteppingGains
from softground.control.stepping.gait import SteppingGait
from softground.control.stepping.stepper import Stepper
from softground.errors import OptionError
from softground.media import Medium
from softground.runs.compiled_loop import steps_in
from softground.runs.dataset import RunInfo
from softground.runs.motion import Run
from softground.simulation.controllers import TorqueSequence
from softground.simulation.ground import Ground
from softground.simulation.simulator import Simulator, State


def starting_state(simulator: Simulator, stepper: Stepper, depth: float = 0.0) -> State:
    """The robot stands with its feet at a depth (m) and begins to sway towards its left foot, the first to carry.

    A pendulum that goes from foot to foot in equal times T has the speed omega W/2 tanh(omega T/2) half way. A planar
    robot does not sway: only its way ahead is left.
    """
    gait = stepper.gait
    v = np.zeros(simulator.robot.nv)
    omega = stepper.omega
    if not simulator.robot.planar:
        v[1] = omega * gait.width / 2 * np.tanh(omega * gait.stance / 2)
    return simulator.initial_state(v=v, height=-depth)


class Walks:
    """Walks of a robot on a ground from one start: compiled once, then called with a speed (m/s).

    Another gait, other gains, or another medium of the same kind with other parameters, needs no compilation either.
    """

    def __init__(self, simulator: Simulator, stepper: Stepper, start: State, seconds: float):
        self.simulator, self.start, self.gait = simulator, start, stepper.gait
        self.controller = stepper.controller
        self.steps = steps_in(seconds, float(simulator.dt))

        def program(state: State, speed, gait: SteppingGait, gains, medium: Medium):
            on_ground = eqx.tree_at(lambda one: one.ground.medium, simulator, medium)
            told = lambda one: (one.speed, one.gait, *_gains(one.controller))  # noqa: E731
            walking = eqx.tree_at(told, stepper, (speed, gait, *gains))
            return on_ground.rollout(state, walking, self.steps, period=stepper.controller.period)

        began = time.perf_counter()
        self._program = (
            jax.jit(program)
            .lower(start, stepper.speed, _arrays(self.gait), _gains(self.controller), simulator.ground.medium)
            .compile()
        )
        self._compile_seconds = time.perf_counter() - began

    def __call__(
        self,
        speed: float,
        medium: Medium | None = None,
        gait: SteppingGait | None = None,
        *,
        gains: SteppingGains | None = None,
        start: State | None = None,
        title: str = "",
        command: str = "",
    ) -> Run:
        """The run of a walk, cut before the first state that is not finite.

        gains: of the controller, which must keep the height of the same (`SteppingGains.height_of`). start: another
        state to start from.
        """
        simulator = self.simulator if medium is None else self._on(medium)
        began = time.process_time()
        controller = self.controller if gains is None else self._with(gains)
        start = self.start if start is None else start
        arguments = np.asarray(float(speed)), _arrays(gait or self.gait), _gains(controller), simulator.ground.medium
        outcome = self._program(start, *arguments)
        final, records = jax.tree.map(np.asarray, outcome)
        elapsed = time.process_time() - began
        sound = np.logical_and.accumulate(records.finite & np.isfinite(records.torque).all(axis=1))
        kept = max(1, int(sound.sum()))
        history = jax.tree.map(lambda x: x[:kept], records)
        info = RunInfo(
            steps=kept,
            not_converged=int((~history.converged).sum()),
            outside_data=int(history.outside_data.any(axis=1).sum()),
            iterations=int(history.iterations.sum()),
            ended="finished" if kept == self.steps else "non-finite",
            compile_seconds=self._compile_seconds,
            steps_per_second=kept / max(elapsed, 1e-9),
            command=command,
            title=title,
        )
        torques = TorqueSequence(history.torque, np.asarray(self.simulator.dt), np.asarray(start.time))
        return Run.of(simulator, self.start, final, history, torques, info)

    def _with(self, gains: SteppingGains) -> SteppingController:
        """The controller with other gains."""
        other = SteppingController(self.controller.robot, gains, period=self.controller.period)
        if jax.tree.structure(_gains(other)) != jax.tree.structure(_gains(self.controller)):
            raise OptionError(
                f"these walks are compiled for a controller that keeps the height of another than {gains.height_of!r}: "
                "make other walks for that"
            )
        return other

    def _on(self, medium: Medium) -> Simulator:
        """The simulator with another medium, which must be one for which the walks were compiled."""
        was = self.simulator
        ground = Ground(medium, was.ground.surface)
        other = Simulator(was.robot, ground, float(was.dt), solver=was.solver, grain_inertia=was.grain_inertia)
        if jax.tree.structure(medium) != jax.tree.structure(was.ground.medium):
            raise OptionError(
                f"these walks are compiled for {type(was.ground.medium).__name__}: another medium must be of that kind "
                f"and differ in numbers only, got {medium}"
            )
        return other


def _gains(controller: SteppingController):
    """What of a controller its gains decide, as arrays."""
    return controller.tasks, controller.foot_damper


def _arrays(gait: SteppingGait) -> SteppingGait:
    """Numbers as arrays, which a compiled program takes as arguments."""
    return jax.tree.map(lambda value: np.asarray(value, float), gait)
