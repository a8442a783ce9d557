"""The walker behind Figs 6 a-d: what its controller holds decides how the foot that carries rolls.

The paper says of its controller that it walks under the rigid-ground assumption, and no more. The other studies keep
the height of the *whole* centre of mass. Here are walkers that keep the height of the trunk, as controllers with a
single rigid body or a pendulum for a model do. `WALKERS` has all their settings, with the reasons; they were written
down before the walks of this study and are used at all speeds and on all grounds.

A leg between a trunk at height z and a foot at rest turns the foot by two causes: the trunk passes over it, at
v / (z - R) and so the same all the time, and the leg gets longer or shorter. With thigh and calf of length l and the
knee bent by k the leg is 2 l cos(k/2) long, and the calf leans k/2 from it: a leg that gets longer by dz turns its
foot ahead by

    dz / (2 l sin(k/2)) = 6.4 rad/m  in our robot's posture.

So a trunk that stays level over a foot that stays where it is makes it roll evenly; a plateau says that the leg gets
*shorter* in mid-stance, by what the trunk's advance would turn the foot meanwhile. That is a few millimetres.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.control.stepping import Stepper, SteppingController, SteppingGains, SteppingGait, Walks, starting_state
from softground.media import Firm, Medium
from softground.papers.chen2026.experiment import DT, GAIT, GROUNDS, SPEEDS, STEADY, robot
from softground.papers.chen2026.rolling_feet import MIDDLE, PLATEAU, rates_of
from softground.papers.study import Check, Findings, Options, Row, Study, Table, above, below, between
from softground.runs import Run
from softground.runs.cost_of_transport import walk_cost
from softground.runs.figures import COLOURS, STYLE
from softground.simulation import Simulator
from softground.simulation.simulator import State

SECONDS = 8.0  # s, of a walk; steps count from STEADY on
HARD = (Firm(), 0.0003)
"""Ground that gives way by a third of a millimetre, and how deep the robot stands in it at first (m)."""
ON: dict[str, tuple[Medium, float]] = GROUNDS | {"hard": HARD}
EVEN = (0.75, 1.33)  # rolling rate in mid-stance over those before and after: even rolling
RADIUS = (0.8, 1.2)  # of the height of the centre of mass: "almost equivalent"
PART = (
    0.2,
    0.8,
)  # of the stance, over which the effective radius is taken: the foot has settled and does not leave yet
PUSH = 0.03  # m/s: deviation of the velocity with which a walk other than the first starts


class Walker(NamedTuple):
    """Settings of a walker, and why."""

    gains: SteppingGains
    gait: SteppingGait
    why: str


WALKERS = {
    "com": Walker(SteppingGains(), GAIT, "keeps the height of the whole centre of mass; as in the other studies"),
    "level": Walker(
        SteppingGains(height_of="trunk"),
        GAIT,
        "keeps the height of the trunk, all else as before: nothing was chosen by these walks",
    ),
    "spring": Walker(
        SteppingGains(height_of="trunk", height_kp=150.0, height_damping=0.1, foot_damper=140.0),
        GAIT,
        "carries its trunk as on a spring that is hardly damped, 12 rad/s, so that half a bounce lasts about a stance. "
        "Chosen at 0.2 m/s on sand for the plateau, among height_kp 25 to 900 /s2, damping ratios 0 to 1, foot dampers "
        "50 to 300 N s/m and double support 0 and 10 %: 48 walks",
    ),
    "odometry": Walker(
        SteppingGains(height_of="trunk"),
        replace(GAIT, odometry=1.0),
        "as 'level', but takes its own motion from the leg that carries, whose foot it believes to be fixed",
    ),
    "double support": Walker(
        SteppingGains(height_of="trunk"),
        replace(GAIT, double_support=0.1, push_off=0.2),
        "as 'level', but the foot behind stands for another 20 ms and pushes off with 1.2 times the weight",
    ),
}


CLAIMED = ("level", "spring")
"""Walkers of which the paper's claims are checked; the others are there to be compared."""


class Steps(NamedTuple):
    """Steps of a walk: means over them, and what they cost."""

    angle: Float[np.ndarray, " t"]  # rad, how far the foot that carries has rolled since its stance began
    sinkage: Float[np.ndarray, " t"]  # m, since then
    trunk: Float[np.ndarray, " t"]  # m, height of the trunk over the ground
    way: float  # m, of the centre of mass in a stance
    height: float  # m, of the centre of mass over the ground
    speed: float  # m/s
    cost: float  # of transport

    @property
    def rest(self) -> float:
        """Rolling rate in mid-stance over the smaller of those before and after."""
        return rates_of(self.angle).rest

    @property
    def early_on(self) -> float:
        """Share of the sinking that is done before mid-stance."""
        return float(self.sinkage[round(MIDDLE[0] * len(self.sinkage))] / self.sinkage.max())

    @property
    def radius(self) -> float:
        """Way of the centre of mass over the angle by which the foot rolls, once it has settled: m."""
        first, last = (round(share * (len(self.angle) - 1)) for share in PART)
        return self.way * (PART[1] - PART[0]) / float(self.angle[last] - self.angle[first])


def steps_of(run: Run, stance: float, start: float = STEADY) -> Steps | str:
    """Steps of a walk whose stances last so long (s), or how it fell."""
    if (fall := run.fall()) is not None:
        return f"{fall.reason} at {fall.time:.2f} s"
    per = round(stance / DT)
    found = range(round(start / DT) // per, run.sizes["time"] // per)
    tilt, depth, height = run["tilt"].values, run["depth"].values, run["configuration"].values[:, 2]
    parts = [(slice(k * per, (k + 1) * per), k % 2) for k in found]
    angle, sinkage = (np.mean([x[part, foot] - x[part.start, foot] for part, foot in parts], 0) for x in (tilt, depth))
    cost = walk_cost(run, start=start).walk
    assert cost is not None
    number = cost.cost_of_transport
    return Steps(
        angle=angle,
        sinkage=sinkage,
        trunk=np.mean([height[part] for part, _ in parts], axis=0),
        way=cost.speed * stance,
        height=cost.com_height,
        speed=cost.speed,
        cost=float("nan") if number is None else number,
    )


@cache
def walks_of(ground: str, height_of: str) -> Walks:
    """Walks of a robot that keeps the height of its trunk or centre of mass, on one of the grounds `ON`."""
    medium, depth = ON[ground]
    simulator = Simulator(robot(), medium, DT)
    controller = SteppingController(robot(), SteppingGains(height_of=height_of), period=DT)  # type: ignore[arg-type]
    stepper = Stepper(controller, GAIT)
    return Walks(simulator, stepper, starting_state(simulator, stepper, depth), SECONDS)


def stepped(ground: str, walker: Walker, speed: float, seed: int = 0) -> Steps | str:
    """What becomes of a walk at a speed (m/s). Seed 0 starts as the walks of the other studies; others with a push."""
    walks = walks_of(ground, walker.gains.height_of)
    run = walks(speed, gait=walker.gait, gains=walker.gains, start=_pushed(walks.start, seed))
    return steps_of(run, float(walker.gait.stance))


def _pushed(start: State, seed: int) -> State:
    if seed == 0:
        return start
    push = PUSH * np.random.default_rng(seed).standard_normal(2)
    return replace(start, v=np.asarray(start.v) + np.append(push, np.zeros(len(start.v) - 2)))


def perform(options: Options) -> Findings:
    speeds = (0.2,) if options.quick else SPEEDS
    names: Iterable[str] = ("level",) if options.quick else WALKERS
    outcomes = {
        (name, ground, speed): stepped(ground, WALKERS[name], speed)
        for name in names
        for ground in (("sand", "hard") if options.quick else ON)
        for speed in speeds
    }
    found = {key: one for key, one in outcomes.items() if isinstance(one, Steps)}
    checks = [
        Check(f"it walks: {name}, {speed:g} m/s on {ground}", not isinstance(one, str), _told(one), "no fall")
        for (name, ground, speed), one in outcomes.items()
    ]
    checks += [check for key, one in found.items() if key[0] in CLAIMED for check in _claims(*key, one)]
    rows = [_row(*key, one) for key, one in outcomes.items()]
    settings: list[Row] = [{"walker": name, "settings": WALKERS[name].why} for name in names]
    return Findings(
        checks=checks,
        metrics={"walkers": rows},
        tables=[Table("settings", "Walkers", settings), Table("walkers", "Rolling and cost, mean over 20 steps", rows)],
        figures={"walkers": figure(found)} if found else {},
        notes=[
            "Rates are rolling rates before, from 40 to 60 % and after 60 % of the stance, rad a stance; rest is the "
            f"middle one over the smaller of the others, a plateau below {PLATEAU:g}, even rolling within "
            f"{EVEN[0]:g} to {EVEN[1]:g}. 'radius / height' is the way of the centre of mass over the angle by which "
            "the foot rolls from 20 to 80 % of the stance, over the height of the centre of mass: the paper finds "
            "nearly 1 on rigid ground.",
            "What would decide it: a foot that stops rolling for a fifth of the stance, while the trunk goes on by "
            "v T / 5, needs a leg that gets shorter by that way over its length times 0.16 m (3 mm at 0.2 m/s, 8 mm at "
            "0.5 m/s), which the knee encoder shows; or it slides ahead with the trunk, by 8 mm at 0.2 m/s, which "
            "motion capture shows as x_s.",
        ],
    )


def _claims(name: str, ground: str, speed: float, one: Steps) -> list[Check]:
    """What the paper says of a walk at a speed."""
    told = f"{name}, {speed:g} m/s on {ground}"
    if ground != "sand":
        return [
            between(f"rolls evenly: {told}", one.rest, *EVEN),
            between(f"effective radius over height of the CoM: {told}", one.radius / one.height, *RADIUS),
        ]
    rates = rates_of(one.angle)
    return [
        below(f"plateau in mid-stance: {told}", one.rest, PLATEAU),
        above(f"rolls on after it, rad a stance: {told}", rates.late, rates.middle),
        above(f"share of the sinking done before 40 %: {told}", one.early_on, 0.5),
    ]


def _told(one: Steps | str) -> str:
    return one if isinstance(one, str) else "none"


def _row(name: str, ground: str, speed: float, one: Steps | str) -> Row:
    first: Row = {"walker": name, "ground": ground, "speed (m/s)": speed}
    if isinstance(one, str):
        return first | {"fell": one}
    rates = rates_of(one.angle)
    return first | {
        "fell": "",
        "had (m/s)": one.speed,
        "rolled (rad)": float(one.angle[-1]),
        "early (rad/stance)": rates.early,
        "middle": rates.middle,
        "late": rates.late,
        "rest": rates.rest,
        "radius / height": one.radius / one.height,
        "sunk (mm)": 1e3 * float(one.sinkage.max()),
        "trunk moves (mm)": 1e3 * float(np.ptp(one.trunk)),
        "cost": one.cost,
    }


def figure(found: dict[tuple[str, str, float], Steps]) -> Figure:
    """Rolling angle over the stance, of every walker on sand and on hard ground, and the trunk's height on sand."""
    speed = 0.2
    with matplotlib.rc_context(STYLE):
        result = blank(9.0, 3.0)
        panels = result.subplots(1, 3)
        for name, colour in zip(WALKERS, COLOURS, strict=False):
            for axes, ground in zip(panels, ("sand", "hard", "sand"), strict=True):
                if (one := found.get((name, ground, speed))) is None:
                    continue
                values = 1e3 * (one.trunk - one.trunk[0]) if axes is panels[2] else one.angle
                axes.plot(np.linspace(0, 100, len(values)), values, color=colour, label=name)
        for axes in panels:
            axes.axvspan(*(100 * share for share in MIDDLE), color="0.93", zorder=0)
            axes.set(xlabel="stance (%)", xlim=(0, 100))
        panels[0].set_title(f"rolling angle on sand, {speed:g} m/s (rad)", fontsize=8)
        panels[1].set_title("rolling angle on hard ground (rad)", fontsize=8)
        panels[2].set_title("height of the trunk on sand (mm)", fontsize=8)
        panels[0].legend(fontsize=6.5)
    return result


STUDY = Study(
    "chen2026",
    "walker",
    "what the walker holds, and how its foot rolls (Fig 6 a-b)",
    "on sand the foot rolls and sinks, rests in mid-stance and rolls on; on rigid ground it rolls evenly, about a "
    "radius near the height of the centre of mass.",
    perform,
)
