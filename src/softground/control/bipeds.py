"""Walk a biped on ground that yields, from a speed to a run: on flat feet by a pattern and whole-body control, on round
feet by where they are put."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console

from softground.control.estimation import Estimator
from softground.control.stepping import Stepper, SteppingController, SteppingGait, Walks, starting_state
from softground.control.walking.gait import gait_for
from softground.control.walking.walk import Belief, Command, steps_a_period, verdict
from softground.control.walking.walk import walk as walk_by_pattern
from softground.control.walking.walker import check_controller, walking_controller
from softground.errors import OptionError
from softground.media import Medium, Noisy, ViscoElastic
from softground.media.visco_elastic.fields import value_at
from softground.robots import Robot
from softground.runs import Run
from softground.runs.cost_of_transport import describe_cost, walk_cost
from softground.runs.measures import heading
from softground.simulation import Ground, Simulator

STEPPING_PERIOD = 2e-3  # s, of the controller of round feet and of the simulator below it
STANDING_IN_GRAINS, STANDING_ON_SPRINGS = 0.02, 0.0015  # m: how deep round feet stand at first
LEAST_SIGMA = 1.0  # N, N m: noise of wrenches that an estimator counts on where there is less


def walk(
    robot: Robot,
    ground: Ground | Medium,
    speed: float | None = None,
    *,
    turn: float = 0.0,
    seconds: float = 10.0,
    controller: str | None = None,
    guess_stiffness: float | None = None,
    guess_damping: float | None = None,
    estimate: bool = False,
    progress: bool = True,
    title: str = "",
    command: str = "",
) -> Run:
    """Walk a biped for some seconds (s); a walk that falls is a run, too, and `Run.fall` says when and why.

    speed: mean, m/s; negative: backwards; by default `usual_speed(robot)`. turn: rate, rad/s, to the left.
    title, command: kept in the run.

    Round feet, on any ground: steps of 0.2 s that balance by where they are put, and torques from a linear system every
    2 ms (chen2026). On round feet a turn is learned under way, slowly on firm ground.

    Flat feet, on level ground of springs and dampers (`foam`, `firm`, `ViscoElastic`, or one in `Noisy`): a planned
    gait, and torques from a QP every millisecond (romualdi2021). Only these have options:
    controller: "compliant" (by default; knows how the ground yields), "cautious" or "rigid".
    guess_stiffness (N/m per m2 of sole), guess_damping (N s/m per m2): what the controller takes the ground for, by
    default for what it is. estimate: whether it learns both under way, from the wrenches on its feet.

    A tenth of a second, in which a biped begins to sway:

    >>> import softground as sg
    >>> run = sg.walk(sg.Robot.load("biped"), sg.firm(), speed=0.2, seconds=0.1)
    >>> run.fall() is None, run.sizes["time"]
    (True, 50)
    """
    soil = ground if isinstance(ground, Ground) else Ground(ground)
    speed = usual_speed(robot) if speed is None else speed
    if has_round_feet(robot):
        _refuse(
            robot,
            {
                "controller": controller is not None,
                "guess-stiffness": guess_stiffness is not None,
                "guess-damping": guess_damping is not None,
                "estimate": estimate,
            },
        )
        with Console(stderr=True, quiet=not progress).status("walking"):
            return _step(robot, soil, speed, turn, seconds, title, command)
    controller = controller or "compliant"
    check_controller(controller)
    gait, belief = gait_for(robot), _belief(soil.medium, guess_stiffness, guess_damping, estimate)
    of_feet = walking_controller(robot, controller)
    return walk_by_pattern(
        Simulator(robot, soil, of_feet.period / steps_a_period(soil.medium, of_feet.period)),
        of_feet,
        gait,
        Command(speed, turn, seconds),
        belief,
        progress=progress,
        title=title,
        invocation=command,
    )


def _refuse(robot: Robot, given: dict[str, bool]) -> None:
    """OptionError where an option is given that robots on round feet do not have."""
    if chosen := [name for name, is_given in given.items() if is_given]:
        raise OptionError(
            f"{', '.join(chosen)}: for robots on flat feet (icub, talos, g1), {robot.name} has round ones and balances "
            "by where it steps; leave it out"
        )


def has_round_feet(robot: Robot) -> bool:
    """Whether a robot is a biped on feet that roll."""
    return len(robot.feet) == 2 and all(foot.shape.rolls for foot in robot.feet)


def usual_speed(robot: Robot) -> float:
    """Speed (m/s) at which a biped walks if nothing else is asked: 0.2 on round feet, 0.085 on flat ones."""
    return 0.2 if has_round_feet(robot) else 0.085


def walk_summary(run: Run) -> dict[str, Any]:
    """Names with units -> how a walk of `walk` went: on flat feet the verdict, on round ones the cost of transport."""
    if "com_reference" in run:
        return verdict(run).as_dict()
    return describe_cost(walk_cost(run)) | {
        "seconds": float(run["time"][-1]),
        "steps": int(run["time"][-1] / float(SteppingGait().stance)),
        "deepest_mm": 1e3 * float(run["depth"].max()),
        "turned_rad": float(heading(run)[-1]),
        "real_time_factor": float(run.attrs["steps_per_second"] * run.attrs["dt_s"]),
    }


def _step(robot: Robot, ground: Ground, speed: float, turn: float, seconds: float, title: str, command: str) -> Run:
    """The walk of a biped on round feet."""
    simulator = Simulator(robot, ground, STEPPING_PERIOD)
    stepper = Stepper(SteppingController(robot, period=STEPPING_PERIOD), SteppingGait(turn=turn))
    depth = STANDING_ON_SPRINGS if isinstance(_quiet(ground.medium), ViscoElastic) else STANDING_IN_GRAINS
    return Walks(simulator, stepper, starting_state(simulator, stepper, depth), seconds)(
        speed, title=title, command=command
    )


def _belief(medium: Medium, stiffness: float | None, damping: float | None, estimate: bool) -> Belief:
    """What the controller takes the ground for at first, and how it learns."""
    springs = _quiet(medium)
    if not isinstance(springs, ViscoElastic):
        raise OptionError(
            "walking on flat feet needs ground of springs and dampers: foam, firm or a ViscoElastic, got "
            f"{type(springs).__name__}; on grains walk a robot with round feet (biped)"
        )
    at_start = lambda coefficient: float(value_at(coefficient, np.zeros(3)))  # noqa: E731
    sigma = max(float(np.max(medium.sigma)), LEAST_SIGMA) if isinstance(medium, Noisy) else LEAST_SIGMA
    return Belief(
        at_start(springs.stiffness) if stiffness is None else stiffness,
        at_start(springs.damping) if damping is None else damping,
        Estimator(sigma) if estimate else None,
    )


def _quiet(medium: Medium) -> Medium:
    """The medium without its noise."""
    return medium.ground if isinstance(medium, Noisy) else medium
