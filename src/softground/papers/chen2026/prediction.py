"""IV.A: what models make of a stance of the experiment, on sand and with the rigid-ground assumption.

A prediction starts from the robot's state at touch-down and is given its actuator torques, sample by sample (the
paper's torque feedback), and nothing else of the stance. `MODELS`:

printed    the augmented models of the paper, one per plane, on the law as printed, (8) and (9);
proposed   the same on the law with shear below the wedge;
unified    the whole biped in space on that law: the unified model that the paper leaves to future work;

and `RIGID`, the planar models with a foot that rolls on ground which does not give way:

rigid                the foot lands: the ground takes its momentum in the first step;
rigid, rates kept    the foot is put on the ground, the rates of the joints being what they were;
rigid, inverse       forces only, by inverse dynamics, as in the paper (`inverse_dynamics`): it is told the motion of
                     the joints, which all others must predict.

*A baseline worth beating.* Each of the three is the best of them in something; a model has to be better than all of
them. Their slip x_s is that of rolling, R times the turn of the foot. Only y_s and z_s, which they say are zero, they
lose by construction.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from softground.media import Wedge
from softground.papers.chen2026.experiment import DT, biped_law, robot
from softground.papers.chen2026.inverse_dynamics import forces_and_torques
from softground.papers.chen2026.models import frontal_model, sagittal_model
from softground.papers.chen2026.rigid_ground import carried_along
from softground.papers.chen2026.shared_sinkage import Sinkage, frontal_motion, frontal_stance, sinkage_of
from softground.papers.chen2026.stance import Stance, StanceMotion, rigid_stance, sand_stance
from softground.papers.chen2026.stance_series import (
    QUANTITIES,
    Measured,
    Motions,
    Planar,
    Stances,
    after_step,
    described,
    over_stance,
)
from softground.robots import Robot
from softground.simulation import Simulator
from softground.simulation.simulator import Record, State

MODELS = ("printed", "proposed", "unified")
RIGID = ("rigid", "rigid, rates kept", "rigid, inverse")


def predicted(found: Measured) -> dict[str, Stances]:
    """Whole stances, by model; those by inverse dynamics are no prediction of a stance, and are left out."""
    planes = found.stances.sagittal, found.stances.frontal
    law = biped_law()
    return {
        "printed": _as_stances(*_sand_program()(replace(law, shear=0.0), *planes)),  # as printed: without shear
        "proposed": _as_stances(*_sand_program()(law, *planes)),
        "unified": _in_space(found.whole),
        "rigid": _as_stances(*_rigid_program()(*planes)),
        "rigid, rates kept": _as_stances(*_rigid_program()(*map(_put_on_ground, _models(), planes))),
    }


def _put_on_ground(model: Robot, plane: Planar) -> Planar:
    return plane._replace(v=np.asarray(carried_along(model, plane.v)))


@cache
def _models() -> tuple[Robot, Robot]:
    return sagittal_model(), frontal_model()


def _as_stances(*motions: StanceMotion) -> Stances:
    along, across = jax.tree.map(np.asarray, motions)
    swing = (across.q[..., 4], along.q[..., 5], along.q[..., 6])
    stance = (across.q[..., 3], along.q[..., 4], along.q[..., 3])
    forces = (along.force[..., 0], across.force[..., 0], along.force[..., 1])
    ways = (along.q[..., 0], across.q[..., 0], along.q[..., 1])
    values = dict(zip(QUANTITIES, (*swing, *stance, *forces, *(way - way[:, :1] for way in ways)), strict=True))
    planes = [Planar(one.q, one.v, one.torque) for one in (along, across)]
    return Stances(planes[0], planes[1], values, over_stance(_ahead(along.q)))


def _ahead(q: Float[np.ndarray, "s t 7"]) -> Float[np.ndarray, "s t"]:
    """Where the sagittal model's centre of mass is, m."""
    return np.asarray(_compiled_ahead()(q))


@cache
def _compiled_ahead():
    return jax.jit(jax.vmap(jax.vmap(lambda q: _models()[0].center_of_mass(q)[0])))


def _in_space(whole: Motions) -> Stances:
    record = jax.tree.map(np.asarray, _spatial_program()(whole.q[:, 0], whole.v[:, 0], whole.torque))
    return described(Motions(whole.foot, record.q, record.v, whole.torque, record.wrench_world))


@cache
def _sand_program():
    """Compiled (law, sagittal, frontal) -> motions in both planes, for as many stances as are given."""

    def one(law: Wedge, sagittal: Planar, frontal: Planar) -> tuple[StanceMotion, StanceMotion]:
        along, across = sand_stance(_models()[0], law, DT), frontal_stance(law, DT)
        first = along.motion(_started(along, sagittal), sagittal.torque)
        return first, frontal_motion(across, _started(across, frontal), frontal.torque, sinkage_of(first))

    return jax.jit(jax.vmap(one, in_axes=(None, 0, 0)))


def told_sinkage(found: Measured) -> dict[str, Float[np.ndarray, "s t"]]:
    """What the frontal plane makes of a stance if it is told the *measured* sinkage and load, by quantity.

    What is wrong then is not the sagittal plane's fault.
    """
    plane = found.stances.frontal
    sinkage = Sinkage(-plane.q[..., 1], after_step(plane.v)[..., 1], found.values["F_z"])
    motion = jax.tree.map(np.asarray, _frontal_program()(biped_law(), plane, sinkage))
    way = motion.q[..., 0] - motion.q[:, :1, 0]
    return {"swing hip": motion.q[..., 4], "stance hip": motion.q[..., 3], "F_y": motion.force[..., 0], "y_s": way}


@cache
def _frontal_program():
    """Compiled (law, frontal, sinkage) -> motions in the frontal plane, for as many stances as are given."""

    def one(law: Wedge, frontal: Planar, sinkage: Sinkage) -> StanceMotion:
        across = frontal_stance(law, DT)
        return frontal_motion(across, _started(across, frontal), frontal.torque, sinkage)

    return jax.jit(jax.vmap(one, in_axes=(None, 0, 0)))


@cache
def _rigid_program():
    """Compiled (sagittal, frontal) -> motions in both planes, for as many stances as are given."""
    stances = [rigid_stance(model, DT) for model in _models()]

    def one(*planes: Planar) -> tuple[StanceMotion, ...]:
        pairs = zip(stances, planes, strict=True)
        return tuple(stance.motion(_started(stance, plane), plane.torque) for stance, plane in pairs)

    return jax.jit(jax.vmap(one))


def _started(stance: Stance, plane: Planar) -> State:
    return eqx.tree_at(lambda state: (state.q, state.v), stance.start(), (plane.q[0], plane.v[0]))


@cache
def _spatial_program():
    """Compiled (q, v, torques) -> records of the whole robot on the law with shear."""
    simulator = Simulator(robot(), biped_law(), DT)
    still = simulator.initial_state()

    def one(q, v, torque) -> Record:
        return simulator.rollout(eqx.tree_at(lambda state: (state.q, state.v), still, (q, v)), torque)[1]

    return jax.jit(jax.vmap(one))


def errors(found: Measured, of: dict[str, Stances]) -> dict[str, dict[str, float]]:
    """Root mean square error over a stance, mean over stances, by model and quantity; those of `RIGID` as well."""
    known = {model: rms_errors(one.values, found.values) for model, one in of.items()}
    return known | {RIGID[2]: rms_errors(forces_and_torques(found.whole)[0], found.values)}


def rms_errors(values: dict[str, np.ndarray], true: dict[str, np.ndarray]) -> dict[str, float]:
    """Over a stance, mean over stances."""
    return {name: float(np.sqrt(((one - true[name]) ** 2).mean(axis=1)).mean()) for name, one in values.items()}


def least_rigid(error: dict[str, dict[str, float]], quantity: str) -> float:
    """Least error of the rigid assumption in a quantity."""
    return min(error[model][quantity] for model in RIGID if quantity in error[model])
