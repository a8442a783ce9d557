"""Stances of the experiment, or of a prediction of it, in the terms of the augmented models.

In the plane the sagittal model has the thigh and calf angles, F_x, F_z, slip x_s and sinkage z_s, the frontal model the
hips, F_y and y_s. Slip and sinkage count from the start of the stance: the foot is in the sand by then, to a depth that
the rigid assumption is not to blame for. Left stances are mirrored: the frontal model stands on its right foot.

Forwards and left are those of the trunk at touch-down, not of the world: a walk of seconds strays from its heading, and
a robot's sagittal plane turns with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.papers.chen2026.experiment import DT, StanceOfWalk, robot

ANGLES: tuple[str, ...] = ("swing hip", "swing thigh", "swing calf", "stance hip", "stance thigh", "stance calf")
FORCES: tuple[str, ...] = ("F_x", "F_y", "F_z")
INTRUSIONS: tuple[str, ...] = ("x_s", "y_s", "z_s")
QUANTITIES: tuple[str, ...] = (*ANGLES, *FORCES, *INTRUSIONS)
UNITS: dict[str, str] = {
    name: unit for names, unit in ((ANGLES, "rad"), (FORCES, "N"), (INTRUSIONS, "m")) for name in names
}


class Motions(NamedTuple):
    """Stances of the whole robot; leading axis of stances."""

    foot: np.ndarray  # (s,) that carries: 0 left, 1 right
    q: Float[np.ndarray, "s t nq"]
    v: Float[np.ndarray, "s t nv"]
    torque: Float[np.ndarray, "s t 6"]  # N m
    wrench: Float[np.ndarray, "s t 2 6"]  # N, N m, on the feet, world


class Planar(NamedTuple):
    """Stances in the coordinates of an augmented model; leading axis of stances."""

    q: Float[np.ndarray, "s t n"]
    v: Float[np.ndarray, "s t n"]
    torque: Float[np.ndarray, "s t m"]  # N m


class Stances(NamedTuple):
    """Stances of the experiment or of a model."""

    sagittal: Planar
    frontal: Planar
    values: dict[str, Float[np.ndarray, "s t"]]  # by quantity
    way: Float[np.ndarray, " s"]  # m, of the centre of mass ahead, over the stance


class Measured(NamedTuple):
    """Stances as the experiment has them."""

    whole: Motions
    stances: Stances

    @property
    def values(self) -> dict[str, Float[np.ndarray, "s t"]]:
        """By quantity."""
        return self.stances.values


def measured(found: Sequence[StanceOfWalk]) -> Measured:
    """The experiment's stances, in the models' terms."""
    series = (
        np.stack([stance.samples[name].values for stance in found])
        for name in ("configuration", "velocity", "torque", "wrench_world")
    )
    whole = Motions(np.array([stance.foot for stance in found]), *series)
    return Measured(whole, described(whole))


def described(whole: Motions) -> Stances:
    """Motions of the whole robot, in the models' terms."""
    foot, q, v, torque, _ = whole
    each = np.arange(len(foot))
    mirror = np.where(foot == 0, -1.0, 1.0)[:, None]
    place, speed, force, ahead, pitch, roll, pitch_rate, roll_rate = _senses(whole)
    place, speed, force = (x[each, :, foot] for x in (place, speed, force))
    way = place - place[:, :1]
    depth = robot().feet[0].clearance - place[:, :, 2]
    stance, swing = 3 * foot[:, None] + np.arange(3), 3 * (1 - foot[:, None]) + np.arange(3)
    of = lambda values, actuators: np.take_along_axis(values, actuators[:, None], axis=2)  # noqa: E731
    angles, rates = q[:, :, 7:], v[:, :, 6:]
    (st, sw), (st_rate, sw_rate), (st_torque, sw_torque) = (
        (of(x, stance), of(x, swing)) for x in (angles, rates, torque)
    )
    forwards, aside = way[..., 0], mirror * way[..., 1]
    sagittal = Planar(
        _columns(forwards, -depth, pitch + st[..., 1] + st[..., 2], st[..., 2], st[..., 1], sw[..., 1], sw[..., 2]),
        _columns(
            speed[..., 0],
            speed[..., 2],
            pitch_rate + st_rate[..., 1] + st_rate[..., 2],
            *(st_rate[..., 2], st_rate[..., 1], sw_rate[..., 1], sw_rate[..., 2]),
        ),
        _columns(st_torque[..., 2], st_torque[..., 1], sw_torque[..., 1], sw_torque[..., 2]),
    )
    frontal = Planar(
        _columns(aside, -depth, mirror * (roll + st[..., 0]), mirror * st[..., 0], mirror * sw[..., 0]),
        _columns(
            mirror * speed[..., 1],
            speed[..., 2],
            *(mirror * (roll_rate + st_rate[..., 0]), mirror * st_rate[..., 0], mirror * sw_rate[..., 0]),
        ),
        _columns(mirror * st_torque[..., 0], mirror * sw_torque[..., 0]),
    )
    rows = (mirror * sw[..., 0], sw[..., 1], sw[..., 2], mirror * st[..., 0], st[..., 1], st[..., 2])
    forces = (force[..., 0], mirror * force[..., 1], force[..., 2])
    values: dict[str, np.ndarray] = dict(zip(QUANTITIES, (*rows, *forces, forwards, aside, way[..., 2]), strict=True))
    return Stances(sagittal, frontal, values, over_stance(ahead))


def in_heading(whole: Motions, vectors: Float[np.ndarray, "s t 3"]) -> Float[np.ndarray, "3 s t"]:
    """Vectors in the world by their parts ahead, aside (of left stances mirrored) and up."""
    level = np.asarray(_compiled_levels()(whole.q[:, 0]))
    mirror = np.where(whole.foot == 0, -1.0, 1.0)[:, None]
    ahead, aside, up = np.moveaxis(vectors @ level, -1, 0)
    return np.stack([ahead, mirror * aside, up])


@cache
def _compiled_levels():
    return jax.jit(jax.vmap(lambda q: _level_axes(robot().body_poses(q)[1][0])))


def over_stance(ahead: Float[np.ndarray, "s t"]) -> Float[np.ndarray, " s"]:
    """Way over a stance, to the end of its last step, from places at the starts of its steps."""
    steps = ahead.shape[1]
    return (ahead[:, -1] - ahead[:, 0]) * steps / (steps - 1)


def after_step(rates: Float[np.ndarray, "s t n"]) -> Float[np.ndarray, "s t n"]:
    """Rates with which steps end: the next sample's; of the last step those with which it began."""
    return np.concatenate([rates[:, 1:], rates[:, -1:]], axis=1)


def accelerations(rates: Float[np.ndarray, "s t n"]) -> Float[np.ndarray, "s t n"]:
    """Of the steps; of the last one those of the step before."""
    each = np.diff(rates, axis=1) / DT
    return np.concatenate([each, each[:, -1:]], axis=1)


def _columns(*series: np.ndarray) -> np.ndarray:
    return np.stack(series, axis=-1)


@cache
def _compiled_senses():
    def trunk(kin):
        return robot().body_poses(kin)[1][0]

    def at(q, v, wrench, level):
        """At a moment; level: world axes of forwards, left and up, as columns."""
        kin = robot().kinematics(q)
        rotation = trunk(kin)
        pitch, roll = -jnp.arcsin(rotation[2, 0]), jnp.arctan2(rotation[2, 1], rotation[2, 2])
        turning = _level_axes(rotation).T @ rotation @ v[3:6]
        feet = robot().foot_poses(kin)[0], robot().foot_twists(kin, v)[:, :3], wrench[:, :3]
        ahead = robot().center_of_mass(kin) @ level[:, 0]
        return *(x @ level for x in feet), ahead, pitch, roll, turning[1], turning[0]

    def one(q, v, wrench):
        return jax.vmap(at, in_axes=(0, 0, 0, None))(q, v, wrench, _level_axes(trunk(robot().kinematics(q[0]))))

    return jax.jit(jax.vmap(one))


def _level_axes(rotation: Float[Array, "3 3"]) -> Float[Array, "3 3"]:
    """Forwards, left and up of a trunk, as columns: its heading, level."""
    forwards = rotation[:2, 0] / jnp.linalg.norm(rotation[:2, 0])
    return jnp.eye(3).at[:2, :2].set(jnp.stack([forwards, jnp.stack([-forwards[1], forwards[0]])], axis=1))


def _senses(whole: Motions):
    """Feet's places, velocities, forces; how far ahead the centre of mass is; trunk's pitch, roll, and rates."""
    return (np.asarray(part) for part in _compiled_senses()(whole.q, whole.v, whole.wrench))
