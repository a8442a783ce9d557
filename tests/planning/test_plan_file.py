"""Plans on disk: what is kept, what older files still give, and what is refused."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import softground as sg
from softground.errors import FileFormatError
from softground.planning import BaseHeight, Boundary, FootSplines, GaitProblem, Limits, Periodicity, gait_metrics
from softground.planning.costs import ActuatorWork
from softground.planning.plan import Plan
from softground.planning.plan_file import NotKept
from softground.planning.report import Report, Solution, StageReport
from softground.runs import RobotMotion
from softground.runs.dataset import OF_SOLVER

from .foot_problem import foot_problem, level_flight

DATA = Path(__file__).parents[1] / "data"
INVENTED = {"steps", "every", "ended", "steps_not_converged", "steps_per_second", "seed", "control_recipe"}


@dataclass(frozen=True)
class OwnCost:
    """A cost that no file knows, of a function."""

    residual: object

    def blocks(self, problem, layout):
        return []


@pytest.fixture(scope="module")
def problem() -> GaitProblem:
    """With a part of every kind, and one that is code."""
    plain = foot_problem()
    return replace(
        plain,
        costs=(*plain.costs, BaseHeight(-0.02, 10.0), Periodicity(4), ActuatorWork(), OwnCost(len)),
        limits=Limits(position=np.tile([-1.0, np.inf], (3, 1)), torque=400.0),
        initial=Boundary(q={"x": 0.0, "z": (-0.1, 0.1)}),
        splines=(FootSplines(points=5),),
        collocation=0.25,
    )


@pytest.fixture(scope="module")
def plan(problem) -> Plan:
    """Not solved, but sunk into the sand: a file does not ask how good a plan is."""
    guess = level_flight(problem)
    q = guess.q.copy()
    q[:, 1] = -0.02
    trajectory = guess._replace(q=q, torque=guess.torque + 1.0)
    stage = StageReport(
        0.5, "exact", 1, False, "limit", 2, 3.0, np.inf, 0.1, 1.0, {"jacobian": 0.5}, {"jacobian": 2}, [(1.0, 2.0, 3.0)]
    )
    report = Report("failed", "limit", 2, 3.0, 0.25, 0.1, 1.0, 2.0, [stage])
    solution = Solution(np.arange(4.0), np.arange(3.0), 0.5)
    metrics = gait_metrics(problem, trajectory)
    return Plan(problem, trajectory, 0.5, metrics, report, solution, "a foot", "softground plan foot")


@pytest.fixture(scope="module")
def path(plan, tmp_path_factory) -> Path:
    return plan.save(tmp_path_factory.mktemp("plan") / "gait.nc")


def test_a_plan_comes_back_whole(plan, path):
    found = sg.load(path)
    assert isinstance(found, Plan)
    for name in ("eps", "metrics", "report", "title", "command"):
        assert getattr(found, name) == getattr(plan, name), name
    for part in ("trajectory", "solution"):
        for mine, theirs in zip(getattr(plan, part), getattr(found, part), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    xr.testing.assert_identical(found.motion.dataset.drop_attrs(), plan.motion.dataset.drop_attrs())
    assert found.summary() == plan.summary()
    assert found.troubles() == plan.troubles()
    assert "not feasible" in found.troubles()[0]


def test_the_problem_comes_back_but_for_code(problem, path):
    found = Plan.load(path).problem
    for name in ("knots", "dt", "constraints", "initial", "final", "splines", "collocation"):
        assert getattr(found, name) == getattr(problem, name), name
    assert found.costs[:-1] == problem.costs[:-1]
    np.testing.assert_array_equal(found.limits.position, problem.limits.position)
    assert found.limits.torque == 400.0
    assert found.robot.sha256 == problem.robot.sha256
    assert float(found.ground.medium.eps) == float(problem.ground.medium.eps)
    with pytest.raises(FileFormatError, match=r"code, which a file does not hold.*give the problem again"):
        found.costs[-1].blocks(found, None)


def test_nothing_is_invented(plan, path):
    """No field of a simulation that never was, neither in the plan's motion nor in the file; no place of a class."""
    with xr.open_dataset(path, engine="h5netcdf") as file:
        stored = file.load()
    for dataset in (plan.motion.dataset, Plan.load(path).motion.dataset, stored):
        assert not INVENTED & set(dataset.attrs)
        assert not set(OF_SOLVER) & set(dataset)
    assert "softground.planning" not in stored.attrs["problem_recipe"]
    assert stored.attrs["format_version"] == 1


def test_a_motion_is_measured_and_drawn_as_that_of_a_run(plan, path, tmp_path):
    motion = Plan.load(path).motion
    assert type(motion) is RobotMotion
    assert motion.fall() is None
    to_the_last_step = plan.metrics.distance * 11 / 12
    assert motion.cost().walk.distance == pytest.approx(to_the_last_step)
    assert motion["wrench_world"].sel(wrench_axis="fz").values.min() > 0
    assert plan.plot(tmp_path / "plan.png").axes
    assert (tmp_path / "plan.png").exists()


@pytest.mark.parametrize("name", ["gait_0_1.nc", "gait_as_run.nc"])
def test_a_plan_that_was_written_as_a_run(name, tmp_path):
    """By softground 0.1, and by the version after it: opens as a plan, and replays as it did then."""
    plan = sg.load(DATA / name)
    assert isinstance(plan, Plan)
    assert plan.trajectory.knots == plan.problem.knots == 9
    assert (plan.eps, plan.report.status, plan.title) == (1.0, "feasible", "foot on sand")
    assert plan.metrics.speed == pytest.approx(0.097503, abs=1e-6)
    assert plan.solution is not None
    assert not INVENTED & set(plan.motion.attrs)
    np.testing.assert_allclose(
        plan.motion["wrench_world"], replace(plan).motion["wrench_world"], rtol=1e-9, atol=1e-9
    )  # as written, and as computed today
    report, _ = plan.replay(feedback=False)
    assert report.base_difference == pytest.approx(0.0128827, abs=1e-6)
    assert report.joint_difference == pytest.approx(0.0055192, abs=1e-6)
    again = Plan.load(plan.save(tmp_path / "gait.nc"))
    assert isinstance(again.problem.costs[0], NotKept)
    np.testing.assert_array_equal(again.trajectory.q, plan.trajectory.q)


def test_a_run_and_a_plan_are_told_apart(path, tmp_path):
    run = sg.Simulator(sg.Robot.load("foot"), sg.sand()).run(seconds=0.01).save(tmp_path / "run.nc")
    with pytest.raises(FileFormatError, match="holds no plan"):
        Plan.load(run)
    for gait in (path, DATA / "gait_0_1.nc"):
        with pytest.raises(FileFormatError, match=r"is a planned gait, not a run: open it with softground.load"):
            sg.Run.load(gait)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.assign_attrs(format_version=9), "has format version 9, .* upgrade softground"),
        (lambda file: file.drop_vars("final_velocity"), "lacks final_velocity: the file is damaged"),
        (
            lambda file: file.drop_attrs(deep=False).assign_attrs(format="softground-plan", format_version=1),
            "lacks title",
        ),
    ],
)
def test_a_damaged_file_is_refused(change, message, path, tmp_path):
    with xr.open_dataset(path, engine="h5netcdf") as file:
        change(file.load()).to_netcdf(tmp_path / "gait.nc", engine="h5netcdf")
    with pytest.raises(FileFormatError, match=message):
        sg.load(tmp_path / "gait.nc")
    with pytest.raises(FileFormatError, match=r"no plan file at .*softground plan"):
        Plan.load(tmp_path / "absent.nc")


def test_reports_survive_json(plan):
    assert Report.from_dict(json.loads(json.dumps(plan.report.__dict__, default=vars))) == plan.report
