"""What a gait is to spend least of, by name: torque squared as in zhu2021, or the work of the actuators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from softground.errors import OptionError, unknown_name
from softground.planning.costs import ActuatorWork, Cost, Effort
from softground.planning.problem import GaitProblem
from softground.planning.stages import Stage

EFFORT_LEFT = 0.1
"""Share of the cost on torque that stays beside that on work, since torque at rest does no work."""
WORK_DAMPING = 0.3
"""Damping of torques (`Damping`), where work is a cost: power is a product of torque and rate, of which Gauss-Newton
knows the slope but not how the two factors bend it."""


def objective_named(name: str) -> Callable[[GaitProblem], GaitProblem]:
    """What turns a problem of least effort into one with the objective of this name."""
    if name not in OBJECTIVES:
        raise OptionError(unknown_name("objective", name, OBJECTIVES))
    return OBJECTIVES[name]


def least_work(problem: GaitProblem) -> GaitProblem:
    """The problem with the work of the actuators in the place of most of its cost on torque."""
    costs: list[Cost] = []
    for cost in problem.costs:
        effort = isinstance(cost, Effort)
        costs += [ActuatorWork(), replace(cost, weight=EFFORT_LEFT * cost.weight)] if effort else [cost]
    return replace(problem, costs=tuple(costs))


def stages_for(problem: GaitProblem, stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Stages that suit the objective of a problem."""
    if not any(isinstance(cost, ActuatorWork) for cost in problem.costs):
        return tuple(stages)
    return tuple(replace(stage, damping=replace(stage.damping, torque=WORK_DAMPING)) for stage in stages)


OBJECTIVES: dict[str, Callable[[GaitProblem], GaitProblem]] = {"effort": lambda problem: problem, "work": least_work}
