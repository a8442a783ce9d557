"""The live simulation: short compiled stretches of steps, paced by the clock, changed while it runs.

The simulator is an argument of the compiled program, not a constant of it, so that another strength, slope or
payload costs no compilation. Another kind of medium or gait does, once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground.bridges.viewer.live_settings import LiveSettings, live_simulator, push_direction
from softground.control import Trot, hold_posture, joints_for_feet, trot
from softground.control.inverse_kinematics import feet_in_base
from softground.control.posture import actuator_positions
from softground.errors import OptionError, SoftgroundError
from softground.robots import Robot
from softground.simulation.actuators import Control
from softground.simulation.simulator import Record, Simulator, State

STRETCH = 0.01  # s of simulated time in one call
MOST_BEHIND = 0.1  # s of simulated time to catch up in one update; what is more is given up
SPEED_WINDOW = 2.0  # s of real time over which the speed is averaged
DROP = 0.03  # m, from which the robot starts
PUSH = 0.6  # m/s
TROTS = ((0.15, 1.0), (0.1, 0.5), (0.0, 0.5))
"""Crouch (leg lengths by which the base is lowered) and size of step, tried until the legs can follow."""


@dataclass(frozen=True)
class LiveSample:
    """What happened up to now: the state, and the forces of the last step."""

    time: float  # s, simulated
    q: np.ndarray
    force: np.ndarray  # (foot, 3) N, world
    depth: np.ndarray  # (foot,) m
    power: np.ndarray  # (actuator,) W
    not_converged: int  # steps of the last update
    steps: int  # in the last update
    finite: bool
    speed: float  # simulated over real time, of late


class LiveLoop:
    """Simulates in real time. `update()` advances to now; `change(...)`, `reset()` and `push()` intervene."""

    def __init__(
        self,
        robot: Robot,
        settings: LiveSettings,
        dt: float = 0.002,
        now: Callable[[], float] = time.monotonic,
    ):
        self.robot, self.settings, self.dt = robot, settings, dt
        self._now = now
        self.steps = max(1, round(STRETCH / dt))
        self._stand = hold_posture(robot) if robot.nu else Control()
        self._trot: Any = None
        self._push = push_direction(robot)
        self.simulator = live_simulator(robot, settings, dt)
        self.policy = self._policy(settings.gait, 0.0)
        self.message = ""
        self.reset()

    @property
    def can_push(self) -> bool:
        """Whether the robot's base can be given a velocity."""
        return self._push is not None

    # -- intervening -------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Put the robot back to the start, a little above the ground."""
        self.state = self.simulator.initial_state(height=DROP)
        self.policy = self._policy(self.settings.gait, 0.0)
        self.sample = self._rest()
        self._pace()

    def push(self, speed: float = PUSH) -> None:
        """Kick the base: add a velocity (m/s) along +x."""
        if self._push is not None:
            self.state = eqx.tree_at(lambda s: s.v, self.state, self.state.v + speed * self._push)

    def change(self, **settings) -> bool:
        """Change settings while the robot stands; what cannot be is refused, with the reason in `message`.

        True if the robot was put back to the start: on another slope it would be in the ground or above it.
        """
        try:
            wanted = replace(self.settings, **settings)
            simulator = live_simulator(self.robot, wanted, self.dt)
            gait_changed = wanted.gait != self.settings.gait
            policy = self._policy(wanted.gait, float(self.state.time) + 0.2) if gait_changed else self.policy
        except SoftgroundError as error:
            self.message = str(error)
            self._pace()
            return False
        before, self.settings, self.simulator, self.policy = self.settings, wanted, simulator, policy
        self.message = ""
        if wanted.slope != before.slope:
            self.reset()
            return True
        if wanted.medium != before.medium:
            self._stand_on_new_medium()
        self._pace()
        return False

    def _stand_on_new_medium(self) -> None:
        """Start again where the robot is, its feet out of the old ground: stiff ground would throw it out."""
        state = self.simulator.initial_state(np.asarray(self.state.q), height=0.0)
        self.state = eqx.tree_at(lambda s: s.time, state, self.state.time)

    def _policy(self, gait: str, start: float) -> Any:
        if gait == "stand":
            return self._stand
        if self._trot is None:
            self._trot = designed_trot(self.robot)
        return eqx.tree_at(lambda t: t.start, self._trot, np.asarray(start + 0.3))

    # -- advancing ---------------------------------------------------------------------------------------

    def update(self) -> LiveSample:
        """Simulate up to the present moment."""
        if not self.sample.finite:
            return self.sample
        behind = self._now() - self._real
        if behind > MOST_BEHIND:
            self._real, behind = self._real + behind - MOST_BEHIND, MOST_BEHIND
        stretches, failed = int(behind / STRETCH), 0
        for _ in range(stretches):
            state, record, bad, finite = _advance(self.simulator, self.policy, self.state, self.steps)
            failed += int(bad)
            if not bool(finite):
                # Keep the last sound state on the page.
                self.sample = replace(self.sample, finite=False)
                return self.sample
            self.state = state
            self._real += STRETCH
            self._simulated += self.steps * self.dt
            self.sample = self._sampled(record, failed, stretches * self.steps)
        return self.sample

    def warm_up(self) -> None:
        """Compile what the present settings need; the clock starts afterwards."""
        jax.block_until_ready(_advance(self.simulator, self.policy, self.state, self.steps)[0].q)
        self._pace()

    def _pace(self) -> None:
        self._real = self._began = self._now()
        self._simulated, self._speed = 0.0, 1.0

    def _sampled(self, record: Record, failed: int, steps: int) -> LiveSample:
        actuators = np.array(self.robot.actuated, dtype=int)
        elapsed = self._now() - self._began
        if elapsed > SPEED_WINDOW:
            self._speed = self._simulated / elapsed
            self._began, self._simulated = self._now(), 0.0
        return LiveSample(
            time=float(self.state.time),
            q=np.asarray(self.state.q),
            force=np.asarray(record.wrench_world)[:, :3],
            depth=np.asarray(record.depth),
            power=np.asarray(record.torque) * np.asarray(self.state.v)[actuators],
            not_converged=failed,
            steps=steps,
            finite=True,
            speed=self._speed,
        )

    def _rest(self) -> LiveSample:
        feet = len(self.robot.feet)
        q = np.asarray(self.state.q)
        return LiveSample(0.0, q, np.zeros((feet, 3)), np.zeros(feet), np.zeros(self.robot.nu), 0, 0, True, 1.0)


@eqx.filter_jit
def _advance(simulator: Simulator, policy: Any, state: State, steps: int):
    """A stretch of steps: (state, record of the last step, steps not converged, whether all is finite)."""
    choose: Any = policy if callable(policy) else lambda _: policy
    state, records = simulator.rollout(state, choose, steps)
    last = jax.tree.map(lambda values: values[-1], records)
    return state, last, jnp.sum(~records.converged), records.finite.all()


def designed_trot(robot: Robot) -> Trot:
    """A trot as large as the legs are long, about the posture or, where legs are too straight, about a crouch.

    It grows out of the robot's posture. OptionError if the legs can follow none.
    """
    home = np.asarray(feet_in_base(robot, jnp.asarray(robot.posture)))
    length = float(-home[:, 2].mean())
    reason: SoftgroundError | None = None
    for crouch, size in TROTS if len(robot.feet) == 4 else TROTS[:1]:
        try:
            gait = _trot_about(robot, home, crouch * length, size * length, float(np.sqrt(length)))
        except SoftgroundError as error:
            reason = error
        else:
            return eqx.tree_at(lambda t: t.stand, gait, actuator_positions(robot, np.asarray(robot.posture)))
    raise OptionError(f"{robot.name} cannot trot: {reason}")


def _trot_about(robot: Robot, home: np.ndarray, lowered: float, size: float, period: float) -> Trot:
    """Trot with the base `lowered` (m) from the posture, with feet at `home`; steps in proportion to `size` (m)."""
    posture = None
    if lowered:  # little by little: straight legs would fold the wrong way, or not at all
        way = np.linspace(0.0, lowered, 31)[1:, None, None] * np.array([0.0, 0.0, 1.0])
        pitch = np.broadcast_to(home[:, 3], (len(way), len(home))) if robot.planar else None
        posture = joints_for_feet(robot, home[:, :3] + way, pitch)[-1]
    return trot(robot, duty=0.65, ramp=1.0, posture=posture, period=period, step_length=0.22 * size, lift=0.14 * size)
