"""Simulator: any robot on any ground, one convex step at a time."""

from __future__ import annotations

import dataclasses
import os
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from softground.arrays import Array, as_float, in_precision, is_known
from softground.contact.feet import feet_in_ground
from softground.contact.guess import KEPT
from softground.contact.newton import Newton
from softground.contact.problem import StepProblem, Vectors, total
from softground.errors import OptionError, unknown_name
from softground.media.base import FootInGround, FootMedium, Medium
from softground.native.errors import NotNative
from softground.native.parts import by_native_code, say_why_not
from softground.robots import Robot
from softground.robots.base import vertical_coordinate
from softground.simulation.actuators import Control, actuator_torque
from softground.simulation.controllers import Controller, Policy, as_controller, steps_in_period
from softground.simulation.ground import Ground
from softground.simulation.groups import Group, groups_of_bodies, groups_under_feet, in_order, medium_under_feet
from softground.simulation.outcome import outcome_of, problem_of, split
from softground.simulation.slowing import slowed
from softground.simulation.treading import fresh_prints, printed, treading, treads_natively, window_apart, with_window
from softground.surfaces import Surface
from softground.terrain.footprints import Prints

if TYPE_CHECKING:
    from softground.runs import Run

Backend = Literal["auto", "native", "xla"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
#: Variable of the environment with the backend that "auto" stands for.
BACKEND_VARIABLE = "SOFTGROUND_BACKEND"
#: Steps from which on making native code takes less time than it saves, on one core.
PAYS_FROM = 200_000
#: Steps in which a robot is set down at a height: each leaves 1 - cos(slope) of the way, half of it at 60 degrees.
MOST_LIFTS = 40


class State(eqx.Module):
    """Everything that the next step depends on."""

    time: Float[Array, ""]  # s
    q: Float[Array, " nq"]  # generalised position, MuJoCo's qpos
    v: Float[Array, " nv"]  # generalised velocity, MuJoCo's qvel
    memory: tuple[Any, ...]  # of the ground, for each group of feet (`Simulator.groups`), leading axis: its members
    twists: tuple[Float[Array, "3 _ _"], ...]  # m/s, rad/s, likewise: of the last steps, latest first, surface frame
    prints: Prints | None = eqx.field(default=None, metadata={"absent_from_old_files": True})  # if the ground has any


class Record(eqx.Module):
    """One step as it happened: the state it started from, and the forces that acted during it.

    Steps of a run, and runs of a batch, stand along leading axes.
    """

    time: Float[Array, "*t"]  # s
    q: Float[Array, "*t nq"]
    v: Float[Array, "*t nv"]
    torque: Float[Array, "*t nu"]  # N m, of the actuators after clipping
    wrench_world: Float[Array, "*t f 6"]  # N, N m, on each foot about its origin
    depth: Float[Array, "*t f"]  # m, positive below the surface
    tilt: Float[Array, "*t f"]  # rad
    twist: Float[Array, "*t f n"]  # m/s, rad/s, of each foot at the end of the step, surface frame
    iterations: Int[Array, "*t"]
    converged: Bool[Array, "*t"]
    finite: Bool[Array, "*t"]
    outside_data: Bool[Array, "*t f"]
    body_wrench_world: Float[Array, "*t b 6"] | None = None  # N, N m, on each of `Robot.bodies` about its origin
    body_depth: Float[Array, "*t b"] | None = None  # m, of its deepest point


class Simulator(eqx.Module):
    """A robot on a ground, advanced in steps of `dt` seconds.

    Pure functions throughout, for `jax.jit`, `jax.vmap` and `jax.grad`. Close over the simulator, as in
    `jax.jit(lambda state: simulator.step(state))`, and the robot becomes constants of a faster program; pass it
    through `eqx.filter_jit` to differentiate with respect to what it holds. Nothing raises inside; every `Record`
    says whether its step converged, stayed finite and stayed inside the medium's data.

    backend: "xla" compiles steps with XLA; "native" makes one native function of a step (docs/native.md), some seconds
    of work once and several times faster from then on; "auto" does so for runs that are long enough to gain by it, or
    what the environment's SOFTGROUND_BACKEND says.

    >>> import softground as sg
    >>> sim = sg.Simulator(sg.Robot.load("foot"), sg.sand(), dt=0.002)
    >>> sim.run(seconds=0.01).sizes["time"]
    5
    """

    robot: Robot
    ground: Ground
    dt: Float[Array, ""]  # s
    solver: Newton
    grain_inertia: Float[Array, "n n"] | None  # kg, kg m2, of the grains that move with a foot
    has_joint_forces: bool = eqx.field(static=True)  # limits or dry friction
    backend: Backend = eqx.field(static=True)

    def __init__(
        self,
        robot: Robot,
        ground: Ground | Medium,
        dt: float = 0.002,
        *,
        solver: Newton | None = None,
        grain_inertia=None,
        backend: Backend = "auto",
    ):
        if backend == "auto":
            backend = cast(Backend, os.environ.get(BACKEND_VARIABLE, backend))
        if backend not in BACKENDS:
            raise OptionError(unknown_name("backend", backend, BACKENDS))
        if not (np.isfinite(dt) and dt > 0):
            raise OptionError(f"dt must be a positive time step in seconds, got {dt}")
        self.robot = robot
        self.ground = ground if isinstance(ground, Ground) else Ground(ground)
        self.dt = np.asarray(dt, dtype=float)
        self.solver = Newton() if solver is None else solver
        self.groups  # noqa: B018 - raises where a medium does not serve the robot
        self.grain_inertia = None if grain_inertia is None else _checked_grains(grain_inertia, self.foot_groups)
        self.has_joint_forces = bool(robot.limited) or bool(np.any(robot.friction_loss))
        self.backend = backend

    @property
    def groups(self) -> tuple[Group, ...]:
        """What meets the ground, in groups of one kind, with the ground's medium bound to them."""
        return *self.foot_groups, *groups_of_bodies(self.ground.bodies or self.ground.medium, self.robot)

    @property
    def foot_groups(self) -> tuple[Group, ...]:
        """Those of the feet, which come first."""
        return groups_under_feet(printed(self.ground.medium, self.ground.footprints), self.robot)

    @property
    def feet_medium(self) -> FootMedium:
        """What each foot meets (leading axis); MediumError where the feet are of several kinds."""
        return medium_under_feet(self.ground.medium, self.robot)

    @property
    def twist_kind(self) -> str:
        """Components of the feet's twists in records, a key of `COMPONENTS`: all where feet are of several kinds."""
        kinds = {group.medium.kind for group in self.foot_groups}
        return kinds.pop() if len(kinds) == 1 else "spatial"

    # -- states ------------------------------------------------------------------------------------------

    def initial_state(self, q=None, v=None, *, height: float | None = None, dtype=None) -> State:
        """State at rest (or with velocity v) in configuration q, by default the robot's posture.

        With `height` the robot is lifted or lowered until its lowest foot (or body that meets the ground) is that far
        above the surface.
        """
        q = as_float(self.robot.posture if q is None else q)
        v = np.zeros(self.robot.nv) if v is None else as_float(v)
        for label, value, size in (("q", q, self.robot.nq), ("v", v, self.robot.nv)):
            if value.shape != (size,):
                raise OptionError(f"{label} must have shape ({size},) for {self.robot.name}, got {value.shape}")
            if is_known(value) and not np.isfinite(value).all():
                where = np.flatnonzero(~np.isfinite(value)).tolist()
                raise OptionError(f"{label} must be finite, got {value[where]} at entries {where}")
        if height is not None and not np.isfinite(height):
            raise OptionError(f"height of the lowest foot must be finite (m), got {height}")
        dtype = jnp.zeros(()).dtype if dtype is None else dtype
        groups = self.groups
        lift = None if height is None else (vertical_coordinate(self.robot), jnp.asarray(height))
        q, memory = _start(self.robot, self.ground.surface, groups, jnp.asarray(q), lift)
        twists = tuple(np.zeros((KEPT, len(group.members), group.size)) for group in groups)
        start = jax.tree.map(lambda x: jnp.asarray(x, dtype), (0.0, q, v, memory, twists))
        return State(*start, prints=fresh_prints(self, dtype))

    # -- stepping ----------------------------------------------------------------------------------------

    def step(self, state: State, control: Control | Float[Array, " nu"] | None = None) -> tuple[State, Record]:
        """Advance by one time step under a control (a `Control`, or an array of torques)."""
        return self._stepped(Simulator._step_by_xla, state, control)

    def next_state(self, state: State, control: Control | Float[Array, " nu"] | None = None) -> State:
        """Advance by one time step, without a record of it, which native code then does not make."""
        return self._stepped(lambda *step: (Simulator._step_by_xla(*step)[0],), state, control)[0]

    def hold(self, state: State, control: Control | Float[Array, " nu"] | None, steps: int) -> tuple[State, Record]:
        """Advance by several steps under one control, which native code does in one call; the record of the last.

        >>> import softground as sg
        >>> simulator = sg.Simulator(sg.Robot.load("foot"), sg.sand(), dt=0.002)
        >>> float(simulator.hold(simulator.initial_state(), None, 5)[0].time)  # s
        0.01
        """
        if state.prints is not None:  # which are brought up to date between steps
            return _repeated(lambda now: self.step(now, control), state, steps)
        return self._stepped(partial(Simulator._hold_by_xla, steps=steps), state, control)

    def _hold_by_xla(self, state: State, control: Control, steps: int) -> tuple[State, Record]:
        return _repeated(lambda now: self._step_by_xla(now, control), state, steps)

    def _stepped(self, step, state: State, control: Control | Float[Array, " nu"] | None):
        """`step(self, state, control)`, of which the first result is the next state, by native code or by XLA."""
        control = control if isinstance(control, Control) else Control(0.0 if control is None else control)
        if self.backend == "native":
            try:
                return self._stepped_natively(step, state, control)
            except NotNative as reason:
                say_why_not("steps", str(reason))
        return treading(step)(self, state, control)

    def _stepped_natively(self, step, state: State, control: Control):
        source = self.source_of_native()
        if not treads_natively(self):
            return treading(lambda *step_of: by_native_code(step, *step_of))(source, state, control)

        def whole(simulator: Simulator, rest: State, control: Control, window=None):
            after, *record = treading(step)(simulator, with_window(rest, window), control)
            return (*window_apart(after)[:1], *record, window_apart(after)[1])

        rest, window = window_apart(state)
        after, *record, window = by_native_code(whole, source, rest, control, in_place=window)
        return with_window(after, window), *record

    def for_steps(self, steps: int) -> Simulator:
        """This simulator, with the backend "auto" decided for so many steps."""
        if self.backend != "auto":
            return self
        return self.with_backend("native" if steps >= PAYS_FROM else "xla")

    def with_backend(self, backend: Backend) -> Simulator:
        """The same with another backend."""
        return self._with(backend=backend)

    @property
    def unroll(self) -> int:
        """Steps that a loop over steps should take in a round: native code in pairs, which hand the state back and
        forth between two places. Of one step a round XLA would copy all of the state, array by array."""
        return 2 if self.backend == "native" else 1

    def source_of_native(self) -> Simulator:
        """The simulator of whose functions native code is made."""
        solver = self.solver.one_by_one() if isinstance(self.solver, Newton) else self.solver
        return self._with(backend="xla", solver=solver)

    def _with(self, **changes: Any) -> Simulator:
        """With other parts, also while it is being traced, where it cannot be built anew."""
        changed = object.__new__(type(self))
        for field in dataclasses.fields(self):
            object.__setattr__(changed, field.name, changes.get(field.name, getattr(self, field.name)))
        return changed

    def _step_by_xla(self, state: State, control: Control) -> tuple[State, Record]:
        dtype = state.q.dtype
        # Bound before they are cast: what is known stays NumPy, and becomes constants of the program.
        groups = in_precision(self.groups, dtype)
        return in_precision(self, dtype)._step(state, control, groups)

    def _step(self, state: State, control: Control, groups: tuple[Group, ...]) -> tuple[State, Record]:
        if self.grain_inertia is not None and control.position is not None:
            raise OptionError("grain_inertia goes with torques, not PD control: compute the PD torque yourself")
        robot, dt = self.robot, self.dt
        kin = robot.kinematics(state.q)
        placed = self._placed(groups, kin)
        outcome = outcome_of(self, state, control, groups, kin, placed)
        velocity, too_fast = slowed(robot, outcome.velocity, dt)
        q = robot.integrate(state.q, velocity, dt)
        twists = tuple(
            jnp.concatenate([now[None], last[:-1]]) for now, last in zip(outcome.guess, state.twists, strict=True)
        )
        after = State(state.time + dt, q, velocity, outcome.memory, twists)
        pushed = zip(groups, placed, outcome.wrenches, strict=True)
        wrench = [group.wrench_in_world(one, wrenches) for group, one, wrenches in pushed]
        feet, bodies = split(groups)
        of_feet, of_bodies = slice(len(feet)), slice(len(feet), None)
        deepest = [group.deepest(one) for group, one in zip(bodies, placed[of_bodies], strict=True)]
        record = Record(
            time=state.time,
            q=state.q,
            v=state.v,
            torque=actuator_torque(robot, state.q, velocity, control, dt),
            wrench_world=in_order(feet, wrench[of_feet]),
            depth=in_order(feet, [one.depth for one in placed[of_feet]]),
            tilt=in_order(feet, [one.tilt for one in placed[of_feet]]),
            twist=_recorded_twists(feet, outcome.twists[of_feet]),
            iterations=outcome.iterations,
            converged=outcome.converged & ~too_fast,
            finite=jnp.isfinite(q).all() & jnp.isfinite(velocity).all(),
            outside_data=in_order(
                feet, [group.outside_data(one) for group, one in zip(feet, placed[of_feet], strict=True)]
            ),
            body_wrench_world=in_order(bodies, wrench[of_bodies]) if bodies else None,
            body_depth=in_order(bodies, deepest) if bodies else None,
        )
        return after, record

    def problem(self, state: State, control: Control) -> StepProblem:
        """The convex problem of the step from this state."""
        kin, groups = self.robot.kinematics(state.q), self.groups
        return problem_of(self, state, control, groups, kin, self._placed(groups, kin))

    def energy(self, state: State) -> Float[Array, ""]:
        """Kinetic and potential energy of the robot and elastic energy of the ground, J.

        >>> import softground as sg
        >>> simulator = sg.Simulator(sg.Robot.load("foot"), sg.foam())
        >>> high, low = (simulator.energy(simulator.initial_state(height=height)) for height in (0.1, 0.0))
        >>> bool(high > low)
        True
        """
        kin, groups = self.robot.kinematics(state.q), self.groups
        stored = zip(groups, self._placed(groups, kin), state.memory, strict=True)
        elastic = [group.stored_energy(one, memory).sum() for group, one, memory in stored]
        return self.robot.kinetic_energy(kin, state.v) + self.robot.potential_energy(kin) + total(elastic)

    def _placed(self, groups: tuple[Group, ...], kin) -> list[FootInGround]:
        return [group.placed(self.robot, kin, self.ground.surface) for group in groups]

    def run(
        self,
        control: Controller | Control | Policy | Float[Array, "steps nu"] | None = None,
        seconds: float | None = None,
        *,
        period: float | None = None,
        state: State | None = None,
        height: float | None = None,
        every: int = 1,
        progress: bool = False,
        **notes,
    ) -> Run:
        """Simulate for `seconds` from a state, or from the posture `height` (m) above the ground; the `Run`.

            run = simulator.run(hold_posture(simulator.robot), seconds=1.0, height=0.02)
            run["depth"]  # m, of every foot over time

        Compiled inside, once for a simulator and a control. control: a controller, or what stands for one
        (`softground.simulation.controllers`), asked once a `period` (s), by default a step. One with `on_host = True`
        runs in Python (`softground.runs.run_closed_loop`), and a sample is then kept of every period.
        """
        from softground.runs import run, run_closed_loop  # they stand on this module

        if state is not None and height is not None:
            raise OptionError("give a state to start from or a height to start at, not both")
        start = self.initial_state(height=height) if state is None else state
        if getattr(control, "on_host", False):
            if seconds is None or every != 1:
                raise OptionError("a controller on the host needs seconds, and a sample a period: leave every out")
            host: Any = control
            return run_closed_loop(self, start, host, seconds, period=period, progress=progress, **notes)
        return run(self, start, control, seconds, period=period, every=every, progress=progress, **notes)

    # -- many steps --------------------------------------------------------------------------------------

    def rollout(
        self,
        state: State,
        control: Controller | Control | Policy | Float[Array, "steps nu"] | None = None,
        steps: int | None = None,
        *,
        period: float | None = None,
    ) -> tuple[State, Record]:
        """Many steps in one compiled loop. Records have a leading axis of steps.

        `control` is a controller, or what stands for one (`softground.simulation.controllers`): torques (steps, nu), a
        `Control` held throughout, a function state -> Control. period: between two calls of it (s), by default a step.
        """
        if isinstance(control, jax.Array | np.ndarray) and period is None:
            here = self.for_steps(len(control))
            return jax.lax.scan(lambda s, torque: here.step(s, torque), state, control, unroll=here.unroll)
        if steps is None:
            raise OptionError("rollout needs the number of steps unless it is given torques, one row for every step")
        every = 1 if period is None else steps_in_period(float(self.dt), period)
        controller = as_controller(control, self.dt, state.time, every)
        here = self.for_steps(steps)

        def advance(carry, _):
            state, memory = carry
            memory, now = controller(memory, state)
            state, record = here.step(state, now)
            return (state, memory), record

        start = state, controller.init(state)
        (final, _), records = jax.lax.scan(advance, start, None, length=steps, unroll=here.unroll)
        return final, records


def _repeated(step, state: State, steps: int) -> tuple[State, Record]:
    """Steps in a row, in a loop that has the code of one: the state after them, and the record of the last."""
    blank = jax.tree.map(lambda part: jnp.zeros(part.shape, part.dtype), jax.eval_shape(step, state)[1])
    return jax.lax.scan(lambda carry, _: (step(carry[0]), None), (state, blank), None, length=steps)[0]


def _checked_grains(grain_inertia, feet: tuple[Group, ...]) -> np.ndarray:
    """Inertia (n, n) of grains that go along with a foot, from its diagonal or as it is; OptionError if it is none."""
    if len(feet) != 1:
        raise OptionError("grain_inertia is for feet of one kind: give all feet shapes of one type")
    size, kind = feet[0].size, feet[0].medium.kind
    grains = np.asarray(grain_inertia, dtype=float)
    grains = np.diag(grains) if grains.ndim == 1 else grains
    sound = grains.shape == (size, size) and np.isfinite(grains).all() and np.allclose(grains, grains.T)
    if not sound or not (np.linalg.eigvalsh(grains) >= 0).all():
        raise OptionError(
            f"grain_inertia must be {size} diagonal entries or a positive semidefinite {size} x {size} "
            f"matrix for a {kind} contact, got shape {np.shape(grain_inertia)}"
        )
    return grains


_feet_in_ground = eqx.filter_jit(feet_in_ground)


def feet_of(simulator: Simulator, q: Float[Array, " nq"]) -> FootInGround:
    """Every foot of the robot in the ground (leading axis), in a configuration."""
    return _feet_in_ground(simulator.robot, jnp.asarray(q), simulator.ground.surface)


def _recorded_twists(groups: tuple[Group, ...], twists: Vectors) -> Float[Array, "F n"]:
    """Twists of all feet, in the components that their groups share, or in all."""
    if len({group.medium.kind for group in groups}) > 1:
        twists = tuple(group.all_components(of) for group, of in zip(groups, twists, strict=True))
    return in_order(groups, twists)


@eqx.filter_jit
def _start(robot: Robot, surface: Surface, groups: tuple[Group, ...], q: Float[Array, " nq"], lift):
    """Configuration and memory of the ground at the start.

    lift: index of the coordinate that is changed, and the height (m) above the surface at which the lowest foot or body
    ends; None leaves q as it is.
    """
    bodies = split(groups)[1]

    def depth(q):
        of_bodies = [group.deepest(group.placed(robot, q, surface)).max() for group in bodies]
        return reduce(jnp.maximum, of_bodies, feet_in_ground(robot, q, surface).depth.max())

    def nearer(_, q):  # on a slope what is nearest to the ground may change on the way
        return q.at[lift[0]].add(depth(q) + lift[1])

    q = q if lift is None else jax.lax.fori_loop(0, MOST_LIFTS, nearer, q)
    return q, tuple(group.initial_memory(group.placed(robot, q, surface)) for group in groups)
