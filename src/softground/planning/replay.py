"""A plan checked independently: followed in the simulator, at a small time step and eps.

A plan obeys coarse steps (50 ms) on smoothed ground. What counts is whether the robot walks like that when neither is
so: 2 ms, ground a thousand times sharper. It is followed by its torques and joint PD control, with feedback of the
whole state (`feedback`) or without. And whether it holds when things go wrong: a push, ground of another strength.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from softground.contact.feet import feet_along
from softground.errors import OptionError
from softground.media import Medium
from softground.planning.feedback import TrackState
from softground.planning.online import Replanning
from softground.planning.tracking import TrackJoints
from softground.planning.trajectory import Trajectory
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.runs import Run, run
from softground.runs.members import runs_on
from softground.simulation import Ground, Simulator
from softground.simulation.controllers import Reacting

if TYPE_CHECKING:
    from softground.planning.plan import Plan

TIME_STEP, EPS = 0.002, 1e-3


@dataclass(frozen=True)
class Replay:
    """How a plan did in the simulator."""

    speed_planned: float  # m/s
    speed: float  # m/s
    speed_kept: float  # share
    distance: float  # m, along x, until it ended or fell
    fell: bool
    slip: float  # m per m walked: way of each foot along the ground while it carries, mean over feet
    slip_planned: float  # m per m walked
    sinkage: float  # m, mean depth of the feet while they are in the ground
    base_difference: float  # m, greatest distance between planned and simulated base
    joint_difference: float  # rad, rms over joints and time
    steps_not_converged: int
    steps_outside_data: int

    def as_dict(self) -> dict:
        return asdict(self)


def replay(
    plan: Plan,
    *,
    feedback: bool = True,
    online: bool = False,
    identify: bool = True,
    push: float = 0.0,
    strength: float = 1.0,
    seed: int = 0,
    dt: float = TIME_STEP,
    eps: float = EPS,
    progress: bool = False,
    **gains,
) -> tuple[Replay, Run]:
    """Run a planned gait in the simulator, in steps of dt (s) on ground of eps (W); the report, and the run.

    feedback: of the whole state, by the plan's derivatives; without it, joint PD control alone. online: in its place,
    plan anew while walking (`planning.online`), on ground whose strength is identified, or, without `identify`, taken
    to be the plan's. push: change of the
    base's velocity, m/s, at a moment of the gait's first third from which the replay starts, along the ground; when and
    where to, `seed` decides. strength: of the ground, in that of the plan's. gains: frequency and damping ratio of the
    joint PD control, see `control.posture.pd_gains`.
    """
    follower = follower_of(plan, feedback=feedback, online=online, identify=identify, dt=dt, **gains)
    return replayed(plan, follower, push=push, strength=strength, seed=seed, eps=eps, progress=progress)


Follower = TrackState | Replanning | Reacting
"""What follows a plan: with feedback, planning anew, or open loop."""


def follower_of(
    plan: Plan,
    *,
    feedback: bool = True,
    online: bool = False,
    identify: bool = True,
    dt: float = TIME_STEP,
    **gains,
) -> Follower:
    """The controller that follows a plan in steps of dt, s; see `replay`."""
    robot, trajectory = plan.problem.robot, plan.trajectory
    times = trajectory.dt / dt
    if times < 1 or not np.isclose(times, round(times)):
        raise OptionError(f"steps of a replay must divide those of the plan, {trajectory.dt:g} s; {dt:g} s do not")
    if online:
        return Replanning.of(plan, dt, identify=identify, **gains)
    if feedback:
        return TrackState.of(plan, dt, **gains)
    # References are smooth between knots: with velocities that jump there, PD control would ask for impulses.
    return Reacting(TrackJoints.of(robot, trajectory.refined(round(times)), dt, **gains))


def replayed(
    plan: Plan,
    follower: Follower,
    *,
    push: float = 0.0,
    strength: float = 1.0,
    seed: int = 0,
    eps: float = EPS,
    progress: bool = False,
) -> tuple[Replay, Run]:
    """`replay` by a controller that was made before: for many replays of one plan."""
    for label, value in {"push": push, "strength": strength}.items():
        if not (np.isfinite(value) and value >= 0):
            raise OptionError(f"{label} of a replay must be a number that is not negative, got {value}")
    robot, trajectory = plan.problem.robot, plan.trajectory
    ground = plan.problem.ground if strength == 1 else plan.problem.ground.stronger(strength)
    simulator = Simulator(robot, ground.sharpened(eps), float(np.asarray(_step_of(follower))))
    first, kick = _pushed(plan, push, seed)
    rest = trajectory.after(first)
    state = simulator.initial_state(rest.q[0], rest.v[0] + kick)
    state = replace(state, time=state.time + first * trajectory.dt)
    past = run(simulator, state, follower, rest.seconds, progress=progress, label="replaying", title="replay")
    return _compare(robot, ground, rest, past), past


def replays_on(
    plan: Plan, media: Sequence[Medium], *, feedback: bool = True, dt: float = TIME_STEP, eps: float = EPS
) -> list[Replay]:
    """Replays of a plan, as it is, on other media, such as the members of an ensemble."""
    follower = follower_of(plan, feedback=feedback, dt=dt)
    robot, trajectory = plan.problem.robot, plan.trajectory
    grounds = [replace(plan.problem.ground, medium=medium) for medium in media]
    simulator = Simulator(robot, plan.problem.ground.sharpened(eps), dt)
    state = simulator.initial_state(trajectory.q[0], trajectory.v[0])
    sharp = [ground.sharpened(eps).medium for ground in grounds]
    past = runs_on(simulator, sharp, state, follower, trajectory.seconds)
    return [_compare(robot, ground, trajectory, one) for ground, one in zip(grounds, past, strict=True)]


def simulate(robot: Robot, ground: Ground, trajectory: Trajectory, *, dt: float = TIME_STEP, eps: float = EPS) -> Run:
    """The run of a robot that follows any trajectory by its torques and joint PD control, on ground of eps, W."""
    simulator = Simulator(robot, ground.sharpened(eps), dt)
    state = simulator.initial_state(trajectory.q[0], trajectory.v[0])
    policy = TrackJoints.of(robot, trajectory.refined(round(trajectory.dt / dt)), dt)
    return run(simulator, state, policy, trajectory.seconds, progress=False, title="replay")


def _step_of(follower: Follower):
    return follower.policy.ahead if isinstance(follower, Reacting) else follower.dt


def _pushed(plan: Plan, push: float, seed: int) -> tuple[int, np.ndarray]:
    """The knot from which a replay starts, and the change of the velocity there."""
    robot = plan.problem.robot
    kick = np.zeros(robot.nv)
    if not push:
        return 0, kick
    rng = np.random.default_rng(seed)
    first = int(rng.integers(0, max((plan.trajectory.knots - 1) // 3, 1)))
    forward = base_motion(robot).forward_v
    if robot.planar:
        kick[forward] = push * rng.choice([-1.0, 1.0])
    else:
        angle = rng.uniform(-np.pi, np.pi)
        kick[forward], kick[forward + 1] = push * np.cos(angle), push * np.sin(angle)
    return first, kick


def _compare(robot: Robot, ground: Ground, plan: Trajectory, past: Run) -> Replay:
    base = base_motion(robot)
    every = round(plan.dt / float(past.attrs["dt_s"]))
    q = past["configuration"].values
    at_knots = q[::every]
    count = min(len(at_knots), plan.knots)
    place = [base.forward_q, base.up_q]
    apart = np.linalg.norm(at_knots[:count, place] - plan.q[:count, place], axis=1)
    joints = np.array(robot.dof_q)[list(robot.actuated)]
    planned_speed = float(plan.q[-1, base.forward_q] - plan.q[0, base.forward_q]) / plan.seconds
    seconds = (len(q) - 1) * float(past.attrs["dt_s"])  # from the first sample to the last
    speed = float(q[-1, base.forward_q] - q[0, base.forward_q]) / seconds
    fall = past.fall()
    upright = len(q) - 1 if fall is None else int(np.searchsorted(past["time"].values, fall.time))
    return Replay(
        speed_planned=planned_speed,
        speed=speed,
        speed_kept=speed / planned_speed if planned_speed else float("nan"),
        distance=float(q[upright, base.forward_q] - q[0, base.forward_q]),
        fell=fall is not None,
        slip=slip_per_metre(robot, ground, q),
        slip_planned=slip_per_metre(robot, ground, plan.q),
        sinkage=mean_depth(robot, ground, q),
        base_difference=float(apart.max()),
        joint_difference=float(np.sqrt(np.mean((at_knots[:count, joints] - plan.q[:count, joints]) ** 2))),
        steps_not_converged=int(past.attrs["steps_not_converged"]),
        steps_outside_data=int(past.attrs["steps_outside_data"]),
    )


def mean_depth(robot: Robot, ground: Ground, q: np.ndarray) -> float:
    """Mean depth of the feet while they are in the ground, m."""
    depth = np.asarray(feet_along(robot, ground.surface, q).depth)
    return float(depth[depth > 0].mean()) if (depth > 0).any() else 0.0


def slip_per_metre(robot: Robot, ground: Ground, q: np.ndarray) -> float:
    """Way that the feet move along x while deeper than half their mean depth in stance, per foot and metre walked."""
    feet = feet_along(robot, ground.surface, q)
    depth, x = np.asarray(feet.depth), np.asarray(feet.position)[..., 0]
    carrying = depth[1:] > 0.5 * np.mean(depth[depth > 0]) if (depth > 0).any() else depth[1:] > 0
    way = np.abs(np.diff(x, axis=0))[carrying].sum() / x.shape[1]
    forward = base_motion(robot).forward_q
    return float(way / max(abs(q[-1, forward] - q[0, forward]), 1e-9))
