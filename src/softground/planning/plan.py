"""What planning gives: a trajectory, the problem that it solves, how it was found and how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
import xarray as xr

from softground.arrays import Array
from softground.contact.feet import contact_jacobian, feet_in_ground, wrench_in_world
from softground.media.wrench_space import WrenchSpace
from softground.planning.dynamics.base import medium_for_planning
from softground.planning.dynamics.springs import PlannedSprings
from softground.planning.plan_file import plan_dataset, plan_parts
from softground.planning.problem import GaitProblem
from softground.planning.programs import kept_call
from softground.planning.replay import Replay, replay
from softground.planning.report import Report, Solution
from softground.planning.trajectory import GaitMetrics, Trajectory
from softground.robots import Robot
from softground.runs import RobotMotion, Run
from softground.runs.dataset import motion_dataset, with_recipes
from softground.runs.description import simulator_recipe
from softground.runs.file import checked_run, holds_plan, read_netcdf, write_dataset
from softground.simulation.simulator import Simulator
from softground.surfaces import Surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A planned gait: its problem, the trajectory found, how it was found and how good it is.

    >>> import softground as sg
    >>> [field for field in sg.Plan.__dataclass_fields__]
    ['problem', 'trajectory', 'eps', 'metrics', 'report', 'solution', 'title', 'command']

    `plan.save("gait.nc")` keeps it, `Plan.load("gait.nc")` reads it, and `plan.replay()` tries it in the simulator.
    """

    problem: GaitProblem
    trajectory: Trajectory
    eps: float  # W, of the last stage
    metrics: GaitMetrics
    report: Report
    solution: Solution | None = None  # none of repeated strides, or where the last stage joined steps
    title: str = ""
    command: str = ""  # that asked for it, if one did

    # -- kept ----------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan file, also one of softground 0.1; FileFormatError says what is wrong with other files.

        A file of softground 0.1 does not hold the problem's costs, constraints, limits and boundaries: its plan can do
        all that others can but be differentiated (`sensitivity`). Nor do files hold costs and constraints that are
        plain functions, or classes of your own that have not been imported.
        """
        return cls.from_dataset(read_netcdf(path, "plan", "plan"), path)

    @classmethod
    def from_dataset(cls, dataset: xr.Dataset, path: str | Path) -> Plan:
        """The plan in what was read from `path`."""
        fields, motion = plan_parts(dataset, path)
        plan = cls(**fields)
        vars(plan)["motion"] = motion  # as it was written: nothing need be computed
        return plan

    def save(self, path: str | Path) -> Path:
        """Write the plan to a file (netCDF), whole or not at all. Folders are made as needed."""
        return write_dataset(path, plan_dataset(self))

    # -- read ----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        robot, seconds = self.problem.robot.name, self.trajectory.seconds
        found = f"{self.report.status}, {self.metrics.speed:.3g} m/s"
        return f"<Plan: {self.title or robot}, {seconds:g} s, {self.trajectory.knots} knots, {found}>"

    @cached_property
    def motion(self) -> RobotMotion:
        """The gait over time, one sample per step: what is drawn and measured as that of a run is."""
        return _motion(self.problem, self.trajectory, self.eps, self.title)

    def summary(self) -> dict[str, Any]:
        """Everything about the plan but its trajectory, for JSON."""
        return {"metrics": self.metrics.as_dict(), "eps_w": self.eps, "report": self.report.summary()}

    def troubles(self) -> list[str]:
        """What a user must know of a plan that is not as asked, one line each."""
        lines, report = [], self.report
        if report.status == "interrupted":
            lines.append(f"interrupted: the best gait until then, violation {report.violation:.1e}")
        if report.status == "failed":
            lines.append(
                f"not feasible ({report.reason}): violation {report.violation:.1e}; give it more time or another guess"
            )
            lines += report.clashes
        outside = int(self.motion["outside_data"].any("foot").sum())
        if outside:
            lines.append(
                f"{outside} of {len(self.trajectory.torque)} steps have a foot deeper or more tilted than the "
                "medium's data: forces there are extrapolated"
            )
        return lines

    # -- tried ---------------------------------------------------------------------------------------------

    def replay(self, **options: Any) -> tuple[Replay, Run]:
        """Run the gait in the simulator, in small steps on sharp ground; options as of `softground.planning.replay`."""
        return replay(self, **options)

    # -- shown ---------------------------------------------------------------------------------------------

    def plot(self, path: str | Path | None = None, title: str = "") -> Figure:
        """Forces, sinkage, the base's motion and the actuators' power over time; written to `path` if one is given."""
        return self.motion.plot(path, title)

    def video(self, path: str | Path, **options: Any) -> Path:
        """Render the gait as a video (mp4 or gif); options as of `softground.bridges.animation.animate`."""
        return self.motion.video(path, **options)

    def view(self, **options: Any) -> None:
        """Open the gait in the viewer, in a browser; options as of `softground.bridges.viewer.view_run`."""
        from softground.bridges.viewer import view_run

        view_run(self, **options)


def _motion(problem: GaitProblem, trajectory: Trajectory, eps: float, title: str = "") -> RobotMotion:
    """The motion of a trajectory on the problem's ground at temperature eps (W): one sample per step."""
    simulator = Simulator(problem.robot, problem.ground.sharpened(eps), problem.dt)
    medium = medium_for_planning(problem.robot, problem.ground, eps)
    time = np.arange(len(trajectory.torque)) * trajectory.dt
    values = _values_in(simulator, medium, trajectory, problem.collocation * problem.dt)
    arrays: dict[str, np.ndarray] = {}
    recipe = {"simulator": simulator_recipe(simulator, arrays)}
    return RobotMotion(with_recipes(motion_dataset(simulator, time, values, title), recipe, arrays))


def _values_in(
    simulator: Simulator, medium: WrenchSpace | PlannedSprings, trajectory: Trajectory, until_collocation: float
) -> dict[str, np.ndarray]:
    """What happens in every step of a trajectory: the wrenches follow from the feet's next twists, and from their
    poses `until_collocation` (s) after the step began."""
    parts = _MotionParts(simulator.robot, simulator.ground.surface, medium, simulator.dt, until_collocation)
    found = kept_call(_seen_in, parts, trajectory.q[:-1], trajectory.v[1:])
    return {
        "configuration": trajectory.q[:-1],
        "velocity": trajectory.v[:-1],
        "torque": trajectory.torque,
        **jax.tree.map(np.asarray, found),
    }


class _MotionParts(NamedTuple):
    robot: Robot
    surface: Surface
    medium: WrenchSpace | PlannedSprings  # one per foot
    dt: float | Array  # s
    until_collocation: float  # s


def _seen_in(parts: _MotionParts, q, v_next) -> dict[str, Any]:
    """Feet and wrenches of all steps."""
    robot, surface, media = parts.robot, parts.surface, parts.medium

    def one(q, v_next):
        feet = feet_in_ground(robot, robot.kinematics(q), surface)
        outside = jax.vmap(lambda medium, foot: medium.outside_data(foot))(media, feet)
        kin = robot.kinematics(robot.integrate(q, v_next, parts.until_collocation))
        met = feet_in_ground(robot, kin, surface)
        twists = contact_jacobian(met, robot.foot_jacobians(kin), media) @ v_next
        wrenches = jax.vmap(lambda medium, foot, u: medium.law(foot, (), parts.dt).wrench(u))(media, met, twists)
        return {
            "wrench_world": wrench_in_world(met, wrenches, media),
            "depth": feet.depth,
            "tilt": feet.tilt,
            "twist": twists,
            "outside_data": outside,
        }

    return jax.vmap(one)(q, v_next)


def load_motion(path: str | Path) -> Run | Plan:
    """The run or the plan in a netCDF file."""
    dataset = read_netcdf(path)
    return Plan.from_dataset(dataset, path) if holds_plan(dataset) else Run(checked_run(dataset, path))
