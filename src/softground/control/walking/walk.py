"""Walk a robot over visco-elastic ground, from a command to a run, and say how it went."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np
from jaxtyping import Float

from softground.control.estimation import Estimator
from softground.control.walking.footsteps import footsteps
from softground.control.walking.gait import Gait, Stance
from softground.control.walking.pattern import WalkingPattern, walking_pattern
from softground.control.walking.walker import Walker
from softground.control.whole_body.controller import WholeBodyController
from softground.errors import OptionError
from softground.media import Medium, Noisy, ViscoElastic
from softground.media.visco_elastic import Stretches
from softground.media.visco_elastic.fields import Coefficient, value_at
from softground.robots import Robot
from softground.runs import Run, run_closed_loop
from softground.runs.verdict import FALLEN
from softground.simulation import Simulator, State
from softground.surfaces import Plane

#: A walk has lost its reference when the centre of mass is further from it than this (m).
LOST = 0.05
#: Greatest time step on visco-elastic ground under a controller that feels it, of the ground's b / k.
RELAXED = 0.2


@dataclass(frozen=True)
class Command:
    """Where to walk."""

    speed: float  # m/s, mean of full steps
    turn_rate: float = 0.0  # rad/s
    seconds: float = 10.0


@dataclass(frozen=True)
class Belief:
    """What the controller takes the ground for."""

    stiffness: float  # N/m per m2
    damping: float  # N s/m per m2
    estimator: Estimator | None = None
    """Learns from there on; None: believes it to the end."""


@dataclass(frozen=True)
class Verdict:
    """How a walk went. Success: to its end, upright, never lost, without a failure of the controller."""

    success: bool
    fell: bool
    ended: str
    seconds: float
    com_error_max_mm: float
    com_error_rms_mm: float
    controller_failures: int
    controller_ms_mean: float
    controller_ms_p99: float
    real_time_factor: float

    def as_dict(self) -> dict:
        return asdict(self)


def walk(
    simulator: Simulator,
    controller: WholeBodyController,
    gait: Gait,
    command: Command,
    belief: Belief,
    *,
    until: float | None = None,
    progress: bool = True,
    title: str = "",
    invocation: str = "",
) -> Run:
    """A run of a walk, with references, beliefs and timing beside the usual variables (see `with_log`).

    The controller's period is one step of the simulator or several (`steps_a_period`: how many the ground asks for).
    until: time (s) to end the run at, amid the walk; by default all of it is run.
    """
    state = standing(simulator)
    pattern = pattern_from(simulator.robot, state, gait, command, controller.period)
    walker = Walker(
        simulator.robot,
        controller,
        pattern,
        stiffness=belief.stiffness,
        damping=belief.damping,
        estimator=belief.estimator,
        q=np.asarray(state.q),
        step=float(simulator.dt),
    )
    run = run_closed_loop(
        simulator,
        state,
        walker,
        command.seconds if until is None else until,
        period=controller.period,
        stop_at_fall=True,
        progress=progress,
        label="walking",
        title=title,
        command=invocation,
    )
    return with_log(run, walker)


def steps_a_period(medium: Medium, period: float) -> int:
    """Steps of a simulator in a controller's period (s), so that a step is at most `RELAXED` of the time b / k in which
    springs and dampers settle: else the delay of a step decides whether controllers that answer to them are stable.
    """
    if not isinstance(medium, ViscoElastic):  # noise is that of a step: in finer ones the ground would be quieter
        return 1
    settles = _values(medium.damping).min() / _values(medium.stiffness).max()
    return max(1, int(np.ceil(period / (RELAXED * settles) - 1e-9)))


def _values(coefficient: Coefficient) -> np.ndarray:
    """What a coefficient of the ground may be; of a field of one's own, what it is at the origin, where walks begin."""
    if isinstance(coefficient, Stretches):
        return np.asarray(coefficient.values)
    return np.asarray(value_at(coefficient, np.zeros(3)))


def standing(simulator: Simulator) -> State:
    """The robot in its posture, sunk as deep as the ground carries it on all feet."""
    robot, q = simulator.robot, np.asarray(simulator.robot.posture, dtype=float)
    medium = simulator.ground.medium
    ground = medium.ground if isinstance(medium, Noisy) else medium
    if not isinstance(ground, ViscoElastic):
        raise OptionError(f"walking needs visco-elastic ground (foam, firm), got {type(ground).__name__}")
    surface = simulator.ground.surface
    if not isinstance(surface, Plane) or surface.slope or surface.offset:
        raise OptionError(f"walking patterns are for level ground at z = 0, Plane(), got {surface.to_dict()}")
    stiffness = float(value_at(ground.stiffness, np.asarray(Stance.of(robot, q).position.mean(axis=0))))
    area = sum(foot.shape.area for foot in robot.feet)
    weight = float(robot.weight)
    return simulator.initial_state(q, height=-weight / (stiffness * area))


def pattern_from(robot: Robot, state: State, gait: Gait, command: Command, dt: float) -> WalkingPattern:
    """The pattern of a command, a sample every dt (s), from where the robot stands. Feet leave and meet the ground at
    its surface.

    The gait's height of the centre of mass is meant over the sole that carries, which sinks under the whole weight
    twice as deep as under the half that it carries now.
    """
    q = np.asarray(state.q)
    stance = Stance.of(robot, q)
    on_surface = Stance(stance.position * np.array([1.0, 1.0, 0.0]), stance.yaw)
    sinkage = -2 * float(stance.position[:, 2].mean())
    gait = replace(gait, com_height=gait.com_height - sinkage, gravity=float(np.linalg.norm(robot.gravity)))
    plan = footsteps(gait, on_surface, speed=command.speed, turn_rate=command.turn_rate, seconds=command.seconds)
    return walking_pattern(plan, gait, np.asarray(robot.center_of_mass(q)), dt=dt)


def with_log(run: Run, walker: Walker) -> Run:
    """The run with the references and the estimates of the walker, a sample a step."""
    ticks = walker.log[: run.sizes["time"]]
    column = lambda name: np.array([getattr(tick, name) for tick in ticks])  # noqa: E731
    ground, deviation = column("ground"), column("deviation")
    heading = walker.pattern.torso_yaw[np.minimum(np.arange(len(ticks)), len(walker.pattern) - 1)]
    kept = {
        "com_reference": (("xyz",), column("com_reference"), "m", "planned centre of mass"),
        "com_velocity_reference": (("xyz",), column("com_velocity_reference"), "m/s", "its planned velocity"),
        "heading_reference": ((), heading, "rad", "planned heading of the trunk, about z"),
        "foot_reference": (("foot", "xyz"), column("foot_reference"), "m", "planned centres of the soles"),
        "planned_contact": (("foot",), column("in_contact"), "1", "whether the foot is planned to carry"),
        "believed_stiffness": (("foot",), ground[..., 0], "N/m3", "stiffness that the controller uses"),
        "believed_damping": (("foot",), ground[..., 1], "N s/m3", "damping that the controller uses"),
        "stiffness_deviation": (("foot",), deviation[..., 0], "N/m3", "standard deviation of the stiffness"),
        "damping_deviation": (("foot",), deviation[..., 1], "N s/m3", "standard deviation of the damping"),
        "solved": ((), column("solved"), "1", "whether the controller found torques"),
        "controller_seconds": ((), column("controller_seconds"), "s", "time that the controller took"),
    }
    variables = {
        name: (("time", *dims), values, {"units": unit, "long_name": meaning, "frame": "world"})
        for name, (dims, values, unit, meaning) in kept.items()
    }
    return run.assign({"controller_failures": walker.failures}, **variables)


def com_error(run: Run) -> Float[np.ndarray, "n 3"]:
    """Centre of mass less its reference, m."""
    return (run["center_of_mass"] - run["com_reference"]).values


def verdict(run: Run) -> Verdict:
    """Judge a run of `walk`."""
    error = np.linalg.norm(com_error(run), axis=1)
    ended, fall = run.attrs["ended"], run.fall()
    if fall is not None:
        ended = FALLEN + fall.reason
    if ended == "finished" and error.max() > LOST:
        ended = f"lost: {1e3 * error.max():.0f} mm from the reference"
    if ended == "finished" and run.attrs["controller_failures"]:
        ended = "controller failure: torques were held for want of a solution"
    spent = 1e3 * run["controller_seconds"].values
    return Verdict(
        success=ended == "finished",
        fell=fall is not None,
        ended=ended,
        seconds=float(run["time"][-1]),
        com_error_max_mm=1e3 * float(error.max()),
        com_error_rms_mm=1e3 * float(np.sqrt((error**2).mean())),
        controller_failures=int(run.attrs["controller_failures"]),
        controller_ms_mean=float(spent.mean()),
        controller_ms_p99=float(np.quantile(spent, 0.99)),
        real_time_factor=float(run.attrs["steps_per_second"] * run.attrs["dt_s"]),
    )
