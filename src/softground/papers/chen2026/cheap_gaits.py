"""Gaits that are cheap on sand: chosen on the reduced models, confirmed by walks of the whole biped.

*Reduced cost*, the paper's decoupled one: of the sagittal plus of the frontal plane.

Sagittal: the biped in the plane, five links and a base that slips and sinks, which is the paper's augmented model (1)
in other coordinates, walked by the same controller as the whole robot. Its sand is the paper's law (8), calibrated by
one push; the walks that confirm are on 3D-RFT, another law.

Frontal: the augmented model (6) moved along the sway of a pendulum, whose feet are a width W apart and change every T,

    y(t) = W/2 cosh(omega (t - T/2)) / cosh(omega T/2)        from the foot that carries,

with a level trunk and the other foot kept W away: hip torques by inverse dynamics.

*Choice*: duration of a stance, lift, width and speed, within `RANGES`, by Nelder and Mead's method from the paper's
gait and from the middle of the ranges. The step length is speed times duration. Cost falls with lift and with speed
whatever else one does, so each is also kept as the paper has it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.stats import spearmanr

from softground.arrays import Array
from softground.control.stepping import Stepper, SteppingController, SteppingGait, Walks, starting_state
from softground.papers.chen2026.experiment import DT, GAIT, GROUNDS, biped_law, robot
from softground.papers.chen2026.models import frontal_model
from softground.papers.chen2026.walker import WALKERS, Steps, stepped
from softground.papers.study import Findings, Options, Row, Study, Table, above
from softground.robots import Robot
from softground.runs import Run
from softground.runs.cost_of_transport import walk_cost
from softground.simulation import Simulator

WALKER = WALKERS["level"]
NOMINAL = 0.2  # m/s
RANGES = {"stance": (0.14, 0.4), "swing_height": (0.05, 0.12), "width": (0.08, 0.2), "speed": (0.1, 0.6)}
"""s, m, m, m/s. The least lift is half the paper's: what a foot that has sunk 3 cm needs to clear 2 cm."""
CASES = {
    "lift and speed as in the paper": ("stance", "width"),
    "speed as in the paper": ("stance", "swing_height", "width"),
    "all free": ("stance", "swing_height", "width", "speed"),
}
SECONDS, STEADY = 8.0, 6.0
"""s: of a planar walk, and from when on it is looked at. On rigid ground the speed takes 14 steps to settle."""
KEPT = 0.05  # share of the speed that a walk may be off
BUDGET = 16  # walks of one search from one start
DEAR = 10.0  # cost of a gait that falls or does not keep its speed
BAR = 0.15  # share of the cost that a gait should save on sand, in 3D
RANKED = 16  # gaits by which the reduced models are compared with the whole robot


class Gait(NamedTuple):
    """What is chosen."""

    stance: float = float(GAIT.stance)  # s
    swing_height: float = float(GAIT.swing_height)  # m
    width: float = float(GAIT.width)  # m
    speed: float = NOMINAL  # m/s

    @property
    def stepping(self) -> SteppingGait:
        """For the stepper: of whole samples."""
        stance = DT * round(self.stance / DT)
        return replace(WALKER.gait, stance=stance, swing_height=self.swing_height, width=self.width)


@cache
def planar_walks(ground: str) -> Walks:
    """Walks in the sagittal plane: on the paper's law, or on rigid ground."""
    medium, depth = (biped_law(), GROUNDS["sand"][1]) if ground == "sand" else GROUNDS[ground]
    in_plane = Robot.load("biped", planar=True)
    simulator = Simulator(in_plane, medium, DT)
    stepper = Stepper(SteppingController(in_plane, WALKER.gains, period=DT), GAIT)
    return Walks(simulator, stepper, starting_state(simulator, stepper, depth), SECONDS)


@cache
def sagittal_cost(ground: str, gait: Gait) -> float:
    """Cost of transport of a walk in the plane; infinite if it falls or does not keep its speed."""
    return _over_strides(planar_walks(ground)(gait.speed, gait=gait.stepping), gait)


def _over_strides(run: Run, gait: Gait) -> float:
    if run.fall() is not None:
        return float("inf")
    stride = 2 * float(gait.stepping.stance)
    strides = int((SECONDS - STEADY) / stride)
    cost = walk_cost(run, start=STEADY, end=STEADY + strides * stride).walk
    if cost is None or cost.cost_of_transport is None or abs(cost.speed / gait.speed - 1) > KEPT:
        return float("inf")
    return float(cost.cost_of_transport)


def frontal_cost(gait: Gait) -> float:
    """Cost of transport of swaying: work of the hips in a stance over the weight and the way ahead."""
    model, stance = frontal_model(), float(gait.stepping.stance)
    weight = model.total_mass * 9.81
    return float(_sway_work()(stance, gait.width)) / (float(weight) * gait.speed * stance)


@cache
def _sway_work() -> Callable:
    model, hip = frontal_model(), 0.06  # m, of a hip from the middle
    leg = float(robot().posture[2])  # m, of a hip over the ground
    omega = float(GAIT.omega(9.81))
    samples = 200

    def posture(time, stance, width):
        """(y_s, z_s, roll of the leg that carries, its hip, the other hip)."""
        com = width / 2 * jnp.cosh(omega * (time - stance / 2)) / jnp.cosh(omega * stance / 2)
        carrying = -jnp.arcsin((com - hip) / leg)
        swinging = jnp.arcsin((width - com - hip) / leg)
        return jnp.stack([jnp.zeros(()), jnp.zeros(()), carrying, carrying, swinging])

    def power(time, stance, width) -> Float[Array, ""]:
        q, v = jax.jvp(lambda t: posture(t, stance, width), (time,), (jnp.ones(()),))
        rate = lambda t: jax.jvp(lambda s: posture(s, stance, width), (t,), (jnp.ones(()),))[1]  # noqa: E731
        _, a = jax.jvp(rate, (time,), (jnp.ones(()),))
        return jnp.abs((model.inverse_dynamics(q, v, a) * v)[jnp.asarray(model.actuated)].sum())

    def work(stance, width):
        times = (jnp.arange(samples) + 0.5) / samples * stance
        return jax.vmap(lambda t: power(t, stance, width))(times).mean() * stance

    return jax.jit(work)


def reduced_cost(ground: str, gait: Gait) -> float:
    return sagittal_cost(ground, gait) + frontal_cost(gait)


def whole_cost(ground: str, gait: Gait) -> float:
    """Cost of transport of the whole biped, on 3D-RFT sand or on rigid ground."""
    steps = stepped(ground, WALKER._replace(gait=gait.stepping), gait.speed)
    if not isinstance(steps, Steps) or abs(steps.speed / gait.speed - 1) > KEPT:
        return float("inf")
    return steps.cost


def cheapest(ground: str, free: tuple[str, ...], budget: int = BUDGET) -> Gait:
    """The gait that costs the reduced models least, where only what is free may change."""
    low, high = np.array([RANGES[name] for name in free]).T
    nominal = np.array([getattr(Gait(), name) for name in free])

    def gait_at(share: np.ndarray) -> Gait:
        return Gait(**dict(zip(free, map(float, low + np.clip(share, 0, 1) * (high - low)), strict=True)))

    def cost(share: np.ndarray) -> float:
        outside = float(np.abs(share - np.clip(share, 0, 1)).sum())
        return min(reduced_cost(ground, gait_at(share)), DEAR) + outside

    found = []
    for start in ((nominal - low) / (high - low), np.full(len(free), 0.5)):
        corners = start + np.vstack([np.zeros(len(free)), np.where(start < 0.5, 0.35, -0.35) * np.eye(len(free))])
        options = {"initial_simplex": corners, "maxfev": budget, "xatol": 0.01, "fatol": 0.002}
        found.append(minimize(cost, start, method="Nelder-Mead", options=options))
    return gait_at(min(found, key=lambda one: one.fun).x)


def drawn(count: int) -> list[Gait]:
    """Gaits drawn evenly from the ranges."""
    low, high = np.array([*RANGES.values()]).T
    shares = np.random.default_rng(7).random((count, len(low)))
    return [Gait(**dict(zip(RANGES, map(float, one), strict=True))) for one in low + shares * (high - low)]


def ranking(ground: str, count: int) -> tuple[float, float, int]:
    """Rank correlation of reduced and whole cost over drawn gaits, median of their ratio, and how many walk in both."""
    pairs = np.array([(reduced_cost(ground, gait), whole_cost(ground, gait)) for gait in drawn(count)])
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    if len(pairs) < 3:
        return float("nan"), float("nan"), len(pairs)
    correlation = float(np.asarray(spearmanr(pairs).statistic))  # type: ignore[attr-defined]
    return correlation, float(np.median(pairs[:, 0] / pairs[:, 1])), len(pairs)


def perform(options: Options) -> Findings:
    grounds = ("sand",) if options.quick else ("sand", "rigid")
    cases = dict(list(CASES.items())[1:2]) if options.quick else CASES
    rows, saved = [_row("the paper's", "", Gait(), grounds)], {}
    for speed in () if options.quick else (0.4, 0.6):
        rows.append(_row(f"the paper's, {speed:g} m/s", "", Gait(speed=speed), grounds))
    for ground in grounds:
        for told, free in cases.items():
            gait = cheapest(ground, free, 12 if options.quick else BUDGET)
            rows.append(_row(told, ground, gait, grounds))
            saved[ground, told] = 1 - whole_cost(ground, gait) / whole_cost(ground, Gait())
    checks = [above(f"saved on {ground}, in 3D: {told}", value, BAR) for (ground, told), value in saved.items()]
    ranks = [] if options.quick else [(ground, *ranking(ground, RANKED)) for ground in grounds]
    checks += [
        above(f"rank correlation of reduced and whole cost on {ground}", rank, 0.8) for ground, rank, *_ in ranks
    ]
    ranked: list[Row] = [
        {"ground": ground, "rank correlation": rank, "reduced / whole, median": ratio, "gaits that walk in both": count}
        for ground, rank, ratio, count in ranks
    ]
    return Findings(
        checks=checks,
        metrics={"gaits": rows, "ranking": ranked},
        tables=[
            Table("gaits", "Gaits, and what they cost", rows),
            Table("ranking", f"{RANKED} gaits drawn from the ranges, by both", ranked),
        ],
        notes=[
            f"Free within stance {RANGES['stance']} s, lift {RANGES['swing_height']} m, width {RANGES['width']} m and "
            f"speed {RANGES['speed']} m/s. 'reduced': sagittal walk on the paper's law, plus frontal sway; '3D': the "
            "whole biped, on 3D-RFT sand. A gait that falls, or is more than 5 % off its speed, costs infinitely much.",
            "Feet are set down at the surface in all of them: the robot knows nothing of the sand.",
        ],
    )


def _row(told: str, chosen_on: str, gait: Gait, grounds: tuple[str, ...]) -> Row:
    row: Row = {
        "gait": told,
        "chosen on": chosen_on,
        "stance (s)": float(gait.stepping.stance),
        "step (m)": float(gait.stepping.stance) * gait.speed,
        "lift (m)": gait.swing_height,
        "width (m)": gait.width,
        "speed (m/s)": gait.speed,
    }
    for ground in grounds:
        row[f"{ground}, reduced"] = reduced_cost(ground, gait)
        row[f"{ground}, 3D"] = whole_cost(ground, gait)
    return row


STUDY = Study(
    "chen2026",
    "cheap-gaits",
    "gaits that are cheap on sand, chosen on the reduced models",
    "it names optimal gaits as a use of its model and shows none.",
    perform,
)
