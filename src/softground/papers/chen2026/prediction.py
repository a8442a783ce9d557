"""IV.A: what models make of a stance of the experiment, on sand and with the rigid-ground assumption.

A prediction starts from the robot's state at touch-down and is given its actuator torques, sample by sample (the
paper's torque feedback), and nothing else of the stance. `MODELS`:

printed    the augmented models of the paper, one per plane, on the law as printed, (8) and (9);
proposed   the same on the law with shear below the wedge;
unified    the whole biped in space on that law: the unified model that the paper leaves to future work;
rigid      the planar models without slip and sinkage.

In the plane the sagittal model gives the thigh and calf angles, F_x, F_z, slip x_s and sinkage z_s, the frontal model
F_y and y_s. Slip and sinkage count from the start of the stance: the foot is in the sand by then, to a depth that the
rigid assumption is not to blame for. Left stances are mirrored: the frontal model stands on its right foot.

Forwards and left are those of the trunk at touch-down, not of the world: a walk of seconds strays from its heading, and
a robot's sagittal plane turns with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media import Wedge
from softground.papers.chen2026.experiment import DT, StanceOfWalk, biped_law, robot
from softground.papers.chen2026.models import frontal_model, sagittal_model
from softground.papers.chen2026.shared_sinkage import frontal_motion, frontal_stance, sinkage_of
from softground.papers.chen2026.stance import INTRUSION, Stance, StanceMotion, rigid_stance, sand_stance
from softground.simulation import Simulator
from softground.simulation.simulator import Record, State

QUANTITIES = ("swing thigh", "swing calf", "stance thigh", "stance calf", "F_x", "F_y", "F_z", "x_s", "y_s", "z_s")
UNITS = dict.fromkeys(QUANTITIES[:4], "rad") | dict.fromkeys(QUANTITIES[4:7], "N") | dict.fromkeys(QUANTITIES[7:], "m")
MODELS = ("printed", "proposed", "unified", "rigid")


class Motions(NamedTuple):
    """Stances of the whole robot; leading axis of stances."""

    foot: np.ndarray  # (s,) that carries: 0 left, 1 right
    q: Float[np.ndarray, "s t nq"]
    v: Float[np.ndarray, "s t nv"]
    torque: Float[np.ndarray, "s t 6"]  # N m
    wrench: Float[np.ndarray, "s t 2 6"]  # N, N m, on the feet, world


class Planar(NamedTuple):
    """A stance in the coordinates of an augmented model, and its torques; leading axis of stances."""

    q: Float[np.ndarray, "s n"]  # at touch-down
    v: Float[np.ndarray, "s n"]
    torque: Float[np.ndarray, "s t m"]  # N m


class Measured(NamedTuple):
    """Stances as the experiment has them."""

    whole: Motions
    sagittal: Planar
    frontal: Planar
    values: dict[str, Float[np.ndarray, "s t"]]  # by quantity


def measured(stances: Sequence[StanceOfWalk]) -> Measured:
    """The experiment's stances, in the models' terms."""
    series = (
        np.stack([stance.samples[name].values for stance in stances])
        for name in ("configuration", "velocity", "torque", "wrench_world")
    )
    return described(Motions(np.array([stance.foot for stance in stances]), *series))


def described(whole: Motions) -> Measured:
    """Motions of the whole robot, in the models' terms."""
    foot, q, v, torque, _ = whole
    each = np.arange(len(foot))
    mirror = np.where(foot == 0, -1.0, 1.0)[:, None]
    place, speed, force, pitch, roll, pitch_rate, roll_rate = _senses(whole)
    place, speed, force = (x[each, :, foot] for x in (place, speed, force))
    way = place - place[:, :1]
    depth = robot().feet[0].clearance - place[:, :, 2]
    stance, swing = 3 * foot[:, None] + np.arange(3), 3 * (1 - foot[:, None]) + np.arange(3)
    of = lambda values, actuators: np.take_along_axis(values, actuators[:, None], axis=2)  # noqa: E731
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
    return Measured(whole, sagittal, frontal, dict(zip(QUANTITIES, (*rows, *forces, *ways), strict=True)))


def _columns(*series: np.ndarray) -> np.ndarray:
    """First samples of series (s, t), side by side."""
    return np.stack([one[:, 0] for one in series], axis=-1)


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
        return *(x @ level for x in feet), pitch, roll, turning[1], turning[0]

    def one(q, v, wrench):
        return jax.vmap(at, in_axes=(0, 0, 0, None))(q, v, wrench, _level_axes(trunk(robot().kinematics(q[0]))))

    return jax.jit(jax.vmap(one))


def _level_axes(rotation: Float[Array, "3 3"]) -> Float[Array, "3 3"]:
    """Forwards, left and up of a trunk, as columns: its heading, level."""
    forwards = rotation[:2, 0] / jnp.linalg.norm(rotation[:2, 0])
    return jnp.eye(3).at[:2, :2].set(jnp.stack([forwards, jnp.stack([-forwards[1], forwards[0]])], axis=1))


def _senses(whole: Motions):
    """Feet's places, velocities and forces, and the trunk's pitch, roll and their rates."""
    return (np.asarray(part) for part in _compiled_senses()(whole.q, whole.v, whole.wrench))


def predicted(stances: Measured) -> dict[str, dict[str, Float[np.ndarray, "s t"]]]:
    """By model (`MODELS`) and quantity."""
    return {
        model: _in_space(stances.whole) if model == "unified" else _in_planes(model, stances.sagittal, stances.frontal)
        for model in MODELS
    }


def _in_planes(model: str, sagittal: Planar, frontal: Planar) -> dict[str, np.ndarray]:
    motions = _rigid_program()(sagittal, frontal) if model == "rigid" else _on_sand(model, sagittal, frontal)
    along, across = jax.tree.map(np.asarray, motions)
    angles = (along.q[..., 5], along.q[..., 6], along.q[..., 4], along.q[..., 3])
    forces = (along.force[..., 0], across.force[..., 0], along.force[..., 1])
    ways = (along.q[..., 0], across.q[..., 0], along.q[..., 1] - along.q[:, :1, 1])
    return dict(zip(QUANTITIES, (*angles, *forces, *ways), strict=True))


def _on_sand(model: str, sagittal: Planar, frontal: Planar) -> tuple[StanceMotion, StanceMotion]:
    """Motions in both planes. The law as printed is taken as one whose shear is zero: one program for both."""
    law = biped_law()
    return _sand_program()(law if model == "proposed" else replace(law, shear=0.0), sagittal, frontal)


def _in_space(whole: Motions) -> dict[str, np.ndarray]:
    record = jax.tree.map(np.asarray, _spatial_program()(whole.q[:, 0], whole.v[:, 0], whole.torque))
    return described(Motions(whole.foot, record.q, record.v, whole.torque, record.wrench_world)).values


@cache
def _sand_program():
    """Compiled (law, sagittal, frontal) -> motions in both planes, for as many stances as are given."""

    def one(law: Wedge, sagittal: Planar, frontal: Planar) -> tuple[StanceMotion, StanceMotion]:
        along, across = sand_stance(sagittal_model(), law, DT), frontal_stance(law, DT)
        first = along.motion(_started(along, sagittal), sagittal.torque)
        return first, frontal_motion(across, _started(across, frontal), frontal.torque, sinkage_of(first))

    return jax.jit(jax.vmap(one, in_axes=(None, 0, 0)))


@cache
def _rigid_program():
    """Compiled (sagittal, frontal) -> motions in both planes, for as many stances as are given."""
    stances = rigid_stance(sagittal_model, DT), rigid_stance(frontal_model, DT)

    def one(*planes: Planar) -> tuple[StanceMotion, ...]:
        pairs = zip(stances, planes, strict=True)
        return tuple(stance.motion(_started(stance, plane), plane.torque) for stance, plane in pairs)

    return jax.jit(jax.vmap(one))


def _started(stance: Stance, plane: Planar) -> State:
    kept = slice(INTRUSION, None) if stance.rigid else slice(None)
    return eqx.tree_at(lambda state: (state.q, state.v), stance.start(), (plane.q[kept], plane.v[kept]))


@cache
def _spatial_program():
    """Compiled (q, v, torques) -> records of the whole robot on the law with shear."""
    simulator = Simulator(robot(), biped_law(), DT)
    still = simulator.initial_state()

    def one(q, v, torque) -> Record:
        return simulator.rollout(eqx.tree_at(lambda state: (state.q, state.v), still, (q, v)), torque)[1]

    return jax.jit(jax.vmap(one))


def errors(stances: Measured) -> dict[str, dict[str, float]]:
    """Root mean square error over a stance, mean over stances, by model and quantity."""
    return {
        model: {
            name: float(np.sqrt(((values[name] - stances.values[name]) ** 2).mean(axis=1)).mean()) for name in values
        }
        for model, values in predicted(stances).items()
    }
