"""Every figure and number of the paper, and whether it holds here: one row each, decided by the checks of the studies.

A row names a place of the paper, what is said there, and which checks of which study ask for it, by the beginning or
the middle of their names (a regular expression). It holds if all of them do. A row that no check of a whole study
answers to fails: nothing is claimed by silence. What the paper sets, and does not claim, is in a table of its own.

Studies that ran before need not run again: `Options.reports` is the folder of their reports.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from softground.papers.chen2026.experiment import biped_law, robot
from softground.papers.report import cell, checks_in
from softground.papers.study import Check, Findings, Options, Row, Study, Table


class Claim(NamedTuple):
    """What the paper says somewhere, and what decides it here."""

    where: str
    says: str
    study: str  # name, without the paper's
    checks: str  # regular expression, searched in the names of its checks


COST = "cost-of-transport"
CLAIMS = (
    Claim("(2), (3)", "rows of slip and sinkage, as printed", "rows", r"^\(2\), \(3\) as printed, any motion"),
    Claim(
        "(2), (3)", "(for a stance leg without mass that does not turn)", "rows", r"^\(2\), \(3\) as printed, stance"
    ),
    Claim("(2), (3)", "(with the stance leg's terms)", "rows", r"^\(2\), \(3\) with the stance leg"),
    Claim("II.A", "a foot's contact point, as printed", "rows", "^contact point"),
    Claim("(7)", "row of lateral slip, as printed", "rows", r"^\(7\) as printed, trunk's centre higher"),
    Claim(
        "(7)", "(for a trunk whose centre is between the hips)", "rows", r"^\(7\) as printed, trunk's centre between"
    ),
    Claim("(7)", "(with the trunk's height)", "rows", r"^\(7\) with the trunk"),
    Claim("(8), (9)", "forces on the solid zone in closed form", "law", r"^closed forms|^\(9\) against|^power of"),
    Claim("II.C", "bulldozing (9) is the main source of F_y", "stance", r"^F_y by \(9\)"),
    Claim("II.C", "they hold for the first centimetre, in grains", "slip-sinkage", r"^first centimetre.*: \(8\)$"),
    Claim("II.C", "and where a foot slips, rolls or spins", "slip-sinkage", r"^share kept.*: \(8\)$"),
    Claim("II.C", "(the same, as the law is stepped)", "slip-sinkage", "^share kept.*: wedge$"),
    Claim("II.C", "(the same, with the grip that grains have)", "slip-sinkage", r"^share kept.*: \(8\), grip$"),
    Claim("II.C", "(the grains are fine enough to be a continuum)", "slip-sinkage", "^zeta in finer grains"),
    Claim("III.A", "both costs of transport are one cost", COST, "^cost decoupled, off"),
    Claim("III.A", "(the second as printed, without two of its rows)", COST, "^cost decoupled as printed, off"),
    Claim("Fig 4a", "the model closely follows both legs", "stance", "^follows (swing|stance)"),
    Claim("Fig 4a", "and is nearer than rigid ground", "stance", r"(hip|thigh|calf) at [\d.]+ m/s:"),
    Claim("Fig 4b", "it follows the reaction forces", "stance", "^follows F_"),
    Claim("Fig 4b", "and is nearer than rigid ground", "stance", r"^F_. at [\d.]+ m/s:"),
    Claim(
        "Fig 4b",
        "inverse dynamics on rigid ground overestimates all forces",
        "stance",
        "^rigid, inverse: ",
    ),
    Claim("Fig 4b", "because the Jacobian of touch-down is kept", "stance", "^Jacobian kept: F_"),
    Claim("Fig 4b", "(overestimated if the stance is predicted from torques)", "stance", "^rigid: F_"),
    Claim("Fig 4c", "the model follows slip and sinkage", "stance", "^follows [xyz]_s"),
    Claim("Fig 4c", "x_s is nearer than on rigid ground", "stance", r"^x_s at [\d.]+ m/s:"),
    Claim("Fig 4c", "y_s and z_s, which rigid ground has none of", "stance", r"^[yz]_s at [\d.]+ m/s:"),
    Claim("Fig 5a", "thighs and calves better at every speed", "velocities", r"(thigh|calf) at [\d.]+ m/s:"),
    Claim("Fig 5a", "(hips, which the figure leaves out)", "velocities", r"hip at [\d.]+ m/s:"),
    Claim("Fig 5b", "reaction forces better at every speed", "velocities", r"^F_. at [\d.]+ m/s:"),
    Claim("Fig 5c", "x_s better at every speed", "velocities", r"^x_s at [\d.]+ m/s:"),
    Claim("Fig 5c", "y_s and z_s better at every speed", "velocities", r"^[yz]_s at [\d.]+ m/s:"),
    Claim("Fig 5", "(all of it, on the law as printed, without shear)", "velocities", ", as printed:"),
    Claim("IV.B", "(all of it, by one model in space: future work)", "velocities", r"^(?!\w+ hip).*, unified model:"),
    Claim("IV.B", "(the hips, by one model in space)", "velocities", r" hip at .*, unified model:"),
    Claim("Fig 6a", "sinks before 40 % of the stance", "rolling", "^share of the sinking done before"),
    Claim("Fig 6a", "orientation rests in mid-stance on sand", "rolling", "^rest in mid-stance.*on sand"),
    Claim("Fig 6a", "(in the fifth in which it rolls least)", "rolling", "^rest where the foot rolls least, on sand"),
    Claim("Fig 6a", "(in mid-stance, the trunk kept level)", "walker", "^plateau in mid-stance"),
    Claim("Fig 6a", "neither does its velocity turn", "rolling", "^turn of gamma from 40"),
    Claim("Fig 6a", "rolls on after it", "walker", "^rolls on after it"),
    Claim("Fig 6a", "sinks on after it", "rolling", "^share of the sinking done after"),
    Claim("Fig 6a", "and pushes the grains back", "rolling", "^F_x on sand after|^x_s on sand after"),
    Claim("Fig 6a", "hardly any plateau on rigid ground", "rolling", "^rest .*on rigid"),
    Claim("Fig 6a", "(the same, the trunk kept level)", "walker", "^rolls evenly"),
    Claim("Fig 6a", "rolls further on rigid ground", "rolling", "^rolling angle on rigid ground over"),
    Claim("Fig 6b", "effective radius on sand is smooth before 40 %", "rolling", "^R_eff on sand"),
    Claim("Fig 6b", "effective radius on rigid ground near the height of the CoM", "rolling", "^R_eff on rigid"),
    Claim("Fig 6b", "(the same of the CoM's velocity, level trunk)", "walker", "^effective radius over height"),
    Claim(
        "Fig 6c",
        "CoT on rigid ground 1.46 at the end of a stance at 0.2 m/s",
        COST,
        "^CoT on rigid, 0.2",
    ),
    Claim("Fig 6c", "CoT on sand 2.1", COST, "^CoT on sand, 0.2"),
    Claim("Fig 6c", "43 % more on sand", COST, "^excess of the CoT"),
    Claim("Fig 6c", "the difference comes after 20 % of the stance", COST, "^share of the difference.*stance$"),
    Claim("Fig 6c", "(a stance lasting until the foot has left)", COST, "^share of the difference.*has left$"),
    Claim("Fig 6c", "the cost on sand ramps up nearly linearly", COST, "^ramp on sand.*rise$"),
    Claim("Fig 6c", "(a stance lasting until the foot has left)", COST, "^ramp on sand.*has left$"),
    Claim("Fig 6c", "a jump when the foot is pulled off", COST, "^jump on sand.*ramp's$"),
    Claim("Fig 6c", "(a stance lasting until the foot has left)", COST, "^jump on sand.*has left$"),
    Claim("Fig 6c", "sand costs more as its grains dissipate", COST, "^lost in the ground"),
    Claim("Fig 6c", "and as the controller does not adapt", COST, "^saved by a robot"),
    Claim(
        "Fig 6c",
        "the model predicts the CoT on sand (0.2 m/s)",
        COST,
        r"^CoT predicted.* 0.2 m/s on sand",
    ),
    Claim("Fig 6d", "the same over speeds", COST, r"^CoT predicted.* on sand"),
    Claim("Fig 6d", "(over the way that was walked, not the predicted one)", COST, r"^CoT over the way.* on sand"),
    Claim("Fig 6d", "and on rigid ground", COST, r"^CoT predicted.* on rigid"),
    Claim("Fig 6d", "(over the way that was walked, not the predicted one)", COST, r"^CoT over the way.* on rigid"),
    Claim("Fig 6d", "1.12 to 1.62 times as much on sand at 0.1 to 0.5 m/s", COST, "^CoT on sand over rigid"),
    Claim("Fig 6d", "(over landing depths and dampers)", "landing", "^share of the grid"),
    Claim("Fig 6d", "a U over speeds, by second-order fits", COST, "^U by the paper's criterion"),
    Claim("Fig 6d", "(by the walks themselves, 0.1 to 0.5 m/s)", COST, r"^U by the walks.* 0.5 m/s"),
    Claim("Fig 6d", "(by the walks themselves, 0.1 to 0.8 m/s)", COST, r"^U by the walks.* 0.8 m/s"),
    Claim("IV.B", "fast, real-time implementation", "speed", "^times real time"),
    Claim("IV.B", "closed forms add marginally to the computation", "speed", "^time of a stance on sand"),
    Claim("IV.B", "zeta can be identified on line", "identification", "^zeta on"),
    Claim("IV.B", "lambda can be identified on line", "identification", "^lambda on"),
    Claim("IV.B", "(zeta while the ground changes)", "varied-ground", "^log zeta on|^error on"),
    Claim("IV.B", "terrain can be classified in real time", "classification", "^accuracy on"),
    Claim("V", "gaits optimised for sand are cheaper there (future work)", "cheap-gaits", "^saved on sand"),
    Claim("IV.B", "cohesive, wet ground (future work)", "varied-ground", "^it walks on mud|^strength of mud"),
    Claim("IV.B", "turning maneuvers (future work)", "turning", "^error of the turning rate"),
)


def account(studies: Sequence[Study]) -> Study:
    """The study that tells how the paper's claims fare in these studies."""

    def perform(options: Options) -> Findings:
        names = {claim.study for claim in CLAIMS}
        asked_of = [study for study in studies if study.name in names]
        read = {study.name: _reported(study, options) for study in asked_of}
        found = {study.name: read[study.name] or study.perform(options).checks for study in asked_of}
        rows, checks = zip(*(_told(claim, found[claim.study], options.quick) for claim in CLAIMS), strict=True)
        asked = [check for check in checks if check is not None]
        return Findings(
            checks=asked,
            metrics={"rows": len(asked), "hold": sum(check.passed for check in asked)},
            tables=[
                Table("account", "Every claim of the paper", list(rows)),
                Table("settings", "What the paper sets", _settings()),
            ],
            notes=[
                "A row holds if every check behind it does; the studies' own reports have them one by one. Rows in "
                "brackets are not the paper's: they ask the same of another model or walker.",
                *_sources(read),
            ],
        )

    return Study("chen2026", "account", "every figure and number of the paper", "(all of it)", perform)


def _reported(study: Study, options: Options) -> list[Check] | None:
    """What an earlier report says, if there is one of the kind that is asked for."""
    if options.reports is None:
        return None
    return checks_in(options.reports / study.paper / study.name, study, options.quick)


def _sources(read: dict[str, list[Check] | None]) -> list[str]:
    """Which studies were read and which performed."""
    there = [name for name, checks in read.items() if checks]
    performed = ", ".join(name for name in read if name not in there)
    return [f"Read from earlier reports: {', '.join(there)}. Performed: {performed or 'none'}."] if there else []


def _told(claim: Claim, checks: Sequence[Check], quick: bool) -> tuple[Row, Check | None]:
    """A claim's row, and its check; of a quick study, which asks for less, none where it was not asked."""
    behind = [check for check in checks if re.search(claim.checks, check.name)]
    held = sum(check.passed for check in behind)
    name = f"{claim.where}: {claim.says}"
    if quick and not behind:
        return _row(claim, "not asked in a quick run", ""), None
    passed = bool(behind) and held == len(behind)
    if not behind:
        ours: float | str = "nothing was checked"
    elif len(behind) == 1:
        ours = behind[0].value
    else:
        ours = f"{held} of {len(behind)}"
    expected = behind[0].expected if len(behind) == 1 else "all"
    return _row(claim, f"{cell(ours)} ({expected})", "holds" if passed else "fails"), Check(
        name, passed, ours, expected
    )


def _row(claim: Claim, ours: str, verdict: str) -> Row:
    return {"where": claim.where, "paper": claim.says, "ours": ours, "": verdict, "study": claim.study}


def _settings() -> list[Row]:
    """What the paper sets or leaves open, and what is taken here."""
    law, mass, height = biped_law(), float(robot().total_mass), float(robot().center_of_mass(robot().posture)[2])
    rows = (
        ("III.A, Fig 3: two hips, thighs, calves; six motors; semi-cylindrical feet", "taken over", ""),
        ("masses and lengths", "not published", f"{mass:.3g} kg, robots/models/biped.xml"),
        ("Fig 6: v / sqrt(g h) = 0.1 at 0.2 m/s", "taken over", f"centre of mass {height:.3g} m high"),
        ("II.C: angle of the solid zone 38 degrees", "taken over", ""),
        (
            "III.B: zeta = 1.36, by pushing a plate",
            "pushed again",
            f"{float(law.zeta):.3g}, a foot, 3D-RFT of 1.36",
        ),
        ("III.B: lambda, by dragging a plate", "not published", f"{100 * float(law.saturation_length):.2g} cm"),
        ("(8), (9): I_z and g_z", "not printed", "derived in docs/chen2026.md"),
        ("III.B: period 0.4 s, half stance; cycloid 10 cm high; 0.1 to 0.5 m/s", "taken over", ""),
        ("III.B: sand 12 cm deep, level, of known height", "taken over", "ours has no bottom"),
        ("III.B: MPC and whole-body control", "replaced", "feet placed by a rule, whole-body control"),
        ("(1), (6): the augmented models", "taken over", "dynamics of the library; energies are the biped's (tests)"),
        ("Fig 6d: people, 2.08 to 2.67 times as much on sand", "not repeated", "measurements of people"),
    )
    return [dict(zip(("paper", "here", "how"), row, strict=True)) for row in rows]
