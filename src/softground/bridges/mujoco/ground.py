"""Ground that yields, beside a model and data of MuJoCo.

`stepping.py` has the step, `pushing.py` the ground's part of it, `answering.py` how MuJoCo answers to that.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import mujoco
import numpy as np

from softground.bridges.mujoco.answering import integrator_of
from softground.bridges.mujoco.attaching import attached
from softground.bridges.mujoco.carrying import Posture, carrier_of, model_name
from softground.bridges.mujoco.floor import refuse_floor
from softground.bridges.mujoco.options import check_options, soft_ground
from softground.bridges.mujoco.programs import Programs
from softground.bridges.mujoco.pushing import Memory
from softground.bridges.mujoco.stepping import Stepping
from softground.contact.newton import Newton
from softground.envs.grounds import Grounds
from softground.errors import OptionError
from softground.media.base import Medium
from softground.robots.shapes import Shape
from softground.simulation.ground import Ground as SoftGround


class Ground:
    """Ground that yields under the feet of a MuJoCo model.

        ground = sg.mujoco.Ground(model, sg.sand(), feet=["left_foot", "right_foot"])
        while data.time < 10:
            ground.step(model, data)  # in place of mujoco.mj_step(model, data)

    model: is read and never written. Its rigid floor must not touch what meets this ground (`take_out_floor`).
    ground: a medium, or `sg.Ground(medium, surface)`; an `sg.envs.Grounds` of one of them, whose parameters `change`
        then sets between steps (not of a name, which has sand that single precision resolves).
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
        ground: SoftGround | Medium | Grounds,
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
        check_options(tolerance, rounds, backend)
        self.model = model
        varied = isinstance(ground, Grounds)
        soft = soft_ground(ground.ground if varied else ground, "MuJoCo")
        grounds = ground if varied else Grounds(soft)
        self.carrier = carrier_of(model, feet, contacts, posture)
        refuse_floor(model, self.carrier.touched)
        solver = Newton() if solver is None else solver
        self._programs = Programs(model, grounds, self.carrier, solver, backend)
        self._tolerance, self._most_rounds = float(tolerance), int(rounds)
        self._beside: dict[int, Stepping] = {}
        self._alive: dict[int, Any] = {}  # references that do not keep data alive
        self._last: Stepping | None = None

    @property
    def foot_names(self) -> tuple[str, ...]:
        """In the order of all that is said of feet."""
        return tuple(foot.name for foot in self.carrier.feet)

    @property
    def ground(self) -> SoftGround:
        """The ground as it is now."""
        programs = self._programs
        return programs.grounds.with_parameters({name: value.copy() for name, value in programs.values.items()})

    @property
    def parameters(self) -> dict[str, float]:
        """Those of the ground that may change, and what they are; at first the middle of their ranges."""
        return {name: float(value) for name, value in self._programs.values.items()}

    def change(self, values: Mapping[str, float]) -> None:
        """Other parameters of the ground from here on, for all data; nothing is compiled.

        ground = sg.mujoco.Ground(model, sg.envs.Grounds(sg.sand(), {"strength": (1.0, 4.0)}), feet)
        ground.change({"strength": 2.5})

        What the ground remembers stays: for another episode `mj_resetData`, or `reset` after it.
        """
        for name, value in self._programs.grounds.checked(values).items():
            self._programs.values[name][()] = value

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
        A step that has no solution raises as the next one begins, or as the block ends.
        """
        beside = self._of(model, data)
        with attached(beside, data, lambda: self._turn_to(beside, data)):
            yield self

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
        seen = self._seen
        return seen.memories[1 - seen.now if seen.pending else seen.now]

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
    def _seen(self) -> Stepping:
        if self._last is None:
            raise OptionError("no step has been taken on this ground yet")
        return self._last

    # -- beside whom ---------------------------------------------------------------------------------------

    def _of(self, model: mujoco.MjModel, data: mujoco.MjData) -> Stepping:
        """What is kept beside this data."""
        last = self._last
        if last is not None and last.data is data and last.model is model:
            return last
        if model._address != self.model._address:
            raise OptionError("this ground was made for another model: make one for each, Ground(model, ...)")
        beside = self._beside.get(data._address)
        if beside is None:
            _check_data(model, data)
            beside = Stepping(self._programs, model, data, self._tolerance, self._most_rounds)
            self._beside[data._address] = beside
            self._alive[data._address] = weakref.ref(data, partial(self._forget, data._address))
        self._turn_to(beside, data)
        beside.model = model
        return beside

    def _turn_to(self, beside: Stepping, data: mujoco.MjData) -> None:
        """Keep the data of the last step, and no other, alive."""
        if self._last is not beside:
            if self._last is not None:
                self._last.data = None
            self._last = beside
        beside.data = data

    def _forget(self, address: int, _: Any) -> None:
        """Nobody has the data at an address any more."""
        self._beside.pop(address, None)
        self._alive.pop(address, None)


def _check_data(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """OptionError for data of another model."""
    if not isinstance(data, mujoco.MjData):
        raise OptionError(f"a step needs a mujoco.MjData, got {type(data).__name__}")
    names = {"nq": "qpos", "nv": "qvel", "nu": "ctrl", "na": "act", "nbody": "xpos"}
    theirs = {name: len(getattr(data, array)) for name, array in names.items()}
    ours = {name: int(getattr(model, name)) for name in names}
    if theirs != ours or data.signature != model.signature:
        sizes = ", ".join(f"{name} = {theirs[name]} (not {ours[name]})" for name in names if theirs[name] != ours[name])
        raise OptionError(
            f"this data is of another model than {model_name(model)}: {sizes or 'of the same sizes, compiled apart'}. "
            "Make data of its own: mujoco.MjData(model)"
        )


def _check_model(model: mujoco.MjModel) -> None:
    if not isinstance(model, mujoco.MjModel):
        raise OptionError(f"Ground needs a mujoco.MjModel, got {type(model).__name__}")
    integrator_of(model)
    asleep = getattr(mujoco.mjtEnableBit, "mjENBL_SLEEP", None)
    if asleep is not None and model.opt.enableflags & int(asleep):
        raise OptionError("bodies that sleep would not feel the ground: switch sleeping off in model.opt.enableflags")
