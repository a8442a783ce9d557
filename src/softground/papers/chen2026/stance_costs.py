"""III.A: both costs of transport of a stance, of the experiment and of what models predict.

The general one takes the power of all actuators together, the decoupled one that of each plane,

    CoT = 1 / (W d)  integral of |tau' dq/dt| dt,        CoT = 1 / (W d)  sum over planes of  integral of |P_plane| dt.

A sum of sizes is no less than the size of the sum, so the decoupled cost is never below the general one. It is above it
by twice what the hips drive while thighs and calves brake, or the other way round.

*As printed* P_plane = (B tau)' dq/dt in absolute angles, whose actuated rows are B = [I 0]' in the sagittal and
[0 I 0]' in the frontal plane. But the torque between two links acts on both: the thighs' motors turn the trunk as well,
and the hip's the leg that stands. With generalised torques t = (dq_a/dq)' tau the complete power tau' dq_a/dt has one
term more,

    t_5 dq_5/dt  (trunk)  in the sagittal plane,        t_1 dq_1/dt  (stance leg)  in the frontal plane,

which the printed rows leave out. Both are given; `decoupled` is the complete one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from softground.papers.chen2026.experiment import DT, robot
from softground.papers.chen2026.models import FRONTAL_ANGLES, SAGITTAL_ANGLES
from softground.papers.chen2026.rigid_ground import INTRUSION
from softground.papers.chen2026.stance_series import Planar, Stances, after_step

TRUNK, STANCE_LEG = 4, 0
"""Rows of the absolute angles that the printed formula leaves out."""


class StanceCosts(NamedTuple):
    """Costs of transport of stances, as they add up: energy so far over weight and the way of the whole stance."""

    general: Float[np.ndarray, "s t"]
    decoupled: Float[np.ndarray, "s t"]
    printed: Float[np.ndarray, "s t"]  # the decoupled one without the trunk's and the stance leg's rows
    way: Float[np.ndarray, " s"]  # m, of a stance


def costs_of(found: Stances) -> StanceCosts:
    """Costs of the experiment's stances, or of predicted ones: each by its own torques, rates and way."""
    along, without_trunk = powers(found.sagittal, SAGITTAL_ANGLES, TRUNK)
    across, without_leg = powers(found.frontal, FRONTAL_ANGLES, STANCE_LEG)
    scale = DT / (float(robot().weight) * found.way[:, None])
    return StanceCosts(
        scale * np.cumsum(np.abs(along + across), axis=1),
        scale * np.cumsum(np.abs(along) + np.abs(across), axis=1),
        scale * np.cumsum(np.abs(without_trunk) + np.abs(without_leg), axis=1),
        found.way,
    )


def powers(plane: Planar, angles: Float[np.ndarray, "n n"], left_out: int) -> tuple[np.ndarray, np.ndarray]:
    """Power (s, t), W, of a plane's actuators: complete, and without one row of the absolute angles.

    angles: these from the model's, the first of which has no actuator.
    """
    rates = np.asarray(after_step(plane.v))[..., INTRUSION:]
    torque = np.pad(plane.torque, ((0, 0), (0, 0), (1, 0)))
    each = (torque @ np.linalg.inv(angles)) * (rates @ angles.T)
    return each.sum(axis=-1), np.delete(each, left_out, axis=-1).sum(axis=-1)
