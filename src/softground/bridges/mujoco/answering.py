"""How MuJoCo's step answers to forces: the mass matrix of the velocity with which it ends.

An integrator of MuJoCo ends its step with v + dt B^-1 (smooth forces + constraint forces), where B = M - dt D takes
velocity-dependent forces implicitly: D is minus the joint damping for Euler, the derivative of passive and actuator
forces (mjData.qDeriv) for implicitfast and implicit. Constraint forces answer too: they minimise

    1/2 (a - a_smooth)'M (a - a_smooth) + s(J_c a),

and where s is quadratic (a joint at its limit, an equality, a contact of two bodies, dry friction that sticks) with
curvature K = J_c' R^-1 J_c, a further force g changes a by (M + K)^-1 g. Together

    dv/dg = dt B^-1 M (M + K)^-1 = dt (B + K M^-1 B)^-1.

This is symmetric only if B = M or K = 0: MuJoCo's constraints do not know of the implicit damping. A convex problem
needs a symmetric matrix; we take A = B + S K S with S = sqrt(diag B / diag M), which is right for one joint alone, and
positive definite always. It decides how fast the rounds of `ground.py` converge, not what they converge to.
"""

from __future__ import annotations

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.bridges.mujoco.calls import Call
from softground.errors import OptionError

INSIDE = 1 - 1e-9
"""Share of a bound below which a force is not at it."""
EULER, RK4, IMPLICIT, IMPLICITFAST = 0, 1, 2, 3  # mjtIntegrator


def integrator_of(model: mujoco.MjModel) -> str:
    """Name of MuJoCo's function that ends the step; OptionError for one that evaluates forces several times."""
    if model.opt.integrator == RK4:
        raise OptionError(
            "model.opt.integrator is RK4, which asks for the forces of four moments of a step: on ground that is met "
            "implicitly there is one. Write model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST"
        )
    return "mj_Euler" if model.opt.integrator == EULER else "mj_implicit"


def tree_pattern(model: mujoco.MjModel) -> Bool[np.ndarray, "nv nv"]:
    """Where the mass matrix may differ from zero: between a dof and those that carry it."""
    pattern = np.eye(model.nv, dtype=bool)
    for dof in range(model.nv):
        carrying = int(model.dof_parentid[dof])
        while carrying >= 0:
            pattern[dof, carrying] = pattern[carrying, dof] = True
            carrying = int(model.dof_parentid[carrying])
    return pattern


class Rates:
    """Rates D of velocity-dependent forces as MuJoCo's integrator takes them, and where they stand in the matrix."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData):
        nv = model.nv
        if model.opt.integrator == EULER:
            self.rows = self.columns = np.arange(nv)
            off = model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
            damping = np.zeros(nv) if off or _undamped(model) else model.dof_damping
            self.values = -np.array(damping, dtype=float)
            return
        holder = model if hasattr(model, "D_rownnz") else data  # which of them it is has changed between versions
        self.rows = np.repeat(np.arange(nv), holder.D_rownnz)
        self.columns = np.array(holder.D_colind)
        self.values = data.qDeriv
        if model.opt.integrator == IMPLICITFAST:
            lower = (self.columns <= self.rows) & tree_pattern(model)[self.rows, self.columns]
            self.rows, self.columns = np.where(lower, self.rows, 0), np.where(lower, self.columns, -1)

    def matrix(self, values: Float[Array, " n"], nv: int) -> Float[Array, "nv nv"]:
        """D, symmetric: of a full one (implicit) the symmetric part."""
        used = np.flatnonzero(self.columns >= 0)
        rows, columns = self.rows[used], self.columns[used]
        one_sided = not (columns > rows).any()
        dense = jnp.zeros((nv, nv)).at[rows, columns].set(values[used])
        return dense + jnp.tril(dense, -1).T if one_sided else (dense + dense.T) / 2


def answering_mass(
    mass: Float[Array, "nv nv"],
    rates: Float[Array, "nv nv"],
    stiffness: Float[Array, " nv"] | Float[Array, "nv nv"],
    dt: Float[Array, ""],
) -> Float[Array, "nv nv"]:
    """A, from M, D and K (of which the diagonal may be all)."""
    implicit = mass - dt * rates
    squared = jnp.diagonal(implicit) / jnp.diagonal(mass)
    if stiffness.ndim == 1:
        return implicit + jnp.diag(squared * stiffness)
    scale = jnp.sqrt(squared)
    return implicit + scale[:, None] * stiffness * scale


def constraint_stiffness(
    model: mujoco.MjModel, data: mujoco.MjData, acting: Bool[np.ndarray, " nefc"], of_dofs: bool
) -> np.ndarray:
    """K of the constraints that act; of_dofs: the diagonal, which is all."""
    weight = data.efc_D * acting
    jacobian = _dense_jacobian(model, data)
    return weight @ (jacobian * jacobian) if of_dofs else (jacobian.T * weight) @ jacobian


def quadratic(model: mujoco.MjModel, data: mujoco.MjData) -> Bool[np.ndarray, " nefc"]:
    """Which rows of MuJoCo's constraints are where their cost is quadratic, by their forces.

    Equalities are; dry friction is below its bound; limits and contacts are where they push, and of a contact on an
    elliptic cone that slides only the normal direction: to hold a constraint for softer than it is costs rounds, to
    hold it for harder could make them diverge. (efc_state should say so, and was seen not to be up to date.)
    """
    force, equalities, frictions = data.efc_force, data.ne, data.ne + data.nf
    found = force > 0
    found[:equalities] = True
    if data.nf:
        rubbing = slice(equalities, frictions)
        found[rubbing] = np.abs(force[rubbing]) < INSIDE * data.efc_frictionloss[rubbing]
    if data.ncon and model.opt.cone:
        _stick_or_slide(data, force, found)
    return found


def _stick_or_slide(data: mujoco.MjData, force: np.ndarray, found: np.ndarray) -> None:
    """Rows of contacts on elliptic cones."""
    for contact in data.contact:
        first, count = contact.efc_address, contact.dim
        if first >= 0:
            along = force[first + 1 : first + count] / contact.friction[: count - 1]
            sticks = np.sqrt(along @ along) < INSIDE * force[first]
            found[first + 1 : first + count] = sticks


def _dense_jacobian(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Jacobian (nefc, nv) of MuJoCo's constraints."""
    count, nv = data.nefc, model.nv
    if not mujoco.mj_isSparse(model):
        return data.efc_J.reshape(count, nv)
    dense = np.zeros((count, nv))
    mujoco.mju_sparse2dense(dense, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    return dense


def stands_alone(model: mujoco.MjModel, data: mujoco.MjData) -> bool:
    """Whether every constraint is of one dof: limits of hinges and slides, and their dry friction."""
    return not (data.ncon or data.ne or model.ntendon)


def full_mass(model: mujoco.MjModel, data: mujoco.MjData, into: np.ndarray) -> Call:
    """The call that writes M, as `mj_fwdPosition` has left it."""
    if hasattr(data, "qM"):  # the order of arguments has changed with it
        return "mj_fullM", (model, into, data.qM)
    return "mj_fullM", (model, data, into)


def is_affine(model: mujoco.MjModel) -> bool:
    """Whether, without constraints, the step answers as A says exactly: what has not been thought of is checked."""
    curved = any(np.any(getattr(model, name, 0)) for name in ("dof_dampingpoly", "tendon_dampingpoly"))
    fluid = model.opt.density > 0 or model.opt.viscosity > 0
    others = model.nflex or model.nplugin or (model.ntendon and np.any(model.tendon_damping))
    return not (curved or fluid or others or model.opt.integrator == IMPLICIT)


def _undamped(model: mujoco.MjModel) -> bool:
    bit = getattr(mujoco.mjtDisableBit, "mjDSBL_DAMPER", getattr(mujoco.mjtDisableBit, "mjDSBL_PASSIVE", None))
    return bit is not None and bool(model.opt.disableflags & int(bit))
