"""Fig 6 (c-d): what walking costs on sand and on rigid ground, over one stance and over speeds."""

from __future__ import annotations

from dataclasses import replace

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.control.stepping import SteppingGait
from softground.papers.chen2026.experiment import DT, GAIT, GROUNDS, SPEEDS, STEADY, fall_of, stances, walk, walks
from softground.papers.study import Check, Findings, Options, Row, Study, Table, above, between
from softground.runs import Run
from softground.runs.cost_of_transport import Cost, walk_cost, with_way
from softground.runs.figures import COLOURS, STYLE
from softground.runs.measures import actuator_power

PAPER_RATIO = (1.12, 1.62)
PAPER_HUMAN_RATIO = (2.08, 2.67)
SHOWN = 0.2  # m/s, of the stance in the figure
STEPS = 20
FASTER = (0.6, 0.7, 0.8)  # m/s, beyond the paper's speeds
KEPT = 0.97  # of the speed: a robot that keeps less of it is not said to walk at it
CHOICES: dict[str, SteppingGait] = {
    "as in the study": GAIT,
    "feet lifted by 5 cm, not 10": replace(GAIT, swing_height=0.05),
    "feet set down at half the depth of the last": replace(GAIT, landing=0.5),
    "feet set down at the depth of the last": replace(GAIT, landing=1.0),
}
"""What of the gait decides the cost."""


def perform(options: Options) -> Findings:
    speeds = (0.2, 0.4) if options.quick else SPEEDS
    fallen = {(ground, speed): fall_of(ground, speed) for ground in GROUNDS for speed in speeds}
    checks = [
        Check(f"{STEPS} steps at {speed:g} m/s on {ground} ground", fall is None, _told(fall), "no fall")
        for (ground, speed), fall in fallen.items()
    ]
    sound = [speed for speed in speeds if not any(fallen[ground, speed] for ground in GROUNDS)]
    costs = {ground: {speed: _cost(walk(ground, speed)) for speed in sound} for ground in GROUNDS}
    ratio = {speed: _number(costs["sand"][speed]) / _number(costs["rigid"][speed]) for speed in sound}
    checks += [between(f"CoT on sand over rigid ground, {speed:g} m/s", ratio[speed], *PAPER_RATIO) for speed in sound]
    fits = {ground: _fit(costs[ground]) for ground in GROUNDS} if len(sound) > 2 else {}
    checks += [_u_shape(ground, _numbers(of)) for ground, of in costs.items() if len(sound) > 2]
    paces = [walk(ground, speed).attrs["steps_per_second"] * DT for ground in GROUNDS for speed in speeds]
    checks.append(above("slowest 3D walk, times real time on one core", min(paces), 1.0))
    tables = [Table("cost", f"Cost of transport over {STEPS} steps", _rows(costs, ratio))]
    faster: dict[str, dict[float, Cost]] = {}
    if not options.quick:
        outcomes = {ground: {speed: _outcome(walk(ground, speed), speed) for speed in FASTER} for ground in GROUNDS}
        faster = {ground: {s: one for s, one in of.items() if isinstance(one, Cost)} for ground, of in outcomes.items()}
        checks += [_u_shape(ground, _numbers(of | faster[ground])) for ground, of in costs.items() if faster[ground]]
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
            "fits": {ground: fit.tolist() for ground, fit in fits.items()},
        },
        tables=tables,
        figures={"cost": figure(costs, faster, fits)} if sound else {},
        notes=[
            "The paper's robot took 1.46 on rigid ground and 2.1 on sand at 0.2 m/s; people (data of Zhu et al. 2025) "
            f"{PAPER_HUMAN_RATIO[0]:g} to {PAPER_HUMAN_RATIO[1]:g} times as much on sand as on rigid ground.",
            "The paper finds a U between 0.1 and 0.5 m/s; whether the costs here turn up there, or beyond, is a check "
            "above. Most of our robot's power lifts and lowers the swinging foot five times a second, however fast it "
            "walks, so its cost falls as one over the speed for longer. Losses of motors and gears, which grow with "
            "load and speed, are not in the model.",
            "Feet are set down at the surface of the sand, whose height the paper's robot knew as well. A robot that "
            'knew how deep they sink would save part of the cost (table "choices").',
            "The second-order fits are the paper's way to draw such costs. Their U is not to be trusted: the "
            "check asks the costs themselves.",
        ],
    )


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


def _u_shape(ground: str, costs: dict[float, float]) -> Check:
    """By the walks themselves: a parabola through costs that only fall has its least value inside the range, too."""
    speeds = sorted(costs)
    cheapest = min(speeds, key=costs.__getitem__)
    inside = cheapest not in (speeds[0], speeds[-1])
    return Check(
        f"U-shape on {ground} up to {speeds[-1]:g} m/s: cheapest speed (m/s)",
        inside,
        cheapest,
        f"between {speeds[0]:g} and {speeds[-1]:g}",
    )


def _fit(costs: dict[float, Cost]) -> np.ndarray:
    """Second-order polynomial of the cost over dimensionless speed, as the paper's."""
    return np.polyfit([cost.dimensionless_speed for cost in costs.values()], [*map(_number, costs.values())], 2)


def _rows(costs: dict[str, dict[float, Cost]], ratio: dict[float, float]) -> list[Row]:
    return [
        {"speed (m/s)": speed, "v / sqrt(g h)": costs["rigid"][speed].dimensionless_speed}
        | {ground: _number(of[speed]) for ground, of in costs.items()}
        | {f"{ground}, each actuator by itself": of[speed].per_actuator for ground, of in costs.items()}
        | {f"{ground}, power / weight (m/s)": _number(of[speed]) * of[speed].speed for ground, of in costs.items()}
        | {"sand / rigid": ratio[speed]}
        for speed in ratio
    ]


def over_stance(ground: str, speed: float, count: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Cost of transport as it adds up over a stance: mean and deviation; energy so far over the way of the stance."""
    curves = []
    run = with_way(walk(ground, speed))
    run = run.assign(power=("time", actuator_power(run).sum(axis=1)))
    for stance in stances(run, count):
        way = stance.samples["way"].values
        energy = np.cumsum(np.abs(stance.samples["power"].values)) * DT
        curves.append(energy / (run.weight * (way[-1] - way[0])))
    return np.mean(curves, axis=0), np.std(curves, axis=0)


def figure(
    costs: dict[str, dict[float, Cost]], faster: dict[str, dict[float, Cost]], fits: dict[str, np.ndarray]
) -> Figure:
    """Left: over a stance. Right: over speeds, with second-order fits; hollow: beyond the paper's speeds."""
    with matplotlib.rc_context(STYLE):
        result = blank(7.6, 3.0)
        left, right = result.subplots(1, 2)
        for (ground, of), colour in zip(costs.items(), COLOURS, strict=False):
            if SHOWN in of:
                _draw_stance(left, ground, colour)
            speeds = [cost.dimensionless_speed for cost in of.values()]
            right.plot(speeds, [*map(_number, of.values())], "o", color=colour, label=ground)
            for cost in faster.get(ground, {}).values():
                right.plot(cost.dimensionless_speed, _number(cost), "o", color=colour, mfc="none")
            if ground in fits:
                at = np.linspace(min(speeds), max(speeds), 60)
                right.plot(at, np.polyval(fits[ground], at), color=colour, lw=1)
        left.set(xlabel="stance (%)", ylabel=f"CoT so far, {SHOWN:g} m/s", xlim=(0, 100), ylim=(0, None))
        right.set(xlabel="v / sqrt(g h)", ylabel="cost of transport", ylim=(0, None))
        left.legend()
        right.legend()
    return result


def _draw_stance(axes: Axes, ground: str, colour: str) -> None:
    mean, deviation = over_stance(ground, SHOWN)
    share = np.linspace(0, 100, len(mean))
    axes.plot(share, mean, color=colour, label=ground)
    axes.fill_between(share, mean - deviation, mean + deviation, color=colour, alpha=0.2, lw=0)


STUDY = Study(
    "chen2026",
    "cost-of-transport",
    "what does walking on sand cost? (Fig 6 c-d)",
    "1.12 to 1.62 times as much as on rigid ground, U-shaped over speed.",
    perform,
)
