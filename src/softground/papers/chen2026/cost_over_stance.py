"""Fig 6c: how the cost adds up over a stance, and what of it sand takes.

What a reader sees is put as numbers, from the paper's words: "the main difference came ... after 20 %", "ramp up nearly
linearly", "a significant jump at the late-stance when the foot started to pull off".

*Where a stance ends* decides two of the three. By the gait's clock it ends when the other foot touches down; this foot
is as deep as ever then, and is pulled off in the first fifth of the next stance. "When the foot started to pull off"
belongs to a stance that lasts until the foot has left the ground: `until_left`. Both are counted. (The second was put
down after the first had failed, and its numbers at all speeds had been looked at before.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from softground.papers.chen2026.experiment import DT, GAIT, STEADY
from softground.papers.study import Check, Row, above, below
from softground.runs import Run
from softground.runs.measures import actuator_work, way_ahead

RAMP = (0.2, 0.8)
"""Of the stance: in which the cost on sand ramps up."""
LATE = 0.9
"""Of the stance: from when on the foot is pulled off."""
STRAIGHT, JUMP = 0.05, 1.5
"""Greatest distance of a ramp from a straight line, as a share of its rise; least pace of a jump over the ramp's."""
SHARES = np.linspace(0.0, 1.0, 101)
LEG = 3
"""Actuators of a leg: the left one's come first."""
UNTIL_LEFT = ", until the foot has left"


class Shape(NamedTuple):
    """What Fig 6c shows of two costs as they add up over a stance."""

    after: float  # share of their difference that comes after 20 %
    bent: float  # greatest distance of the ramp on sand from a straight line, over its rise
    jump: float  # pace after 90 % on sand, over the ramp's


def shape_of(sand: Float[np.ndarray, " t"], rigid: Float[np.ndarray, " t"]) -> Shape:
    begin, end, late = (round(share * (len(sand) - 1)) for share in (*RAMP, LATE))
    ramp = sand[begin : end + 1]
    rise = ramp[-1] - ramp[0]
    bent = np.abs(ramp - np.linspace(ramp[0], ramp[-1], len(ramp))).max() / rise
    jump = (sand[-1] - sand[late]) / (len(sand) - 1 - late) / (rise / (end - begin))
    apart = sand - rigid
    return Shape(float(1 - apart[begin] / apart[-1]), float(bent), float(jump))


def over_stance(sand: Float[np.ndarray, " t"], rigid: Float[np.ndarray, " t"], counted: str = "") -> list[Check]:
    """The paper's three statements, of costs as they add up. counted: what stances these are."""
    shape = shape_of(sand, rigid)
    return [
        above(f"share of the difference of grounds after 20 % of the stance{counted}", shape.after, 0.5),
        below(f"ramp on sand, 20 to 80 %: distance from a straight line over its rise{counted}", shape.bent, STRAIGHT),
        above(f"jump on sand: pace after 90 % of the stance over the ramp's{counted}", shape.jump, JUMP),
    ]


def until_left(run: Run) -> Float[np.ndarray, " 101"]:
    """Cost so far over `SHARES` of a stance from touch-down until the foot has left the ground, mean over stances."""
    energy, way = np.abs(actuator_work(run).sum(axis=1)), way_ahead(run)
    length = per() + leaving(run)
    starts = [k * per() for k in steady(run) if k * per() + length < len(way)]
    so_far = [np.cumsum(energy[at : at + length]) / (run.weight * (way[at + length] - way[at])) for at in starts]
    return np.interp(SHARES, np.linspace(0, 1, length), np.mean(so_far, axis=0))


def leaving(run: Run) -> int:
    """Steps after the other foot's touch-down until a foot has left the ground, median over stances."""
    depth = run["depth"].values
    behind = (depth[k * per() : (k + 1) * per(), 1 - k % 2] for k in steady(run))
    return int(np.median([np.argmax(one <= 0.0) for one in behind]))


def by_leg(run: Run) -> dict[str, float]:
    """Energy (J) in a stance by the clock, mean: all actuators together, and each leg's, in its first fifth and after.

    The leg that stands is the one that has just landed, the other one is pulled off and swings. Negative work is work
    taken back; the cost has the size of their sum.
    """
    work = actuator_work(run)
    parts = [(work[k * per() : (k + 1) * per()], k % 2) for k in steady(run)]
    each = np.mean([[_leg(part, foot), _leg(part, 1 - foot), np.abs(part.sum(axis=1))] for part, foot in parts], axis=0)
    fifth = round(RAMP[0] * per())
    named = zip(("leg that stands", "leg that swings", "both, cost"), each, strict=True)
    return {
        f"{name}, {when} (J)": float(values[within].sum())
        for name, values in named
        for when, within in (("first fifth", slice(fifth)), ("after", slice(fifth, None)))
    }


def _leg(work: Float[np.ndarray, "t 6"], foot: int) -> Float[np.ndarray, " t"]:
    return work[:, LEG * foot : LEG * (foot + 1)].sum(axis=1)


def lost(run: Run) -> float:
    """Work (J) of the actuators over a stance less what they take back: what is dissipated, in a steady walk."""
    work = actuator_work(run).sum(axis=1)
    return float(np.mean([work[k * per() : (k + 1) * per()].sum() for k in steady(run)]))


def paid(run: Run) -> float:
    """Energy (J) that the cost counts, over a stance."""
    work = np.abs(actuator_work(run).sum(axis=1))
    return float(np.mean([work[k * per() : (k + 1) * per()].sum() for k in steady(run)]))


def rows(walked: dict[tuple[str, float], Run]) -> list[Row]:
    """Shapes and energies by speed, of walks by (ground, speed)."""
    speeds = sorted({speed for _, speed in walked})
    return [_row(speed, walked["sand", speed], walked["rigid", speed]) for speed in speeds]


def _row(speed: float, sand: Run, rigid: Run) -> Row:
    shape = shape_of(until_left(sand), until_left(rigid))
    row: Row = {"speed (m/s)": speed} | {f"{name}{UNTIL_LEFT}": value for name, value in shape._asdict().items()}
    for ground, run in (("sand", sand), ("rigid", rigid)):
        row |= {f"leaves after (% of a stance), {ground}": 100 * leaving(run) / per(), f"lost (J), {ground}": lost(run)}
        row |= {f"{name}, {ground}": value for name, value in by_leg(run).items()}
    return row


def per() -> int:
    """Steps of a stance by the clock."""
    return round(float(GAIT.stance) / DT)


def steady(run: Run) -> range:
    """Whole stances of the steady part whose last step has a sample after it, by number."""
    return range(round(STEADY / DT) // per(), (run.sizes["time"] - 1) // per())
