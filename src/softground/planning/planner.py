"""Plan a gait from a robot, a ground and a speed: the parts of a plan by their names.

What a gait is to spend least of is one of them: torque squared as in zhu2021, or the work of the actuators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from softground.arrays import require_double
from softground.errors import OptionError, unknown_name
from softground.media import Medium
from softground.planning.costs import ActuatorWork, Cost, Effort
from softground.planning.dynamics.base import Dynamics
from softground.planning.dynamics.bilevel import Bilevel
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.guesses import carried_over, gallop, rise, trot_in_place, walk_at_speed
from softground.planning.library import command_of, near
from softground.planning.plan import Plan, load_motion
from softground.planning.problem import GaitProblem, walking_problem
from softground.planning.size import walking_eps
from softground.planning.solve import solve
from softground.planning.stages import (
    Stage,
    bilevel_stages,
    near_stages,
    neighbour_stages,
    spare_stages,
    standard_stages,
)
from softground.planning.steady import can_repeat, steady_gait
from softground.planning.strides import stride
from softground.planning.trajectory import Trajectory
from softground.robots import Robot
from softground.runs import Run
from softground.simulation import Ground
from softground.surfaces import Plane

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


DYNAMICS: dict[str, type[Dynamics]] = {"closed-form": ClosedForm, "bilevel": Bilevel}
GUESSES = {"stride": stride, "walk": walk_at_speed, "trot": trot_in_place, "gallop": gallop}


def plan(
    robot: Robot,
    ground: Ground | Medium,
    speed: float = 0.4,
    *,
    objective: str = "effort",
    guess: str | Path | Plan | Run | Trajectory = "stride",
    knots: int = 181,
    dt: float | None = None,
    period: float | None = None,
    eps: float | None = None,
    dynamics: str = "closed-form",
    seconds: float = 600.0,
    state: Path | None = None,
    progress: bool = True,
) -> Plan:
    """Plan a gait at a speed (m/s) on sand or foam: no contact schedule, only costs (zhu2021 IV.D). Needs float64.

    objective: "effort" (torque squared), or "work" (of the actuators).
    guess: where the optimiser starts: "stride" (planned by itself and repeated: on a plane that is the gait), "walk",
    "trot" (in place), "gallop", a trajectory, or a gait (a run or its file), which is carried over to this ground.
    knots: moments at which the state is unknown, dt (s) apart. period: after which limbs repeat themselves, s.
    eps: temperature at which the gait is planned, W. These three are by default 0.05 s, 3 s and 1 W for RoboSimian, and
    follow the size and weight of other robots. dynamics: "closed-form", or "bilevel" as in zhu2021.
    seconds: time limit of the optimiser, s. state: file in which the solve is kept as it goes; given again, it goes on.

    `Plan.report` says how it went; `save`, `view` and `replay` are what most do next.

        plan = sg.plan(sg.Robot.load("robosimian"), sg.sand(strength=2), speed=0.4)  # some seconds
        plan.save("gait.nc")

    A foot drawn along for three steps, from a guess in which it rests:

    >>> import numpy as np, softground as sg
    >>> foot = sg.Robot.load("foot")
    >>> rest = sg.planning.Trajectory(np.tile(foot.posture, (4, 1)), np.zeros((4, 3)), np.zeros((3, 3)), dt=0.05)
    >>> plan = sg.plan(foot, sg.sand(), speed=0.1, knots=4, period=0.1, guess=rest, progress=False)
    >>> print(f"{plan.metrics.speed:.2f} m/s")
    0.10 m/s
    """
    require_double("planning")  # before a guess is made for it
    eps = walking_eps(robot) if eps is None else eps
    form, spending_least = dynamics_named(dynamics), objective_named(objective)
    soil = ground if isinstance(ground, Ground) else Ground(ground)
    problem = spending_least(walking_problem(robot, soil, speed, knots=knots, dt=dt, period=period))
    asked = guess
    if guess == "stride" and can_repeat(problem):
        found = repeated_stride(problem, eps, form, progress)
        if found.report.status == "converged":
            return found
        guess = found.trajectory
    named = guess if isinstance(guess, str) else "a gait"
    with Console(stderr=True, quiet=not progress).status(f"making the guess: {named}"):
        start = guess_for(problem, guess, eps)
    on_plane = isinstance(soil.surface, Plane)
    return solve(
        problem,
        start,
        stages=stages_for(problem, stages_from(form, asked, eps, on_plane)),
        dynamics=form,
        seconds=seconds,
        progress=progress,
        state=state,
    )


def repeated_stride(problem: GaitProblem, eps: float, form: type[Dynamics], progress: bool) -> Plan:
    """The gait of whole strides, with a line of how it was found."""
    console = Console(stderr=True, quiet=not progress)
    if outside := outside_library(problem):
        console.print(outside, soft_wrap=True, highlight=False)
    with console.status("making a stride"):
        found = steady_gait(problem, eps, dynamics=form)
    report = found.report
    console.print(
        f"a stride: {report.reason} after {report.iterations} iterations, optimality {report.optimality:.1e}; repeated "
        f"for {problem.knots} knots: violation {report.violation:.1e}",
        soft_wrap=True,
        highlight=False,
    )
    return found


def outside_library(problem: GaitProblem) -> str:
    """What a user must know where no stride of the libraries is near a problem on a plane; nothing where one is."""
    plane = problem.ground.surface
    angle = rise(plane) if isinstance(plane, Plane) else 0.0
    if near(problem, angle):
        return ""
    asked = command_of(problem, angle).in_words()
    return f"the library has no stride of {problem.robot.name} near {asked}: one is searched for, which takes minutes"


def dynamics_named(name: str) -> type[Dynamics]:
    """The form of the dynamics of this name."""
    if name not in DYNAMICS:
        raise OptionError(unknown_name("form of the dynamics", name, DYNAMICS))
    return DYNAMICS[name]


def stages_from(
    form: type[Dynamics], guess: str | Path | Plan | Run | Trajectory, eps: float, on_plane: bool = True
) -> tuple[Stage, ...]:
    """The way to a solution from a guess, on ground of smoothing `eps` (W)."""
    near = isinstance(guess, str) and guess == "stride"
    if form is Bilevel:
        return bilevel_stages(eps, near=near)
    if near and not on_plane:  # laid over it, the gait is not so near
        return (*neighbour_stages(eps), *spare_stages(eps))
    return near_stages(eps) if near else standard_stages(eps)


def guess_for(problem: GaitProblem, guess: str | Path | Plan | Run | Trajectory, eps: float) -> Trajectory:
    """A guess: by name, from a gait or the file of one, or as it is."""
    if isinstance(guess, Trajectory):
        return guess
    if isinstance(guess, Plan | Run):
        return carried_over(problem, guess, eps)
    if str(guess).endswith(".nc"):
        return carried_over(problem, load_motion(guess), eps)
    if guess not in GUESSES:
        raise OptionError(unknown_name("guess", str(guess), [*GUESSES, "FILE.nc"]))
    return GUESSES[str(guess)](problem, eps)
