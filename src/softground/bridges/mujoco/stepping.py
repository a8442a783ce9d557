"""The step of MuJoCo with the ground in it, beside one MjData.

A step is MuJoCo's own, but for the ground's wrenches, which must answer to the velocity with which the step ends. So it
is taken with the wrenches that the last steps let expect (`v_ref`), the convex problem of `pushing.py` says which
wrenches go with the velocity that they make, and the step is taken again with those. Without constraints MuJoCo's
answer is linear and that is all. With them it is so only as long as none begins or ceases to act: then the step is
repeated, from the wrenches just found, until the ends of the step in which the ground believes and MuJoCo's agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.bridges.mujoco.agreeing import End, Leap, apart, is_careful, leap
from softground.bridges.mujoco.answering import (
    WITHOUT_DAMPING,
    Limited,
    constraint_stiffness,
    damping_flags,
    full_mass,
    integrator_of,
    is_affine,
    quadratic,
)
from softground.bridges.mujoco.calls import Call
from softground.bridges.mujoco.carrying import model_name
from softground.bridges.mujoco.programs import Programs
from softground.bridges.mujoco.pushing import Beginning, beginning
from softground.bridges.mujoco.touch import touches
from softground.errors import OptionError, SoftgroundError

STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
"""What an integrator changes: time, positions, velocities, activations, and what plugins and delays remember."""


TOLD = "qpos", "qvel", "xfrc_applied", "qfrc_applied"
"""Fields of mjData with which a step begins, in which what is not finite would make MuJoCo reset its state."""


class Stepping:
    """What the ground keeps beside one MjData, and the steps that it takes with it."""

    def __init__(
        self, programs: Programs, model: mujoco.MjModel, data: mujoco.MjData, tolerance: float, most_rounds: int
    ):
        self.programs, self.model, self.opt = programs, model, model.opt
        self.data: Any = data  # None while steps are taken beside others; all else here keeps arrays of it alone
        self.affine, self.integrator, self.flags = is_affine(model), int(model.opt.integrator), damping_flags(model)
        self.touched, self.touches = np.array(programs.carrier.touched), touches(model, programs.carrier)
        self.state = np.empty(mujoco.mj_stateSize(model, STATE))
        self.rounds, self.most_rounds, self.time = 0, most_rounds, data.time
        self.pending, self.acting = False, np.zeros(0, bool)
        mujoco.mj_fwdPosition(model, data)
        self.given: Any = programs.example(data)  # arrays of NumPy's, as those of `push`
        self.stiffness = np.zeros((model.nv, model.nv))
        self.limited = Limited(model)
        self.others: np.ndarray | None = None
        self.memories = (self.given.memory, jax.tree.map(np.copy, self.given.memory))
        self.now = 0
        self.push: Any = programs.of_step(data, True).results()
        self.calls: dict[tuple[bool, int], Callable[[], None]] = {}
        ends = self.push.jacobian, data.qvel, self.push.velocity, self.push.speed, np.array(tolerance)
        comparing = programs.small(apart, ends)
        self.apart: Any = comparing.results()
        self.compare = comparing.bound(ends, self.apart)
        told = tuple(getattr(data, name) for name in TOLD)
        summing = programs.small(squares, told)
        self.squares: Any = summing.results()
        self.sum_squares = summing.bound(told, self.squares)
        self.begun: Any = None
        self.expect = tuple(self._expecting(memory.expected) for memory in self.memories)
        self.exact = True  # the last step's ends need no comparison
        now = End(self.given.pushed, data.qvel, self.apart.off)
        before: Any = End(*(np.copy(part) for part in now))
        leaping = programs.small(leap, (now, before, self.given.applied))
        self.leapt: Any = leaping.results()
        self.leap = leaping.bound((now, before, self.given.applied), self.leapt)
        self.keep = programs.in_a_row(_copies(before, now))
        self.jump = programs.in_a_row([*_copies(before, now), *self._jump()])
        self.begin, self.again = (programs.in_a_row(calls) for calls in self._mujocos_part())

    def _expecting(self, wrenches: np.ndarray) -> Callable[[], None]:
        """Call that makes `begun` of what is expected."""
        rows = tuple(self.data.xfrc_applied[body] for body in self.touched)
        told = rows, self.given.applied, self.given.pushed, wrenches
        program = self.programs.small(_begun, told)
        self.begun = program.results() if self.begun is None else self.begun
        return program.bound(told, self.begun)

    def _mujocos_part(self) -> tuple[list[Call], list[Call]]:
        """Calls from positions and velocities to the end of the step with the wrenches that are applied, and those that
        take the step again with the ground's new ones."""
        model, data, given, push = self.model, self.data, self.given, self.push
        here = (model, data)
        end: list[Call] = [("mj_fwdAcceleration", here), ("mj_fwdConstraint", here)]
        if (model.sensor_needstage == mujoco.mjtStage.mjSTAGE_ACC).any():
            # mj_sensorAcc asks for accelerations and forces of bodies once a step, and here they are new every time.
            end += [("mj_rnePostConstraint", here), ("mj_sensorAcc", here)]
        end += [("mj_checkAcc", here), (integrator_of(model), here)]
        begin: list[Call] = [
            *_copies([data.xfrc_applied[body] for body in self.touched], self.begun.applied),
            *_copies((given.applied, given.pushed), self.begun),
            ("mj_fwdActuation", here),
            full_mass(model, data, given.mass),
            ("mju_copy", (given.velocity, data.qvel)),
            ("mj_getState", (*here, self.state, int(STATE))),
        ]
        again: list[Call] = [
            *_copies([data.xfrc_applied[body] for body in self.touched], push.applied),
            *_copies((given.applied, given.pushed), (push.applied, push.pushed)),
            ("mj_setState", (*here, self.state, int(STATE))),
        ]
        return begin + end, again + end

    def _jump(self) -> list[Call]:
        """Calls that put a round's beginning where a leap says."""
        data, given, to = self.data, self.given, self.leapt
        rows = [
            ("mju_copy", (data.xfrc_applied[body], row)) for body, row in zip(self.touched, to.applied, strict=True)
        ]
        places = Leap(given.pushed, data.qvel, given.applied)
        return [*_copies(places, to), *rows]

    def call(self, alone: bool) -> None:
        """The ground's part of the step."""
        call = self.calls.get((alone, self.now))
        if call is None:
            stiffness = None if alone else self.stiffness
            given = self.given._replace(memory=self.memories[self.now], stiffness=stiffness)
            results = self.push._replace(memory=self.memories[1 - self.now])
            call = self.programs.of_step(self.data, alone).bound((given, self.programs.values), results)
            self.calls[alone, self.now] = call
        call()

    def check_state(self) -> None:
        """OptionError where state or forces are not finite; a clock that went back makes the ground forget."""
        data, opt = self.data, self.opt
        if opt.integrator != self.integrator or opt.disableflags & WITHOUT_DAMPING != self.flags:
            raise OptionError(
                "model.opt.integrator has changed since the ground was made, or a flag that switches damping off: make "
                "a new ground"
            )
        self.sum_squares()
        if not isfinite(self.squares):
            _refuse_state(self.model, data)
        if data.time < self.time:
            self.reset()
        self.time, self.pending = data.time, False

    def solve(self) -> None:
        """Take the step from positions and velocities to its end; `back` undoes the last part."""
        data, push = self.data, self.push
        self.given.dt[()] = self.opt.timestep
        self.expect[self.now]()
        self.begin()
        self.check_not_reset()
        self.read_constraints()
        self.exact, rounds = True, 0
        while True:
            before = self.acting
            alone, leapt = self.answer(rounds), False
            if rounds:
                leapt = rounds > 1 and (alone or np.array_equal(before, self.acting))
                if leapt:
                    self.leap()
                    self.jump()
                else:
                    self.keep()
            self.call(alone)
            if not (push.changed or leapt):  # the wrenches are those with which this end of the step was reached
                self.exact = True
                break
            if not push.finite:
                raise SoftgroundError(f"the step at {self.state[0]:g} s has no finite solution: see data.warning")
            self.again()
            rounds += 1
            if self.affine and not data.nefc:
                break
            self.exact = False
            self.compare()
            if self.apart.agreed or rounds >= self.most_rounds:
                break
        self.rounds = rounds
        for sensor in self.touches:
            felt = data.sensordata[sensor.address] + push.normal[list(sensor.feet)].sum()
            data.sensordata[sensor.address] = min(felt, sensor.most)

    def check_not_reset(self) -> None:
        """SoftgroundError where MuJoCo, at the end of the step, has put its state back to the beginning."""
        if self.data.time <= self.time:
            raise SoftgroundError(
                f"in the step at {self.time:g} s MuJoCo met numbers that are too large or not finite, and has reset "
                "the state: see data.warning"
            )

    def read_constraints(self) -> None:
        """Which constraints this step has."""
        rows, data = self.given.rows, self.data
        if data.nefc:
            self.others = self.limited.read(data, rows) if rows is not None else np.ones(data.nefc, bool)
        elif rows is not None:
            self.limited.none(rows)

    def answer(self, rounds: int) -> bool:
        """Bring the stiffness of MuJoCo's other constraints up to date; whether there are none."""
        model, data = self.model, self.data
        if not data.nefc or self.others is None:
            return True
        found = quadratic(model, data) & self.others
        self.acting = found & self.acting if is_careful(rounds) else found
        np.copyto(self.stiffness, constraint_stiffness(model, data, self.acting))
        return False

    def commit(self) -> None:
        """The step is over: what the ground remembers from here on."""
        self.check_not_reset()
        self.now = 1 - self.now
        self.time = self.data.time

    def back(self) -> None:
        """To where the step began."""
        mujoco.mj_setState(self.model, self.data, self.state, STATE)

    def check_meeting(self) -> None:
        """What `check_state` does, from inside of MuJoCo's step.

        MuJoCo may ask several times for one step (`mj_forward`), so it is over when the next one begins.
        """
        if self.pending and self.data.time > self.time:
            self.commit()
        self.check_state()

    def meet(self) -> None:
        """From inside of MuJoCo's step, after its passive forces: leaves the ground's wrenches in xfrc_applied."""
        model, data = self.model, self.data
        mujoco.mj_referenceConstraint(model, data)
        mujoco.mj_rne(model, data, 0, data.qfrc_bias)
        self.solve()
        self.back()
        self.time, self.pending = data.time, True

    def reset(self) -> None:
        data = self.data
        rows = data.xfrc_applied[self.touched]
        own = (rows == self.given.applied).all(1, keepdims=True)
        data.xfrc_applied[self.touched] = np.where(own, rows - self.given.pushed, rows)
        self.given.applied[:] = self.given.pushed[:] = 0.0
        mujoco.mj_fwdPosition(self.model, data)
        jax.tree.map(np.copyto, self.memories[self.now], self.programs.fresh_memory(data))
        self.time, self.pending = data.time, False


def _begun(rows: tuple[Array, ...], applied: Array, pushed: Array, wanted: Array) -> Beginning:
    return beginning(jnp.stack(rows), applied, pushed, wanted)


def squares(*arrays: Float[Array, "..."]) -> Float[Array, ""]:
    """Their sum, which is not finite if a number is not."""
    return sum(((array * array).sum() for array in arrays), jnp.zeros(()))


def _copies(to: Iterable[Any], of: Iterable[Any]) -> list[Call]:
    """Calls that copy arrays."""
    return [("mju_copy", (a.reshape(-1), b.reshape(-1))) for a, b in zip(to, of, strict=True)]


def _refuse_state(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    for name in TOLD:
        values = getattr(data, name)
        found = ~np.isfinite(values)
        if found.any():
            where = [tuple(entry) if len(entry) > 1 else entry[0] for entry in np.argwhere(found).tolist()]
            raise OptionError(
                f"{model_name(model)}: data.{name} must be finite, got {values[found]} at entries {where} "
                f"(time {data.time:g} s)"
            )
