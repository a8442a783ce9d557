"""The push and the trot of Fig. 10 on learned ground: what holds at the measured strength, and with which robot.

The other studies of robots stand on theory of strength 2. Here the same motions are made on the learned ground itself,
by the robot as it is and by two that are changed, beside the authors' factor (zhu2021) and theory.
"""

from __future__ import annotations

from collections.abc import Sequence

from softground.media import Medium
from softground.papers import thresholds as bar
from softground.papers.study import Check, Findings, Options, Row, Study, Table
from softground.papers.zhu2019 import push, trot
from softground.papers.zhu2019.learned_cases import (
    SIZE,
    TORSO,
    Case,
    cases,
    larger,
    learned_ensemble,
    learned_medium,
    wide_footed,
)
from softground.robots import Robot
from softground.runs import Run
from softground.runs.members import runs_on
from softground.runs.spread import spreads


def perform(options: Options) -> Findings:
    ground, medium = learned_medium(options.sand)
    found = [(case, _pushed(case, options.quick), _trotted(case, options.quick)) for case in cases({ground: medium})]
    good_push = [case.name for case, row, _ in found if push_holds(row) and _is_learned(case)]
    good_trot = [case.name for case, _, row in found if trot_holds(row) and _is_learned(case)]
    return Findings(
        checks=[
            Check(
                "learned cases in which only the front feet slip", bool(good_push), _listed(good_push), "at least one"
            ),
            Check(
                "learned cases in which feet sink and lift in a trot",
                bool(good_trot),
                _listed(good_trot),
                "at least one",
            ),
        ],
        metrics={case.name: {"push": first, "trot": second} for case, first, second in found},
        tables=[
            Table(
                "push", "Weight on the rear, front feet pushed", [_row(case, row, push_holds) for case, row, _ in found]
            ),
            Table("trot", "The trot", [_row(case, row, trot_holds) for case, _, row in found]),
            *_on_members(options),
        ],
        notes=[
            f"Learned from: {ground}. Lighter torso: {TORSO:g} instead of 41.7 kg. Larger feet: {SIZE:g} times, and "
            "heavier by that; learned wrenches scaled by the similarity of resistive force theory.",
            "The motions, their settings and what they must show are those of `push` and `trot`, designed on theory of "
            "strength 2; nothing was tuned for these cases.",
            "Below its data a learned medium grows in proportion to depth; steps with a foot there are counted.",
        ],
    )


def _on_members(options: Options) -> list[Table]:
    """Medians and intervals of what the robot as it is, and with larger feet, does on members of the ensemble."""
    if not options.members:
        return []
    media = learned_ensemble(options.sand).members(options.members)
    rows: dict[str, list[Row]] = {"push": [], "trot": []}
    for name, robot, grounds in (
        ("as measured", Robot.load("robosimian"), media),
        ("larger feet", wide_footed(SIZE), [larger(medium, SIZE) for medium in media]),
    ):
        for motion, performed in (
            ("push", _pushes(robot, grounds, options)),
            ("trot", _trots(robot, grounds, options)),
        ):
            holds = {"push": push_holds, "trot": trot_holds}[motion]
            share = {"ground and robot": name, "holds on": f"{sum(map(holds, performed))} of {len(performed)}"}
            rows[motion].append(share | {key: str(one) for key, one in spreads(performed).items()})
    title = f"on {options.members} members of the ground's ensemble: median, and the interval of 90 %"
    return [Table(f"{motion}_members", f"The {motion} {title}", found) for motion, found in rows.items()]


def _pushes(robot: Robot, media: Sequence[Medium], options: Options) -> list[Row]:
    simulator, state, motion, seconds, every = push.setting(robot, 1.0, _step(options.quick), media[0])
    return [
        push.metrics_of(one) | _trouble(one) for one in runs_on(simulator, media, state, motion, seconds, every=every)
    ]


def _trots(robot: Robot, media: Sequence[Medium], options: Options) -> list[Row]:
    simulator, state, gait, every = trot.setting(robot, _step(options.quick), media[0])
    runs = runs_on(simulator, media, state, gait, _trotting(options.quick), every=every)
    return [_trot_metrics(one) for one in runs]


def _step(quick: bool) -> float:
    return 0.004 if quick else 0.002


def _trotting(quick: bool) -> float:
    """Duration of a trot, s."""
    return trot.START + (2 if quick else 4) * trot.PERIOD


def _trot_metrics(one: Run) -> Row:
    return trot.metrics_of(one.isel(time=one["time"].values > trot.START + trot.PERIOD)) | _trouble(one)


def _pushed(case: Case, quick: bool) -> Row:
    one = push.simulate(case.robot, 1.0, _step(quick), case.medium)
    return push.metrics_of(one) | _trouble(one)


def _trotted(case: Case, quick: bool) -> Row:
    return _trot_metrics(trot.simulate(case.robot, _trotting(quick), _step(quick), case.medium))


def _trouble(one) -> Row:
    return {"steps_outside_data": int(one.attrs["steps_outside_data"]), "fell": one.fall() is not None}


def push_holds(row: Row) -> bool:
    """Whether only the front feet slip."""
    shares = row["rear_load_share"] > bar.ON_THE_REAR and row["slip_ratio"] < bar.ONLY_THEY
    return bool(shares and row["front_slip_mm"] > bar.FRONT_SLIPS and not row["fell"])


def trot_holds(row: Row) -> bool:
    """Whether feet sink and lift as the weight of the body shifts, and the robot walks."""
    sinks = row["deeper_by_mm"] > bar.DEEPER_ON_TWO and row["sunk_in_two_foot_phase_mm"] > bar.SINKS_ON_TWO
    return bool(sinks and row["clearance_mm"] > bar.LIFTS_CLEAR and row["speed_m_s"] > bar.WALKS and not row["fell"])


def _row(case: Case, row: Row, holds) -> Row:
    return {"ground and robot": case.name, "holds": holds(row)} | row


def _is_learned(case: Case) -> bool:
    return "theory" not in case.name


def _listed(names: list[str]) -> str:
    return "; ".join(names) or "none"


STUDY = Study(
    "zhu2019",
    "learned-ground",
    "the push and the trot on learned ground (Fig. 10)",
    "on its learned sand the robot pushes its front feet and only they slip, and feet sink and lift in a trot.",
    perform,
)
