"""What `softground plan` does, in terms of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softground.errors import OptionError, unknown_name
from softground.planning.dynamics.base import Dynamics
from softground.planning.dynamics.bilevel import Bilevel
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.guesses import carried_over, gallop, trot_in_place, walk
from softground.planning.objectives import stages_for
from softground.planning.plan import Plan
from softground.planning.problem import GaitProblem
from softground.planning.solve import solve
from softground.planning.stages import bilevel_stages, standard_stages
from softground.planning.trajectory import Trajectory
from softground.runs import Run

DYNAMICS: dict[str, type[Dynamics]] = {"closed-form": ClosedForm, "bilevel": Bilevel}
STAGES = {ClosedForm: standard_stages, Bilevel: bilevel_stages}
GUESSES = {"walk": walk, "trot": trot_in_place, "gallop": gallop}


def dynamics_named(name: str) -> type[Dynamics]:
    """The form of the dynamics of this name."""
    if name not in DYNAMICS:
        raise OptionError(unknown_name("form of the dynamics", name, DYNAMICS))
    return DYNAMICS[name]


def plan_gait(
    problem: GaitProblem,
    guess: str = "walk",
    *,
    eps: float = 1.0,
    dynamics: type[Dynamics] = ClosedForm,
    seconds: float = 600.0,
    state: Path | None = None,
    progress: bool = True,
) -> Plan:
    """Plan from a named guess, or from the gait in a file, carried over to this problem's ground."""
    return solve(
        problem,
        guess_named(problem, guess, eps),
        stages=stages_for(problem, STAGES[dynamics](eps)),
        dynamics=dynamics,
        seconds=seconds,
        progress=progress,
        state=state,
    )


def guess_named(problem: GaitProblem, name: str, eps: float) -> Trajectory:
    """A guess by name, or from a file."""
    if name.endswith(".nc"):
        return carried_over(problem, Run.load(name), eps)
    if name not in GUESSES:
        raise OptionError(unknown_name("guess", name, [*GUESSES, "FILE.nc"]))
    return GUESSES[name](problem, eps)


def summary(plan: Plan) -> dict[str, Any]:
    """Everything about a plan but its trajectory, for JSON."""
    return {"metrics": plan.metrics.as_dict(), "eps_w": plan.eps, "report": plan.report.summary()}


def short_summary(plan: Plan) -> dict[str, Any]:
    """The few numbers of a plan that a reader wants first."""
    metrics, report = plan.metrics, plan.report
    return {
        "status": f"{report.status} ({report.reason})",
        "velocity error Mv (m/s)": metrics.velocity_error,
        "paper's cost Mc (1/s)": metrics.paper_cost,
        "cost of transport": metrics.cost_of_transport,
        "speed (m/s)": metrics.speed,
        "lifts of each foot": " ".join(map(str, metrics.lifts)),
        "deepest foot (m)": metrics.deepest,
        "violation": report.violation,
        "optimality": report.optimality,
        "iterations": report.iterations,
        "seconds": f"{report.seconds:.1f}, and {report.compile_seconds:.1f} to compile",
    }
