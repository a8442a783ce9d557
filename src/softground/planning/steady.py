"""Gaits that go on and on: the best stride, repeated.

The problem of a long gait whose last state is its first one again, further along (`Cycle`), has the repeated stride for
a solution: every step, every limit and every cost of it is one of the stride's, and what is stationary there is
stationary here (tests look with the derivatives of the long problem). So nothing is solved but the stride. With free
ends the optimum begins with a speed upwards that nothing paid for, costs a tenth less, and takes twenty times as long.
"""

from __future__ import annotations

import time
from dataclasses import replace

from softground.planning.constraints import Cycle
from softground.planning.dynamics.base import Dynamics
from softground.planning.dynamics.bilevel import Bilevel
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.guesses import STRIDE
from softground.planning.plan import Plan
from softground.planning.problem import GaitProblem
from softground.planning.search import Search
from softground.planning.solve import solve
from softground.planning.stages import bilevel_stages
from softground.planning.strides import best_stride, repeated, stride_problem, whole_stride
from softground.planning.trajectory import gait_metrics
from softground.planning.transcription import Transcription
from softground.surfaces import Plane


def can_repeat(problem: GaitProblem) -> bool:
    """Whether a gait of whole strides can be what a problem asks for: on a plane, with nothing said of its end."""
    free = not (problem.final.q or problem.final.v or problem.initial.v or problem.splines)
    whole = (problem.knots - 1) % STRIDE == 0
    return free and whole and isinstance(problem.ground.surface, Plane)


def steady_problem(problem: GaitProblem) -> GaitProblem:
    """The problem, of which the last state is the first one again."""
    return replace(problem, constraints=(*problem.constraints, Cycle()))


def steady_gait(
    problem: GaitProblem, eps: float, search: Search | None = None, dynamics: type[Dynamics] = ClosedForm
) -> Plan:
    """The gait of whole strides for a problem on ground of smoothing `eps` (W)."""
    began = time.perf_counter()
    stride = best_stride(stride_problem(problem), eps, search)
    if dynamics is not ClosedForm:
        stride = in_bilevel_form(stride, eps)
    found = gait_of(problem, stride, dynamics)
    seconds = time.perf_counter() - began - found.report.compile_seconds
    return replace(found, report=replace(found.report, seconds=seconds))


def in_bilevel_form(stride: Plan, eps: float) -> Plan:
    """The stride of the bilevel form, from that of the closed form on ground of smoothing `eps` (W)."""
    stages = bilevel_stages(eps, near=True)
    return solve(stride.problem, stride.trajectory, stages=stages, dynamics=Bilevel, progress=False)


def gait_of(
    problem: GaitProblem, stride: Plan, dynamics: type[Dynamics] = ClosedForm, feasibility: float = 1e-3
) -> Plan:
    """The gait that a stride makes. Its violation is measured at all knots; its optimality is that of the stride."""
    whole, one = steady_problem(problem), stride.problem
    gait = repeated(problem.robot, whole_stride(one, stride.trajectory), problem.knots)
    transcription = Transcription(whole, dynamics)
    violation = transcription.violation(transcription.unknowns(gait, stride.eps), stride.eps)
    report = replace(
        stride.report,
        status=stride.report.status if violation <= feasibility else "failed",
        objective=stride.report.objective * (problem.knots - 1) / (one.knots - 1),
        violation=violation,
    )
    return Plan(whole, gait, stride.eps, gait_metrics(whole, gait), report)
