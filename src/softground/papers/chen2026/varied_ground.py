"""Beyond the paper: walks over sand whose strength changes from place to place, identified under way; and on mud.

*Varied.* Stretches of half a metre, each of a strength of its own, drawn evenly in its logarithm. The robot knows
nothing of them. `TerrainIdentifier` fits zeta of the paper's law to its sensors from step to step; what it must know
beforehand is how much the ground may change while it walks: strengths drawn from `STRENGTHS` differ by `CHANGE` in
their logarithms (root mean square) and change every half metre, so that the logarithm drifts by CHANGE / sqrt(0.5 m /
speed) per sqrt(s). It is compared with a robot that takes the ground for nearly constant, as in the study of constant
ground, and with one that believes its first three steps for good.

*Mud* is cohesive: a foot sticks (`softground.media.mud`, parameters of no measurement). As soft as that comes the robot
sinks into it to its knees, so it is taken as firm as our sand, by a push of the foot to `FIRM_AT`. The paper's law has
no cohesion, and names it as its next step: what zeta means here is only how hard a step was met. Whether its own law
can be identified, in its strength, is a check.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.control.stepping import Stepper, SteppingController, Walks, starting_state
from softground.control.terrain_identification import TerrainIdentifier
from softground.media import Elements, FootInGround, Medium, Stretches, mud
from softground.media.wedge.calibration import SAND
from softground.papers.chen2026.experiment import DT, GAIT, biped_law, robot
from softground.papers.chen2026.identification import DEPTH, FIRST, GUESS, PARAMETERS, TOUCH_DOWN, steps_to_seconds
from softground.papers.chen2026.sensing import NOISE, SAMPLES, carrying, sensed_steps
from softground.papers.chen2026.walker import WALKERS, steps_of
from softground.papers.study import Check, Findings, Options, Row, Study, Table, below
from softground.runs import Run
from softground.runs.figures import COLOURS, STYLE
from softground.simulation import Simulator
from softground.terrain import Varied

WALKER = WALKERS["level"]
SPEED, STEPS = 0.2, 100  # m/s; steps that are identified
STRETCH = 0.5  # m
STRENGTHS = (0.7, 2.0)
CHANGE = float(np.log(STRENGTHS[1] / STRENGTHS[0]) / np.sqrt(6.0))
"""Root mean square of the difference of two numbers drawn evenly from an interval: its length over sqrt(6)."""
DRIFTS = {"changing": CHANGE / np.sqrt(STRETCH / SPEED), "nearly constant": TOUCH_DOWN.drift}  # per sqrt(s)
GOOD = 0.2  # error of the logarithm of zeta, root mean square over steps
SOON = 3  # steps after which a change is known
GROUNDS = ("wedge", "sand")
FIRM_AT = 0.03  # m
MUD_GUESS = 2.0  # factor by which the robot takes mud for stronger than it is, at first
MUD_SPEEDS = (0.1, 0.2, 0.3, 0.4, 0.5)  # m/s


class Told(NamedTuple):
    """Steps of a walk: what the ground was under each, and what the robot believed at its end."""

    place: Float[np.ndarray, " s"]  # m, ahead
    truth: Float[np.ndarray, " s"]  # N/cm3, zeta; on 3D-RFT sand zeta by one push, times the strength
    believed: dict[str, Float[np.ndarray, " s"]]  # N/cm3, by what was taken for the ground's drift
    fell: str

    def error(self, name: str) -> float:
        """Of the logarithm of zeta, root mean square over all steps but the first."""
        off = np.log(self.believed[name] / self.truth)[SOON:]
        return float(np.sqrt((off**2).mean()))

    def late(self, name: str) -> float:
        """The same for the steps that come `SOON` or more after a change."""
        old = np.array([np.ptp(self.truth[max(0, k - SOON) : k + 1]) == 0 for k in range(len(self.truth))])
        off = np.log(self.believed[name] / self.truth)[SOON:][old[SOON:]]
        return float(np.sqrt((off**2).mean()))


def field(seed: int) -> Stretches:
    """Strengths of stretches ahead, the first as the ground is usually."""
    count = int(SPEED * steps_to_seconds(FIRST + STEPS) / STRETCH) + 2
    drawn = np.exp(np.random.default_rng(seed).uniform(np.log(STRENGTHS[0]), np.log(STRENGTHS[1]), count - 1))
    return Stretches(edges=STRETCH * np.arange(1, count), values=np.append(1.0, drawn))


@cache
def _walks(ground: str) -> Walks:
    base = {"wedge": biped_law(), "sand": SAND}[ground]
    return _walks_on(Varied(base, field(0)), 0.02, steps_to_seconds(FIRST + STEPS))


def _walks_on(medium: Medium, depth: float, seconds: float) -> Walks:
    simulator = Simulator(robot(), medium, DT)
    stepper = Stepper(SteppingController(robot(), WALKER.gains, period=DT), WALKER.gait)
    return Walks(simulator, stepper, starting_state(simulator, stepper, depth), seconds)


@cache
def _believer(law: str, drift: float):
    """Beliefs of a robot that takes the ground for the paper's law, or for mud, changing so much."""
    if law == "mud":
        medium, names = mud(strength=MUD_GUESS * float(firm_mud().strength)), ("strength",)
    else:
        medium, names = replace(biped_law(), zeta=GUESS[0], saturation_length=GUESS[1]), PARAMETERS
    one = TerrainIdentifier(robot(), medium, names, noise=NOISE, uncertainty=replace(TOUCH_DOWN, drift=drift))
    return jax.jit(lambda stream: one.over(one.start(stream.q[0], DEPTH, carrying(FIRST)), stream).parameters[:, 0])


def believed(run: Run, law: str, drift: float, steps: int, seed: int) -> Float[np.ndarray, " s"]:
    """What is believed of zeta, or of mud's strength, at the end of every step."""
    return np.asarray(_believer(law, drift)(sensed_steps(run, FIRST, steps, seed)))[SAMPLES - 1 :: SAMPLES]


@cache
def _feet():
    return jax.jit(jax.vmap(lambda q: robot().foot_poses(robot().kinematics(q))[0]))


def told(ground: str, seed: int) -> Told:
    """A walk over varied ground and what it tells."""
    walks, strengths = _walks(ground), field(seed)
    base = {"wedge": biped_law(), "sand": SAND}[ground]
    run = walks(SPEED, Varied(base, strengths), title=f"biped on varied {ground}")
    fall = run.fall()
    if fall is not None:
        return Told(np.zeros(0), np.zeros(0), {}, f"{fall.reason} at {fall.time:.2f} s")
    middle = (FIRST + np.arange(STEPS)) * SAMPLES + SAMPLES // 2
    feet = np.array([carrying(FIRST + k) for k in range(STEPS)])
    place = np.asarray(_feet()(run["configuration"].values[middle]))[np.arange(STEPS), feet, 0]
    truth = float(biped_law().zeta) * np.asarray(strengths.values)[np.searchsorted(np.asarray(strengths.edges), place)]
    beliefs = {name: believed(run, "wedge", drift, STEPS, seed) for name, drift in DRIFTS.items()}
    beliefs["first steps"] = np.full(STEPS, beliefs["changing"][SOON - 1])
    return Told(place, truth, beliefs, "")


@cache
def firm_mud() -> Elements:
    """Mud that meets the biped's foot with what the sand has, straight down and `FIRM_AT` deep."""
    return mud(strength=_push(SAND) / _push(mud()))


def _push(medium: Medium) -> float:
    """Force (N) on the biped's foot pushed straight down."""
    (shape, *_) = (foot.shape for foot in robot().feet)
    of_foot = medium.for_foot(shape, False)
    foot = FootInGround(jnp.asarray(FIRM_AT), jnp.zeros(3), jnp.eye(3), jnp.eye(3))
    down = jnp.asarray([0.0, 0.0, -0.1, 0.0, 0.0, 0.0])
    return float(
        jax.jit(lambda twist: of_foot.law(foot, of_foot.initial_memory(foot), jnp.asarray(DT)).wrench(twist)[2])(down)
    )


def perform(options: Options) -> Findings:
    seeds = (1,) if options.quick else (1, 2, 3, 4)
    grounds = GROUNDS[:1] if options.quick else GROUNDS
    walked = {(ground, seed): told(ground, seed) for ground in grounds for seed in seeds}
    sound = {key: one for key, one in walked.items() if not one.fell}
    checks = [
        Check(f"{FIRST + STEPS} steps on varied {ground}, draw {seed}", not one.fell, one.fell or "none", "no fall")
        for (ground, seed), one in walked.items()
    ]
    for ground in grounds:
        of = [one for (on, _), one in sound.items() if on == ground]
        if of:
            late = float(np.sqrt(np.mean([one.late("changing") ** 2 for one in of])))
            checks.append(below(f"log zeta on varied {ground}, {SOON} steps after a change: error", late, GOOD))
            gain = [np.mean([one.error(name) for one in of]) for name in ("changing", "first steps")]
            checks.append(
                below(f"error on varied {ground}, over that of the first steps", float(gain[0] / gain[1]), 0.5)
            )
    rows: list[Row] = [
        {"ground": ground, "draw": seed}
        | {f"error, {name}": one.error(name) for name in one.believed}
        | {f"{SOON} steps after a change": one.late("changing")}
        for (ground, seed), one in sound.items()
    ]
    on_mud: list[Row] = [] if options.quick else _mud_rows()
    if on_mud:
        checks += [
            Check(
                f"it walks on mud at {row['speed (m/s)']} m/s", not row["fell"], str(row["fell"]) or "none", "no fall"
            )
            for row in on_mud
            if row["landing"] == 0.0
        ]
        known = [
            abs(row["strength believed / true"] - 1)
            for row in on_mud
            if isinstance(row.get("strength believed / true"), float)
        ]
        if known:
            checks.append(below("strength of mud by its own law: greatest error", max(known), GOOD))
    return Findings(
        checks=checks,
        metrics={"varied": rows, "mud": on_mud},
        tables=[
            Table("varied", "Error of log zeta over steps, root mean square, by what the robot takes for drift", rows),
            Table("mud", "Walks on mud", on_mud),
        ],
        figures={"varied": figure(sound)} if sound else {},
        notes=[
            f"Strengths {STRENGTHS[0]:g} to {STRENGTHS[1]:g} every {STRETCH:g} m, {SPEED:g} m/s; noise as in "
            f"chen2026/identification. Drift taken: {DRIFTS['changing']:.2f} per sqrt(s), from the draw's own figures, "
            f"against {DRIFTS['nearly constant']:g}.",
            "On 3D-RFT sand 'true' is zeta by one push of the foot, times the strength.",
        ],
    )


def _mud_rows() -> list[Row]:
    walks, rows = _walks_on(firm_mud(), 0.02, 8.0), []
    for landing in (0.0, 1.0):
        for speed in MUD_SPEEDS:
            run = walks(speed, gait=replace(WALKER.gait, landing=landing), title="biped on mud")
            steps = steps_of(run, float(GAIT.stance))
            row: Row = {"speed (m/s)": speed, "landing": landing, "fell": steps if isinstance(steps, str) else ""}
            if not isinstance(steps, str):
                count = 20
                row |= {
                    "had (m/s)": steps.speed,
                    "cost": steps.cost,
                    "sunk (mm)": 1e3 * float(steps.sinkage.max()),
                    "pulls (N)": float(-run["wrench_world"].sel(wrench_axis="fz").values.min()),
                    "zeta believed": float(believed(run, "wedge", TOUCH_DOWN.drift, count, 0)[-1]),
                    "strength believed / true": float(believed(run, "mud", TOUCH_DOWN.drift, count, 0)[-1])
                    / float(firm_mud().strength),
                }
            rows.append(row)
    return rows


def figure(sound: dict[tuple[str, int], Told]) -> Figure:
    """zeta along the way: what it is and what is believed, one draw on each ground."""
    shown = {ground: one for (ground, _), one in reversed(sound.items())}
    with matplotlib.rc_context(STYLE):
        result = blank(8.0, 1.0 + 1.9 * len(shown))
        panels = np.atleast_1d(result.subplots(len(shown), 1, sharex=True))
        for axes, (ground, one) in zip(panels, shown.items(), strict=True):
            axes.step(one.place, one.truth, color="k", lw=1, where="mid", label="true")
            for (name, values), colour in zip(one.believed.items(), COLOURS, strict=False):
                axes.plot(one.place, values, ".-", ms=3, lw=0.8, color=colour, label=name)
            axes.set(ylabel="zeta (N/cm3)", title=f"varied {ground}")
        panels[-1].set_xlabel("way (m)")
        panels[0].legend(fontsize=6.5, ncols=4)
    return result


STUDY = Study(
    "chen2026",
    "varied-ground",
    "sand that changes from place to place, and mud",
    "it names both as future work.",
    perform,
)
