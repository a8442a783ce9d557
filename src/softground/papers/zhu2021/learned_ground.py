"""Gaits on learned ground, at the strength that was measured: what fails there, and what helps.

The paper plans on ground of twice the measured strength, because RoboSimian is too heavy for the sand as it was. Here
the data stay as they are wherever a change of the robot helps as well: less in its torso, or larger feet. Feet stay
inside the data (depth and tilt) at every knot. On planes a gait is whole strides, each from that of the slope before.
"""

from __future__ import annotations

from collections.abc import Iterator

import jax
import numpy as np

from softground.experiments.campaign.working import running_ray
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table
from softground.papers.zhu2019.learned_cases import SIZE, TORSO, Case, cases, learned_medium
from softground.papers.zhu2021 import gaits, slopes, wavy
from softground.papers.zhu2021.table_one import SLOPES, WAVY
from softground.planning import GaitProblem, Plan, Trajectory, carried_over, steady
from softground.planning.library import Command, shipped
from softground.planning.problem import walking_problem
from softground.planning.search import rank
from softground.planning.strides import first_knots, from_known, solved_near, stride_problem
from softground.simulation import Ground

SLOPED = {"sand": ("larger feet", "strength 2"), "beads": ("lighter torso", "larger feet")}
"""Remedies with which all slopes and waves are planned, by ground; on level ground all are."""

OTHERS = 3
"""Further strides of theory that are tried where neither of the first two starts leads to a walk."""


def perform(options: Options) -> Findings:
    ground, medium = learned_medium(options.sand)
    on_level = cases({ground: medium})
    sloped = [case for case in on_level if case.name.removeprefix(f"{ground}, ") in SLOPED[ground]]
    slopes_of = {case.name: (0.0,) if options.quick or case not in sloped else tuple(SLOPES) for case in on_level}
    if options.workers > 1:
        with running_ray(options.workers) as ray:
            one = ray.remote(num_cpus=1)(_fill_cache)
            ray.get([one.remote(case, slopes_of[case.name], options.quick) for case in on_level])
    found = [(case, slope, gait_of(case, slope, options.quick)) for case in on_level for slope in slopes_of[case.name]]
    waves = [] if options.quick else [(case, over_waves(case)) for case in sloped]
    solved = {
        case.name: sum(1 for other, _, gait in found if other is case and gait.converged and gait.walks)
        for case in sloped
    }
    level = {case.name: gait for case, slope, gait in found if slope == 0}
    return Findings(
        checks=_checks(level, None if options.quick else max(solved.values())),
        metrics={
            f"{case.name}, {slope:g}": {
                "metrics": gait.metrics,
                "replay": gait.replayed,
                "status": gait.report["status"],
            }
            for case, slope, gait in found
        },
        tables=[
            Table("learned_ground", "Gaits on learned ground", [row(*one) for one in found]),
            *([Table("learned_waves", "Over waves", [wave_row(*one) for one in waves])] if waves else []),
        ],
        notes=[
            f"Learned from: {ground}. Feet stay inside its data (depth and tilt) at every knot of the plan; steps of "
            "the replay in which one is outside are counted.",
            f"Lighter torso: {TORSO:g} instead of 41.7 kg. Larger feet: {SIZE:g} times, and heavier by that; learned "
            "wrenches are scaled by the similarity of resistive force theory, an assumption for real grains.",
            gaits.COST_NOTE,
            gaits.UNITS_NOTE,
        ],
    )


def _checks(level: dict[str, gaits.Gait], solved: int | None) -> list[Check]:
    """Level ground, by case; how many slopes are solved with the better remedy, where slopes were planned."""
    walking = [name for name, gait in level.items() if gait.converged and gait.walks and "theory" not in name]
    checks = [Check("cases that walk on level ground", bool(walking), "; ".join(walking) or "none", "at least one")]
    if solved is not None:
        name = f"slopes planned inside the data and walked on, of {len(SLOPES)}, with the better remedy"
        checks.append(Check(name, solved >= bar.LEARNED_SLOPES, solved, f">= {bar.LEARNED_SLOPES:g}"))
    return checks


def _fill_cache(case: Case, slopes: tuple[float, ...], quick: bool) -> None:
    """Gaits in a process of their own: they come back by the cache."""
    jax.config.update("jax_enable_x64", True)
    for slope in slopes:
        gait_of(case, slope, quick)


def over_waves(case: Case) -> gaits.Gait:
    """The gait of a case over the waves of `wavy`, from the one on level ground."""
    problem = walking_problem(case.robot, Ground(case.medium, wavy.terrain()), gaits.SPEED)
    level = gait_of(case, 0.0)
    start = lambda one: carried_over(one, level.plan)  # noqa: E731
    return gaits.planned(problem, f"learned, {case.name}, from {level.fingerprint}", start, gaits.stages_of(False))


def gait_of(case: Case, degrees: float, quick: bool = False) -> gaits.Gait:
    """The gait of a case on a slope: whole strides, from that of the slope before or from theory's there."""
    size = {"knots": 31, "period": 0.75} if quick else {}
    problem = walking_problem(case.robot, Ground(case.medium, gaits.slope(degrees)), gaits.SPEED, **size)
    way = f"steady, learned, {case.name}"
    return gaits.found(problem, way, lambda one: _steady(one, case, degrees))


def _steady(problem: GaitProblem, case: Case, degrees: float) -> Plan:
    """The cheapest of strides from two starts, repeated, that lifts every foot; from more starts where none does."""
    found, least = [], 2 if degrees else 1
    for number, stride in enumerate(_strides(stride_problem(problem), case, degrees)):
        if number >= least and any(map(_lifts_its_feet, found)):
            break
        found.append(steady.gait_of(problem, stride))
    return min(found, key=lambda plan: (not _lifts_its_feet(plan), plan.report.status != "converged", rank(plan)))


def _strides(one: GaitProblem, case: Case, degrees: float) -> Iterator[Plan]:
    """From theory's stride of this slope; from that of the next slope nearer to level, turned with the ground; from
    theory's of other commands."""
    angle = float(np.deg2rad(degrees))
    theory, *others = _theory(degrees)[: 1 + OTHERS]
    yield solved_near(one, theory[1], gaits.EPS)
    if degrees:
        before = nearer_to_level(degrees)
        known = first_knots(gait_of(case, before).trajectory, one.knots)
        others.insert(0, (Command(gaits.SPEED, float(np.deg2rad(before)), 1.0), known))
    yield from (from_known(one, entry, angle, gaits.EPS) for entry in others)


def _lifts_its_feet(plan: Plan) -> bool:
    """Whether a plan is solved and walks: the cheapest may drag feet along, and slide down a slope in the simulator."""
    return plan.report.status == "converged" and plan.metrics.fewest_lifts_in_a_period >= bar.LIFTS


def nearer_to_level(degrees: float) -> float:
    """The slope of Table I that comes before another on the way from level ground."""
    return max((slope for slope in SLOPES if slope * degrees >= 0 and abs(slope) < abs(degrees)), key=abs)


def _theory(degrees: float) -> list[tuple[Command, Trajectory]]:
    """The shipped strides of theory on sand of strength 2, that of a slope first and the nearest to it next."""
    asked = Command(gaits.SPEED, float(np.deg2rad(degrees)), 2.0)
    known = [(command, stride) for one in shipped() for command, _, stride in one.entries]
    return sorted(known, key=lambda entry: entry[0].apart(asked))


def row(case: Case, degrees: float, gait: gaits.Gait) -> Row:
    """A row of the table: the paper's numbers are of measured sand times two."""
    return _in_data(case, gait) | slopes.row(degrees, gait)


def wave_row(case: Case, gait: gaits.Gait) -> Row:
    """The same of waves."""
    return _in_data(case, gait) | {"Mv, paper": WAVY.velocity_error, "Mc, paper": WAVY.cost} | gait.row()


def _in_data(case: Case, gait: gaits.Gait) -> Row:
    return {
        "ground and robot": case.name,
        "deepest foot (m)": gait.metrics["deepest"],
        "limit of the data (m)": float(np.min(getattr(case.medium, "max_depth", np.inf))),
        "steps outside data in replay": gait.replayed["steps_outside_data"],
    }


STUDY = Study(
    "zhu2021",
    "learned-ground",
    "gaits on learned ground, at the strength that was measured",
    "planned on sand of twice the measured strength, as the robot is too heavy for it.",
    perform,
)
