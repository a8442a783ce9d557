"""Ground that yields, beside a model and data of MuJoCo.

A step is MuJoCo's own, but for the ground's wrenches, which must answer to the velocity with which the step ends. So it
is taken with the wrenches of the last step (`v_ref`), the convex problem of `pushing.py` says which wrenches go with
the velocity that they make, and the step is taken again with those. Without constraints MuJoCo's answer is linear and
that is all. With them it is so only as long as none begins or ceases to act: then the step is repeated, from the
wrenches just found, until the ends of the step in which the ground believes and MuJoCo's agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any

import jax
import mujoco
import numpy as np

from softground.bridges.mujoco.answering import (
    Limited,
    Rates,
    constraint_stiffness,
    full_mass,
    integrator_of,
    is_affine,
    quadratic,
    tree_pattern,
)
from softground.bridges.mujoco.calls import Call, at_once, one_by_one
from softground.bridges.mujoco.carrying import Pose, Posture, carrier_of, model_name
from softground.bridges.mujoco.floor import refuse_floor
from softground.bridges.mujoco.pushing import End, Given, Leap, Memory, Touching, apart, leap, push, untouched
from softground.contact.newton import Newton
from softground.errors import OptionError, SoftgroundError, unknown_name
from softground.media.base import Medium
from softground.native.direct import Direct
from softground.native.errors import NotNative
from softground.native.parts import say_why_not
from softground.robots.shapes import Shape
from softground.simulation.ground import Ground as SoftGround
from softground.simulation.groups import groups_of_bodies, groups_under_feet

BACKENDS = ("native", "xla")
HASTY = 10
"""Rounds from which on no constraint is believed that did not act all the time."""
STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
"""What an integrator changes: time, positions, velocities, activations, and what plugins and delays remember."""


class Ground:
    """Ground that yields under the feet of a MuJoCo model.

        ground = sg.mujoco.Ground(model, sg.sand(), feet=["left_foot", "right_foot"])
        while data.time < 10:
            ground.step(model, data)  # in place of mujoco.mj_step(model, data)

    model: is read and never written. Its rigid floor must not touch what meets this ground (`take_out_floor`).
    ground: a medium, or `sg.Ground(medium, surface)`.
    feet: names of bodies, geoms or sites, or names with shapes; None: those marked in the file.
    contacts: "feet"; "all" collision geometry; or names of bodies and geoms that meet the ground beside the feet.
    posture: in which the soles are down: qpos, a keyframe or joint values; by default "home" or "stand", or qpos0.
    tolerance: m/s and rad/s, by which the velocity of a foot that the ground saw and MuJoCo's may differ, beside a
        thousandth of the greatest such velocity.
    rounds: at most, in a step with constraints.
    backend: "native" makes machine code, some seconds of work once for a model; "xla" starts sooner, and is slower.

    The ground's wrenches are rows of `data.xfrc_applied`, so that MuJoCo's force sensors, `cfrc_ext` and whoever asks
    `mj_rnePostConstraint` see them; they stay there after the step. A row that the user writes is the user's, and the
    ground adds its own to it.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        ground: SoftGround | Medium,
        feet: Iterable[str] | Mapping[str, Shape] | None = None,
        *,
        contacts: str | Iterable[str] = "feet",
        posture: Posture = None,
        tolerance: float = 1e-5,
        rounds: int = 20,
        solver: Newton | None = None,
        backend: str = "native",
    ):
        _check_model(model)
        if backend not in BACKENDS:
            raise OptionError(unknown_name("backend", backend, BACKENDS))
        if not tolerance > 0 or rounds < 1:
            raise OptionError(f"tolerance must be positive and rounds at least 1, got {tolerance} and {rounds}")
        soft = ground if isinstance(ground, SoftGround) else SoftGround(ground)
        if soft.footprints is not None:
            raise OptionError("footprints are not kept in MuJoCo yet: leave them out, or use sg.Simulator")
        self.model = model
        self.ground = soft
        self.carrier = carrier_of(model, feet, contacts, posture)
        refuse_floor(model, self.carrier.touched)
        self._tolerance, self._rounds = float(tolerance), int(rounds)
        with jax.enable_x64(True):
            groups = (
                *groups_under_feet(soft.medium, self.carrier),
                *groups_of_bodies(soft.bodies or soft.medium, self.carrier),
            )
        self._solver = Newton() if solver is None else solver
        self._groups = groups
        self._backend = backend
        self._programs: dict[bool, Any] = {}
        self._limited = Limited(model)
        self._beside: dict[int, _Beside] = {}
        self._last: _Beside | None = None
        self._untouched: Callable[[Pose], Memory] | None = None
        self._small: dict[Callable, Any] = {}

    @property
    def foot_names(self) -> tuple[str, ...]:
        """In the order of all that is said of feet."""
        return tuple(foot.name for foot in self.carrier.feet)

    # -- the step ------------------------------------------------------------------------------------------

    def step(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Advance by `model.opt.timestep`, as `mj_step` does."""
        beside = self._of(model, data)
        beside.check_state()
        mujoco.mj_step1(model, data)
        beside.solve()
        beside.commit()

    def forward(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """What `mj_forward` does: all forces of the step that begins now, the ground's included; nothing advances."""
        beside = self._of(model, data)
        beside.check_state()
        mujoco.mj_step1(model, data)
        beside.solve()
        beside.back()

    @contextmanager
    def attached(self, model: mujoco.MjModel, data: mujoco.MjData) -> Iterator[Ground]:
        """Inside of this, `mj_step(model, data)` meets the ground, for those who cannot change that call.

        MuJoCo calls Python in the middle of its step, through the one passive-force callback that it has (an earlier
        one is put back at the end). What `mjcb_control` does comes after it: set `data.ctrl` before the step instead.
        """
        beside = self._of(model, data)
        before = mujoco.get_mjcb_passive()

        def passive(_model: mujoco.MjModel, _data: mujoco.MjData) -> None:
            if before is not None:
                before(_model, _data)
            if _data._address == data._address:
                beside.meet()

        mujoco.set_mjcb_passive(passive)
        try:
            yield self
        finally:
            mujoco.set_mjcb_passive(before)

    def reset(self, data: mujoco.MjData) -> None:
        """Forget what the ground remembers, and take its wrenches out of `data`: after putting a robot elsewhere.

        A clock that goes back (`mj_resetData`) does this by itself.
        """
        self._of(self.model, data).reset()

    # -- what happened in the last step ----------------------------------------------------------------------

    @property
    def wrenches(self) -> np.ndarray:
        """(feet, 6) force (N) and torque (N m) of the ground on each foot, about its origin, world frame."""
        return self._seen.push.wrench_world

    @property
    def body_wrenches(self) -> np.ndarray:
        """(bodies, 6) the same of bodies beside the feet, about the body's origin."""
        return self._seen.push.body_wrench_world

    @property
    def depth(self) -> np.ndarray:
        """(feet,) m, positive below the surface, where the step began."""
        return self._seen.push.depth

    @property
    def power(self) -> float:
        """W, of the ground on the robot as the step ends: at most what elastic ground gives back."""
        return float(self._seen.push.power)

    @property
    def stored_energy(self) -> float:
        """J, elastic, in the ground as the step began."""
        return float(self._seen.push.stored)

    @property
    def began(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Time (s), qpos and qvel with which the step began."""
        state, nq, nv = self._seen.state, self.model.nq, self.model.nv
        return float(state[0]), state[1 : 1 + nq], state[1 + nq : 1 + nq + nv]

    @property
    def here(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Time (s), qpos and qvel now."""
        data = self._seen.data
        return data.time, data.qpos, data.qvel

    @property
    def torques(self) -> np.ndarray:
        """(nv,) of the actuators in the last step."""
        return self._seen.data.qfrc_actuator

    @property
    def memory(self) -> Memory:
        """What the ground remembers now, in arrays that the step after the next writes to."""
        return self._seen.memories[self._seen.now]

    @property
    def last(self) -> Any:
        """A `Push`: all that is known of it, in arrays of NumPy's that the next step writes to."""
        return self._seen.push

    @property
    def mismatch(self) -> float:
        """m/s, rad/s: by which the end of the step that the ground saw differs from MuJoCo's, at the feet."""
        return 0.0 if self._seen.exact else float(self._seen.apart.greatest)

    @property
    def rounds(self) -> int:
        """How often the step was taken again with the ground's wrenches."""
        return self._seen.rounds

    @property
    def converged(self) -> bool:
        """Whether the ground's problem was solved, and agrees with MuJoCo's end of the step."""
        return bool(self._seen.push.converged) and (self._seen.exact or bool(self._seen.apart.agreed))

    @property
    def _seen(self) -> _Beside:
        if self._last is None:
            raise OptionError("no step has been taken on this ground yet")
        return self._last

    # -- made once ----------------------------------------------------------------------------------------

    def _of(self, model: mujoco.MjModel, data: mujoco.MjData) -> _Beside:
        """What is kept beside this data."""
        last = self._last
        if last is not None and last.data is data and last.model is model:
            return last
        if model._address != self.model._address:
            raise OptionError("this ground was made for another model: make one for each, Ground(model, ...)")
        beside = self._beside.get(data._address)
        if beside is None:
            beside = self._beside[data._address] = _Beside(self, model, data)
        beside.model, beside.data = model, data
        self._last = beside
        return beside

    def program(self, data: mujoco.MjData, alone: bool) -> Any:
        """The program of a step in which constraints are of single dofs alone, or of any kind."""
        if alone not in self._programs:
            with jax.enable_x64(True):
                touching = self.touching(data)
                step = lambda given: push(touching, given)  # noqa: E731
                self._programs[alone] = _program(step, (self.example(data, alone),), self._backend)
        return self._programs[alone]

    def small_program(self, function: Callable, arguments: tuple) -> Any:
        """A program of a step's own arithmetic, made once for all data."""
        if function not in self._small:
            with jax.enable_x64(True):
                self._small[function] = _program(function, arguments, self._backend)
        return self._small[function]

    def in_a_row(self, calls: Sequence[Call]) -> Callable[[], None]:
        """Calls of MuJoCo's functions as one."""
        if self._backend == "native":
            try:
                return at_once(calls)
            except NotNative as reason:
                say_why_not("calls of MuJoCo", str(reason))
        return one_by_one(calls)

    def touching(self, data: mujoco.MjData) -> Touching:
        """What meets the ground."""
        rates, pattern = Rates(self.model, data), tree_pattern(self.model)
        return Touching(self.carrier, self._groups, self.ground.surface, self._solver, rates, pattern)

    def fresh_memory(self, data: mujoco.MjData) -> Memory:
        """What ground remembers in which the feet have been where they are now all along."""
        with jax.enable_x64(True):
            if self._untouched is None:
                touching = self.touching(data)
                self._untouched = jax.jit(lambda pose: untouched(touching, pose))
            return jax.tree.map(np.array, self._untouched(_pose(data)))

    def example(self, data: mujoco.MjData, alone: bool = True) -> Given:
        """Arrays of which a step is made, those of MuJoCo where they are."""
        nv, touched = self.model.nv, len(self.carrier.touched)
        return Given(
            pose=_pose(data),
            dt=np.array(float(self.model.opt.timestep)),
            mass=np.eye(nv),
            rates=Rates(self.model, data).values,
            rows=self._limited.rows(self.model, data) if self._limited.any else None,
            stiffness=None if alone else np.zeros((nv, nv)),
            velocity=np.zeros(nv),
            reference=data.qvel,
            xfrc_applied=data.xfrc_applied,
            applied=np.zeros((touched, 6)),
            pushed=np.zeros((touched, 6)),
            memory=self.fresh_memory(data),
        )


class _Beside:
    """What the ground keeps beside one MjData."""

    def __init__(self, ground: Ground, model: mujoco.MjModel, data: mujoco.MjData):
        self.ground, self.model, self.data, self.opt = ground, model, data, model.opt
        self.affine, self.integrator = is_affine(model), int(model.opt.integrator)
        self.touched = np.array(ground.carrier.touched)
        self.state = np.empty(mujoco.mj_stateSize(model, STATE))
        self.rounds, self.most, self.time = 0, ground._rounds, data.time
        self.pending, self.acting = False, np.zeros(0, bool)
        mujoco.mj_fwdPosition(model, data)
        self.given: Any = ground.example(data)  # arrays of NumPy's, as those of `push`
        self.stiffness = np.zeros((model.nv, model.nv))
        self.limited = Limited(model)
        self.others: np.ndarray | None = None
        self.memories = (self.given.memory, jax.tree.map(np.copy, self.given.memory))
        self.now = 0
        self.push: Any = ground.program(data, True).results()
        self.calls: dict[tuple[bool, int], Callable[[], None]] = {}
        ends = self.push.jacobian, data.qvel, self.push.velocity, self.push.speed, np.array(ground._tolerance)
        comparing = ground.small_program(apart, ends)
        self.apart: Any = comparing.results()
        self.compare = comparing.bound(ends, self.apart)
        self.exact = True  # the last step's ends need no comparison
        now = End(self.given.pushed, data.qvel, self.apart.off)
        before: Any = End(*(np.copy(part) for part in now))
        leaping = ground.small_program(leap, (now, before, self.given.applied))
        self.leapt: Any = leaping.results()
        self.leap = leaping.bound((now, before, self.given.applied), self.leapt)
        self.keep = ground.in_a_row(_copies(before, now))
        self.jump = ground.in_a_row([*_copies(before, now), *self._jump()])
        self.begin, self.again = (ground.in_a_row(calls) for calls in self._mujocos_part())

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
            call = self.ground.program(self.data, alone).bound((given,), results)
            self.calls[alone, self.now] = call
        call()

    def check_state(self) -> None:
        """OptionError where the state is not finite; a clock that went back makes the ground forget."""
        data = self.data
        q, v = data.qpos, data.qvel
        if not isfinite(q.dot(q) + v.dot(v)):
            _refuse_state(self.model, data)
        if data.time < self.time:
            self.reset()
        self.pending = False

    def solve(self) -> None:
        """Take the step from positions and velocities to its end; `back` undoes the last part."""
        data, opt, push = self.data, self.opt, self.push
        if opt.integrator != self.integrator:
            raise OptionError("model.opt.integrator has changed since the ground was made: make a new one")
        self.given.dt[()] = opt.timestep
        self.begin()
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
            if self.apart.agreed or rounds >= self.most:
                break
        self.rounds = rounds

    def read_constraints(self) -> None:
        """Which constraints this step has."""
        rows, data = self.given.rows, self.data
        if data.nefc:
            self.others = self.limited.read(data, rows) if rows is not None else np.ones(data.nefc, bool)
        elif rows is not None:
            self.limited.none(rows)

    def answer(self, rounds: int) -> bool:
        """Bring the stiffness of MuJoCo's other constraints up to date; whether there are none.

        Constraints that take turns to act could do so for ever. So in two rounds of three a constraint counts only if
        it has acted in the rounds before, and after `HASTY` in all: what is held for too soft makes the rounds
        converge, if slowly. Near the end those that act are the right ones, and to count them all is fast.
        """
        model, data = self.model, self.data
        if not data.nefc or self.others is None:
            return True
        found = quadratic(model, data) & self.others
        careful = rounds > 1 and (rounds % 3 != 1 or rounds > HASTY)
        self.acting = found & self.acting if careful else found
        np.copyto(self.stiffness, constraint_stiffness(model, data, self.acting))
        return False

    def commit(self) -> None:
        """The step is over: what the ground remembers from here on."""
        self.now = 1 - self.now
        self.time = self.data.time

    def back(self) -> None:
        """To where the step began."""
        mujoco.mj_setState(self.model, self.data, self.state, STATE)

    def meet(self) -> None:
        """From inside of MuJoCo's step, after its passive forces: leaves the ground's wrenches in xfrc_applied.

        MuJoCo may ask several times for one step (`mj_forward`), so it is over when the next one begins.
        """
        model, data = self.model, self.data
        if self.pending and data.time > self.time:
            self.commit()
        self.check_state()
        mujoco.mj_referenceConstraint(model, data)
        mujoco.mj_rne(model, data, 0, data.qfrc_bias)
        self.solve()
        self.back()
        self.time, self.pending = data.time, True
        self.ground._last = self

    def reset(self) -> None:
        data = self.data
        rows = data.xfrc_applied[self.touched]
        own = (rows == self.given.applied).all(1, keepdims=True)
        data.xfrc_applied[self.touched] = np.where(own, rows - self.given.pushed, rows)
        self.given.applied[:] = self.given.pushed[:] = 0.0
        mujoco.mj_fwdPosition(self.model, data)
        jax.tree.map(np.copyto, self.memories[self.now], self.ground.fresh_memory(data))
        self.time, self.pending = data.time, False


class _ByXla:
    """What `Direct` is, through XLA."""

    def __init__(self, function: Callable, examples: tuple):
        self._function = jax.jit(function)
        self._shapes = jax.eval_shape(function, *examples)

    def results(self) -> Any:
        return jax.tree.map(lambda shape: np.zeros(shape.shape, shape.dtype), self._shapes)

    def bound(self, arguments: tuple, results: Any) -> Callable[[], None]:
        def call() -> None:
            with jax.enable_x64(True):
                jax.tree.map(np.copyto, results, jax.tree.map(np.asarray, self._function(*arguments)))

        return call


def _program(function: Callable, examples: tuple, backend: str) -> Any:
    if backend == "native":
        try:
            return Direct(function, *examples)
        except NotNative as reason:
            say_why_not("steps in MuJoCo", str(reason))
    return _ByXla(function, examples)


def _copies(to: Iterable[Any], of: Iterable[Any]) -> list[Call]:
    """Calls that copy arrays."""
    return [("mju_copy", (a.reshape(-1), b.reshape(-1))) for a, b in zip(to, of, strict=True)]


def _pose(data: mujoco.MjData) -> Pose:
    return Pose(data.xpos, data.xmat, data.xipos, data.subtree_com, data.cdof)


def _check_model(model: mujoco.MjModel) -> None:
    if not isinstance(model, mujoco.MjModel):
        raise OptionError(f"Ground needs a mujoco.MjModel, got {type(model).__name__}")
    integrator_of(model)
    asleep = getattr(mujoco.mjtEnableBit, "mjENBL_SLEEP", None)
    if asleep is not None and model.opt.enableflags & int(asleep):
        raise OptionError("bodies that sleep would not feel the ground: switch sleeping off in model.opt.enableflags")


def _refuse_state(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    for name in ("qpos", "qvel"):
        values = getattr(data, name)
        where = np.flatnonzero(~np.isfinite(values)).tolist()
        if where:
            raise OptionError(
                f"{model_name(model)}: data.{name} must be finite, got {values[where]} at entries {where} "
                f"(time {data.time:g} s)"
            )
