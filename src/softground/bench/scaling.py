"""How the time of a step grows: with feet, degrees of freedom, vertices of the wrench sets, and robots in a batch.

Robots of any size are insects: a trunk on legs of equal length, with as many hinges as wanted and a ball for a foot.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground import media
from softground.bench.motions import Motion, motion_named
from softground.bench.step import mujoco_steps, one_core, processor_seconds, timed_steps
from softground.media.base import FootMedium, Medium
from softground.simulation import Simulator
from softground.simulation.batch import rollout_batch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEET, HINGES, VERTICES, ROBOTS = (1, 2, 4, 6, 8, 12), (1, 2, 3, 5, 8), (7, 14, 28, 56, 112), (1, 4, 16, 64, 256)
#: m: radius of the trunk, length of a leg, radius of a foot. kg: the trunk, a leg.
TRUNK, LEG, BALL, TRUNK_MASS, LEG_MASS = 0.3, 0.4, 0.03, 20.0, 2.0
DT = 0.002  # s
#: What grows, as the figure says it.
LABELS = {
    "feet": "feet (legs of three hinges)",
    "degrees of freedom": "degrees of freedom (four feet)",
    "vertices": "vertices of a wrench set (RoboSimian)",
    "robots": "robots in a batch (ANYmal, one core)",
}


def measure(steps: int = 250, repeats: int = 7, out: str | Path | None = None) -> dict:
    """Median microseconds of processor time per step on one core, beside MuJoCo C where there is a peer.

    out: file of a figure (png, pdf, svg).
    """
    with one_core(), TemporaryDirectory() as folder:
        rows = {
            "feet": [{"count": n, **_insect(Path(folder), n, 3, steps, repeats)} for n in FEET],
            "degrees of freedom": [{"count": 6 + 4 * n, **_insect(Path(folder), 4, n, steps, repeats)} for n in HINGES],
            "vertices": [_vertices(count, steps, repeats) for count in VERTICES],
            "robots": _robots(ROBOTS, steps, repeats),
        }
    result: dict[str, Any] = {
        "scaling": {f"{of} {row['count']}": row for of, several in rows.items() for row in several}
    }
    if out is not None:
        from softground.runs.figures import save_figure

        result["figure"] = str(save_figure(_figure(rows), out))
    return result


def _figure(rows: dict[str, list[dict]]) -> Figure:
    """A panel for each quantity that grows: microseconds per step of a robot."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from softground.runs.figures import COLOURS, STYLE

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.0, 5.2), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(2, 2).ravel()
        for panel, (name, several) in zip(panels, rows.items(), strict=True):
            counts = [row["count"] for row in several]
            panel.plot(counts, [row["native_us"] for row in several], "o-", color=COLOURS[0], label="softground, sand")
            if "mujoco_us" in several[0]:
                peer = [row["mujoco_us"] for row in several]
                panel.plot(counts, peer, "s--", color=COLOURS[1], label="MuJoCo C, rigid plane")
            if name in ("robots", "vertices"):
                panel.set_xscale("log", base=2)
                panel.set_xticks(counts, [str(count) for count in counts])
            panel.set_xlabel(LABELS[name])
            panel.set_ylim(bottom=0.0)
        for panel in panels[::2]:
            panel.set_ylabel("time of a robot's step (µs)")
        panels[0].legend(fontsize=8)
    return figure


def _insect(folder: Path, feet: int, hinges: int, steps: int, repeats: int) -> dict:
    path = folder / f"insect_{feet}_{hinges}.xml"
    path.write_text(insect(feet, hinges))
    return _compare(motion_named("swaying", str(path)), media.sand(), steps, repeats)


def insect(feet: int, hinges: int) -> str:
    """A model file: legs around a trunk; of several hinges the first is about the vertical, others lift the foot."""
    legs = []
    for k in range(feet):
        angle, link = 2 * np.pi * k / feet, LEG / hinges
        x, y = TRUNK * np.cos(angle), TRUNK * np.sin(angle)
        inertia = LEG_MASS / hinges * link**2 / 12
        tip = f'<site name="foot{k}" type="sphere" size="{BALL}" pos="0 0 {-link}"/>'
        inner = tip
        for j in reversed(range(hinges)):
            axis = f"{-np.sin(angle)} {np.cos(angle)} 0" if j or hinges == 1 else "0 0 1"
            place = f"{x} {y} 0" if j == 0 else f"0 0 {-link}"
            inner = (
                f'<body name="leg{k}_{j}" pos="{place}"><joint name="hinge{k}_{j}" axis="{axis}" armature="0.01"/>'
                f'<inertial pos="0 0 {-link / 2}" mass="{LEG_MASS / hinges}" diaginertia="{3 * (str(inertia) + " ")}"/>'
                f"{inner}</body>"
            )
        legs.append(inner)
    motors = "".join(f'<motor joint="hinge{k}_{j}"/>' for k in range(feet) for j in range(hinges))
    names = " ".join(f"foot{k}" for k in range(feet))
    return f"""<mujoco model="insect">
  <compiler angle="radian"/>
  <custom><text name="softground_feet" data="{names}"/></custom>
  <worldbody>
    <body name="trunk" pos="0 0 {LEG + BALL}">
      <freejoint name="base"/>
      <inertial pos="0 0 0" mass="{TRUNK_MASS}" diaginertia="0.5 0.5 0.9"/>
      {"".join(legs)}
    </body>
  </worldbody>
  <actuator>{motors}</actuator>
</mujoco>
"""


def _vertices(count: int, steps: int, repeats: int) -> dict:
    """RoboSimian on a wrench space with so many vertices, the origin among them."""
    motion = motion_named("swaying", "robosimian")
    return {"count": count, **_compare(motion, _with_vertices(motion, count - 1), steps, repeats)}


def _with_vertices(motion: Motion, count: int) -> FootMedium:
    """Sand for RoboSimian's feet whose vertices are left out or repeated."""
    space: Any = media.sand().for_foot(motion.robot.feet[0].shape, planar=True)
    vertices = np.asarray(space.coefficients)
    chosen = np.linspace(0, vertices.shape[1], count, endpoint=False).astype(int)
    return eqx.tree_at(lambda one: one.coefficients, space, vertices[:, chosen])


def _compare(motion: Motion, medium: Medium, steps: int, repeats: int) -> dict:
    jobs = [timed_steps(motion, medium, steps, DT, "native").job, mujoco_steps(motion, steps, DT)]
    times = np.array([[processor_seconds(job) for job in jobs] for _ in range(repeats)])
    native, peer = np.median(times, axis=0) / steps * 1e6
    return {
        "native_us": float(native),
        "mujoco_us": float(peer),
        "ratio": float(np.median(times[:, 0] / times[:, 1])),
    }


def _robots(sizes: Sequence[int], steps: int, repeats: int) -> list[dict]:
    """ANYmals in single precision, swaying, side by side in the lanes of one core."""
    motion = motion_named("swaying", "anymal")
    simulator = Simulator(motion.robot, media.sand(), DT, backend="native")
    one = simulator.initial_state(height=motion.height, dtype=jnp.float32)

    def job(batch: int):
        states = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (batch, *leaf.shape)), one)
        run = jax.jit(lambda states: rollout_batch(simulator, states, motion.policy, steps).q)
        return lambda: jax.block_until_ready(run(states))

    jobs = [job(batch) for batch in sizes]
    for each in jobs:
        each()
    times = np.array([[processor_seconds(each) for each in jobs] for _ in range(repeats)])
    medians = np.median(times, axis=0) / steps / np.asarray(sizes) * 1e6
    return [{"count": batch, "native_us": float(time)} for batch, time in zip(sizes, medians, strict=True)]
