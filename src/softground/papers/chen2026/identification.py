"""Beyond the paper: zeta and lambda under way, from joint sensors and the velocity of the base alone.

The biped walks, its sensors show torques, angles and velocities, and `control.terrain_identification` fits the law of
the ground to what they leave unexplained. Where the ground *is* that law the truth is known. On 3D-RFT sand it is not
that law, and there is no truth, only what a push and a drag of the foot said beforehand (`calibration`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import jax
import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.control.stepping import Walks
from softground.control.terrain_identification import Belief, Sensed, TerrainIdentifier, Uncertainty
from softground.papers.chen2026.experiment import DT, biped_law, fall_of, robot, walk, walks_on
from softground.papers.chen2026.sensing import NOISE, SAMPLES, carrying, sensed_steps
from softground.papers.study import Check, Findings, Options, Row, Study, Table, below
from softground.runs import Fall, Run
from softground.runs.figures import COLOURS, STYLE

PARAMETERS = ("zeta", "saturation_length")
GUESS = (1.0, 0.05)  # N/cm3, m: what the robot takes the ground for at first
TOUCH_DOWN = Uncertainty(height=0.003)
"""Identification begins when a foot touches down, by the gait's clock: its depth is known to a few millimetres then."""
DEPTH = 0.003  # m, assumed at touch-down
FIRST = 5  # step with which identification begins
SCALES = (1.36, 1.86, 2.5, 3.5)  # N/cm3: the paper's sand, ours, and two that are firmer
SPEEDS = (0.2, 0.4)  # m/s
LOOKED_AT = (1, 3, 5, 10, 20)  # steps
GOOD, SOON = 0.05, 3  # relative error of zeta, and after how many steps
KNOWN = 0.3  # deviation of the logarithm below which a parameter counts as known


class Case(NamedTuple):
    """A walk on some ground, and what is known of it."""

    ground: str
    speed: float  # m/s
    truth: tuple[float, float] | None  # zeta, lambda
    run: Run
    fall: Fall | None

    @property
    def label(self) -> str:
        known = "" if self.truth is None else f" zeta {self.truth[0]:g}"
        return f"{self.ground}{known}, {self.speed:g} m/s"


class History(NamedTuple):
    """Beliefs at every sample; leading axis of seeds, the first without noise."""

    parameters: Float[np.ndarray, "n t 2"]
    deviations: Float[np.ndarray, "n t 2"]  # of the logarithms

    @property
    def steps(self) -> int:
        return self.parameters.shape[1] // SAMPLES

    def after(self, steps: int) -> History:
        """At the end of a step; without the axis of samples."""
        return History(*(values[:, steps * SAMPLES - 1] for values in self))


FAULTS: dict[str, Callable[[Sensed], Sensed]] = {
    "none": lambda sensed: sensed,
    "velocity of the base, 1 cm/s up": lambda sensed: _lifted(sensed, 0.01),
    "velocity of the base, 1 cm/s down": lambda sensed: _lifted(sensed, -0.01),
    "torques 5 % too large": lambda sensed: sensed._replace(torque=1.05 * sensed.torque),
    "torques 5 % too small": lambda sensed: sensed._replace(torque=0.95 * sensed.torque),
    "joint angles off by 5 mrad": lambda sensed: sensed._replace(
        q=sensed.q + 0.005 * (np.arange(sensed.q.shape[1]) > 6)
    ),
}
"""Sensors that are wrong all the time, on top of their noise."""
BEARABLE = 0.1  # relative error of zeta with such sensors


def _lifted(sensed: Sensed, by: float) -> Sensed:
    up = by * (np.arange(sensed.v.shape[1]) == 2)
    return sensed._replace(v=sensed.v + up, v_after=sensed.v_after + up)


@cache
def wedge_walks(seconds: float) -> Walks:
    return walks_on(biped_law(), 0.02, seconds)


def cases(options: Options) -> list[Case]:
    steps = _steps(options)
    walks = wedge_walks(steps_to_seconds(FIRST + steps))
    scales, speeds = ((1.86,), (0.2,)) if options.quick else (SCALES, SPEEDS)
    found = []
    for scale in scales:
        medium = replace(biped_law(), zeta=scale)
        for speed in speeds:
            run = walks(speed, medium)
            found.append(Case("wedge", speed, (scale, float(medium.saturation_length)), run, run.fall()))
    if not options.quick:
        found += [Case("sand", speed, None, walk("sand", speed), fall_of("sand", speed)) for speed in speeds]
    return found


def _steps(options: Options) -> int:
    return 5 if options.quick else max(LOOKED_AT)


def steps_to_seconds(steps: int) -> float:
    """Duration (s) of a walk that has these steps, and one more sample."""
    return (steps * SAMPLES + 1) * DT


@cache
def identifier() -> TerrainIdentifier:
    medium = replace(biped_law(), zeta=GUESS[0], saturation_length=GUESS[1])
    return TerrainIdentifier(robot(), medium, PARAMETERS, noise=NOISE, uncertainty=TOUCH_DOWN)


@cache
def _program():
    both = identifier()

    def history(sensed) -> Belief:
        return both.over(both.start(sensed.q[0], DEPTH, carrying(FIRST)), sensed)

    return jax.jit(jax.vmap(history))


def identified(run: Run, steps: int, seeds: list[int | None]) -> History:
    """What is believed over these steps, for sensors with noise of each seed (None: without)."""
    return believed([sensed_steps(run, FIRST, steps, seed) for seed in seeds])


def believed(streams: Sequence[Sensed]) -> History:
    """What is believed over streams of sensor readings that begin with step `FIRST`."""
    beliefs = _program()(jax.tree.map(lambda *of: np.stack(of), *streams))
    return History(np.asarray(beliefs.parameters), np.asarray(beliefs.deviations))


def perform(options: Options) -> Findings:
    found, steps = cases(options), _steps(options)
    seeds: list[int | None] = [None, *range(2 if options.quick else 5)]
    checks = [
        Check(
            f"it walks: {case.label}", case.fall is None, "none" if case.fall is None else case.fall.reason, "no fall"
        )
        for case in found
    ]
    histories = [(case, identified(case.run, steps, seeds)) for case in found if case.fall is None]
    for case, history in histories:
        checks += _checks(case, history)
    rows = [row for case, history in histories for row in _rows(case, history)]
    faulty = _faulty(histories[0][0], steps) if histories else []
    if faulty:
        worst = max(abs(row[f"off after {SOON} (%)"]) for row in faulty) / 100
        checks.append(below(f"zeta with wrong sensors: greatest error after {SOON} steps", worst, BEARABLE))
    return Findings(
        checks=checks,
        metrics={"steps": rows, "calibrated": dict(zip(("zeta", "lambda"), by_push_and_drag(), strict=True))},
        tables=[
            Table("steps", "What is believed after some steps; noisy: root mean square over draws", rows),
            Table("faults", "zeta by sensors that are wrong all the time, on the first ground", faulty),
        ],
        figures={"identification": figure(histories)} if histories else {},
        notes=[
            f"Known to the robot are actuator torques (noise {NOISE.torque:g} N m), joint angles and rates "
            f"({NOISE.joint_rate:g} rad/s), the orientation of the base, its angular ({NOISE.base_rate:g} rad/s) and "
            f"linear velocity ({NOISE.base_velocity:g} m/s); new noise is drawn every 2 ms. Not known: forces, the "
            "height of the base over the ground, and the ground. The first guess is zeta = "
            f"{GUESS[0]:g}, lambda = {100 * GUESS[1]:g} cm, each to a factor of {TOUCH_DOWN.factor:g}.",
            "Taken for known and true: the robot's masses, the orientation of the base, and of the ground its density, "
            "friction angle and shear.",
            "Without noise the identifier still assumes it: with less it would take the first samples, when its "
            "linearised law is far off, for certain.",
            "lambda only shows in how the force on a foot's side bends as the foot slips sideways, times its depth "
            "squared. Soft sand, with centimetres of both, shows it. On firm sand the force is a fraction of a newton "
            "and lambda stays the guess it was; the deviation says so.",
            "On 3D-RFT sand the law is wrong, so there is no truth: beside the estimate stands zeta by one push. The "
            "deviation knows of noise, not of a wrong law. lambda means little there.",
        ],
    )


def _checks(case: Case, history: History) -> list[Check]:
    zeta, length = np.moveaxis(history.after(history.steps).parameters, -1, 0)
    if case.truth is None:
        off = np.abs(zeta / by_push_and_drag()[0] - 1)
        return [below(f"zeta on {case.label}: off what a push says", off.max(), 0.2)]
    error = np.abs(history.after(SOON).parameters[:, 0] / case.truth[0] - 1)
    deviation = history.after(history.steps).deviations[:, 1]
    off = np.abs(np.log(length / case.truth[1]) / deviation)
    return [
        below(f"zeta on {case.label}: error after {SOON} steps, without noise", error[0], GOOD),
        below(f"zeta on {case.label}: greatest error after {SOON} steps, noisy", error[1:].max(), GOOD),
        below(f"lambda on {case.label}: deviation of its logarithm in the end", deviation.max(), KNOWN),
        below(f"lambda on {case.label}: error in the end, in deviations", off.max(), 3.0),
    ]


def _rows(case: Case, history: History) -> list[Row]:
    truth = _reference(case)
    rows: list[Row] = []
    for steps in (count for count in LOOKED_AT if count <= history.steps):
        parameters, deviations = history.after(steps)
        error = parameters[:, 0] / truth[0] - 1
        rows.append(
            {
                "ground": case.label,
                "steps": steps,
                "zeta": float(parameters[0, 0]),
                "true (sand: by push)": truth[0],
                "off (%)": 100 * float(error[0]),
                "off, noisy (%)": 100 * float(np.sqrt((error[1:] ** 2).mean())),
                "deviation (%)": 100 * float(deviations[1, 0]),
                "lambda (cm)": 100 * float(parameters[0, 1]),
                "lambda, noisy (cm)": 100 * float(parameters[1:, 1].mean()),
                "true lambda (cm)": 100 * truth[1],
                "deviation of log lambda": float(deviations[1, 1]),
            }
        )
    return rows


def _faulty(case: Case, steps: int) -> list[Row]:
    """How far zeta is off, in percent, where sensors are wrong."""
    noisy = sensed_steps(case.run, FIRST, steps, 0)
    history = believed([fault(noisy) for fault in FAULTS.values()])
    off = {
        count: history.after(count).parameters[:, 0] / _reference(case)[0] - 1 for count in LOOKED_AT if count <= steps
    }
    return [
        {"fault": name} | {f"off after {count} (%)": 100 * float(of[row]) for count, of in off.items()}
        for row, name in enumerate(FAULTS)
    ]


def _reference(case: Case) -> tuple[float, float]:
    """zeta and lambda: the truth, or on other ground what push and drag say."""
    return case.truth or by_push_and_drag()


def by_push_and_drag() -> tuple[float, float]:
    """zeta and lambda of our sand, by calibration."""
    return float(biped_law().zeta), float(biped_law().saturation_length)


def figure(histories: list[tuple[Case, History]]) -> Figure:
    """Beliefs over steps at the first speed: zeta, which takes one step, and lambda; a column for each ground."""
    speed = histories[0][0].speed
    shown = [(case, history) for case, history in histories if case.speed == speed]
    with matplotlib.rc_context(STYLE):
        result = blank(1.2 + 1.9 * len(shown), 3.8)
        panels = result.subplots(2, len(shown), sharex="row", sharey="row", squeeze=False)
        for column, (case, history) in zip(panels.T, shown, strict=True):
            for number, axes in enumerate(column):
                _draw(axes, history, number, _reference(case)[number])
            column[0].set_title(case.label, fontsize=8)
            column[1].set_xlabel("steps")
        panels[0, 0].set(ylabel="zeta (N/cm3)", xlim=(0, SOON), ylim=(0, 4.5))
        panels[1, 0].set(ylabel="lambda (m)", yscale="log", ylim=(3e-3, 0.3))
        result.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=7)
    return result


def _draw(axes: Axes, history: History, number: int, reference: float) -> None:
    steps = np.arange(1, history.parameters.shape[1] + 1) / SAMPLES
    mean, factor = history.parameters[:, :, number], np.exp(2 * history.deviations[1, :, number])
    axes.fill_between(steps, mean[1] / factor, mean[1] * factor, color=COLOURS[1], alpha=0.15, lw=0)
    noisy = axes.plot(steps, mean[1:].T, color=COLOURS[1], lw=0.8)
    noisy[0].set_label("noisy (band: 2 deviations)")
    axes.plot(steps, mean[0], color=COLOURS[0], label="without noise")
    axes.axhline(reference, color="k", lw=0.8, ls="--", label="truth; on sand: push and drag")
    axes.axhline(GUESS[number], color="0.6", lw=0.8, ls=":", label="first guess")


STUDY = Study(
    "chen2026",
    "identification",
    "zeta and lambda under way, without a force sensor",
    "it names online identification by proprioception as future work and shows none.",
    perform,
)
