"""Solving a gait problem: stages, progress, interruption, resuming."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.status import Status
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import lsmr

from softground.errors import FileFormatError, OptionError
from softground.planning.bounds import check_guess, check_problem
from softground.planning.checkpoint import Checkpoint
from softground.planning.clashes import clashes
from softground.planning.dynamics.base import Dynamics
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.plan import Plan
from softground.planning.problem import GaitProblem, coarser
from softground.planning.report import Report, Solution, StageReport
from softground.planning.stages import Stage, standard_stages
from softground.planning.trajectory import Trajectory, gait_metrics
from softground.planning.transcription import Transcription
from softground.planning.uno import REASONS, Nlp, Outcome, Progress, optimise

SAVE_EVERY = 10.0  # s
LEAST_SQUARES_STEPS = 300
"""For the multipliers of a start that is feasible: they say how good it is, nothing hangs on them."""
KEPT_TWIST = 5.0
"""Scaled twists below this are kept when eps changes, for they make the forces; larger ones keep the motion."""


def solve(
    problem: GaitProblem,
    guess: Trajectory,
    *,
    stages: Sequence[Stage] | None = None,
    dynamics: type[Dynamics] = ClosedForm,
    feasibility: float = 1e-3,
    optimality: float = 1e-3,
    seconds: float = np.inf,
    progress: bool = True,
    state: Path | None = None,
) -> Plan:
    """Find a gait near a guess.

    stages: see `planning.stages`. feasibility: greatest violation of a row (m/s, rad/s, 100 N); optimality: of the
    scaled KKT conditions. seconds: time limit. state: file to which the solve is saved as it goes; where it exists,
    the solve goes on from there. It is removed when all stages are done.

    Ctrl-C ends the solve and returns the best point so far: the lowest objective among those feasible, or else the
    least violation. Never raises for want of convergence: `plan.report` says how it ended.
    """
    stages = tuple(standard_stages() if stages is None else stages)
    if not stages:
        raise OptionError("a solve needs at least one stage: see softground.planning.standard_stages")
    check_problem(problem)
    check_guess(problem, guess)
    console = Console(stderr=True, quiet=not progress)
    began, compile_seconds, reports = time.perf_counter(), 0.0, []
    saved = None if state is None or not state.exists() else Checkpoint.load(state)
    transcriptions: dict[int, Transcription] = {}
    point, out_of_time = _Point(guess), False
    if saved is not None and saved.stage >= len(stages):
        raise FileFormatError(
            f"{state} was left in stage {saved.stage + 1}, of {len(stages)} here: give the same stages"
        )
    with _interruptible() as interrupted:
        for number, stage in enumerate(stages):
            if saved is not None and number < saved.stage:
                continue
            if stage.spare and reports and reports[-1].within(feasibility, optimality):
                continue
            started = time.perf_counter()
            if stage.coarse not in transcriptions:
                same = stage.coarse == 1
                transcriptions[stage.coarse] = Transcription(
                    problem if same else coarser(problem, stage.coarse), dynamics
                )
            transcription = transcriptions[stage.coarse]
            if saved is not None and state is not None:
                saved.check(transcription.layout, state)
                point = _Point(transcription.trajectory(saved.z), saved.z, saved.multipliers, stage.eps, stage.coarse)
                saved = None
            nlp = transcription.nlp(stage.eps, stage.hessian, stage.damping)
            z, multipliers = point.start(transcription, stage)
            _compile(nlp, z)
            compile_seconds += time.perf_counter() - started
            left = seconds - (time.perf_counter() - began - compile_seconds)
            with console.status("planning") as line:
                watch = _Watch(
                    number, len(stages), stage, transcription, interrupted, feasibility, optimality, line, state
                )
                # A stage that goes astray must not undo the one before, nor a guess that is a gait already.
                watch.best = point.known(nlp, stage) or _as_it_is(nlp, z, feasibility)
                outcome = optimise(
                    nlp,
                    z,
                    feasibility=feasibility,
                    optimality=stage.optimality or optimality,
                    iterations=stage.iterations,
                    seconds=max(left, 0.0),
                    barrier=stage.barrier,
                    multipliers=multipliers,
                    monitor=watch,
                )
            out_of_time = time.perf_counter() - began - compile_seconds > seconds
            if outcome.interrupted:
                interrupted.set()
            if outcome.interrupted or out_of_time:
                watch.save()
            best = outcome if outcome.converged or watch.best is None else watch.best
            point = _Point(
                transcription.trajectory(best.z), best.z, best.multipliers, stage.eps, stage.coarse, best.optimality
            )
            reports.append(_stage_report(stage, nlp, outcome, best))
            console.print(_stage_line(number, len(stages), reports[-1]), soft_wrap=True, highlight=False)
            if interrupted.is_set() or out_of_time:
                break
    if state is not None and not (interrupted.is_set() or out_of_time):
        state.unlink(missing_ok=True)
    report = _report(reports, interrupted.is_set(), feasibility, optimality, compile_seconds)
    if report.status == "failed" and point.z is not None and point.eps is not None:
        broken = clashes(transcriptions[point.coarse], point.z, point.eps, feasibility)
        report = replace(report, clashes=broken)
    start = gait_metrics(problem, guess.resampled(problem.knots)).lifts
    report, trajectory = replace(report, start_lifts=start), point.trajectory.resampled(problem.knots)
    eps, metrics = point.eps or stages[0].eps, gait_metrics(problem, trajectory)
    return Plan(problem, trajectory, eps, metrics, report, point.solution())


@dataclass
class _Point:
    """Where a stage begins: a trajectory, and what the last stage knows beyond it."""

    trajectory: Trajectory
    z: np.ndarray | None = None
    multipliers: np.ndarray | None = None
    eps: float | None = None
    coarse: int = 1
    optimality: float = np.inf

    def known(self, nlp: Nlp, stage: Stage) -> Progress | None:
        """The point as a result of the stage that starts from it, if the last one had the same problem."""
        if self.z is None or self.multipliers is None or (self.eps, self.coarse) != (stage.eps, stage.coarse):
            return None
        measured = nlp.objective(self.z), nlp.violation(self.z), self.optimality
        return Progress(0, 0.0, *measured, self.z, self.multipliers)

    def start(self, transcription: Transcription, stage: Stage) -> tuple[np.ndarray, np.ndarray | None]:
        """Unknowns and multipliers at the beginning of a stage."""
        if self.z is None or self.eps is None or self.coarse != stage.coarse:
            return transcription.unknowns(self.trajectory, stage.eps), None
        z = self.z.copy()
        places = transcription.layout.lifted_at(np.arange(transcription.layout.knots - 1))
        z[places] = np.where(np.abs(z[places]) > KEPT_TWIST, z[places] * self.eps / stage.eps, z[places])
        return z, self.multipliers

    def solution(self) -> Solution | None:
        """What the last stage knows, if it was a stage of the whole problem."""
        if self.z is None or self.multipliers is None or self.eps is None or self.coarse != 1:
            return None
        return Solution(self.z, self.multipliers, self.eps)


@dataclass
class _Watch:
    """Called once an iteration: shows progress, keeps the best point, saves, and says when to stop."""

    number: int
    count: int
    stage: Stage
    transcription: Transcription
    interrupted: threading.Event
    feasibility: float
    optimality: float
    line: Status
    state: Path | None
    best: Progress | None = None
    last: Progress | None = None
    saved: float = field(default_factory=time.perf_counter)

    def __call__(self, now: Progress) -> bool:
        self.line.update(
            f"stage {self.number + 1}/{self.count} ({self.stage.hessian}, eps {self.stage.eps:g} W): "
            f"iteration {now.iteration}, objective {now.objective:.4g}, violation {now.violation:.1e}, "
            f"optimality {now.optimality:.1e}, {now.seconds:.0f} s"
        )
        if self.best is None or self._rank(now) < self._rank(self.best):
            self.best = now
        self.last = now
        stop = self.interrupted.is_set()
        if stop or time.perf_counter() - self.saved > SAVE_EVERY:
            self.save()
        return stop

    def save(self) -> None:
        """Save the last point, where a file is given."""
        if self.state is not None and self.last is not None:
            layout = tuple(self.transcription.layout)
            Checkpoint(self.number, self.last.iteration, self.last.z, self.last.multipliers, layout).save(self.state)
            self.saved = time.perf_counter()

    def _rank(self, point: Progress) -> tuple[float, bool, float]:
        """Less is better: feasible points by objective, those that are optimal first, others by violation."""
        excess = max(point.violation - self.feasibility, 0.0)
        return excess, point.optimality > self.optimality, point.objective if excess == 0 else 0.0


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets: an exception thrown through the optimiser's own code would end the process.

    A second Ctrl-C acts as usual. Only the main thread can listen to signals; elsewhere the event stays clear.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.getsignal(signal.SIGINT)

    def note(*_):
        event.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


def _compile(nlp: Nlp, z: np.ndarray) -> None:
    """Call everything once, so that compilation is not counted as solving."""
    for function in (nlp.objective, nlp.gradient, nlp.constraints, nlp.jacobian):
        function(z)
    nlp.hessian(z, 1.0, np.zeros(nlp.n_rows))
    nlp.clock.reset()


def _as_it_is(nlp: Nlp, z: np.ndarray, feasibility: float) -> Progress | None:
    """A start that is feasible, as a result: with the multipliers that fit it best."""
    violation = nlp.violation(z)
    if violation > feasibility:
        return None
    slopes = csr_matrix((nlp.jacobian(z), (nlp.jacobian_columns, nlp.jacobian_rows)), (nlp.size, nlp.n_rows))
    gradient = nlp.gradient(z)
    multipliers = lsmr(slopes, -gradient, maxiter=LEAST_SQUARES_STEPS)[0]
    optimality = float(np.abs(gradient + slopes @ multipliers).max())
    return Progress(0, 0.0, nlp.objective(z), violation, optimality, z, multipliers)


def _stage_report(stage: Stage, nlp: Nlp, outcome: Outcome, best: Outcome | Progress) -> StageReport:
    seconds, calls = dict(nlp.clock.seconds), dict(nlp.clock.calls)
    return StageReport(
        stage.eps,
        stage.hessian,
        stage.coarse,
        outcome.converged,
        outcome.reason,
        outcome.iterations,
        nlp.objective(best.z),
        best.violation,
        best.optimality,
        outcome.seconds,
        seconds | {"linear systems and the rest": outcome.seconds - sum(seconds.values())},
        calls,
        outcome.history,
    )


def _stage_line(number: int, count: int, report: StageReport) -> str:
    return (
        f"stage {number + 1}/{count} ({report.hessian}, eps {report.eps:g} W): {report.reason} after "
        f"{report.iterations} iterations in {report.seconds:.1f} s, objective {report.objective:.4g}, "
        f"violation {report.violation:.1e}, optimality {report.optimality:.1e}"
    )


def _report(
    stages: list[StageReport], interrupted: bool, feasibility: float, optimality: float, compiling: float
) -> Report:
    last = stages[-1]
    feasible = last.violation <= feasibility
    solved = last.within(feasibility, optimality)
    status = "interrupted" if interrupted else "converged" if solved else "feasible" if feasible else "failed"
    return Report(
        status,
        REASONS["converged"] if solved and not interrupted else last.reason,  # a stage may aim at more than was asked
        sum(stage.iterations for stage in stages),
        last.objective,
        last.violation,
        last.optimality,
        sum(stage.seconds for stage in stages),
        compiling,
        stages,
    )
