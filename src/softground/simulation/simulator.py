"""Simulator: any robot on any ground, one convex step at a time."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from softground.arrays import Array, as_float, is_known
from softground.contact.feet import contact_jacobian, feet_in_ground, wrench_in_world
from softground.contact.grains import metric_with_grains
from softground.contact.guess import Guess
from softground.contact.linear import solve_spd
from softground.contact.newton import Newton
from softground.contact.problem import StepProblem, product
from softground.contact.solve import solve
from softground.errors import OptionError, unknown_name
from softground.media.base import COMPONENTS, FootInGround, FootMedium, Medium
from softground.native.errors import NotNative
from softground.robots import Robot
from softground.robots.base import vertical_coordinate
from softground.simulation.actuators import Control, actuator_torque, joint_law, open_loop_force
from softground.simulation.controllers import Controller, Policy, as_controller, steps_in_period
from softground.simulation.ground import Ground, medium_under_feet
from softground.simulation.native_step import PAYS_FROM, native_step, say_why_not
from softground.surfaces import Surface

if TYPE_CHECKING:
    from softground.runs import Run

Backend = Literal["auto", "native", "xla"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
#: Steps in which a robot is set down at a height: each leaves 1 - cos(slope) of the way, half of it at 60 degrees.
MOST_LIFTS = 40


class State(eqx.Module):
    """Everything that the next step depends on."""

    time: Float[Array, ""]  # s
    q: Float[Array, " nq"]  # generalised position, MuJoCo's qpos
    v: Float[Array, " nv"]  # generalised velocity, MuJoCo's qvel
    memory: Any  # of the ground, per foot
    twists: Float[Array, "2 f n"]  # m/s, rad/s, of the feet in the last step and the one before, surface frame


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


class Simulator(eqx.Module):
    """A robot on a ground, advanced in steps of `dt` seconds.

    Pure functions throughout, for `jax.jit`, `jax.vmap` and `jax.grad`. Close over the simulator, as in
    `jax.jit(lambda state: simulator.step(state))`, and the robot becomes constants of a faster program; pass it
    through `eqx.filter_jit` to differentiate with respect to what it holds. Nothing raises inside; every `Record`
    says whether its step converged, stayed finite and stayed inside the medium's data.

    backend: "xla" compiles steps with XLA; "native" makes one native function of a step (docs/native.md), some seconds
    of work once and several times faster from then on; "auto" does so for runs that are long enough to gain by it.

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
        if backend not in BACKENDS:
            raise OptionError(unknown_name("backend", backend, BACKENDS))
        if not (np.isfinite(dt) and dt > 0):
            raise OptionError(f"dt must be a positive time step in seconds, got {dt}")
        self.robot = robot
        self.ground = ground if isinstance(ground, Ground) else Ground(ground)
        self.dt = np.asarray(dt, dtype=float)
        self.solver = Newton() if solver is None else solver
        kind = self.feet_medium.kind  # raises where a medium does not serve the robot's feet
        self.grain_inertia = None if grain_inertia is None else _checked_grains(grain_inertia, kind)
        self.has_joint_forces = bool(robot.limited) or bool(np.any(robot.friction_loss))
        self.backend = backend

    @property
    def feet_medium(self) -> FootMedium:
        """What each foot meets (leading axis): the ground's medium, bound to the robot's feet."""
        return medium_under_feet(self.ground.medium, self.robot)

    # -- states ------------------------------------------------------------------------------------------

    def initial_state(self, q=None, v=None, *, height: float | None = None, dtype=None) -> State:
        """State at rest (or with velocity v) in configuration q, by default the robot's posture.

        With `height` the robot is lifted or lowered until its lowest foot is that far above the surface.
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
        medium = self.feet_medium
        n_feet, size = len(self.robot.feet), len(COMPONENTS[medium.kind])
        lift = None if height is None else (vertical_coordinate(self.robot), jnp.asarray(height))
        q, memory = _start(self.robot, self.ground.surface, medium, jnp.asarray(q), lift)
        cast = lambda tree: jax.tree.map(lambda x: jnp.asarray(x, dtype), tree)  # noqa: E731
        return State(*cast((0.0, q, v, memory, np.zeros((2, n_feet, size)))))

    # -- stepping ----------------------------------------------------------------------------------------

    def step(self, state: State, control: Control | Float[Array, " nu"] | None = None) -> tuple[State, Record]:
        """Advance by one time step under a control (a `Control`, or an array of torques)."""
        return self._stepped(Simulator._step_by_xla, state, control)

    def next_state(self, state: State, control: Control | Float[Array, " nu"] | None = None) -> State:
        """Advance by one time step, without a record of it, which native code then does not make."""
        return self._stepped(lambda *step: Simulator._step_by_xla(*step)[0], state, control)

    def _stepped(self, step, state: State, control: Control | Float[Array, " nu"] | None):
        """`step(self, state, control)` by native code or by XLA."""
        control = control if isinstance(control, Control) else Control(0.0 if control is None else control)
        if self.backend == "native":
            try:
                return native_step(step, self, state, control)
            except NotNative as reason:
                say_why_not(str(reason))
        return step(self, state, control)

    def for_steps(self, steps: int) -> Simulator:
        """This simulator, with the backend "auto" decided for so many steps."""
        if self.backend != "auto":
            return self
        return _with_backend(self, "native" if steps >= PAYS_FROM else "xla")

    def _step_by_xla(self, state: State, control: Control) -> tuple[State, Record]:
        dtype = state.q.dtype
        # Bound before it is cast: what is known stays NumPy, and becomes constants of the program.
        medium = _as_floats(self.feet_medium, dtype)
        return _as_floats(self, dtype)._step(state, control, medium)

    def _step(self, state: State, control: Control, medium: FootMedium) -> tuple[State, Record]:
        if self.grain_inertia is not None and control.position is not None:
            raise OptionError("grain_inertia goes with torques, not PD control: compute the PD torque yourself")
        robot, dt = self.robot, self.dt
        kin = robot.kinematics(state.q)
        feet = feet_in_ground(robot, kin, self.ground.surface)
        problem, mass = self._problem(state, control, medium, kin, feet)
        solution = solve(problem, Guess(state.v, state.twists), self.solver)
        velocity = solution.velocity
        if self.grain_inertia is not None:
            impulse = dt * problem.generalised(solution.wrenches, solution.joint_force)
            velocity = solve_spd(mass, problem.momentum + impulse)
        q = robot.integrate(state.q, velocity, dt)
        foot_twists = solution.twists if self.grain_inertia is None else problem.twists(velocity)
        memory = jax.vmap(lambda medium, *args: medium.remember(*args, dt))(
            medium, feet, state.memory, problem.laws, foot_twists
        )
        twists = jnp.stack([solution.twists, state.twists[0]])
        after = State(state.time + dt, q, velocity, memory, twists)
        record = Record(
            time=state.time,
            q=state.q,
            v=state.v,
            torque=actuator_torque(robot, state.q, velocity, control, dt),
            wrench_world=wrench_in_world(feet, solution.wrenches, medium),
            depth=feet.depth,
            tilt=feet.tilt,
            twist=foot_twists,
            iterations=solution.iterations,
            converged=solution.converged,
            finite=jnp.isfinite(q).all() & jnp.isfinite(velocity).all(),
            outside_data=jax.vmap(lambda medium, foot: medium.outside_data(foot))(medium, feet),
        )
        return after, record

    def problem(self, state: State, control: Control) -> StepProblem:
        """The convex problem of the step from this state."""
        kin = self.robot.kinematics(state.q)
        feet = feet_in_ground(self.robot, kin, self.ground.surface)
        return self._problem(state, control, self.feet_medium, kin, feet)[0]

    def _problem(self, state: State, control: Control, medium: FootMedium, kin, feet: FootInGround):
        """The convex problem of this step, and the mass matrix of the robot (with joint damping)."""
        robot, dt = self.robot, self.dt
        inertia = robot.mass_matrix(kin)
        mass = inertia + dt * jnp.diag(robot.damping)
        springs = robot.passive_force(kin, jnp.zeros_like(state.v))
        drive = springs - robot.bias_force(kin, state.v) + open_loop_force(robot, control, state.v.dtype)
        foot_jacobians = robot.foot_jacobians(kin)
        jacobian = contact_jacobian(feet, foot_jacobians, medium)
        metric = mass
        if self.grain_inertia is not None:
            touching = (feet.depth > 0)[:, None, None] * self.grain_inertia
            sole = contact_jacobian(feet, foot_jacobians, medium, at_sole=True)
            metric = metric_with_grains(mass, sole, touching)
        laws = jax.vmap(lambda medium, *args: medium.law(*args, dt))(medium, feet, state.memory)
        joints = None
        if self.has_joint_forces or control.position is not None:
            joints = joint_law(robot, state.q, control, jnp.diag(inertia), dt)
        problem = StepProblem(
            metric=metric,
            momentum=product(inertia, state.v) + dt * drive,
            jacobian=jacobian,
            laws=laws,
            joints=joints,
            dt=dt,
        )
        return problem, mass

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
            return jax.lax.scan(lambda s, torque: here.step(s, torque), state, control)
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

        (final, _), records = jax.lax.scan(advance, (state, controller.init(state)), None, length=steps)
        return final, records


def _with_backend(simulator: Simulator, backend: Backend) -> Simulator:
    """The same with another backend, also while it is being traced, where it cannot be built anew."""
    changed = object.__new__(type(simulator))
    for field in dataclasses.fields(simulator):
        value = backend if field.name == "backend" else getattr(simulator, field.name)
        object.__setattr__(changed, field.name, value)
    return changed


def _checked_grains(grain_inertia, kind: str) -> np.ndarray:
    """Inertia (n, n) of grains that go along with a foot, from its diagonal or as it is; OptionError if it is none."""
    size = len(COMPONENTS[kind])
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


@eqx.filter_jit
def _start(robot: Robot, surface: Surface, medium: FootMedium, q: Float[Array, " nq"], lift) -> tuple[Array, Any]:
    """Configuration and memory of the ground at the start.

    lift: index of the coordinate that is changed, and the height (m) above the surface at which the lowest foot ends;
    None leaves q as it is.
    """

    def nearer(_, q):  # on a slope the foot nearest to the ground may change on the way
        return q.at[lift[0]].add(feet_in_ground(robot, q, surface).depth.max() + lift[1])

    q = q if lift is None else jax.lax.fori_loop(0, MOST_LIFTS, nearer, q)
    feet = feet_in_ground(robot, q, surface)
    return q, jax.vmap(lambda medium, foot: medium.initial_memory(foot))(medium, feet)


def _as_floats(tree: Any, dtype) -> Any:
    """A pytree with its floating-point arrays in one precision."""
    return jax.tree.map(lambda x: jnp.asarray(x, dtype) if _is_float(x) else x, tree)


def _is_float(x) -> bool:
    return isinstance(x, (jax.Array, np.ndarray)) and jnp.issubdtype(x.dtype, jnp.floating)
