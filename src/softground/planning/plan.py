"""What planning gives: a trajectory, the problem that it solves, how it was found and how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from softground.planning.metrics import GaitMetrics
from softground.planning.plan_file import plan_dataset, plan_parts
from softground.planning.planned_motion import planned_motion
from softground.planning.problem import GaitProblem
from softground.planning.replay import Replay, replay
from softground.planning.report import Report, Solution
from softground.planning.trajectory import Trajectory
from softground.runs import RobotMotion, Run
from softground.runs.file import checked_run, holds_plan, read_netcdf, write_dataset

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
    solution: Solution | None = None  # none where the last stage joined steps of the problem
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
        return planned_motion(self.problem, self.trajectory, self.eps, self.title)

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
        """Forces, sinkage, the base's motion and the motors' power over time; written to `path` if one is given."""
        return self.motion.plot(path, title)

    def video(self, path: str | Path, **options: Any) -> Path:
        """Render the gait as a video (mp4 or gif); options as of `softground.bridges.animation.animate`."""
        return self.motion.video(path, **options)

    def view(self, **options: Any) -> None:
        """Open the gait in the viewer, in a browser; options as of `softground.bridges.viewer.view_run`."""
        from softground.bridges.viewer import view_run

        view_run(self, **options)


def load_motion(path: str | Path) -> Run | Plan:
    """The run or the plan in a netCDF file."""
    dataset = read_netcdf(path)
    return Plan.from_dataset(dataset, path) if holds_plan(dataset) else Run(checked_run(dataset, path))
