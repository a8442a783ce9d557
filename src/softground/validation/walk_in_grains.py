"""A robot that walks on grains: its motion by our dynamics, the ground under each of its feet by grains.

Here the ground answers to the robot and the robot to the ground, where `through_grains` drives feet along a motion that
is given. The two take turns of a millisecond. The robot steps with the wrenches that the grains put on its feet at the
end of the turn before (`Given`), under its controller and with its servos taken implicitly as ever; then every foot
is carried through its bed to where it is now, at constant velocity, and the wrench of its contacts is read there.

Taken at the start of a step like this the ground is a spring of stiffness k on the mass m that a foot stands for:
stable for steps below 2 (m/k)^(1/2). A foot of 5 cm radius on a dozen beads of 10 MPa has k of some 3e5 N/m, limbs have
m of a few kilograms, so 6 ms or more; a shorter turn tells whether it was short enough.

Each foot has a bed of its own, laid afresh when it comes down: in another foot's print, or under feet that are close
to one another, grains do what these do not. A foot that is in the ground at the start is first pushed straight down to
its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array, require_double
from softground.contact.feet import feet_in_ground
from softground.errors import ExperimentError
from softground.experiments.rigs.dem import Container, DemRig, Grains
from softground.experiments.rigs.dem.engine import CarriedFoot, FootPath, GrainBox
from softground.media.base import COMPONENTS, FootInGround, FootMedium, Law
from softground.robots.shapes import Box, Cylinder
from softground.runs import Run
from softground.runs.dataset import RunInfo
from softground.runs.verdict import FALLEN, FallWatch
from softground.simulation import Ground, Simulator, State
from softground.simulation.controllers import TorqueSequence, as_controller
from softground.surfaces import Plane
from softground.validation.through_grains import HEADROOM, ROOM, SHANK, refuse_thrown

PERIOD = 1e-3
"""Of a turn, s."""
LONG = replace(ROOM, length=1.1)
"""Room for a foot that drags through the ground as it swings: RoboSimian's strides are 0.6 m."""
GLIDES, FARTHEST = 0.1, 0.15
"""For how long (s) a foot goes on as it comes down, and how far (m) at most, until half of its way in the grains."""
LOOK_EVERY = 10
"""Turns between two looks whether the robot has fallen."""
PLANAR = COMPONENTS["planar"]


class GivenLaw(Law):
    """Phi(u) = -w.u: the wrench is w, whatever the twist."""

    given: Float[Array, " n"]

    def potential(self, twist):
        return -self.given @ twist

    def wrench(self, twist):
        return self.given

    def response(self, twist):
        return self.given, jnp.zeros((len(twist), len(twist)), twist.dtype)


class Given(FootMedium):
    """Wrenches that something else computes: a foot's memory is the wrench on it (fx, fz, ty; N, N m) in this step."""

    name = "given"
    kind: str = eqx.field(default="planar", static=True)

    def initial_memory(self, foot: FootInGround) -> Float[Array, "3"]:
        return jnp.zeros(3)

    def law(self, foot, memory, dt) -> GivenLaw:
        return GivenLaw(memory)


class Pose(NamedTuple):
    """Of a foot in the plane."""

    x: float  # m, of the sole's centre
    z: float  # m, over the surface
    pitch: float  # rad

    @property
    def centre(self) -> np.ndarray:
        return np.array([self.x, 0.0, self.z])


class FootInGrains:
    """A foot and its bed: laid where the foot comes down, gone when it is out of the grains."""

    def __init__(self, name: str, rig: DemRig, seeds: Sequence[int], period: float):
        self.name, self.rig, self.period = name, rig, period
        self._seeds, self._laid = list(seeds), 0
        self._box: GrainBox | None = None
        self._carried: CarriedFoot | None = None
        self._origin = np.zeros(3)  # of the box's axes, world

    def __enter__(self) -> FootInGrains:
        return self

    def __exit__(self, *_) -> None:
        self._leave()

    @property
    def reach(self) -> float:
        """From the sole's centre to its edge, m."""
        return self.rig.foot.extent[0] / 2

    def lowest(self, pose: Pose) -> float:
        """Height of the sole's lower edge over the surface, m."""
        return pose.z - self.reach * abs(np.sin(pose.pitch))

    def begin(self, pose: Pose, way: float) -> np.ndarray:
        """The wrench (3,) at the start. way: along x that the robot has before it, m."""
        if self.lowest(pose) >= 0:
            return np.zeros(3)
        self._lay(pose, pose.x + float(np.clip(way / 2, -FARTHEST, FARTHEST)))
        return self._to(pose)

    def moved(self, before: Pose, after: Pose) -> np.ndarray:
        """The wrench (fx, fz, ty; N, N m about the sole's centre) at the end of a turn in which the foot moved so."""
        if self._carried is None:
            bed = self.rig.bed(self._next_seed)
            above = bed.top - bed.surface + self.rig.grains.radius
            if after.z >= before.z or self.lowest(after) > above:
                return np.zeros(3)
            self._lay(before, self._ahead(before, after))
        if not self._has_room(after):
            raise ExperimentError(f"foot {self.name} went out of its box of grains: make it longer or fill it higher")
        wrench = self._to(after)
        away = self.lowest(after) > 0 and not wrench.any()
        if away and (after.z > before.z or not self._has_room(after, 2 * abs(after.x - before.x))):
            self._leave()
        return wrench

    @property
    def _next_seed(self) -> int:
        return self._seeds[self._laid % len(self._seeds)]

    def _ahead(self, before: Pose, after: Pose) -> float:
        """Where (x, m) the middle of the way is that a foot which comes down like this has before it."""
        return after.x + float(np.clip((after.x - before.x) / self.period * GLIDES, -FARTHEST, FARTHEST))

    def _lay(self, pose: Pose, x: float) -> None:
        """The next bed, its middle at x (m), and the foot pushed into it straight down to where it is."""
        bed = self.rig.bed(self._next_seed)
        self._laid += 1
        self._origin = np.array([x, 0.0, -bed.surface])
        if not self._has_room(pose):
            raise ExperimentError(f"foot {self.name} starts too deep, or moves too fast, for its box of grains")
        self._box = bed.open(HEADROOM)
        self._box.run(self.rig.rest)
        start = FootPath(pose.centre - self._origin, pose.pitch, np.zeros(3), 0.0, self.period)
        self.rig._approach(self._box, start, bed.top)
        self._box.divide(self.period)
        self._box.let_fly()
        self._carried = self._box.carry(self.rig.foot, start)

    def _to(self, pose: Pose) -> np.ndarray:
        assert self._box is not None
        assert self._carried is not None
        wrench = self._carried.to(pose.centre - self._origin, pose.pitch, self.period)[PLANAR]
        refuse_thrown(self._box, self.name)
        return wrench

    def _has_room(self, pose: Pose, margin: float = 0.0) -> bool:
        """Whether the foot is inside the box, two radii of a grain and a margin (m) away from its walls and floor."""
        inside = pose.centre - self._origin
        free = 2 * self.rig.grains.radius + self.reach + margin
        return abs(inside[0]) <= self.rig.container.length / 2 - free and inside[2] >= free - self.reach

    def _leave(self) -> None:
        if self._box is not None and self._carried is not None:
            self._carried.take_away()
            self._box.__exit__()
        self._box = self._carried = None


@dataclass(frozen=True)
class WalkedInGrains:
    """One walk, by the law that it was made on and by grains."""

    law: Run
    grains: Run

    @property
    def ended(self) -> str:
        """How the walk in grains ended: "finished", or why it did not."""
        return str(self.grains.attrs["ended"])

    def row(self) -> dict[str, dict[str, float]]:
        """Way (m), mean depth of the feet that are in the ground (m), and whether it fell, of both, over the time that
        the robot walked in grains."""
        law = self.law.isel(time=slice(len(self.grains["time"])))
        return {name: _measured(run) for name, run in (("law", law), ("grains", self.grains))}

    def differences(self) -> dict[str, float]:
        """Of the grains' way and depth from the law's, relative to the law's."""
        law, grains = self.row().values()
        return {name: grains[name] / law[name] - 1 for name in ("way (m)", "depth (m)")}


def _measured(run: Run) -> dict[str, float]:
    depth, way = run["depth"].values, run["center_of_mass"].values[:, 0]
    return {
        "way (m)": float(way[-1] - way[0]),
        "depth (m)": float(depth[depth > 0].mean()) if (depth > 0).any() else 0.0,
        "deepest (m)": float(depth.max()),
        "load (N)": float(run["wrench_world"].values[..., 2].sum(1).mean()),
        "seconds": float(np.ptp(run["time"].values)),
        "fell": float(run.fall() is not None),
    }


def walk_in_grains(
    simulator: Simulator,
    controller: Any,
    state: State,
    seconds: float,
    grains: Grains,
    seeds: Sequence[int] = (11, 12),
    container: Container = LONG,
    on_turn: Callable[[float], None] = lambda time: None,
) -> WalkedInGrains:
    """A planar walk on level ground, on the simulator's own law and in grains, from one state.

    simulator: its time step is that of a turn, and the controller's. seeds: of the beds, which feet take one after the
    other.
    """
    require_double("a walk in grains")
    surface = simulator.ground.surface
    if not (isinstance(surface, Plane) and surface.slope == 0 and simulator.robot.planar):
        raise ExperimentError(
            "grains lie level and feet move in a plane: only planar robots on level ground walk there"
        )
    feet = feet_in_grains(simulator, grains, seeds, container)
    law = simulator.run(controller, seconds, state=state)
    way = _measured(law)["way (m)"]
    return WalkedInGrains(law, _coupled(simulator, controller, state, seconds, feet, way, on_turn))


def feet_in_grains(simulator: Simulator, grains: Grains, seeds: Sequence[int], container: Container):
    """The feet of a robot, each with its rig."""
    found = []
    for number, foot in enumerate(simulator.robot.feet):
        if not isinstance(foot.shape, Cylinder | Box):
            raise ExperimentError(f"the DEM rig drives cylinders and boxes, foot {foot.name} is {foot.shape!r}")
        shape = replace(foot.shape, **{"length" if isinstance(foot.shape, Cylinder) else "height": SHANK})
        rig = DemRig(shape, grains, container, approach_speed=1.0)
        turn = number % len(seeds)
        found.append(FootInGrains(foot.name, rig, [*seeds[turn:], *seeds[:turn]], float(simulator.dt)))
    return found


def _coupled(
    simulator: Simulator, controller, state: State, seconds: float, feet: list[FootInGrains], way: float, on_turn
) -> Run:
    given = Simulator(simulator.robot, Ground(Given(), simulator.ground.surface), float(simulator.dt))
    tick, pose_of, controller = _programs(given, controller, state)
    now = replace(given.initial_state(state.q, state.v), time=state.time)
    memory, records = controller.init(now), []
    fallen, ended = FallWatch(simulator, np.asarray(state.q)), "finished"
    poses = pose_of(now.q)
    with ExitStack() as stack:
        for foot in feet:
            stack.enter_context(foot)
        wrenches = np.array([foot.begin(pose, way) for foot, pose in zip(feet, poses, strict=True)])
        for turn in range(round(seconds / float(simulator.dt))):
            now, memory, record = tick(replace(now, memory=(wrenches,)), memory)
            records.append(jax.tree.map(np.asarray, record))
            if not records[-1].finite:
                ended = "non-finite"
                break
            if turn % LOOK_EVERY == 0 and (reason := fallen(np.asarray(now.q))):
                ended = FALLEN + reason
                break
            before, poses = poses, pose_of(now.q)
            try:  # what was walked until something ends it is kept: minutes of work
                wrenches = np.array([foot.moved(*pair) for foot, *pair in zip(feet, before, poses, strict=True)])
                on_turn(float(now.time))
            except ExperimentError as reason:
                ended = str(reason)
                break
            except KeyboardInterrupt:
                ended = "interrupted"
                break
    history = jax.tree.map(lambda *parts: np.stack(parts), *records)
    return _run_of(simulator, state, now, history, ended)


def _programs(given: Simulator, controller, state: State):
    """Compiled: a turn of the robot, and the poses of its feet; and the controller as an object."""
    controller = as_controller(controller, given.dt, state.time, 1)

    @jax.jit
    def tick(state: State, memory):
        memory, control = controller(memory, state)
        after, record = given.step(state, control)
        return after, memory, record

    @jax.jit
    def placed(q):
        feet = feet_in_ground(given.robot, given.robot.kinematics(q), given.ground.surface)
        return jnp.stack([feet.position[:, 0], -feet.depth, feet.tilt], axis=1)

    return tick, lambda q: [Pose(*row) for row in np.asarray(placed(q)).tolist()], controller


def _run_of(simulator: Simulator, state: State, final: State, history, ended: str) -> Run:
    """The walk as a run: of the law's simulator, whose ground it is told beside, with the wrenches of the grains."""
    last = replace(simulator.initial_state(final.q, final.v), time=final.time)
    control = TorqueSequence(history.torque, np.asarray(simulator.dt), np.asarray(state.time), 1)
    info = RunInfo(
        steps=len(history.time),
        not_converged=int((~history.converged).sum()),
        outside_data=0,
        iterations=int(history.iterations.sum()),
        ended=ended,
        title=f"{simulator.robot.name} in grains",
    )
    return Run.of(simulator, state, last, history, control, info)
