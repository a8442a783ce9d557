"""IV.B: a stance of the augmented models at low computational cost, as a multiple of real time on one core."""

from __future__ import annotations

import time

import jax
import numpy as np

from softground.media import Wedge
from softground.papers.chen2026.models import frontal_model, sagittal_model
from softground.papers.chen2026.stance import DT, Stance, rigid_stance, sand_stance
from softground.papers.study import Findings, Options, Row, Study, Table, above, below
from softground.simulation import Control

STANCE = 0.2  # s: half of the gait's 0.4 s
LEAST_FACTOR = 100.0
MARGINAL = 1.5
"""Time on sand over that on rigid ground, of an overhead that is marginal: set before it was looked at."""


def perform(options: Options) -> Findings:
    stances = {
        "sagittal, sand": sand_stance(sagittal_model(), Wedge()),
        "sagittal, rigid": rigid_stance(sagittal_model()),
        "frontal, sand": sand_stance(frontal_model(), Wedge()),
    }
    rows = {name: measure(stance, repeats=5 if options.quick else 40) for name, stance in stances.items()}
    sand, rigid = rows["sagittal, sand"], rows["sagittal, rigid"]
    return Findings(
        checks=[
            above("times real time, a sagittal stance on sand", sand["times real time"], LEAST_FACTOR),
            below("time of a stance on sand, over that on rigid ground", sand["ms"] / rigid["ms"], MARGINAL),
        ],
        metrics={name: row["times real time"] for name, row in rows.items()},
        tables=[Table("speed", "One stance of 0.2 s", [{"model": name} | row for name, row in rows.items()])],
        notes=[
            f"Steps of {1e3 * DT:g} ms in one compiled loop, records kept; the robot touches down with its leg tipping "
            "and its joints held by PD control. Processor time, the least of several repetitions: other programs on "
            "the machine hardly change it.",
        ],
    )


def measure(stance: Stance, repeats: int) -> Row:
    """Processor time of one stance, and by how much real time takes longer."""
    posture = np.asarray(stance.robot.posture)
    actuators = posture[np.array(stance.robot.dof_q)[list(stance.robot.actuated)]]
    control = Control(position=actuators, kp=300.0, kd=10.0)  # type: ignore[arg-type]
    velocity = np.zeros(stance.robot.nv)
    velocity[1:3] = -0.2, 0.4  # m/s down, rad/s
    start, steps = stance.start(v=velocity), round(STANCE / DT)
    run = jax.jit(lambda state: stance.motion(state, control, steps))
    jax.block_until_ready(run(start))
    seconds = min(_processor_time(run, start) for _ in range(repeats))
    return {"ms": 1e3 * seconds, "us a step": 1e6 * seconds / steps, "times real time": STANCE / seconds}


def _processor_time(run, start) -> float:
    began = time.process_time()
    jax.block_until_ready(run(start))
    return time.process_time() - began


STUDY = Study(
    "chen2026",
    "speed",
    "what does a stance cost? (IV.B)",
    "closed-form forces add little to the cost of the dynamics, so that the model runs in real time.",
    perform,
)
