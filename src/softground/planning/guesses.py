"""Where the optimiser starts: gaits that were designed, simulated with servos, and sampled at the knots.

A walk simulated with the problem's own time step and smoothing obeys the problem's dynamics to rounding (both are the
same step), so the optimiser starts from a feasible point and has only to improve it. That is the best start there is.
zhu2021 start from a trot in place, tracked at 500 Hz, down-sampled, its torques averaged over each knot interval.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import xarray as xr

from softground.control.inverse_kinematics import feet_in_base, joints_for_feet
from softground.control.trot import trot
from softground.errors import OptionError
from softground.planning.base_motion import base_motion
from softground.planning.feet import feet_along
from softground.planning.metrics import desired_speed
from softground.planning.problem import GaitProblem
from softground.planning.smoothing import smoothed
from softground.planning.tracking import TrackJoints
from softground.planning.trajectory import Trajectory
from softground.robots import Robot
from softground.simulation import Simulator, run
from softground.surfaces import Plane

FINE = 0.002
"""Time step (s) of a guess that is tracked at 500 Hz."""


def stance(robot: Robot, gather: float = 0.72, crouch: float = 0.025) -> np.ndarray:
    """Configuration for walking: feet drawn under the body (x times `gather`), the body lowered by `crouch` (m)."""
    home = np.asarray(feet_in_base(robot, jnp.asarray(robot.posture)))
    targets = home[:, :3] * np.array([gather, 1.0, 1.0]) + np.array([0.0, 0.0, crouch])
    return joints_for_feet(robot, targets, home[:, 3] if robot.planar else None)


def walk(
    problem: GaitProblem,
    eps: float = 1.0,
    *,
    speed: float | None = None,
    period: float = 1.5,
    duty: float = 0.6,
    lift: float = 0.15,
    posture: np.ndarray | None = None,
    phases: np.ndarray | None = None,
    settle: float = 4.5,
) -> Trajectory:
    """A walk simulated with the problem's own step: feasible to rounding at smoothing `eps` (W).

    settle: simulated before the guess begins (s), so that the walk is in its stride. phases: by default those of a
    trot (diagonal pairs of feet together).
    """
    robot = problem.robot
    posture = stance(robot) if posture is None else posture
    gait = trot(
        robot,
        posture=posture,
        phases=phases,
        period=period,
        duty=duty,
        step_length=(desired_speed(problem) if speed is None else speed) * duty * period,
        lift=lift,
    )
    simulator = Simulator(robot, smoothed(problem.ground, eps), problem.dt)
    state = simulator.initial_state(posture, height=0.0)
    settled = round(settle / problem.dt)
    past = run(simulator, state, gait, settle + problem.seconds + problem.dt, progress=False)
    _check_finite(past, "the walk")
    return _shifted(robot, from_run(past, settled, problem.knots))


def gallop(problem: GaitProblem, eps: float = 1.0, **options) -> Trajectory:
    """Like `walk`, the front feet together and the rear feet half a period later."""
    home = np.asarray(feet_in_base(problem.robot, jnp.asarray(problem.robot.posture)))
    return walk(problem, eps, phases=np.where(home[:, 0] > 0, 0.0, 0.5), **options)


def trot_in_place(
    problem: GaitProblem, *, steps: int = 3, lift: float = 0.15, duty: float = 0.6, posture: np.ndarray | None = None
) -> Trajectory:
    """The start of zhu2021: a trot without progress, `steps` periods long, tracked at 500 Hz and down-sampled."""
    robot = problem.robot
    posture = stance(robot) if posture is None else posture
    period = problem.seconds / steps
    gait = trot(robot, posture=posture, period=period, duty=duty, step_length=0.0, lift=lift, start=0.0, ramp=0.5)
    simulator = Simulator(robot, problem.ground, FINE)
    every = _whole_steps(problem.dt)
    settle = 0.5
    state = simulator.initial_state(posture, height=0.0)
    past = run(simulator, state, gait, settle + problem.seconds + problem.dt, progress=False)
    _check_finite(past, "the trot in place")
    return _shifted(robot, down_sampled(past, round(settle / FINE), every, problem.knots))


def tracked(problem: GaitProblem, gait: Trajectory, eps: float = 1.0) -> Trajectory:
    """A gait from a neighbouring terrain, tracked by servos on this one with the problem's own step (zhu2021 IV.E)."""
    robot, base = problem.robot, base_motion(problem.robot)
    gait = gait.resampled(problem.knots)
    simulator = Simulator(robot, smoothed(problem.ground, eps), problem.dt)
    start = standing_alike(problem, gait.q[0].copy())
    start[base.forward_q] = 0.0
    past = run(
        simulator,
        simulator.initial_state(start, gait.v[0]),
        TrackJoints.of(robot, gait, problem.dt),
        problem.seconds + problem.dt,
        progress=False,
    )
    _check_finite(past, "the tracked gait")
    return _shifted(robot, from_run(past, 0, problem.knots))


def standing_alike(problem: GaitProblem, q: np.ndarray) -> np.ndarray:
    """A configuration of level ground, moved up or down until its feet are as deep in this ground on average."""
    up = base_motion(problem.robot).up_q
    wanted = float(np.asarray(feet_along(problem.robot, Plane(), q[None]).depth).mean())
    for _ in range(20):
        excess = float(np.asarray(feet_along(problem.robot, problem.ground.surface, q[None]).depth).mean()) - wanted
        q[up] += excess
        if abs(excess) < 1e-9:
            break
    return q


def from_run(past: xr.Dataset, first: int, knots: int) -> Trajectory:
    """Knots `first`, `first` + 1, ... of a run that was made with the trajectory's own step."""
    return down_sampled(past, first, 1, knots)


def down_sampled(past: xr.Dataset, first: int, every: int, knots: int) -> Trajectory:
    """Every so-many-th state of a run, and the mean torque between."""
    at = first + every * np.arange(knots)
    if at[-1] >= past.sizes["time"]:
        raise OptionError(f"the run has {past.sizes['time']} samples, the trajectory needs {at[-1] + 1}")
    torque = past["torque"].values[first : at[-1]].reshape(knots - 1, every, -1).mean(axis=1)
    dt = every * float(past.attrs["dt_s"])
    return Trajectory(past["configuration"].values[at], past["velocity"].values[at], torque, dt)


def _shifted(robot: Robot, trajectory: Trajectory) -> Trajectory:
    """The same motion, starting at x = 0."""
    q = trajectory.q.copy()
    forward = base_motion(robot).forward_q
    q[:, forward] -= q[0, forward]
    return trajectory._replace(q=q)


def _whole_steps(dt: float) -> int:
    every = round(dt / FINE)
    if not np.isclose(every * FINE, dt):
        raise OptionError(f"dt must be a multiple of {FINE} s to be tracked at 500 Hz, got {dt}")
    return every


def _check_finite(past: xr.Dataset, what: str) -> None:
    if past.attrs["ended"] != "finished":
        raise OptionError(f"{what} could not be simulated ({past.attrs['ended']}): choose another posture or speed")
