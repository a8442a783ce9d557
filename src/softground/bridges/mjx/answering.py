"""How MJX's step answers to forces, as `softground.bridges.mujoco.answering` has it for MuJoCo.

MJX has a row for every constraint that there could be, those that do not act with a Jacobian of zeros, and the place of
each is known while a program is traced.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Bool, Float
from mujoco import mjx

from softground.arrays import Array
from softground.bridges.mujoco.answering import EULER, INSIDE, DofRows
from softground.robots.tree import BALL, HINGE, SLIDE

ELLIPTIC = int(mujoco.mjtCone.mjCONE_ELLIPTIC)


def has_constraints(data: mjx.Data) -> bool:
    """Whether the model has any row of constraints."""
    return data._impl.efc_J.size > 0


def rates(model: mjx.Model, data: mjx.Data) -> Float[Array, "nv nv"]:
    """Rates of velocity-dependent forces as the integrator takes them, dense."""
    if int(model.opt.integrator) == EULER:
        off = model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
        return jnp.zeros((model.nv, model.nv)) if off else -jnp.diag(model.dof_damping)
    found = mjx.deriv_smooth_vel(model, data)
    return jnp.zeros((model.nv, model.nv)) if found is None else found


def dof_rows(model: mjx.Model, data: mjx.Data) -> DofRows | None:
    """Constraints of single dofs, by dof; None if the model has none."""
    frictions, limits = _frictions(model), _limits(model)
    dofs = _limited_dofs(model)
    if not (len(frictions) or len(dofs)):
        return None
    efc, zeros = data._impl, jnp.zeros(model.nv, data.qvel.dtype)
    weight, target = efc.efc_D, efc.efc_aref
    rub = efc.ne + np.arange(len(frictions))
    stop = efc.ne + efc.nf + limits
    sign = efc.efc_J[stop, dofs]
    return DofRows(
        acceleration=data.qacc,
        friction_weight=zeros.at[frictions].set(weight[rub]),
        friction_target=zeros.at[frictions].set(target[rub]),
        friction_bound=jnp.asarray(model.dof_frictionloss),
        limit_weight=zeros.at[dofs].set(jnp.where(sign != 0, weight[stop], 0.0)),
        limit_target=zeros.at[dofs].set(target[stop]),
        limit_sign=zeros.at[dofs].set(sign),
    )


def others(model: mjx.Model, data: mjx.Data) -> np.ndarray:
    """(nefc,) which rows are not of single dofs."""
    efc = data._impl
    found = np.ones(efc.efc_J.shape[0], bool)
    found[efc.ne : efc.ne + len(_frictions(model))] = False
    found[efc.ne + efc.nf + _limits(model)] = False
    return found


def quadratic(model: mjx.Model, data: mjx.Data) -> Bool[Array, " nefc"]:
    """Which rows are where their cost is quadratic, by their forces: see the function of this name for MuJoCo."""
    efc = data._impl
    force, rubbing = efc.efc_force, slice(efc.ne, efc.ne + efc.nf)
    found = (force > 0).at[: efc.ne].set(True)
    if efc.nf:
        found = found.at[rubbing].set(jnp.abs(force[rubbing]) < INSIDE * efc.efc_frictionloss[rubbing])
    if int(model.opt.cone) == ELLIPTIC:
        for number, (first, dim) in enumerate(zip(efc.contact.efc_address, efc.contact.dim, strict=True)):
            if dim > 1:
                along = force[first + 1 : first + dim] / efc.contact.friction[number, : dim - 1]
                found = found.at[first + 1 : first + dim].set(jnp.sqrt((along**2).sum()) < INSIDE * force[first])
    return found


def constraint_stiffness(data: mjx.Data, acting: Bool[Array, " nefc"]) -> Float[Array, "nv nv"]:
    """K of the constraints that act."""
    jacobian = data._impl.efc_J
    return (jacobian.T * (data._impl.efc_D * acting)) @ jacobian


def _frictions(model: mjx.Model) -> np.ndarray:
    """Dofs with dry friction, in the order of their rows, which come first of those of friction."""
    off = model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS) or _unconstrained(model)
    return np.zeros(0, int) if off else np.flatnonzero(_impl(model).dof_hasfrictionloss)


def _limited_dofs(model: mjx.Model) -> np.ndarray:
    """Dofs of hinges and slides with limits, in the order of their rows."""
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_LIMIT) or _unconstrained(model):
        return np.zeros(0, int)
    return np.asarray(model.jnt_dofadr)[np.isin(model.jnt_type, (SLIDE, HINGE)) & (np.asarray(model.jnt_limited) > 0)]


def _limits(model: mjx.Model) -> np.ndarray:
    """Places of their rows among those of limits: after those of balls."""
    balls = int(((np.asarray(model.jnt_type) == BALL) & (np.asarray(model.jnt_limited) > 0)).sum())
    return balls + np.arange(len(_limited_dofs(model)))


def _unconstrained(model: mjx.Model) -> bool:
    return bool(model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT))


def _impl(model: mjx.Model) -> Any:
    return model._impl
