"""Trajectories to start from.

A walk, a trot or a gallop is simulated at 500 Hz with the smoothing of the plan, down-sampled to the knots, its torques
averaged between them. Such a motion nearly obeys the steps of a plan, and it steps already: a start that stands still
leads to gaits that drag their feet.

From one slope to the next a gait is best carried over by turning it with the ground (`turned`): every foot is as deep
in the sand as it was and only the direction of gravity has changed. Tracked on the new slope instead (`tracked`, as in
zhu2021 IV.E) the robot sinks and slips before the optimiser begins; that is what is left for other terrains.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from softground.contact.feet import feet_along
from softground.control.inverse_kinematics import feet_in_base, joints_for_feet
from softground.control.trot import trot
from softground.errors import OptionError
from softground.planning.layout import Layout, Unknowns
from softground.planning.plan import Plan
from softground.planning.problem import GaitProblem
from softground.planning.size import size_of, walking_step
from softground.planning.tracking import TrackJoints
from softground.planning.trajectory import Trajectory, desired_speed, trajectory_of
from softground.robots import Robot
from softground.robots.base import base_motion
from softground.runs import Run, run
from softground.simulation import Simulator
from softground.simulation.simulator import Policy
from softground.surfaces import Plane

FINE = 0.002
"""Time step (s), or a little more or less, in which guesses are simulated."""
SUNK = 0.03
"""Depth (m) of one foot of a random trajectory at every knot; others are in the ground or above it."""


STRIDE = 30
"""Steps of a walk's period."""


GATHERED = 0.72
"""Feet of a walk stand so far from the middle of the robot, in their distance when it stands."""


def stride_seconds(robot: Robot) -> float:
    """Period of a walk, s."""
    return STRIDE * walking_step(robot)


def stance(robot: Robot, gather: float = GATHERED, crouch: float | None = None) -> np.ndarray:
    """Configuration for walking: feet drawn under the body (x times `gather`), the body lowered by `crouch` (m).

    Lengths and times that are not given here and below suit the robot's size.
    """
    crouch = 0.025 * size_of(robot) if crouch is None else crouch
    home = np.asarray(feet_in_base(robot, jnp.asarray(robot.posture)))
    targets = home[:, :3] * np.array([gather, 1.0, 1.0]) + np.array([0.0, 0.0, crouch])
    return joints_for_feet(robot, targets, home[:, 3] if robot.planar else None)


def walk_at_speed(
    problem: GaitProblem,
    eps: float = 1.0,
    *,
    speed: float | None = None,
    period: float | None = None,
    duty: float = 0.6,
    lift: float | None = None,
    posture: np.ndarray | None = None,
    phases: np.ndarray | None = None,
    settle: float | None = None,
) -> Trajectory:
    """A walk at the problem's speed, simulated on ground of smoothing `eps` (W).

    settle: simulated before the guess begins (s), so that the walk is in its stride, by default three periods. phases:
    by default those of a trot (diagonal pairs of feet together).
    """
    robot = problem.robot
    period = stride_seconds(robot) if period is None else period
    posture = stance(robot) if posture is None else posture
    gait = trot(
        robot,
        posture=posture,
        phases=phases,
        period=period,
        duty=duty,
        step_length=(desired_speed(problem) if speed is None else speed) * duty * period,
        lift=0.15 * size_of(robot) if lift is None else lift,
    )
    settle = 3 * period if settle is None else settle
    return _simulated(problem, eps, gait, posture, settle=settle, label="the walk")


def phases_of(robot: Robot, lag: float) -> np.ndarray:
    """Phases of the feet: left and right take turns, the rear ones follow those in front by the share `lag`."""
    home = np.asarray(feet_in_base(robot, jnp.asarray(robot.posture)))[:, :2]
    from_front = np.round(home[:, 0].max() - home[:, 0], 2) > 0.1 * size_of(robot)
    phases = np.zeros(len(home))
    for rear in (False, True):
        row = np.flatnonzero(from_front == rear)
        order = row[np.argsort(-home[row, 1], kind="stable")]
        phases[order] = lag * rear + np.arange(len(order)) / max(len(order), 1)
    return phases % 1.0


def gallop(problem: GaitProblem, eps: float = 1.0, **options) -> Trajectory:
    """Like `walk_at_speed`, the front feet together and the rear feet half a period later; eps in W."""
    home = np.asarray(feet_in_base(problem.robot, jnp.asarray(problem.robot.posture)))
    return walk_at_speed(problem, eps, phases=np.where(home[:, 0] > 0, 0.0, 0.5), **options)


def trot_in_place(
    problem: GaitProblem,
    eps: float = 1.0,
    *,
    steps: int = 3,
    lift: float | None = None,
    duty: float = 0.6,
    posture: np.ndarray | None = None,
) -> Trajectory:
    """The start of zhu2021: a trot without progress, `steps` periods long.

    eps: smoothing of the ground, W. lift: of the feet, m. duty: share of a period that a foot is on the ground.
    """
    robot = problem.robot
    posture = stance(robot) if posture is None else posture
    period = problem.seconds / steps
    lift = 0.15 * size_of(robot) if lift is None else lift
    gait = trot(robot, posture=posture, period=period, duty=duty, step_length=0.0, lift=lift, start=0.0, ramp=0.5)
    return _simulated(problem, eps, gait, posture, settle=0.5, label="the trot in place")


def carried_over(problem: GaitProblem, past: Plan | Run, eps: float = 1.0) -> Trajectory:
    """The gait of a plan (or a run), for this problem's ground: turned from slope to slope, else tracked; eps in W."""
    gait = past.trajectory if isinstance(past, Plan) else trajectory_of(past)
    before = past.problem.ground.surface if isinstance(past, Plan) else past.surface
    after = problem.ground.surface
    if problem.robot.planar and isinstance(before, Plane) and isinstance(after, Plane):
        return turned(problem.robot, gait, rise(after) - rise(before))
    return tracked(problem, gait, eps)


def turned(robot: Robot, gait: Trajectory, angle: float) -> Trajectory:
    """A planar robot's gait from the origin, turned with the ground below it by an angle (rad, uphill positive)."""
    base = base_motion(robot)
    if not robot.planar:
        raise OptionError("only gaits in the plane can be turned from slope to slope: track the gait instead")
    place, (pitch,) = [base.forward_q, base.up_q], base.attitude_q
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    q, v = gait.q.copy(), gait.v.copy()
    q[:, place], v[:, place] = q[:, place] @ rotation, v[:, place] @ rotation
    q[:, pitch] -= angle * np.sign(np.asarray(robot.parameters.axis)[pitch, 1])
    return _shifted(robot, gait._replace(q=q, v=v))


def rise(plane: Plane) -> float:
    """Angle by which a plane rises along x, rad."""
    x, _, z = np.asarray(plane.frame_world)[:, 2]
    return float(np.arctan2(-x, z))


def tracked(problem: GaitProblem, gait: Trajectory, eps: float = 1.0) -> Trajectory:
    """A gait from a neighbouring terrain, tracked by joint PD control on this one of smoothing `eps`, W (zhu2021
    IV.E)."""
    robot, fine = problem.robot, _fine_step(problem)
    gait = gait.resampled(problem.knots)
    start = standing_alike(problem, gait.q[0].copy())
    start[base_motion(robot).forward_q] = 0.0
    reference = gait.refined(round(problem.dt / fine))
    policy = TrackJoints.of(robot, reference, fine)
    return _simulated(problem, eps, policy, start, gait.v[0], label="the tracked gait")


def draped(problem: GaitProblem, gait: Trajectory) -> Trajectory:
    """A gait of level ground laid over the problem's terrain: at every knot the base is as much higher as the ground
    below its feet is, on average. Joints stay as they are, so nothing falls; the dynamics are left to the optimiser."""
    robot, base = problem.robot, base_motion(problem.robot)
    gait = gait.resampled(problem.knots)
    q, v = gait.q.copy(), gait.v.copy()
    for _ in range(3):  # depths are measured along the normal
        there, level = (
            np.asarray(feet_along(robot, surface, one).depth)
            for surface, one in ((problem.ground.surface, q), (Plane(), gait.q))
        )
        q[:, base.up_q] += (there - level).mean(axis=1)
    up_v = base.up_q if robot.planar else 2
    v[1:, up_v] += np.diff(q[:, base.up_q] - gait.q[:, base.up_q]) / gait.dt
    return gait._replace(q=q, v=v)


def standing_alike(problem: GaitProblem, q: np.ndarray) -> np.ndarray:
    """A configuration of level ground, moved up or down until its feet are as deep in this ground on average."""
    up = base_motion(problem.robot).up_q
    desired = float(np.asarray(feet_along(problem.robot, Plane(), q[None]).depth).mean())
    for _ in range(20):
        excess = float(np.asarray(feet_along(problem.robot, problem.ground.surface, q[None]).depth).mean()) - desired
        q[up] += excess
        if abs(excess) < 1e-9:
            break
    return q


def _simulated(
    problem: GaitProblem,
    eps: float,
    policy: Policy,
    q: np.ndarray,
    v: np.ndarray | None = None,
    *,
    settle: float = 0.0,
    label: str,
) -> Trajectory:
    """What a policy does on the problem's ground, from `settle` (s) on; from rest the feet just touch the ground."""
    robot, fine = problem.robot, _fine_step(problem)
    simulator = Simulator(robot, problem.ground.sharpened(eps), fine)
    state = simulator.initial_state(q, height=0.0) if v is None else simulator.initial_state(q, v)
    past = run(simulator, state, policy, settle + problem.seconds + problem.dt, progress=False)
    if past.attrs["ended"] != "finished":
        raise OptionError(f"{label} could not be simulated ({past.attrs['ended']}): choose another posture or speed")
    sampled = down_sampled(past, round(settle / fine), round(problem.dt / fine), problem.knots)
    return _shifted(robot, with_rates(robot, sampled))


def _fine_step(problem: GaitProblem) -> float:
    """The step near `FINE` that divides the problem's."""
    return problem.dt / max(round(problem.dt / FINE), 1)


def down_sampled(past: Run, first: int, every: int, knots: int) -> Trajectory:
    """Every so-many-th state of a run, and the mean torque between."""
    at = first + every * np.arange(knots)
    if at[-1] >= past.sizes["time"]:
        raise OptionError(f"the run has {past.sizes['time']} samples, the trajectory needs {at[-1] + 1}")
    torque = past["torque"].values[first : at[-1]].reshape(knots - 1, every, -1).mean(axis=1)
    dt = every * float(past.attrs["dt_s"])
    return Trajectory(past["configuration"].values[at], past["velocity"].values[at], torque, dt)


def with_rates(robot: Robot, trajectory: Trajectory) -> Trajectory:
    """Velocities as the steps of a plan have them: those that lead from each configuration to the next."""
    way = jax.jit(jax.vmap(robot.difference))(trajectory.q[:-1], trajectory.q[1:])
    return trajectory._replace(v=np.concatenate([trajectory.v[:1], np.asarray(way) / trajectory.dt]))


def _shifted(robot: Robot, trajectory: Trajectory) -> Trajectory:
    """The same motion, starting at x = 0."""
    q = trajectory.q.copy()
    forward = base_motion(robot).forward_q
    q[:, forward] -= q[0, forward]
    return trajectory._replace(q=q)


def random_unknowns(problem: GaitProblem, layout: Layout, seed: int) -> np.ndarray:
    """A random trajectory about the robot's posture, at every knot with another foot in the ground.

    At such trajectories patterns of derivatives are found, and derivatives are tested. A foot that never touched the
    ground would have none: on a steep slope those behind are all in the air when the base is level.
    """
    rng, robot = np.random.default_rng(seed), problem.robot
    base = base_motion(robot)
    knots = layout.knots
    q = np.asarray(robot.posture) + 0.1 * rng.normal(size=(knots, layout.nq))
    q[:, base.forward_q] = rng.uniform(0.0, 1.0, knots)
    for _ in range(2):  # depths are measured along the normal
        depth = np.asarray(feet_along(robot, problem.ground.surface, q).depth)
        q[:, base.up_q] += depth[np.arange(knots), np.arange(knots) % depth.shape[1]] - SUNK
    return layout.put_together(
        Unknowns(
            q,
            rng.normal(size=(knots, layout.nv)),
            rng.normal(size=(knots - 1, layout.lifted)),
            100 * rng.normal(size=(knots - 1, layout.nu)),
            rng.normal(size=layout.points),
        )
    )
