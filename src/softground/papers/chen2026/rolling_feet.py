"""Fig 6 (a-b): how the foot that carries rolls, sinks and slips over a stance, on sand and on rigid ground.

What the paper calls a plateau is put as a number here, from its words: the foot rolls "before 40 %" of the stance, its
orientation rests "in the mid-stance", and "after that" it rolls on. With the mean rolling rates before 40 %, from 40 to
60 % and after 60 % of the stance,

    rest = |rate in the middle| / the smaller of |rate before|, |rate after|,

a plateau is a rest below one half: in the middle the foot turns at less than half the pace of both ends. A foot that
rolls evenly has 1, and one that slows down once and for all has no plateau, however slow it gets.

That was written down before any walk was looked at. Our robot's plateau comes earlier, so the same ratio is also given
for the fifth of the stance in which the foot rolls least.
"""

from __future__ import annotations

from typing import NamedTuple

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.papers.chen2026.experiment import DT, GROUNDS, SPEEDS, fall_of, robot, stances, walk
from softground.papers.chen2026.rolling import arc, effective_rolling_radius
from softground.papers.chen2026.stance_series import measured
from softground.papers.study import Check, Findings, Options, Row, Study, Table, above, below, between
from softground.runs.figures import COLOURS, STYLE

SHOWN = 0.2  # m/s, of the comparison with rigid ground, as in the paper
STEPS = 10
MIDDLE = (0.4, 0.6)  # of the stance
PLATEAU = 0.5  # rest below which there is one
SINKS_ON, SMOOTH, SETTLED = 0.05, 10.0, 0.05
"""Least share of the sinking that is "continued to sink"; greatest over least of a radius that is "smooth"; share of
the stance after which direction and radius are looked at, when the foot has met the ground. All set beforehand."""
FIFTH = 0.2  # of the stance: length of the flattest stretch, and what there must be before and after it


class Rolling(NamedTuple):
    """Stances of a walk: rolling, and the way of the contact point since the stance began."""

    angle: Float[np.ndarray, "s t"]  # rad, Delta theta_r of (4)
    slip: Float[np.ndarray, "s t"]  # m, x_s, forwards
    lateral: Float[np.ndarray, "s t"]  # m, y_s, inwards
    sinkage: Float[np.ndarray, "s t"]  # m, -z_s
    ahead: Float[np.ndarray, "s t"]  # N, F_x, of the ground on the foot

    @property
    def direction(self) -> Float[np.ndarray, " t"]:
        """gamma of the mean way, rad: -pi/2 straight down, 0 ahead; without turns of 2 pi."""
        slip, sinkage = (np.gradient(way.mean(axis=0), DT) for way in (self.slip, self.sinkage))
        return np.unwrap(np.arctan2(-sinkage, slip))

    @property
    def radius(self) -> Float[np.ndarray, "s t"]:
        """R_eff of (5), m, step by step."""
        velocity = np.stack([np.gradient(self.slip, DT, axis=1), -np.gradient(self.sinkage, DT, axis=1)], axis=-1)
        return np.asarray(effective_rolling_radius(velocity, self._rate))

    @property
    def _rate(self) -> Float[np.ndarray, "s t"]:
        return np.gradient(self.angle, DT, axis=1)


def rolling_of(ground: str, speed: float, count: int) -> Rolling:
    """Stances of the walk at this speed (m/s)."""
    found = stances(walk(ground, speed), count)
    values = measured(found).values
    pitch = np.stack([stance.samples["tilt"].values[:, stance.foot] for stance in found])
    contour = arc(robot().feet[0].shape.clearance)
    angle = np.stack([np.asarray(contour.rolling_angle(one, one[0])) for one in pitch])
    return Rolling(angle, values["x_s"], values["y_s"], -values["z_s"], values["F_x"])


class Rates(NamedTuple):
    """Mean rolling rates (rad per stance) before, in and after a part of the stance."""

    early: float
    middle: float
    late: float

    @property
    def rest(self) -> float:
        return abs(self.middle) / min(abs(self.early), abs(self.late))


def rates_of(angle: Float[np.ndarray, " t"], middle: tuple[float, float] = MIDDLE) -> Rates:
    """Rates of a mean rolling angle over a stance."""
    ends = np.array([0.0, *middle, 1.0])
    at = np.interp(ends, np.linspace(0, 1, len(angle)), angle)
    return Rates(*map(float, np.diff(at) / np.diff(ends)))


def flattest(angle: Float[np.ndarray, " t"]) -> tuple[float, float]:
    """The fifth of the stance, but not its first and last, in which the foot rolls least: shares of the stance."""
    last = len(angle) - 1
    starts = np.arange(round(FIFTH * last), round((1 - 2 * FIFTH) * last) + 1)
    turned = angle[starts + round(FIFTH * last)] - angle[starts]
    first = starts[np.argmin(np.abs(turned))] / last
    return first, first + FIFTH


def perform(options: Options) -> Findings:
    speeds, count = ((SHOWN,), 4) if options.quick else (SPEEDS, STEPS)
    checks: list[Check] = []
    found: dict[tuple[str, float], Rolling] = {}
    for ground in GROUNDS:
        for speed in speeds:
            fall = fall_of(ground, speed)
            told = "none" if fall is None else f"{fall.reason} at {fall.time:.2f} s"
            checks.append(Check(f"it walks at {speed:g} m/s on {ground} ground", fall is None, told, "no fall"))
            if fall is None:
                found[ground, speed] = rolling_of(ground, speed, count)
    for (ground, speed), one in found.items():
        claim = below if ground == "sand" else above
        rest = rates_of(one.angle.mean(axis=0)).rest
        checks.append(claim(f"rest in mid-stance, {speed:g} m/s on {ground}: plateau below 1/2", rest, PLATEAU))
    if all((ground, SHOWN) in found for ground in GROUNDS):
        checks += _at_shown(found["sand", SHOWN], found["rigid", SHOWN])
    return Findings(
        checks=checks,
        metrics={f"{ground} {speed:g}": row for (ground, speed), row in zip(found, _rows(found), strict=True)},
        tables=[Table("rolling", "Rolling, sinkage and slip of a stance, mean over steps", _rows(found))],
        figures={"rolling": figure(found)} if found else {},
        notes=[
            "A plateau is a rest below 1/2: the rolling rate from 40 to 60 % of the stance over the smaller of the "
            "rates before and after. The definition was written from the paper's words before the walks were looked "
            "at. 'rest there' is the same for the fifth of the stance in which the foot rolls least ('flattest from').",
            "What makes our foot rest, on both grounds: the swinging leg, a quarter of the robot, goes up in the first "
            "half of the stance, so a trunk that keeps the centre of mass level comes down and bends the knee that "
            "carries. That turns the foot back as fast as walking turns it ahead. On sand the foot has rolled by a "
            "tenth of a radian before, while it sank.",
            "(5) has the velocity of the contact point. Without slip that point moves at R times the rolling rate, so "
            "R_eff is the radius of a foot that rolls on rigid ground. The paper finds the height of the centre of "
            "mass there, which would take the velocity of the centre of mass.",
            "R_eff is a ratio, and infinite where the foot does not turn: the median over steps and over the first "
            "40 % of the stance, when it rolls.",
        ],
    )


def _at_shown(sand: Rolling, rigid: Rolling) -> list[Check]:
    """The paper's other claims, which it makes of one speed."""
    height = float(walk("rigid", SHOWN)["center_of_mass"].sel(xyz="z").mean())
    until, after = (round(share * sand.sinkage.shape[1]) for share in MIDDLE)
    sunk, slip, gamma = sand.sinkage.mean(axis=0), sand.slip.mean(axis=0), sand.direction
    settled = round(SETTLED * len(gamma))
    before, radius = _turned(gamma[settled:until]), np.median(sand.radius, axis=0)[settled:until]
    turned = [float(one.angle[:, -1].mean()) for one in (sand, rigid)]
    least = [rates_of(angle, flattest(angle)).rest for angle in (sand.angle.mean(axis=0), rigid.angle.mean(axis=0))]
    return [
        below("rest where the foot rolls least, on sand", least[0], PLATEAU),
        above("rest where the foot rolls least, on rigid ground", least[1], PLATEAU),
        above(f"share of the sinking done before {100 * MIDDLE[0]:g} % of the stance", sunk[until] / sunk[-1], 0.5),
        above("share of the sinking done after 60 %: it sinks on", 1 - sunk[after] / sunk[-1], SINKS_ON),
        above("F_x on sand after 60 %, mean (N): grains are pushed back", float(sand.ahead[:, after:].mean()), 0.0),
        below("x_s on sand after 60 % (mm): the foot goes back", 1e3 * float(slip[-1] - slip[after]), 0.0),
        below("turn of gamma from 40 to 60 %, over that before", _turned(gamma[until:after]) / before, PLATEAU),
        below("R_eff on sand before 40 %: greatest over least", float(radius.max() / radius.min()), SMOOTH),
        above("rolling angle on rigid ground over that on sand", turned[1] / turned[0], 1.0),
        between(
            "R_eff on rigid ground is nearly the height of the CoM (m)",
            _early(rigid.radius),
            0.8 * height,
            1.2 * height,
        ),
    ]


def _turned(angle: Float[np.ndarray, " t"]) -> float:
    """How far an angle goes to and fro, rad."""
    return float(np.abs(np.diff(angle)).sum())


def _early(values: Float[np.ndarray, "s t"]) -> float:
    """Median over steps and the first part of the stance."""
    return float(np.median(values[:, : round(MIDDLE[0] * values.shape[1])]))


def _rows(found: dict[tuple[str, float], Rolling]) -> list[Row]:
    return [_row(ground, speed, one) for (ground, speed), one in found.items()]


def _row(ground: str, speed: float, one: Rolling) -> Row:
    angle = one.angle.mean(axis=0)
    rates, least = rates_of(angle), flattest(angle)
    return {
        "ground": ground,
        "speed (m/s)": speed,
        "rolled (rad)": float(angle[-1]),
        "deviation (rad)": float(one.angle[:, -1].std()),
        "early (rad/stance)": rates.early,
        "middle": rates.middle,
        "late": rates.late,
        "rest": rates.rest,
        "flattest from (%)": 100 * least[0],
        "rate there": rates_of(angle, least).middle,
        "rest there": rates_of(angle, least).rest,
        "R_eff (m)": _early(one.radius),
        "sinkage (mm)": 1e3 * float(one.sinkage[:, -1].mean()),
        "x_s (mm)": 1e3 * float(one.slip[:, -1].mean()),
        "y_s (mm)": 1e3 * float(one.lateral[:, -1].mean()),
    }


def figure(found: dict[tuple[str, float], Rolling]) -> Figure:
    """Above: rolling angle on both grounds, over speeds, and R_eff. Below: sinkage and slip over speeds, on sand."""
    shown = {ground: one for (ground, speed), one in found.items() if speed == SHOWN}
    sand = {speed: one for (ground, speed), one in found.items() if ground == "sand"}
    with matplotlib.rc_context(STYLE):
        result = blank(9.0, 5.2)
        panels = result.subplots(2, 3)
        for (ground, one), colour in zip(shown.items(), COLOURS, strict=False):
            _draw(panels[0, 0], one.angle, colour, ground)
            _draw_radius(panels[0, 2], one.radius, colour, ground)
        shades = matplotlib.colormaps["viridis"](np.linspace(0, 0.85, len(sand)))
        for (speed, one), shade in zip(sand.items(), shades, strict=True):
            _draw(panels[0, 1], one.angle, shade, f"{speed:g} m/s")
            for axes, values in zip(panels[1], (one.sinkage, one.slip, one.lateral), strict=True):
                _draw(axes, 1e3 * values, shade, f"{speed:g} m/s")
        titles = (
            (f"rolling angle at {SHOWN:g} m/s (rad)", "rolling angle on sand (rad)", f"R_eff at {SHOWN:g} m/s (m)"),
            ("sinkage on sand (mm)", "x_s on sand (mm)", "y_s on sand (mm), outwards is negative"),
        )
        for axes, title in zip(panels.ravel(), np.ravel(titles), strict=True):
            axes.set_title(title, fontsize=8)
            axes.set_xlim(0, 100)
        for axes in panels[0, :2]:
            axes.axvspan(*(100 * share for share in MIDDLE), color="0.93", zorder=0)
        for axes in panels[1]:
            axes.set_xlabel("stance (%)")
        panels[0, 2].set_yscale("log")
        panels[0, 0].legend(fontsize=7)
        panels[0, 1].legend(fontsize=6.5)
        panels[0, 2].legend(fontsize=7)
    return result


def _draw(axes: Axes, values: Float[np.ndarray, "s t"], colour, label: str) -> None:
    """Mean and one deviation over steps."""
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    share = np.linspace(0, 100, len(mean))
    axes.plot(share, mean, color=colour, label=label)
    axes.fill_between(share, mean - deviation, mean + deviation, color=colour, alpha=0.2, lw=0)


def _draw_radius(axes: Axes, values: Float[np.ndarray, "s t"], colour, label: str) -> None:
    """Median and quartiles over steps: a ratio whose denominator goes through zero has no mean."""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    share = np.linspace(0, 100, len(middle))
    axes.plot(share, middle, color=colour, label=label)
    axes.fill_between(share, low, high, color=colour, alpha=0.2, lw=0)


STUDY = Study(
    "chen2026",
    "rolling",
    "how the foot rolls over a stance (Fig 6 a-b)",
    "on sand the foot rolls and sinks before 40 % of the stance, its orientation rests in mid-stance, then it rolls "
    "on; on rigid ground it rolls further, hardly resting, about a radius near the height of the centre of mass.",
    perform,
)
