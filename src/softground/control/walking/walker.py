"""A walking robot: a pattern to follow, a whole-body controller (by name), and what it believes of the ground."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.control.estimation import Estimator
from softground.control.walking.gait import check_walks
from softground.control.walking.ground_belief import GroundBelief, believe, observe
from softground.control.walking.pattern import WalkingPattern
from softground.control.whole_body.constraints.contact_model import stack_soles
from softground.control.whole_body.controller import Memory, WholeBodyController
from softground.control.whole_body.packing import Packing
from softground.control.whole_body.presets import compliant_gains_for, rigid_gains_for, tsid_compliant, tsid_rigid
from softground.control.whole_body.problem import Status
from softground.control.whole_body.references import (
    FrameMotion,
    GroundUnderFeet,
    PointMotion,
    References,
)
from softground.errors import OptionError, unknown_name
from softground.media.visco_elastic.sole import patch
from softground.robots import Robot
from softground.runs import Measurement, Stop
from softground.runs.compiled_loop import contents, kept_program

CONTROLLERS: dict[str, Callable[[Robot], WholeBodyController]] = {
    "compliant": lambda robot: tsid_compliant(robot, compliant_gains_for(robot)),
    "cautious": lambda robot: tsid_compliant(robot, compliant_gains_for(robot), cautious=True),
    "rigid": lambda robot: tsid_rigid(robot, rigid_gains_for(robot)),
}
"""TSID-Compliant and TSID-Rigid of romualdi2021, and one that weighs the uncertainty of its estimate; with gains for
the robot's size."""


def check_controller(name: str) -> None:
    """Raise unless there is a controller of this name."""
    if name not in CONTROLLERS:
        raise OptionError(unknown_name("controller", name, CONTROLLERS))


def walking_controller(robot: Robot, name: str) -> WholeBodyController:
    """The controller of this name for a robot."""
    check_controller(name)
    check_walks(robot)
    return CONTROLLERS[name](robot)


#: Ticks in a row without a solution after which a controller is given up: it holds torques of long ago.
MOST_FAILURES = 50


class Tick(NamedTuple):
    """What happened at one tick, for figures and reports."""

    com_reference: Float[Array, "3"]
    com_velocity_reference: Float[Array, "3"]
    foot_reference: Float[Array, "f 3"]
    in_contact: Bool[Array, " f"]
    ground: Float[Array, "f 2"]
    """Believed stiffness and damping under each foot."""
    deviation: Float[Array, "f 2"]
    """Their standard deviations."""
    solved: bool
    controller_seconds: float
    """Everything: observing the ground, assembling and solving the QP."""


class Remembered(NamedTuple):
    """What a walker remembers from tick to tick."""

    tick: int
    belief: GroundBelief
    whole_body: Memory
    failures_in_a_row: int


class Walker:
    """Torques from measurements, once a tick: a controller on the host.

    `log` has what happened at every tick since `init`, which starts a new walk.
    """

    on_host = True

    def __init__(
        self,
        robot: Robot,
        controller: WholeBodyController,
        pattern: WalkingPattern,
        *,
        stiffness: float,
        damping: float,
        estimator: Estimator | None = None,
        q: Float[np.ndarray, " nq"] | None = None,
        ground_height: float = 0.0,
        step: float | None = None,
    ):
        """stiffness, damping: of the ground, as the controller believes; with an estimator, its first guess.

        q: where the robot stands at the start, by default its posture. step: over which a wrench is measured (s), by
        default the controller's period.
        """
        q = np.asarray(robot.posture if q is None else q, dtype=float)
        self._robot, self.controller, self.pattern = robot, controller, pattern
        self.log: list[Tick] = []
        self._standing = controller.hold(q, stiffness=stiffness, damping=damping)
        self._wrenches = planned_wrenches(robot, pattern)
        self._wrench_rates = np.gradient(self._wrenches, pattern.time, axis=0)
        first = (estimator or Estimator()).start(stiffness, damping)
        timing = controller.period, controller.period if step is None else step
        key = "walker", contents((robot, estimator)), float(ground_height), *timing
        start, look = kept_program(key, lambda: _compiled(robot, estimator, ground_height, timing, q, first))
        self._first_belief: GroundBelief = jax.tree.map(np.asarray, start(q, first))
        self._observe = partial(look, np.array([stiffness, damping]))
        self._compile(q)

    def _compile(self, q: np.ndarray) -> None:
        """Run everything once, so that no tick of a walk pays for compilation."""
        still, standing = np.zeros(self._robot.nv), self._standing
        self._observe(self._first_belief, q, still, standing.wrenches, standing.in_contact)
        self.controller.tick(self.controller.initial_memory(), q, still, np.asarray(standing.wrenches), standing)

    @property
    def failures(self) -> int:
        """Ticks without a solution."""
        return sum(not tick.solved for tick in self.log)

    def init(self, seen: Measurement) -> Remembered:
        self.log.clear()
        return Remembered(0, self._first_belief, self.controller.initial_memory(), 0)

    def __call__(self, memory: Remembered, seen: Measurement) -> tuple[Remembered, np.ndarray]:
        began = perf_counter()
        row = min(memory.tick, len(self.pattern.time) - 1)
        if memory.tick == 0:  # no step was taken yet: the robot stands, and the ground carries it
            seen = seen._replace(wrench_world=self._standing.wrenches)
        in_contact = self.pattern.contact[row]
        belief = self._observe(memory.belief, *seen[1:], in_contact)
        references = self._references(row, belief)
        whole_body, command = self.controller.tick(
            memory.whole_body, seen.q, seen.v, np.asarray(belief.wrenches), references
        )
        solved = command.status is Status.SOLVED
        self.log.append(
            Tick(
                com_reference=references.com.position,
                com_velocity_reference=references.com.velocity,
                foot_reference=self.pattern.foot_position[row],
                in_contact=in_contact,
                ground=belief.ground,
                deviation=np.sqrt(np.diagonal(belief.estimate.covariance, axis1=-2, axis2=-1)),
                solved=solved,
                controller_seconds=perf_counter() - began,
            )
        )
        in_a_row = 0 if solved else memory.failures_in_a_row + 1
        if in_a_row > MOST_FAILURES:
            raise Stop(f"controller failure: no feasible torques for {MOST_FAILURES} ticks in a row")
        return Remembered(memory.tick + 1, belief, whole_body, in_a_row), command.torque

    def _references(self, row: int, belief: GroundBelief) -> References:
        """What the pattern wants at a tick, in the controller's terms."""
        pattern, standing = self.pattern, self._standing
        com = PointMotion(
            pattern.com[row], pattern.com_velocity[row], pattern.com_acceleration[row], pattern.com_jerk[row]
        )
        frames = {
            name: self._foot(row, k) if k < 2 else self._body(row, standing.frames[name])
            for k, name in enumerate(standing.frames)
        }
        ground, rest, covariance = belief.ground, belief.rest, belief.estimate.covariance
        return standing._replace(
            com=com,
            frames=frames,
            wrenches=self._wrenches[row],
            wrench_rates=self._wrench_rates[row],
            in_contact=pattern.contact[row],
            ground=GroundUnderFeet(ground[:, 0], ground[:, 1], rest.position, rest.rotation, covariance),
        )

    def _foot(self, row: int, foot: int) -> FrameMotion:
        pattern = self.pattern
        return FrameMotion(
            pattern.foot_position[row, foot],
            turn_about_z(pattern.foot_yaw[row, foot]),
            pattern.foot_twist[row, foot],
            pattern.foot_acceleration[row, foot],
        )

    def _body(self, row: int, standing: FrameMotion) -> FrameMotion:
        """A body that keeps its orientation at the start, but turns with the walk."""
        pattern, still = self.pattern, np.zeros(5)
        return FrameMotion(
            standing.position,
            turn_about_z(pattern.torso_yaw[row] - pattern.torso_yaw[0]) @ standing.rotation,
            np.append(still, pattern.torso_yaw_rate[row]),
            np.append(still, pattern.torso_yaw_acceleration[row]),
        )


def planned_wrenches(robot: Robot, pattern: WalkingPattern) -> Float[np.ndarray, "n f 6"]:
    """Forces (N) that move the centre of mass as planned, shared between the feet so that none needs a torque."""
    force = float(robot.total_mass) * (pattern.com_acceleration - np.asarray(robot.gravity))
    shared = pattern.load_share[:, :, None] * force[:, None, :]
    return np.concatenate([shared, np.zeros_like(shared)], axis=-1)


def turn_about_z(angle: float | Array) -> Float[np.ndarray, "3 3"]:
    """Rotation by an angle (rad) about the world's z axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _compiled(robot: Robot, estimator: Estimator | None, ground_height: float, timing: tuple[float, float], q, first):
    """The first belief of a robot that stands at q, and a look at the feet with NumPy on both sides, one vector each
    way. Neither holds what is believed: all walks of a robot may share them."""
    start = jax.jit(lambda q, first: believe(robot, q, first, ground_height))
    soles = stack_soles([patch(foot.shape) for foot in robot.feet])
    look = partial(observe, robot, soles, estimator, ground_height, *timing)
    feet, belief = len(robot.feet), jax.eval_shape(start, q, first)
    seen = (np.zeros(robot.nq), np.zeros(robot.nv), np.zeros((feet, 6)), np.ones(feet, bool))
    inputs, outputs = Packing((np.zeros(2), belief, *seen)), Packing(belief)
    program = jax.jit(lambda vector: outputs.pack_traced(look(*inputs.unpack(vector))))
    return start, lambda *seen: outputs.unpack(np.asarray(program(inputs.pack(seen))))
