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
from softground.validation.through_grains import HEADROOM, ROOM, SHANK, stances_near_ground

PERIOD = 1e-3
"""Of a turn, s."""
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
    """A foot and its bed: laid when the foot comes down, gone when it is out of the grains."""

    def __init__(self, name: str, rig: DemRig, seeds: Sequence[int], landing: Callable[[float], float], period: float):
        self.name, self.rig, self.landing, self.period = name, rig, landing, period
        self._seeds, self._beds = list(seeds), 0
        self._box: GrainBox | None = None
        self._carried: CarriedFoot | None = None
        self._origin = np.zeros(3)  # of the box's axes, world

    def __enter__(self) -> FootInGrains:
        return self

    def __exit__(self, *_) -> None:
        self._leave()

    def lowest(self, pose: Pose) -> float:
        """Height of the sole's lower edge over the surface, m."""
        return pose.z - self.rig.foot.extent[0] / 2 * abs(np.sin(pose.pitch))

    def begin(self, pose: Pose, time: float) -> np.ndarray:
        """The wrench (3,) at the start."""
        if self.lowest(pose) < 0:
            self._lay(pose, time)
            return self._to(pose)
        return np.zeros(3)

    def moved(self, before: Pose, after: Pose, time: float) -> np.ndarray:
        """The wrench (fx, fz, ty; N, N m about the sole's centre) at the end of a turn that ends at `time` (s)."""
        if self._carried is None:
            bed = self.rig.bed(self._seed)
            above = bed.top - bed.surface + self.rig.grains.radius
            if after.z >= before.z or self.lowest(after) > above:
                return np.zeros(3)
            self._lay(before, time)
        wrench = self._to(after)
        if not wrench.any() and self.lowest(after) > 0 and after.z > before.z:
            self._leave()
        return wrench

    @property
    def _seed(self) -> int:
        return self._seeds[self._beds % len(self._seeds)]

    def _lay(self, pose: Pose, time: float) -> None:
        bed = self.rig.bed(self._seed)
        self._beds += 1
        self._origin = np.array([self.landing(time), 0.0, -bed.surface])
        self._box = bed.open(HEADROOM)
        self._box.run(self.rig.rest)
        start = FootPath(self._checked(pose.centre - self._origin), pose.pitch, np.zeros(3), 0.0, self.period)
        self.rig._approach(self._box, start, bed.top)
        self._box.divide(self.period)
        self._carried = self._box.carry(self.rig.foot, start)

    def _to(self, pose: Pose) -> np.ndarray:
        assert self._carried is not None
        return self._carried.to(self._checked(pose.centre - self._origin), pose.pitch, self.period)[PLANAR]

    def _checked(self, centre: np.ndarray) -> np.ndarray:
        container, reach = self.rig.container, self.rig.foot.extent[0] / 2
        if abs(centre[0]) + reach > container.length / 2 - 2 * self.rig.grains.radius:
            raise ExperimentError(
                f"foot {self.name} went {abs(centre[0]):.2f} m from where it was expected, out of a box of "
                f"{container.length:g} m: make the box longer"
            )
        if centre[2] - reach < 2 * self.rig.grains.radius:
            raise ExperimentError(f"foot {self.name} met the floor of its bed: fill the container higher")
        return centre

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

    def row(self) -> dict[str, dict[str, float]]:
        """Way (m), mean depth of the feet that are in the ground (m), and whether it fell, of both."""
        return {name: _measured(run) for name, run in (("law", self.law), ("grains", self.grains))}

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
        "fell": float(run.fall() is not None),
    }


def walk_in_grains(
    simulator: Simulator,
    controller: Any,
    state: State,
    seconds: float,
    grains: Grains,
    seeds: Sequence[int] = (11, 12),
    container: Container = ROOM,
    on_turn: Callable[[float], None] = lambda time: None,
) -> WalkedInGrains:
    """A planar walk on level ground, on the simulator's own law and in grains, from one state.

    The law's walk comes first and says where feet land, which is where their beds are laid. simulator: its time step is
    that of a turn, and the controller's. seeds: of the beds, which feet take one after the other.
    """
    require_double("a walk in grains")
    robot = simulator.robot
    surface = simulator.ground.surface
    if not (isinstance(surface, Plane) and surface.slope == 0 and robot.planar):
        raise ExperimentError(
            "grains lie level and feet move in a plane: only planar robots on level ground walk there"
        )
    law = simulator.run(controller, seconds, state=state)
    landings = landings_of(law)
    feet = []
    for number, foot in enumerate(robot.feet):
        if not isinstance(foot.shape, Cylinder | Box):
            raise ExperimentError(f"the DEM rig drives cylinders and boxes, foot {foot.name} is {foot.shape!r}")
        shape = replace(foot.shape, **{"length" if isinstance(foot.shape, Cylinder) else "height": SHANK})
        rig = DemRig(shape, grains, container, approach_speed=1.0)
        turn = number % len(seeds)
        order = [*seeds[turn:], *seeds[:turn]]
        feet.append(FootInGrains(foot.name, rig, order, landings[number], float(simulator.dt)))
    return WalkedInGrains(law, _coupled(simulator, controller, state, seconds, feet, on_turn))


def landings_of(run: Run) -> list[Callable[[float], float]]:
    """For each foot: the middle of the stance (x, m) that is nearest to a time (s) of a run."""
    time, x, depth = run["time"].values, run.foot_poses()[0][..., 0], run["depth"].values
    found = []
    for foot in range(x.shape[1]):
        stances = stances_near_ground(depth[:, foot])
        if not stances:
            raise ExperimentError(f"foot {run.robot.feet[foot].name} never comes near the ground in this walk")
        spans = np.array([[time[first], time[last - 1]] for first, last in stances])
        places = np.array([(x[a:b, foot].min() + x[a:b, foot].max()) / 2 for a, b in stances])
        found.append(lambda now, spans=spans, places=places: float(places[_nearest(spans, now)]))
    return found


def _nearest(spans: np.ndarray, time: float) -> int:
    """The interval that holds a time, or comes nearest to it."""
    return int(np.argmin(np.maximum(np.maximum(spans[:, 0] - time, time - spans[:, 1]), 0.0)))


def _coupled(simulator: Simulator, controller, state: State, seconds: float, feet, on_turn) -> Run:
    given = Simulator(simulator.robot, Ground(Given(), simulator.ground.surface), float(simulator.dt))
    tick, pose_of, controller = _programs(given, controller, state)
    now = replace(given.initial_state(state.q, state.v), time=state.time)
    memory, records = controller.init(now), []
    fallen, ended = FallWatch(simulator, np.asarray(state.q)), "finished"
    poses = pose_of(now.q)
    try:
        wrenches = np.array([foot.begin(pose, float(now.time)) for foot, pose in zip(feet, poses, strict=True)])
        for turn in range(round(seconds / float(simulator.dt))):
            now, memory, record = tick(replace(now, memory=(wrenches,)), memory)
            records.append(jax.tree.map(np.asarray, record))
            if not records[-1].finite:
                ended = "non-finite"
                break
            before, poses = poses, pose_of(now.q)
            wrenches = np.array(
                [foot.moved(*pair, float(now.time)) for foot, *pair in zip(feet, before, poses, strict=True)]
            )
            if turn % 10 == 0:
                on_turn(float(now.time))
                if reason := fallen(np.asarray(now.q)):
                    ended = FALLEN + reason
                    break
    finally:
        for foot in feet:
            foot.__exit__()
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
