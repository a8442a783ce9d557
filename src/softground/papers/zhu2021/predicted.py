"""What zhu2021 leaves to future work: the gait from the wrench space and the command, by regression, without a solve.

Entries of the shipped library of strides are held out; a regression over the others predicts them. How feasible is a
stride as predicted, and after one iteration of the optimiser; and how soon is it solved, beside a start from the
nearest of the other entries, which is what plans do?
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from softground.media.named import sand
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table, above
from softground.papers.zhu2021 import gaits
from softground.planning import GaitProblem, Plan, Trajectory, near_stages, solve, walking_problem
from softground.planning.guesses import turned
from softground.planning.library import Command, Library, shipped
from softground.planning.regression import StrideRegression, features_of
from softground.planning.strides import possible, stride_problem
from softground.planning.transcription import Transcription
from softground.runs.verdict import wilson
from softground.simulation import Ground
from softground.surfaces import Plane

HELD_OUT, SEED = 0.2, 19
"""Share of the entries that are held out, and the seed that says which."""
QUICK = 2
PREDICTED, NEAREST = "prediction", "nearest entry"


@dataclass(frozen=True)
class Corrected:
    """A start, after one iteration and in the end."""

    start: float  # violation of the start
    plan: Plan

    @property
    def violations(self) -> list[float]:
        """Of the start and after every iteration."""
        return [self.start, *(point[1] for stage in self.plan.report.stages for point in stage.history)]

    @property
    def feasible_after(self) -> float:
        """Iterations until it is feasible; infinite where it never is."""
        return next((float(k) for k, one in enumerate(self.violations) if one <= bar.TOLERANCE), np.inf)

    @property
    def solved(self) -> bool:
        return self.plan.report.status == "converged"


def perform(options: Options) -> Findings:
    library = next(one for one in shipped() if one.fits(problem_of(Command(gaits.SPEED, 0.0, 2.0))))
    kept, held = parted(library)
    held = held[:QUICK] if options.quick else held
    regression = StrideRegression.fit(
        np.array([features_of(problem_of(command)) for command, _, _ in kept.entries]),
        [trajectory for *_, trajectory in kept.entries],
    )
    rows, found = [], []
    for command, cost, _ in held:
        one = {PREDICTED: predicted(regression, command), NEAREST: from_nearest(kept, command)}
        found.append(one)
        rows.append(row(command, cost, one))
    return Findings(
        checks=checks(found),
        metrics={"kernel_length": regression.length, "ridge": regression.ridge, "held_out": rows},
        tables=[
            Table("summary", "In short", [summary(name, [one[name] for one in found]) for name in found[0]]),
            Table("held_out", "Entries that were held out", rows),
        ],
        notes=[
            f"{len(kept.entries)} entries of the library are known, {len(held)} were held out (seed {SEED}). They "
            "differ in speed, slope and strength; of one medium the strength is all that its wrench space can tell.",
            "A violation is of any row: m/s and rad/s for motion, 100 N and 100 N m for forces.",
            "One iteration is one of the optimiser, with its projected Hessian and its line search.",
        ],
    )


def problem_of(command: Command) -> GaitProblem:
    """The stride's problem of a command."""
    ground = Ground(sand(command.strength), Plane(slope=command.slope))
    return stride_problem(walking_problem(gaits.robot(), ground, command.speed))


def parted(library: Library) -> tuple[Library, list[tuple[Command, float, Trajectory]]]:
    """The library without the entries that are held out, and those."""
    count = len(library.entries)
    out = set(np.random.default_rng(SEED).permutation(count)[: round(HELD_OUT * count)].tolist())
    kept = tuple(entry for k, entry in enumerate(library.entries) if k not in out)
    return replace(library, entries=kept), [library.entries[k] for k in sorted(out)]


def predicted(regression: StrideRegression, command: Command) -> Corrected:
    """What the regression says of a command, within the robot's limits, corrected."""
    problem = problem_of(command)
    stride = possible(problem.robot, regression(features_of(problem)))
    rates = np.clip(stride.v, -problem.limits.speed, problem.limits.speed)
    return corrected(problem, stride._replace(v=rates))


def from_nearest(library: Library, command: Command) -> Corrected:
    """The nearest entry of a library, turned with the ground, corrected."""
    nearest = library.nearest(command)
    assert nearest is not None  # entries are held out from among others
    before, stride = nearest
    problem = problem_of(command)
    return corrected(problem, turned(problem.robot, stride, command.slope - before.slope))


def corrected(problem: GaitProblem, start: Trajectory) -> Corrected:
    """A start, and what the optimiser makes of it."""
    transcription = Transcription(problem)
    violation = transcription.violation(transcription.unknowns(start, gaits.EPS), gaits.EPS)
    return Corrected(violation, solve(problem, start, stages=near_stages(gaits.EPS), progress=False))


def row(command: Command, cost: float, found: dict[str, Corrected]) -> Row:
    """A row of the table."""
    result: Row = {"command": command.in_words()}
    for name, one in found.items():
        result |= {
            f"violation, {name}": one.violations[0],
            f"after one iteration, {name}": one.violations[1],
            f"feasible after, {name}": one.feasible_after,
            f"iterations, {name}": one.plan.report.iterations,
            f"status, {name}": one.plan.report.status,
            f"cost over the entry's, {name}": one.plan.report.objective / cost,
        }
    return result


def summary(name: str, found: list[Corrected]) -> Row:
    """Medians over all held-out entries, and shares."""
    count = len(found)
    low, high = wilson(sum(one.solved for one in found), count)
    return {
        "start": name,
        "violation as it is, median": float(np.median([one.violations[0] for one in found])),
        "after one iteration, median": float(np.median([one.violations[1] for one in found])),
        "feasible after one iteration": f"{sum(one.feasible_after <= 1 for one in found)} of {count}",
        "iterations until feasible, median": float(np.median([one.feasible_after for one in found])),
        "iterations until solved, median": float(np.median([one.plan.report.iterations for one in found])),
        "solved": f"{sum(one.solved for one in found)} of {count} ({100 * low:.0f} to {100 * high:.0f} %)",
    }


def checks(found: list[dict[str, Corrected]]) -> list[Check]:
    """Predicted strides lead to gaits, and are nearer to them than the nearest entry is."""
    share = np.mean([one[PREDICTED].solved for one in found])
    nearer = np.mean([one[PREDICTED].violations[0] < one[NEAREST].violations[0] for one in found])
    return [
        above("share of predicted strides that are solved", float(share), bar.PREDICTED_SOLVED),
        above("share of predicted strides with less violation than the nearest entry's", float(nearer), bar.NEARER),
    ]


STUDY = Study(
    "zhu2021",
    "predicted",
    "gaits from the command by regression (future work of the paper)",
    "future work: to learn the gait from the wrench space and the command, instead of solving for it.",
    perform,
)
