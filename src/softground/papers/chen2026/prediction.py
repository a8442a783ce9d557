"""IV.A: what the augmented models make of a stance of the experiment, on sand and with the rigid-ground assumption.

A prediction starts from the robot's state at touch-down and is given its motor torques, sample by sample (the paper's
torque feedback), and nothing else of the stance. The sagittal model gives the thigh and calf angles, F_x, F_z, slip x_s
and sinkage z_s, the frontal model F_y and y_s. Slip and sinkage count from the start of the stance: the foot is in the
sand by then, to a depth that the rigid assumption is not to blame for. Left stances are mirrored: the frontal model
stands on its right foot.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.papers.chen2026.calibration import calibrated
from softground.papers.chen2026.experiment import DT, StanceOfWalk, robot
from softground.papers.chen2026.models import frontal_model, sagittal_model
from softground.papers.chen2026.stance import INTRUSION, Stance, rigid_stance, sand_stance

QUANTITIES = ("swing thigh", "swing calf", "stance thigh", "stance calf", "F_x", "F_y", "F_z", "x_s", "y_s", "z_s")
UNITS = dict.fromkeys(QUANTITIES[:4], "rad") | dict.fromkeys(QUANTITIES[4:7], "N") | dict.fromkeys(QUANTITIES[7:], "m")
MODELS = ("proposed", "rigid")


class Planar(NamedTuple):
    """A stance in the coordinates of an augmented model, and its torques; leading axis of stances."""

    q: Float[np.ndarray, "s n"]  # at touch-down
    v: Float[np.ndarray, "s n"]
    torque: Float[np.ndarray, "s t m"]  # N m


class Measured(NamedTuple):
    """Stances as the experiment has them."""

    sagittal: Planar
    frontal: Planar
    values: dict[str, Float[np.ndarray, "s t"]]  # by quantity


def measured(stances: Sequence[StanceOfWalk]) -> Measured:
    """The experiment's stances, in the models' terms."""
    q, v, torque, force = (
        np.stack([stance.samples[name].values for stance in stances])
        for name in ("configuration", "velocity", "torque", "wrench_world")
    )
    foot, each = np.array([stance.foot for stance in stances]), np.arange(len(stances))
    mirror = np.where(foot == 0, -1.0, 1.0)[:, None]
    place, speed, pitch, roll, pitch_rate, roll_rate = _senses(q, v)
    place, speed, force = (x[each, :, foot] for x in (place, speed, force))
    way = place - place[:, :1]
    depth = robot().feet[0].clearance - place[:, :, 2]
    stance, swing = 3 * foot[:, None] + np.arange(3), 3 * (1 - foot[:, None]) + np.arange(3)
    of = lambda values, motors: np.take_along_axis(values, motors[:, None], axis=2)  # noqa: E731
    angles, rates = q[:, :, 7:], v[:, :, 6:]
    (st, sw), (st_rate, sw_rate), (st_torque, sw_torque) = (
        (of(x, stance), of(x, swing)) for x in (angles, rates, torque)
    )
    sagittal = Planar(
        _columns(0 * depth, -depth, pitch + st[..., 1] + st[..., 2], st[..., 2], st[..., 1], sw[..., 1], sw[..., 2]),
        _columns(
            speed[..., 0],
            speed[..., 2],
            pitch_rate + st_rate[..., 1] + st_rate[..., 2],
            *(st_rate[..., 2], st_rate[..., 1], sw_rate[..., 1], sw_rate[..., 2]),
        ),
        np.stack([st_torque[..., 2], st_torque[..., 1], sw_torque[..., 1], sw_torque[..., 2]], axis=-1),
    )
    frontal = Planar(
        _columns(0 * depth, -depth, mirror * (roll + st[..., 0]), mirror * st[..., 0], mirror * sw[..., 0]),
        _columns(
            mirror * speed[..., 1],
            speed[..., 2],
            *(mirror * (roll_rate + st_rate[..., 0]), mirror * st_rate[..., 0], mirror * sw_rate[..., 0]),
        ),
        mirror[..., None] * np.stack([st_torque[..., 0], sw_torque[..., 0]], axis=-1),
    )
    rows = (sw[..., 1], sw[..., 2], st[..., 1], st[..., 2])
    forces = (force[..., 0], mirror * force[..., 1], force[..., 2])
    ways = (way[..., 0], mirror * way[..., 1], way[..., 2])
    return Measured(sagittal, frontal, dict(zip(QUANTITIES, (*rows, *forces, *ways), strict=True)))


def _columns(*series: np.ndarray) -> np.ndarray:
    """First samples of series (s, t), side by side."""
    return np.stack([one[:, 0] for one in series], axis=-1)


@cache
def _compiled_senses():
    def one(q, v):
        kin = robot().kinematics(q)
        rotation = robot().body_poses(kin)[1][0]
        pitch, roll = -jnp.arcsin(rotation[2, 0]), jnp.arctan2(rotation[2, 1], rotation[2, 2])
        turning = rotation @ v[3:6]
        return robot().foot_poses(kin)[0], robot().foot_twists(kin, v)[:, :3], pitch, roll, turning[1], turning[0]

    return jax.jit(jax.vmap(jax.vmap(one)))


def _senses(q, v):
    """Feet's places and velocities, and the trunk's pitch, roll and their rates."""
    return (np.asarray(part) for part in _compiled_senses()(q, v))


def predicted(stances: Measured) -> dict[str, dict[str, Float[np.ndarray, "s t"]]]:
    """By model ("proposed", "rigid") and quantity."""
    return {model: _predicted(model, stances) for model in MODELS}


def _predicted(model: str, stances: Measured) -> dict[str, np.ndarray]:
    sagittal, frontal = (
        jax.tree.map(np.asarray, _program(model, plane)(*start))
        for plane, start in (("sagittal", stances.sagittal), ("frontal", stances.frontal))
    )
    angles = (sagittal.q[..., 5], sagittal.q[..., 6], sagittal.q[..., 4], sagittal.q[..., 3])
    forces = (sagittal.force[..., 0], frontal.force[..., 0], sagittal.force[..., 1])
    ways = (sagittal.q[..., 0], frontal.q[..., 0], sagittal.q[..., 1] - sagittal.q[:, :1, 1])
    return dict(zip(QUANTITIES, (*angles, *forces, *ways), strict=True))


@cache
def _program(model: str, plane: str):
    """Compiled (q, v, torque) -> motions of a model, for as many stances as are given."""
    build = sagittal_model if plane == "sagittal" else frontal_model
    if model == "rigid":
        stance: Stance = rigid_stance(build, DT)
    else:
        stance = sand_stance(build(), calibrated(robot().feet[0].shape), DT)  # type: ignore[arg-type]
    kept = slice(INTRUSION, None) if stance.rigid else slice(None)
    still = stance.start()

    def one(q, v, torque):
        return stance.motion(eqx.tree_at(lambda s: (s.q, s.v), still, (q[kept], v[kept])), torque)

    return jax.jit(jax.vmap(one))


def errors(stances: Measured) -> dict[str, dict[str, float]]:
    """Root mean square error over a stance, mean over stances, by model and quantity."""
    return {
        model: {
            name: float(np.sqrt(((values[name] - stances.values[name]) ** 2).mean(axis=1)).mean()) for name in values
        }
        for model, values in predicted(stances).items()
    }
