"""Plan files: a plan on disk (netCDF), the problem that it solves included.

The motion is stored as that of a run is: one sample per step. Beside it are the last state, the optimiser's solution,
the metrics, the report, and the problem: costs, constraints, limits and boundaries by their public names.

softground 0.1 wrote a plan as a run that was never simulated. Such files are still read. They do not say what was
minimised: `NotKept` stands in the place of the costs.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import xarray as xr

from softground.errors import FileFormatError
from softground.planning.layout import Layout
from softground.planning.problem import GaitProblem
from softground.planning.report import Report, Solution
from softground.planning.trajectory import GaitMetrics, Trajectory, trajectory_of
from softground.runs import RobotMotion, Run
from softground.runs.dataset import OF_SOLVER, VARIABLES, with_recipes
from softground.runs.description import describe, restore
from softground.runs.file import PLAN_FORMAT, check_version, completed_run
from softground.simulation.ground import Ground
from softground.simulation.simulator import Simulator

if TYPE_CHECKING:
    from softground.planning.plan import Plan

VERSION = 1
OF_MOTION = ("title", "robot", "mass_kg", "gravity_m_per_s2", "precision", "dt_s", "simulator_recipe")
"""Attributes of a plan file that belong to its motion."""
REQUIRED = (*OF_MOTION, "eps_w", "problem_recipe", "metrics", "report")
AT_THE_END = ("final_configuration", "final_velocity")
SOLUTION = ("unknowns", "multipliers")


@dataclass(frozen=True)
class NotKept:
    """Stands for a cost or a constraint that a file does not hold: what needs it gets FileFormatError."""

    reason: str

    def blocks(self, problem: GaitProblem, layout: Layout) -> NoReturn:
        """Of the optimiser: none can be made."""
        raise FileFormatError(f"{self.reason}; or give the problem again: dataclasses.replace(plan, problem=...)")


# -- written ------------------------------------------------------------------------------------------------------


def plan_dataset(plan: Plan) -> xr.Dataset:
    """The dataset of a plan, for its file."""
    arrays: dict[str, np.ndarray] = {}
    dataset = with_recipes(plan.motion.dataset, {"problem": _describe_problem(plan.problem, arrays)}, arrays)
    q, v = plan.trajectory.q[-1], plan.trajectory.v[-1]
    last = {name: values for name, values in zip(AT_THE_END, (("q", q), ("v", v)), strict=True)}
    variables = {
        name: (*values, {"units": f"see {values[0]}_unit", "long_name": f"{name.replace('_', ' ')}, at the last knot"})
        for name, values in last.items()
    }
    if plan.solution is not None:
        note = {"units": "see softground.planning.layout", "eps_w": plan.solution.eps}
        variables["unknowns"] = ("unknown", plan.solution.unknowns, note | {"long_name": "of the optimiser"})
        rows = {"long_name": "of rows: cost + multipliers . rows is stationary"}
        variables["multipliers"] = ("row", plan.solution.multipliers, note | rows)
    return dataset.assign(variables).assign_attrs(
        {
            "format": PLAN_FORMAT,
            "format_version": VERSION,
            "softground_version": importlib.metadata.version("softground"),
            "command": plan.command,
            "eps_w": plan.eps,
            "metrics": json.dumps(plan.metrics.as_dict()),
            "report": json.dumps(asdict(plan.report)),
        }
    )


def _temperature(ground: Ground) -> float | None:
    """Of granular ground, W; foam has none."""
    eps = getattr(ground.medium, "eps", None)
    return None if eps is None else float(eps)


def _describe_problem(problem: GaitProblem, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """All of a problem but robot, surface, medium and time step, which its motion describes."""
    parts = {name: getattr(problem, name) for name in ("limits", "initial", "final")}
    lists = {name: getattr(problem, name) for name in ("costs", "constraints", "splines")}
    return {
        "knots": problem.knots,
        "collocation": problem.collocation,
        "ground_eps_w": _temperature(problem.ground),  # the motion's ground is at the plan's temperature
        **{name: describe(part, arrays, f"problem.{name}") for name, part in parts.items()},
        **{
            name: [describe(part, arrays, f"problem.{name}.{i}") for i, part in enumerate(items)]
            for name, items in lists.items()
        },
    }


# -- read ---------------------------------------------------------------------------------------------------------


def plan_parts(dataset: xr.Dataset, path: str | Path) -> tuple[dict[str, Any], RobotMotion]:
    """Fields of the plan that was read from a file, and its motion; FileFormatError where it is none."""
    if "plan" in dataset.attrs:
        return _parts_of_run(completed_run(dataset, path))
    attrs = dataset.attrs
    if attrs.get("format") != PLAN_FORMAT:
        raise FileFormatError(f"{path} holds no plan, which `softground plan` and Plan.save write: see softground.load")
    check_version(attrs, path, VERSION, VERSION, again="plan again")
    missing = [name for name in (*VARIABLES, *AT_THE_END) if name not in (*dataset, *OF_SOLVER)]
    missing += [name for name in REQUIRED if name not in attrs]
    if missing:
        raise FileFormatError(f"{path} lacks {', '.join(missing)}: the file is damaged, plan again")
    arrays = {str(name): values.values for name, values in dataset.data_vars.items()}
    motion = _motion(dataset)
    fields = {
        "problem": _restore_problem(json.loads(attrs["problem_recipe"]), arrays, motion.simulator()),
        "trajectory": Trajectory(
            np.concatenate([arrays["configuration"], arrays["final_configuration"][None]]),
            np.concatenate([arrays["velocity"], arrays["final_velocity"][None]]),
            arrays["torque"],
            float(attrs["dt_s"]),
        ),
        "eps": float(attrs["eps_w"]),
        "metrics": GaitMetrics.from_dict(json.loads(attrs["metrics"])),
        "report": Report.from_dict(json.loads(attrs["report"])),
        "solution": _solution(dataset, *SOLUTION),
        "title": str(attrs["title"]),
        "command": str(attrs.get("command", "")),
    }
    return fields, motion


def _restore_problem(recipe: Mapping[str, Any], arrays: Mapping[str, np.ndarray], simulator: Simulator) -> GaitProblem:
    eps = recipe["ground_eps_w"]
    return GaitProblem(
        simulator.robot,
        simulator.ground if eps is None else simulator.ground.smoothed(eps),
        recipe["knots"],
        float(simulator.dt),
        costs=tuple(_kept(part, arrays) for part in recipe["costs"]),
        constraints=tuple(_kept(part, arrays) for part in recipe["constraints"]),
        splines=tuple(restore(part, arrays) for part in recipe["splines"]),
        collocation=recipe["collocation"],
        **{name: restore(recipe[name], arrays) for name in ("limits", "initial", "final")},
    )


def _kept(description: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """A cost or a constraint; one that is a user's own code may not be known here."""
    try:
        return restore(description, arrays)
    except FileFormatError as error:
        return NotKept(str(error))


def _parts_of_run(dataset: xr.Dataset) -> tuple[dict[str, Any], RobotMotion]:
    """The same for a plan that was written as a run."""
    run, motion, simulator = Run(dataset), _motion(dataset), Run(dataset).simulator()
    written = json.loads(dataset.attrs["plan"])
    trajectory = trajectory_of(run)
    unknown = NotKept("the file was written by a softground that did not keep what a plan minimises: plan again")
    fields = {
        "problem": GaitProblem(
            simulator.robot, simulator.ground, trajectory.knots, trajectory.dt, costs=(unknown,), constraints=()
        ),
        "trajectory": trajectory,
        "eps": _temperature(simulator.ground),
        "metrics": GaitMetrics.from_dict(written["metrics"]),
        "report": Report.from_dict(written["report"]),
        "solution": _solution(dataset, "plan_unknowns", "plan_multipliers"),
        "title": str(dataset.attrs["title"]),
        "command": str(dataset.attrs["command"]),
    }
    return fields, motion


def _motion(dataset: xr.Dataset) -> RobotMotion:
    """What of a file is the motion."""
    others = (*OF_SOLVER, *AT_THE_END, *SOLUTION, "plan_unknowns", "plan_multipliers")
    aside = ("problem", "start", "final", "control")  # recipes that are not of the motion
    dropped = [name for name in map(str, dataset.data_vars) if name in others or name.split(".")[0] in aside]
    kept = dataset.drop_vars(dropped)
    kept.attrs = {name: dataset.attrs[name] for name in OF_MOTION}
    return RobotMotion(kept)


def _solution(dataset: xr.Dataset, unknowns: str, multipliers: str) -> Solution | None:
    if multipliers not in dataset:
        return None
    return Solution(dataset[unknowns].values, dataset[multipliers].values, float(dataset[unknowns].attrs["eps_w"]))
