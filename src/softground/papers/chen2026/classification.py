"""Beyond the paper: sand, pebbles or firm ground, from the same signals as the identification of zeta and lambda.

The classifier learns from walks at some speeds, on ground of some strengths, and is asked about others. Sand and
pebbles follow the same law here (3D-RFT) and differ in strength, so what is between them in strength is between them
altogether: the third set of walks is there on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import jax
import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.control.stepping import Walks
from softground.control.terrain_classification import FEATURES, TerrainClassifier, step_features
from softground.control.terrain_identification import TerrainIdentifier
from softground.media import Firm, Medium, Resistive
from softground.media.named import pebbles, sand
from softground.media.wedge.calibration import SAND
from softground.papers.chen2026.experiment import RIGID, biped_law, robot, walks_on
from softground.papers.chen2026.identification import DEPTH, FIRST, GUESS, TOUCH_DOWN, steps_to_seconds
from softground.papers.chen2026.sensing import NOISE, carrying, in_steps, sensed_steps
from softground.papers.study import Check, Findings, Options, Row, Study, Table, above
from softground.runs import Run
from softground.runs.figures import COLOURS, STYLE

STEPS = 20  # of each walk
COUNTS = (1, 3, 5)  # steps after which the robot is asked
FIRMER = float(pebbles().scale / sand().scale)
"""Strength of pebbles over sand: that of the named media."""


class Kind(NamedTuple):
    """A kind of ground: its medium at a strength, and how deep the robot stands in it at the start (m)."""

    medium: Medium
    depth: float

    def of_strength(self, strength: float) -> Medium:
        if isinstance(self.medium, Resistive):
            return Resistive(float(self.medium.scale), strength=strength)
        assert isinstance(self.medium, Firm)
        return replace(
            self.medium,
            stiffness=strength * np.asarray(self.medium.stiffness),
            damping=strength * np.asarray(self.medium.damping),
        )


KINDS = {
    "sand": Kind(SAND, 0.02),
    "pebbles": Kind(Resistive(FIRMER * float(SAND.scale)), 0.02),
    "firm": Kind(RIGID, 0.0015),
}


class Walked(NamedTuple):
    """Which walks: strengths of each kind of ground, speeds (m/s), and the seed of the sensors' noise and its size."""

    strengths: dict[str, tuple[float, ...]]
    speeds: tuple[float, ...]
    seed: int
    noise: float = 1.0


LEARNED = Walked({"sand": (0.9, 1.0, 1.1), "pebbles": (0.9, 1.0, 1.1), "firm": (0.7, 1.0, 1.4)}, (0.1, 0.3, 0.5), 1)
ASKED = Walked(
    {"sand": (0.85, 0.95, 1.05, 1.15), "pebbles": (0.85, 0.95, 1.05, 1.15), "firm": (0.5, 0.85, 1.2, 2.0)},
    (0.2, 0.4),
    2,
)
BETWEEN = Walked({"sand": (1.2, 1.25, 1.3), "pebbles": (0.75, 0.8, 0.85)}, (0.2, 0.4), 3)
"""Strong sand and weak pebbles: 1.2 to 1.3 and 1.17 to 1.32 times the strength of sand."""


def quickly(walked: Walked) -> Walked:
    """Fewer of these walks."""
    return walked._replace(
        strengths={kind: of[:: max(1, len(of) - 1)] for kind, of in walked.strengths.items()}, speeds=walked.speeds[:1]
    )


@cache
def _walks(kind: str) -> Walks:
    return walks_on(*KINDS[kind], steps_to_seconds(FIRST + STEPS))


@cache
def identifier() -> TerrainIdentifier:
    """Identifier of the strength of the ground, by the law of the paper whichever the ground is."""
    return TerrainIdentifier(
        robot(), replace(biped_law(), zeta=GUESS[0]), ("zeta",), noise=NOISE, uncertainty=TOUCH_DOWN
    )


@cache
def _program():
    strength = identifier()

    def of_step(sensed, foot):
        return step_features(strength, sensed, foot, DEPTH)

    return jax.jit(jax.vmap(of_step))


def features_of(run: Run, seed: int, noise: float) -> Float[np.ndarray, "s f"]:
    """Features of the steps of a walk."""
    sensed = sensed_steps(run, FIRST, STEPS, seed, noise)
    feet = np.array([carrying(FIRST + step) for step in range(STEPS)])
    return np.asarray(_program()(jax.tree.map(in_steps, sensed), feet))


@cache
def _run(kind: str, strength: float, speed: float) -> Run:
    return _walks(kind)(speed, KINDS[kind].of_strength(strength))


def walk_features(walked: Walked) -> tuple[dict[str, list[Float[np.ndarray, "s f"]]], list[str]]:
    """By kind, for each walk that did not fall; and the names of those that did."""
    found: dict[str, list[np.ndarray]] = {kind: [] for kind in walked.strengths}
    fallen = []
    for kind, strengths in walked.strengths.items():
        for strength in strengths:
            for speed in walked.speeds:
                run = _run(kind, strength, speed)
                if run.fall() is None:
                    found[kind].append(features_of(run, walked.seed, walked.noise))
                else:
                    fallen.append(f"{kind} x {strength:g} at {speed:g} m/s")
    return found, fallen


def confusion(
    classifier: TerrainClassifier, walks: dict[str, list[Float[np.ndarray, "s f"]]], count: int
) -> Float[np.ndarray, "k k"]:
    """Share of stretches of `count` steps on each kind (rows, as the classifier has them) taken for each (columns)."""
    table = np.full((len(classifier.kinds), len(classifier.kinds)), np.nan)
    for kind, of in walks.items():
        stretches = np.concatenate([_stretches(steps, count) for steps in of])
        taken = np.argmax(np.asarray(classifier.posterior(stretches)), axis=-1)
        table[classifier.kinds.index(kind)] = np.bincount(taken, minlength=len(classifier.kinds)) / len(taken)
    return table


def _stretches(steps: Float[np.ndarray, "s f"], count: int) -> Float[np.ndarray, "n c f"]:
    """All runs of `count` steps in a row."""
    return np.stack([steps[first : first + count] for first in range(len(steps) - count + 1)])


def accuracy(table: Float[np.ndarray, "k k"]) -> float:
    """Mean over the kinds of ground that were walked on."""
    return float(np.nanmean(np.diagonal(table)))


def perform(options: Options) -> Findings:
    learned, asked, between = (quickly(of) if options.quick else of for of in (LEARNED, ASKED, BETWEEN))
    examples, fallen = walk_features(learned)
    classifier = TerrainClassifier.learn({kind: np.concatenate(of) for kind, of in examples.items()})
    sets = {"other walks": asked, "other walks, noise x 5": asked._replace(noise=5.0), "between": between}
    found = {}
    for name, walked in sets.items():
        found[name], more = walk_features(walked)
        fallen += more
    tables = {name: {count: confusion(classifier, of, count) for count in COUNTS} for name, of in found.items()}
    alone = {
        feature: accuracy(
            confusion(
                classifier.using([number]),
                {kind: [steps[:, [number]] for steps in of] for kind, of in found["other walks"].items()},
                1,
            )
        )
        for number, feature in enumerate(FEATURES)
    }
    checks = [Check("no walk falls", not fallen, "; ".join(fallen) or "none", "none")]
    checks += [
        above(f"accuracy on {name} after {count} steps", accuracy(table), 0.9)
        for name, of in tables.items()
        if name != "between"
        for count, table in of.items()
    ]
    return Findings(
        checks=checks,
        metrics={
            "accuracy": {name: {str(n): accuracy(table) for n, table in of.items()} for name, of in tables.items()},
            "accuracy of one feature after one step": alone,
        },
        tables=[
            Table("confusion", "Taken for (share of stretches of steps)", _rows(classifier.kinds, tables)),
            Table("features", "Accuracy of one feature after one step, other walks", [alone]),
        ],
        figures={"classification": figure(classifier, examples, found)},
        notes=[
            f"Sand is that of the other studies, pebbles are {FIRMER:.2f} times as strong, as the named media are. "
            "Firm ground is springs that give way by millimetres.",
            f"Learned from strengths {LEARNED.strengths['sand']} (firm {LEARNED.strengths['firm']}) at speeds "
            f"{LEARNED.speeds} m/s; 'other walks' have strengths {ASKED.strengths['sand']} (firm "
            f"{ASKED.strengths['firm']}) at {ASKED.speeds} m/s and other noise.",
            "'between' is sand 1.2 to 1.3 times and pebbles 0.75 to 0.85 times as strong as usual. They are the same "
            "ground, by another name: no signal could tell them apart, and the shares say where the border fell.",
            "The strength is zeta by the law of the paper, identified from one step. Firm ground has no zeta: the "
            "number is just large and scattered, and held where it runs away (at 100).",
        ],
    )


def _rows(kinds: Sequence[str], tables: dict[str, dict[int, np.ndarray]]) -> list[Row]:
    return [
        {"walks": name, "steps": count, "ground": kind}
        | {f"as {other}": float(share) for other, share in zip(kinds, row, strict=True)}
        for name, of in tables.items()
        for count, table in of.items()
        for kind, row in zip(kinds, table, strict=True)
        if np.isfinite(row).all()
    ]


def figure(
    classifier: TerrainClassifier, examples: dict[str, list[np.ndarray]], found: dict[str, dict[str, list[np.ndarray]]]
) -> Figure:
    """Steps by strength, sinkage and slip: learned from (dots), asked about (crosses), and between (triangles)."""
    pairs = ((0, 1), (2, 1))
    units = {"strength": "zeta by one step (N/cm3)", "sinkage": "sinkage (mm)", "slip": "slip (mm)"}
    scales = (1.0, 1e3, 1e3)
    with matplotlib.rc_context(STYLE):
        result = blank(8.4, 3.4)
        panels = result.subplots(1, 2)
        for axes, (across, up) in zip(panels, pairs, strict=True):
            for kind, colour in zip(classifier.kinds, COLOURS, strict=False):
                for of, marker in ((examples, "."), (found["other walks"], "x"), (found["between"], "^")):
                    if kind not in of:
                        continue
                    steps = np.exp(np.concatenate(of[kind])) * scales
                    label = kind if marker == "." else None
                    axes.plot(steps[:, across], steps[:, up], marker, ms=3, color=colour, alpha=0.5, label=label)
            axes.set(xscale="log", yscale="log", xlabel=units[FEATURES[across]], ylabel=units[FEATURES[up]])
        panels[0].legend()
    return result


STUDY = Study(
    "chen2026",
    "classification",
    "sand, pebbles or firm ground, without a force sensor",
    "it names terrain classification by proprioception as future work and shows none.",
    perform,
)
