"""Fig 6 (c-d): what walking costs on sand and on rigid ground, over one stance and over speeds; and what models say.

The cost of the walks is the general one (`runs.cost_of_transport`). Both of the paper's costs are taken of stances, and
of what the models make of these stances (`stance_costs`): the planar model on sand, the rolling one on rigid ground,
which is the right one there. A prediction divides by its own way; the same over the way that was walked says how much
of its error is energy.

How the cost adds up over a stance (Fig 6c) is `cost_over_stance`. In Fig 6d the paper's U is that of a second-order
fit; that the walks themselves turn up is another statement, and both are checked.
"""

from __future__ import annotations

from dataclasses import replace

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.control.stepping import SteppingGait
from softground.papers.chen2026.cost_over_stance import SHARES, UNTIL_LEFT, lost, over_stance, paid, rows, until_left
from softground.papers.chen2026.experiment import DT, GAIT, GROUNDS, SPEEDS, STEADY, fall_of, stances, walk, walks
from softground.papers.chen2026.prediction import RIGID, predicted
from softground.papers.chen2026.stance_costs import StanceCosts, costs_of
from softground.papers.chen2026.stance_series import measured
from softground.papers.study import Check, Findings, Options, Row, Study, Table, above, below, between
from softground.runs import Run
from softground.runs.cost_of_transport import Cost, walk_cost
from softground.runs.figures import COLOURS, STYLE

PAPER_RATIO = (1.12, 1.62)
PAPER_HUMAN_RATIO = (2.08, 2.67)
PAPER_COST = {"rigid": 1.46, "sand": 2.1}
PAPER_EXCESS = 0.43
"""Of the cost on sand over that on rigid ground, at `SHOWN`."""
NEAR = 0.2
"""Of a number of the paper, or of the experiment: what is taken as near. Our robot's masses are not the paper's."""
PREDICTED_STEPS = 10
RIGHT_MODEL = {"sand": "proposed", "rigid": "rigid"}
"""The planar model that a ground asks for."""
PREDICTING = RIGID[:2]
"""Rigid models that predict a stance."""
DECOUPLED = "walks, decoupled"
By = dict[str, StanceCosts]
"""Costs of stances by whom: "experiment" and the models."""
Series = dict[tuple[str, str], list[float]]
"""Costs over speeds by ground and by whom."""
SHOWN = 0.2  # m/s, of the stance in the figure
STEPS = 20
FASTER = (0.6, 0.7, 0.8)  # m/s, beyond the paper's speeds
KEPT = 0.97  # of the speed: a robot that keeps less of it is not said to walk at it
ADAPTED = replace(GAIT, landing=1.0)
"""The gait of a robot that knows how deep its feet sink."""
CHOICES: dict[str, SteppingGait] = {
    "as in the study": GAIT,
    "feet lifted by 5 cm, not 10": replace(GAIT, swing_height=0.05),
    "feet set down at half the depth of the last": replace(GAIT, landing=0.5),
    "feet set down at the depth of the last": ADAPTED,
}
"""What of the gait decides the cost."""
SHARE = 0.5
"""Of what sand costs more: what a cause has at least that the paper names, dissipation or a robot that does not adapt.
"""


def perform(options: Options) -> Findings:
    speeds = (0.2, 0.4) if options.quick else SPEEDS
    fallen = {(ground, speed): fall_of(ground, speed) for ground in GROUNDS for speed in speeds}
    checks = [
        Check(f"{STEPS} steps at {speed:g} m/s on {ground} ground", fall is None, _told(fall), "no fall")
        for (ground, speed), fall in fallen.items()
    ]
    sound = [speed for speed in speeds if not any(fallen[ground, speed] for ground in GROUNDS)]
    costs = {ground: {speed: _cost(walk(ground, speed)) for speed in sound} for ground in GROUNDS}
    each = {ground: {speed: stance_costs(ground, speed, options.quick) for speed in sound} for ground in GROUNDS}
    ratio = {speed: _number(costs["sand"][speed]) / _number(costs["rigid"][speed]) for speed in sound}
    checks += [between(f"CoT on sand over rigid ground, {speed:g} m/s", ratio[speed], *PAPER_RATIO) for speed in sound]
    if SHOWN in sound:
        checks += _at_shown({ground: _number(of[SHOWN]) for ground, of in costs.items()})
        checks += over_stance(*(each[ground][SHOWN]["experiment"].general.mean(axis=0) for ground in ("sand", "rigid")))
        checks += over_stance(until_left(walk("sand", SHOWN)), until_left(walk("rigid", SHOWN)), UNTIL_LEFT)
        checks += _where_it_goes()
        checks += _formulas_agree({ground: of[SHOWN]["experiment"] for ground, of in each.items()})
    for ground in GROUNDS:
        checks += [one for speed in sound for one in _predictions(ground, speed, each[ground][speed])]
    series = _series(costs, each)
    at = {ground: [cost.dimensionless_speed for cost in of.values()] for ground, of in costs.items()}
    fits = {label: np.polyfit(at[label[0]], of, 2) for label, of in series.items()} if len(sound) > 2 else {}
    checks += [_u_by_fit(*label, fit, at[label[0]]) for label, fit in fits.items()]
    checks += [_u_by_walks(ground, _numbers(of)) for ground, of in costs.items() if len(sound) > 2]
    paces = [walk(ground, speed).attrs["steps_per_second"] * DT for ground in GROUNDS for speed in speeds]
    checks.append(above("slowest 3D walk, times real time on one core", min(paces), 1.0))
    tables = [
        Table("cost", f"Cost of transport over {STEPS} steps", _rows(costs, ratio)),
        Table("stances", "Both costs of a stance, of the experiment and as predicted", _stance_rows(each)),
        Table(
            "over_stance",
            "How the cost adds up over a stance, and what sand takes of it",
            rows({(ground, speed): walk(ground, speed) for ground in GROUNDS for speed in sound}),
        ),
    ]
    faster: dict[str, dict[float, Cost]] = {}
    if not options.quick:
        outcomes = {ground: {speed: _outcome(walk(ground, speed), speed) for speed in FASTER} for ground in GROUNDS}
        faster = {ground: {s: one for s, one in of.items() if isinstance(one, Cost)} for ground, of in outcomes.items()}
        checks += [_u_by_walks(ground, _numbers(of | faster[ground])) for ground, of in costs.items() if faster[ground]]
        tables += [
            Table("faster", "Beyond the paper's speeds", _faster_rows(outcomes)),
            Table("choices", f"What of the gait decides the cost, {SHOWN:g} m/s", _choices()),
        ]
    return Findings(
        checks=checks,
        metrics={
            "cost_of_transport": {
                ground: {f"{s:g}": _number(c) for s, c in of.items()} for ground, of in costs.items()
            },
            "ratio": {f"{speed:g}": value for speed, value in ratio.items()},
            "fits": {f"{by}, {ground}": fit.tolist() for (ground, by), fit in fits.items()},
        },
        tables=tables,
        figures={"cost": figure(costs, each, faster, series, fits)} if sound else {},
        notes=[
            "The paper's robot took 1.46 on rigid ground and 2.1 on sand at 0.2 m/s; people (data of Zhu et al. 2025) "
            f"{PAPER_HUMAN_RATIO[0]:g} to {PAPER_HUMAN_RATIO[1]:g} times as much on sand as on rigid ground.",
            "The paper finds a U between 0.1 and 0.5 m/s by second-order fits: one criterion; whether the walks "
            "themselves turn up there, or beyond, is another. Most of our robot's power lifts and lowers the swinging "
            "foot five times a second, however fast it walks, so its cost falls as one over the speed for longer. "
            "Losses of motors and gears, which grow with load and speed, are not in the model.",
            "Feet are set down at the surface of the sand, whose height the paper's robot knew as well, and are pushed "
            "into it at once: what sand costs more is spent in the first fifth of the stance, where the paper has it "
            'later. A robot that knew how deep feet sink would save part of it (table "choices").',
            "The decoupled cost as printed leaves out what motors do to the trunk and to the leg that stands "
            '(`stance_costs`); "decoupled" has them.',
        ],
    )


def stance_costs(ground: str, speed: float, quick: bool = False) -> By:
    """Costs of the experiment's stances, all that are steady, and of what the models make of some of them."""
    found = stances(walk(ground, speed), 4 if quick else None)
    some = predicted(measured(found[:PREDICTED_STEPS]))
    of_models = {model: costs_of(one) for model, one in some.items() if ground == "sand" or model in RIGID}
    return {"experiment": costs_of(measured(found).stances)} | of_models


def _at_shown(cost: dict[str, float]) -> list[Check]:
    def near(name: str, value: float, paper: float, share: float) -> Check:
        return between(name, value, (1 - share) * paper, (1 + share) * paper)

    excess = cost["sand"] / cost["rigid"] - 1
    return [near(f"CoT on {ground}, {SHOWN:g} m/s", cost[ground], PAPER_COST[ground], NEAR) for ground in GROUNDS] + [
        near(f"excess of the CoT on sand, {SHOWN:g} m/s", excess, PAPER_EXCESS, 1 / 3)
    ]


def _where_it_goes() -> list[Check]:
    """The two causes that the paper names of what sand costs more, each by itself: they overlap."""
    sand, rigid = (walk(ground, SHOWN) for ground in ("sand", "rigid"))
    more = paid(sand) - paid(rigid)
    adapted = _outcome(walks("sand")(SHOWN, gait=ADAPTED), SHOWN)
    dear, cheap = (_number(_cost(run)) for run in (sand, rigid))
    saved = (dear - _number(adapted)) / (dear - cheap) if isinstance(adapted, Cost) else float("nan")
    return [
        above("lost in the ground, over what sand costs more", (lost(sand) - lost(rigid)) / more, SHARE),
        above("saved by a robot that knows the depth, over what sand costs more", saved, SHARE),
    ]


def _formulas_agree(of: dict[str, StanceCosts]) -> list[Check]:
    """III.A has two formulas for one cost."""
    return [
        below(
            f"cost {told}, off the general one on {ground} by",
            abs(_final(one, which) / _final(one, "general") - 1),
            NEAR,
        )
        for ground, one in of.items()
        for which, told in (("decoupled", "decoupled"), ("printed", "decoupled as printed"))
    ]


def _predictions(ground: str, speed: float, of: By) -> list[Check]:
    """Predicted costs beside the experiment's: the planes' by the decoupled cost, the whole robot's by the general."""
    told, right = f"{speed:g} m/s on {ground}", RIGHT_MODEL[ground]
    off = abs(_off(of, right, "decoupled"))
    energy = {model: abs(_energy(one) / _energy(of["experiment"]) - 1) for model, one in of.items()}
    walked = f"CoT over the way that was walked, {told}"
    checks = [
        below(f"CoT predicted by the {right} model, {told}: off by", off, NEAR),
        below(f"{walked}: off by", energy[right], NEAR),
    ]
    if ground == "sand":
        rigid = min(abs(_off(of, model, "decoupled")) for model in PREDICTING)
        least = min(energy[model] for model in PREDICTING)
        checks += [
            below(f"CoT predicted by the unified model, {told}: off by", abs(_off(of, "unified", "general")), NEAR),
            below(f"CoT predicted, {told}: off by less than the rigid assumption", off, rigid),
            below(f"{walked}: off by less than the rigid assumption", energy[right], least),
        ]
    return checks


def _off(of: By, model: str, which: str) -> float:
    """Relative error of a predicted cost."""
    return _final(of[model], which) / _final(of["experiment"], which) - 1


def _final(costs: StanceCosts, which: str) -> float:
    """Mean over stances, at their end."""
    return float(getattr(costs, which)[:, -1].mean())


def _energy(costs: StanceCosts) -> float:
    """Energy over weight of a stance by the decoupled cost, mean: m."""
    return float((costs.decoupled[:, -1] * costs.way).mean())


def _series(costs: dict[str, dict[float, Cost]], each: dict[str, dict[float, By]]) -> Series:
    found: Series = {}
    for ground, of in costs.items():
        right = RIGHT_MODEL[ground]
        found[ground, "walks"] = [*map(_number, of.values())]
        found[ground, DECOUPLED] = [_final(one["experiment"], "decoupled") for one in each[ground].values()]
        found[ground, right] = [_final(one[right], "decoupled") for one in each[ground].values()]
        if ground == "sand":
            found[ground, "unified"] = [_final(one["unified"], "general") for one in each[ground].values()]
    return found


def _stance_rows(each: dict[str, dict[float, By]]) -> list[Row]:
    return [
        {"ground": ground, "speed (m/s)": speed, "by": by}
        | {which: _final(one, which) for which in ("general", "decoupled", "printed")}
        | {"deviation of the general cost": float(one.general[:, -1].std())}
        | {"way over the experiment's": float(one.way.mean() / of["experiment"].way.mean())}
        | {"energy over the experiment's, decoupled": _energy(one) / _energy(of["experiment"])}
        for ground, speeds in each.items()
        for speed, of in speeds.items()
        for by, one in of.items()
    ]


def _told(fall) -> str:
    return "none" if fall is None else f"{fall.reason} at {fall.time:.2f} s"


def _cost(run: Run) -> Cost:
    cost = walk_cost(run, start=STEADY).walk
    assert cost is not None, "falls are sorted out before"
    return cost


def _outcome(run: Run, speed: float) -> Cost | str:
    """Cost of a walk that keeps its feet and, nearly, its speed (m/s); else what became of it."""
    fall = run.fall()
    if fall is not None:
        return f"falls at {fall.time:.1f} s"
    cost = _cost(run)
    return cost if cost.speed > KEPT * speed else f"does not keep up: {cost.speed:.2f} m/s"


def _speed_had(outcome: Cost | str) -> float | str:
    return outcome.speed if isinstance(outcome, Cost) else ""


def _told_outcome(outcome: Cost | str) -> float | str:
    return _number(outcome) if isinstance(outcome, Cost) else outcome


def _faster_rows(outcomes: dict[str, dict[float, Cost | str]]) -> list[Row]:
    return [
        {"speed (m/s)": speed}
        | {ground: _told_outcome(of[speed]) for ground, of in outcomes.items()}
        | {f"{ground}, speed had (m/s)": _speed_had(of[speed]) for ground, of in outcomes.items()}
        for speed in FASTER
    ]


def _choices() -> list[Row]:
    return [
        {"gait": told} | {ground: _told_outcome(_outcome(walks(ground)(SHOWN, gait=gait), SHOWN)) for ground in GROUNDS}
        for told, gait in CHOICES.items()
    ]


def _number(cost: Cost) -> float:
    assert cost.cost_of_transport is not None
    return cost.cost_of_transport


def _numbers(costs: dict[float, Cost]) -> dict[float, float]:
    return {speed: _number(cost) for speed, cost in costs.items()}


def _u_by_walks(ground: str, costs: dict[float, float]) -> Check:
    """A parabola through costs that only fall has its least value inside the range, too: this asks the walks."""
    speeds = sorted(costs)
    cheapest = min(speeds, key=costs.__getitem__)
    inside = cheapest not in (speeds[0], speeds[-1])
    return Check(
        f"U by the walks on {ground} up to {speeds[-1]:g} m/s: cheapest speed (m/s)",
        inside,
        cheapest,
        f"between {speeds[0]:g} and {speeds[-1]:g}",
    )


def _u_by_fit(ground: str, by: str, fit: np.ndarray, speeds: list[float]) -> Check:
    """The paper's criterion: a second-order fit that opens upwards, with its least value among the speeds."""
    lowest = float(-fit[1] / (2 * fit[0])) if fit[0] > 0 else float("nan")
    name = f"U by the paper's criterion on {ground}, {by}: v / sqrt(g h) where the second-order fit is lowest"
    return between(name, lowest, round(min(speeds), 4), round(max(speeds), 4))


def _rows(costs: dict[str, dict[float, Cost]], ratio: dict[float, float]) -> list[Row]:
    return [
        {"speed (m/s)": speed, "v / sqrt(g h)": costs["rigid"][speed].dimensionless_speed}
        | {ground: _number(of[speed]) for ground, of in costs.items()}
        | {f"{ground}, each actuator by itself": of[speed].per_actuator for ground, of in costs.items()}
        | {f"{ground}, power / weight (m/s)": _number(of[speed]) * of[speed].speed for ground, of in costs.items()}
        | {"sand / rigid": ratio[speed]}
        for speed in ratio
    ]


def figure(
    costs: dict[str, dict[float, Cost]],
    each: dict[str, dict[float, By]],
    faster: dict[str, dict[float, Cost]],
    series: Series,
    fits: dict[tuple[str, str], np.ndarray],
) -> Figure:
    """Over a stance by the clock, over one until the foot has left; over speeds, mean and deviation, with second-order
    fits; hollow: beyond the paper's speeds."""
    with matplotlib.rc_context(STYLE):
        result = blank(11.0, 3.4)
        left, middle, right = result.subplots(1, 3)
        for ground, colour in zip(GROUNDS, COLOURS, strict=False) if SHOWN in each["sand"] else ():
            middle.plot(100 * SHARES, until_left(walk(ground, SHOWN)), color=colour, label=ground)
        for (ground, by), colour in zip(series, COLOURS, strict=False):
            walked, general = by in ("walks", DECOUPLED), by in ("walks", "unified")
            label = f"{ground}, {by}{'' if general or walked else ' model, decoupled'}"
            if SHOWN in each[ground]:
                one = each[ground][SHOWN]["experiment" if walked else by]
                _draw_stance(left, one.general if general else one.decoupled, label, colour)
            at = [cost.dimensionless_speed for cost in costs[ground].values()]
            ends = [
                getattr(one["experiment" if walked else by], "general" if general else "decoupled")[:, -1]
                for one in each[ground].values()
            ]
            deviation = [float(of.std()) for of in ends]
            right.errorbar(at, series[ground, by], deviation, fmt="o" if walked else "^", color=colour, label=label)
            for cost in faster.get(ground, {}).values() if by == "walks" else ():
                right.plot(cost.dimensionless_speed, _number(cost), "o", color=colour, mfc="none")
            if (ground, by) in fits:
                along = np.linspace(min(at), max(at), 60)
                right.plot(along, np.polyval(fits[ground, by], along), color=colour, lw=1)
        for axes, told in ((left, "stance by the clock (%)"), (middle, "touch-down until the foot has left (%)")):
            axes.set(xlabel=told, ylabel=f"CoT so far, {SHOWN:g} m/s", xlim=(0, 100), ylim=(0, None))
        middle.legend(fontsize=7)
        right.set(xlabel="v / sqrt(g h)", ylabel="cost of transport", ylim=(0, None))
        right.legend(fontsize=7)
    return result


def _draw_stance(axes: Axes, costs: np.ndarray, label: str, colour: str) -> None:
    mean, deviation = costs.mean(axis=0), costs.std(axis=0)
    share = np.linspace(0, 100, len(mean))
    axes.plot(share, mean, color=colour, label=label)
    axes.fill_between(share, mean - deviation, mean + deviation, color=colour, alpha=0.2, lw=0)


STUDY = Study(
    "chen2026",
    "cost-of-transport",
    "what does walking on sand cost? (Fig 6 c-d)",
    "1.12 to 1.62 times as much as on rigid ground, U-shaped over speed.",
    perform,
)
