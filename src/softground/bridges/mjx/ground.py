"""Ground that yields, for those who step models of MJX: functions of data and of what the ground remembers.

The step is that of `softground.bridges.mujoco`: MJX says with which velocity its step ends under the ground's wrenches
of the last one, the convex problem of `bridges/mujoco/pushing.py` which wrenches go with the velocity that they make,
and MJX takes the step with those. Where constraints act, rounds of this until both agree (`docs/from_mujoco.md`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Bool, Float, Int
from mujoco import mjx

from softground.arrays import Array, in_precision
from softground.bridges.mjx.answering import (
    constraint_stiffness,
    dof_rows,
    has_constraints,
    others,
    quadratic,
    rates,
)
from softground.bridges.mujoco.answering import EULER, IMPLICITFAST, tree_pattern
from softground.bridges.mujoco.carrying import Pose, Posture, carrier_of, model_name
from softground.bridges.mujoco.floor import refuse_floor
from softground.bridges.mujoco.ground import HASTY
from softground.bridges.mujoco.pushing import Apart, End, Given, Push, Touching, apart, leap, push, untouched
from softground.bridges.mujoco.pushing import Memory as OfGround
from softground.contact.newton import BatchNewton, Newton
from softground.errors import OptionError, unknown_name
from softground.media.base import Medium
from softground.media.wrench_space import EPS_SINGLE
from softground.native.errors import NotNative
from softground.native.parts import by_native_code, say_why_not
from softground.robots.shapes import Shape
from softground.simulation.ground import Ground as SoftGround
from softground.simulation.groups import groups_of_bodies, groups_under_feet

BACKENDS = ("native", "xla")


class Memory(NamedTuple):
    """What goes from one step to the next, and what there is to read of the last one (zeros before the first)."""

    wrenches: Float[Array, "f 6"]
    """Force (N) and torque (N m) of the ground on each foot, about its origin, world frame."""
    body_wrenches: Float[Array, "b 6"]
    """The same of bodies beside the feet, N and N m."""
    depth: Float[Array, " f"]
    """m, of the feet, positive below the surface, where the step began."""
    power: Float[Array, ""]
    """W, of the ground on the robot as the step ended: at most what elastic ground gives back."""
    stored_energy: Float[Array, ""]
    """J, elastic, in the ground as the step began."""
    rounds: Int[Array, ""]
    """How often the step was taken again with the ground's wrenches."""
    mismatch: Float[Array, ""]
    """m/s, rad/s: by which the end of the step that the ground saw differs from MJX's, at the feet."""
    converged: Bool[Array, ""]
    """Whether the ground's problem was solved, agrees with MJX's end of the step, and all of it is finite."""
    applied: Float[Array, "c 6"]
    """What the last step left in `xfrc_applied`, on the bodies that the ground may touch (N, N m)."""
    pushed: Float[Array, "c 6"]
    """What of it was the ground's, N and N m."""
    ground: OfGround


class Ground:
    """Ground that yields under the feet of a model of MJX.

        ground = sg.mjx.Ground(model, sg.sand(), feet=["left_foot", "right_foot"])
        memory = ground.reset(mjx_model, data)
        data, memory = jax.jit(ground.step)(mjx_model, data, memory)  # in place of mjx.step(mjx_model, data)

    model: the `mujoco.MjModel` from which MJX's was made (`mjx.put_model(model)`), for its names. Its rigid floor must
    not touch what meets this ground: `sg.mujoco.take_out_floor(model)` before `put_model`. All other arguments are as
    of `sg.mujoco.Ground`.

    Functions are pure, for `jax.jit`, `jax.vmap` over data and memory (and over models of MJX), and `lax.scan`. `on`
    gives other ground: inside of a batch, other ground to every robot. Numbers have the precision of `data`. In single
    precision sand is not sharper than 0.02 W, and a tolerance below 1e-4 m/s would be lost in rounding.
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
        if not isinstance(model, mujoco.MjModel):
            raise OptionError(
                f"Ground needs the mujoco.MjModel from which the model of MJX is made, got {type(model).__name__}"
            )
        if backend not in BACKENDS:
            raise OptionError(unknown_name("backend", backend, BACKENDS))
        if not tolerance > 0 or rounds < 1:
            raise OptionError(f"tolerance must be positive and rounds at least 1, got {tolerance} and {rounds}")
        _check_integrator(int(model.opt.integrator))
        self.carrier = carrier_of(model, feet, contacts, posture)
        refuse_floor(model, self.carrier.touched)
        if solver is None:
            solver = Newton() if backend == "native" or jax.default_backend() == "cpu" else BatchNewton()
        self._name, self._sizes = model_name(model), (model.nq, model.nv, model.nbody)
        self._coupled = tree_pattern(model)
        self._tolerance, self._rounds, self._solver, self._backend = tolerance, int(rounds), solver, backend
        self.ground = _checked(ground)
        self._groups(self.ground)  # raises where a medium does not serve the model

    def on(self, ground: SoftGround | Medium) -> Ground:
        """The same feet on other ground, the parameters of which may be traced.

        def step(strength, data, memory):
            return ground.on(sg.sand(strength)).step(mjx_model, data, memory)

        data, memory = jax.vmap(step)(strengths, data, memory)
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, ground=_checked(ground))
        return other

    @property
    def foot_names(self) -> tuple[str, ...]:
        """In the order of all that is said of feet."""
        return tuple(foot.name for foot in self.carrier.feet)

    def reset(self, model: mjx.Model, data: mjx.Data) -> Memory:
        """Memory of ground in which the feet have been where they are now all along."""
        self._check(model, data)
        placed = mjx.com_pos(model, mjx.kinematics(model, data))
        dtype = data.qpos.dtype
        ground = in_precision(untouched(self._touching(dtype), _pose(placed)), dtype)
        feet, bodies = len(self.carrier.feet), len(self.carrier.bodies)
        zero, rows = jnp.zeros((), dtype), jnp.zeros((len(self.carrier.touched), 6), dtype)
        return Memory(
            wrenches=jnp.zeros((feet, 6), dtype),
            body_wrenches=jnp.zeros((bodies, 6), dtype),
            depth=jnp.zeros(feet, dtype),
            power=zero,
            stored_energy=zero,
            rounds=jnp.zeros((), jnp.int32),
            mismatch=zero,
            converged=jnp.ones((), bool),
            applied=rows,
            pushed=rows,
            ground=ground,
        )

    def step(self, model: mjx.Model, data: mjx.Data, memory: Memory) -> tuple[mjx.Data, Memory]:
        """Advance by `model.opt.timestep`, as `mjx.step` does."""
        self._check(model, data)
        start = _begun(model, data)
        ask = _Step(self._touching(data.qpos.dtype), self._backend, self._tolerance, self._rounds)
        if has_constraints(start):
            answer = _agreed(model, start, memory, ask)
        else:
            answer = _once(model, start, memory, ask)
        found = answer.push
        end = answer.reached.into(_with_rows(start, ask, found.applied))
        after = _as_before(_advanced(model, mjx.sensor_acc(model, end)), data)
        finite = found.finite & jnp.isfinite(after.qpos).all() & jnp.isfinite(after.qvel).all()
        return after, Memory(
            wrenches=found.wrench_world,
            body_wrenches=found.body_wrench_world,
            depth=found.depth,
            power=found.power,
            stored_energy=found.stored,
            rounds=answer.rounds,
            mismatch=answer.apart.greatest,
            converged=found.converged & answer.apart.agreed & finite,
            applied=found.applied,
            pushed=found.pushed,
            ground=found.memory,
        )

    def _groups(self, ground: SoftGround):
        return (
            *groups_under_feet(ground.medium, self.carrier),
            *groups_of_bodies(ground.bodies or ground.medium, self.carrier),
        )

    def _touching(self, dtype) -> Touching:
        ground = _sharp_enough(self.ground) if dtype == jnp.float32 else self.ground
        # Bound before they are cast: what is known stays NumPy, and becomes constants of the program.
        groups = self._groups(ground)
        carrier, groups, surface = in_precision((self.carrier, groups, ground.surface), dtype)
        return Touching(carrier, groups, surface, self._solver, DENSE, self._coupled)

    def _check(self, model: mjx.Model, data: mjx.Data) -> None:
        """OptionError, while a program is traced, for a model of which this ground knows nothing."""
        for what, wanted in ((model, mjx.Model), (data, mjx.Data)):
            if not isinstance(what, wanted):
                raise OptionError(f"this step is for an mjx.{wanted.__name__}, got {type(what).__name__}")
        if (model.nq, model.nv, model.nbody) != self._sizes:
            raise OptionError(
                f"this ground was made for {self._name} with (nq, nv, nbody) = {self._sizes}, and the model has "
                f"{(model.nq, model.nv, model.nbody)}: make one for each, Ground(model, ...)"
            )
        if not isinstance(data._impl, mjx.DataJAX):
            raise OptionError('only MJX\'s own implementation is served: mjx.put_model(model, impl="jax")')
        if data.qpos.shape != (model.nq,):
            raise OptionError(
                f"data.qpos must have shape ({model.nq},), got {data.qpos.shape}: for a batch use jax.vmap(ground.step)"
            )
        _check_integrator(int(model.opt.integrator))


class _Dense:
    """Rates that are a matrix already."""

    @staticmethod
    def matrix(values: Float[Array, "nv nv"], nv: int) -> Float[Array, "nv nv"]:
        return values


DENSE: Any = _Dense()


class _Step(eqx.Module):
    """What a step is asked for, beside the state."""

    touching: Touching
    backend: str = eqx.field(static=True)
    tolerance: float = eqx.field(static=True)
    rounds: int = eqx.field(static=True)


class _Reached(NamedTuple):
    """An end of the step: what of MJX's data depends on the ground's wrenches."""

    qfrc_smooth: Float[Array, " nv"]
    qacc_smooth: Float[Array, " nv"]
    qacc: Float[Array, " nv"]
    qfrc_constraint: Float[Array, " nv"]
    efc_force: Float[Array, " nefc"]

    @classmethod
    def of(cls, data: mjx.Data) -> _Reached:
        return cls(data.qfrc_smooth, data.qacc_smooth, data.qacc, data.qfrc_constraint, data._impl.efc_force)

    def into(self, data: mjx.Data) -> mjx.Data:
        """MJX's data with this."""
        fields = {f"_impl.{name}" if name == "efc_force" else name: value for name, value in self._asdict().items()}
        return data.tree_replace(fields)


class _Answer(NamedTuple):
    """What the ground does, and the end of the step with that."""

    push: Push
    reached: _Reached
    velocity: Float[Array, " nv"]
    apart: Apart
    rounds: Int[Array, ""]


class _Round(NamedTuple):
    """Where rounds are: the latest answer, the end of the step before it, and which constraints were counted."""

    answer: _Answer
    before: End
    acting: Bool[Array, " nefc"]


def _begun(model: mjx.Model, data: mjx.Data) -> mjx.Data:
    """All of a step that does not depend on the ground."""
    data = mjx.sensor_pos(model, mjx.fwd_position(model, data))
    data = mjx.sensor_vel(model, mjx.fwd_velocity(model, data))
    return mjx.fwd_actuation(model, data)


def _with_rows(start: mjx.Data, ask: _Step, rows: Float[Array, "c 6"]) -> mjx.Data:
    """With these wrenches on what the ground touches."""
    return start.replace(xfrc_applied=start.xfrc_applied.at[np.array(ask.touching.carrier.touched)].set(rows))


def _ended(model: mjx.Model, start: mjx.Data, ask: _Step, rows: Float[Array, "c 6"]) -> mjx.Data:
    """Accelerations with these wrenches on what the ground touches."""
    data = mjx.fwd_acceleration(model, _with_rows(start, ask, rows))
    return mjx.solve(model, data) if has_constraints(start) else data.replace(qacc=data.qacc_smooth)


def _advanced(model: mjx.Model, end: mjx.Data) -> mjx.Data:
    return (mjx.euler if int(model.opt.integrator) == EULER else mjx.implicit)(model, end)


def _as_before(after: mjx.Data, before: mjx.Data) -> mjx.Data:
    """With the types of the data that were given, so that steps can be scanned: in double precision MJX returns some
    integers of tendons as longer ones."""
    return jax.tree.map(lambda new, old: jnp.asarray(new, jnp.result_type(old)), after, before)


def _held(start: mjx.Data, memory: Memory, ask: _Step) -> tuple[Float[Array, "c 6"], Float[Array, "c 6"]]:
    """Rows of `xfrc_applied` on what the ground touches, and what of them is the ground's: rows that the user has
    written since the last step are the user's."""
    rows = start.xfrc_applied[np.array(ask.touching.carrier.touched)]
    return rows, jnp.where((rows == memory.applied).all(1, keepdims=True), memory.pushed, 0.0)


def _push(
    model: mjx.Model,
    end: mjx.Data,
    memory: Memory,
    ask: _Step,
    rows: Float[Array, "c 6"],
    pushed: Float[Array, "c 6"],
    velocity: Float[Array, " nv"],
    acting: Bool[Array, " nefc"] | None,
) -> Push:
    """The ground's wrenches, seen from an end of the step with others of it (pushed, among rows)."""
    given = Given(
        pose=_pose(end),
        dt=jnp.asarray(model.opt.timestep, velocity.dtype),
        mass=mjx.full_m(model, end),
        rates=rates(model, end),
        rows=None if acting is None else dof_rows(model, end),
        stiffness=None if acting is None else constraint_stiffness(end, acting),
        velocity=end.qvel,
        reference=velocity,
        xfrc_applied=_with_rows(end, ask, rows).xfrc_applied,
        applied=rows,
        pushed=pushed,
        memory=memory.ground,
    )
    if ask.backend == "native":
        try:
            return by_native_code(push, ask.touching, given)
        except NotNative as reason:
            say_why_not("steps in MJX", str(reason))
    return push(ask.touching, given)


def _once(model: mjx.Model, start: mjx.Data, memory: Memory, ask: _Step) -> _Answer:
    """Without constraints MJX's step answers to wrenches just as the ground's problem says."""
    rows, held = _held(start, memory, ask)
    free = _ended(model, start, ask, rows)
    found = _push(model, free, memory, ask, rows, held, _advanced(model, free).qvel, None)
    end = _ended(model, start, ask, found.applied)
    off = jnp.zeros(len(found.jacobian), found.velocity.dtype)
    agreed = Apart(off, off[0], jnp.ones((), bool))
    return _Answer(found, _Reached.of(end), found.velocity, agreed, jnp.ones((), jnp.int32))


@eqx.filter_custom_jvp
def _agreed(model: mjx.Model, start: mjx.Data, memory: Memory, ask: _Step) -> _Answer:
    """Rounds until the ground's end of the step and MJX's agree."""

    def unfinished(state: _Round):
        answer = state.answer
        first = answer.rounds == 0
        return first | (~answer.apart.agreed & answer.push.finite & (answer.rounds < ask.rounds))

    def again(state: _Round) -> _Round:
        last, count = state.answer, state.answer.rounds
        end = last.reached.into(start)
        found = quadratic(model, end) & others(model, end)
        careful = (count > 1) & ((count % 3 != 1) | (count > HASTY))
        acting = jnp.where(careful, found & state.acting, found)
        now = End(last.push.pushed, last.velocity, last.apart.off)
        to = leap(now, state.before, last.push.applied)
        leaps = (count > 1) & (acting == state.acting).all()
        rows = jnp.where(leaps, to.applied, last.push.applied)
        pushed = jnp.where(leaps, to.pushed, last.push.pushed)
        velocity = jnp.where(leaps, to.velocity, last.velocity)
        return _Round(_round(model, start, memory, ask, end, rows, pushed, velocity, acting, count), now, acting)

    rows, held = _held(start, memory, ask)
    free = _ended(model, start, ask, rows)
    velocity, acting = _advanced(model, free).qvel, jnp.zeros(len(others(model, free)), bool)
    shapes = eqx.filter_eval_shape(_round, model, start, memory, ask, free, rows, held, velocity, acting, 0)
    blank = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    first = blank._replace(
        push=blank.push._replace(applied=rows, pushed=held), reached=_Reached.of(free), velocity=velocity
    )
    before = End(held, velocity, blank.apart.off)
    return jax.lax.while_loop(unfinished, again, _Round(first, before, acting)).answer


@_agreed.def_jvp
def _agreed_jvp(primals, tangents):
    """Where the rounds have led the wrenches no longer depend on where they began: two more rounds, differentiated.

    What is left out is the second power of how far A is from the way in which MJX answers (`pushing.py`).
    """
    answer = _agreed(*primals)
    parts, static = eqx.partition(primals, eqx.is_inexact_array)
    moved = jax.tree.map(
        lambda part, tangent: None if part is None else jnp.zeros_like(part) if tangent is None else tangent,
        parts,
        tuple(tangents),
        is_leaf=lambda x: x is None,
    )

    def two_rounds(parts):
        model, start, memory, ask = eqx.combine(parts, static)
        rows, held = _held(start, memory, ask)
        user = rows - held
        pushed, found = answer.push.pushed, answer
        for _ in range(2):
            end = _ended(model, start, ask, user + pushed)
            acting = quadratic(model, end) & others(model, end)
            velocity = _advanced(model, end).qvel
            found = _round(model, start, memory, ask, end, user + pushed, pushed, velocity, acting, 0)
            pushed = found.push.pushed
        return eqx.filter(found, eqx.is_inexact_array)

    return answer, jax.jvp(two_rounds, (parts,), (moved,))[1]


def _round(
    model: mjx.Model,
    start: mjx.Data,
    memory: Memory,
    ask: _Step,
    end: mjx.Data,
    rows: Float[Array, "c 6"],
    pushed: Float[Array, "c 6"],
    velocity: Float[Array, " nv"],
    acting: Bool[Array, " nefc"],
    count: Any,
) -> _Answer:
    """The ground's answer to an end of the step, and the end that it leads to."""
    found = _push(model, end, memory, ask, rows, pushed, velocity, acting)
    after = _ended(model, start, ask, found.applied)
    reached = _advanced(model, after).qvel
    off = apart(found.jacobian, reached, found.velocity, found.speed, ask.tolerance)
    return _Answer(found, _Reached.of(after), reached, off, jnp.asarray(count + 1, jnp.int32))


def _pose(data: mjx.Data) -> Pose:
    return Pose(data.xpos, data.xmat.reshape(-1, 9), data.xipos, data.subtree_com, data.cdof)


def _checked(ground: SoftGround | Medium) -> SoftGround:
    soft = ground if isinstance(ground, SoftGround) else SoftGround(ground)
    if soft.footprints is not None:
        raise OptionError("footprints are not kept in MJX: leave them out, or use sg.Simulator")
    return soft


def _sharp_enough(ground: SoftGround) -> SoftGround:
    """With temperatures that single precision resolves."""

    def warmed(medium):
        if not hasattr(medium, "eps"):
            return medium
        return eqx.tree_at(lambda one: one.eps, medium, jnp.maximum(medium.eps, EPS_SINGLE))

    return eqx.tree_at(
        lambda one: (one.medium, one.bodies),
        ground,
        (warmed(ground.medium), warmed(ground.bodies)),
        is_leaf=lambda x: x is None,
    )


def _check_integrator(integrator: int) -> None:
    if integrator not in (EULER, IMPLICITFAST):
        raise OptionError(
            "model.opt.integrator must be Euler or implicitfast, which ask for forces once a step: write "
            "model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST before mjx.put_model"
        )
