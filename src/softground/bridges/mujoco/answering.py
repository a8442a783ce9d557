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
positive definite always. It decides how fast the rounds of `stepping.py` converge, not what they converge to.

Limits and dry friction of single dofs, which come and go all the time, need no K: their costs are convex functions of
one velocity, so the ground's problem can have them as they are, and find out itself which act (`dof_law`). The force of
such a row is clip(R^-1 (a_ref -+ a)), and with a change of the end velocity a_i changes by S_ii^2 / dt times that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.bridges.mujoco.calls import Call
from softground.contact.joints import JointLaw
from softground.errors import OptionError
from softground.robots.tree import HINGE, SLIDE

INSIDE = 1 - 1e-9
"""Share of a bound below which a force is not at it."""
HUGE = 1e30
LIMIT_OF_JOINT = int(mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT)
FRICTION_OF_DOF = int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF)
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
        self.factor = 1.0
        if model.opt.integrator == EULER:
            self.rows = self.columns = np.arange(nv)
            self.values = model.dof_damping  # where it is: it may be changed between two steps
            self.factor = 0.0 if damping_flags(model) else -1.0
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
        dense = jnp.zeros((nv, nv)).at[rows, columns].set(self.factor * values[used])
        return dense + jnp.tril(dense, -1).T if one_sided else (dense + dense.T) / 2


class DofRows(NamedTuple):
    """MuJoCo's constraints of single dofs, by dof: weights (R^-1) are zero where there is none."""

    acceleration: Float[Array, " nv"]  # mjData.qacc with the ground's wrenches as they are now
    friction_weight: Float[Array, " nv"]
    friction_target: Float[Array, " nv"]  # a_ref
    friction_bound: Float[Array, " nv"]  # N m
    limit_weight: Float[Array, " nv"]
    limit_target: Float[Array, " nv"]
    limit_sign: Float[Array, " nv"]  # 1: at the lower limit, -1: at the upper


class Limited:
    """Where constraints of single dofs stand among MuJoCo's rows: equalities, dry friction, limits, contacts."""

    def __init__(self, model: mujoco.MjModel):
        columns = model.jnt_dofadr, model.jnt_qposadr, model.jnt_range.mean(1)
        self._of_joint = list(zip(*(column.tolist() for column in columns), strict=True))
        self._scalar = np.isin(model.jnt_type, (SLIDE, HINGE))
        self._has_others = bool(model.ntendon) or bool(np.any(model.jnt_limited & ~self._scalar))
        self.any = bool(np.any(model.dof_frictionloss)) or bool(np.any(model.jnt_limited))
        self._last: list[int] = []  # dofs that were at a limit
        self._frictions, self._rubbed = 0, 0  # rows of friction, and those of them that are of dofs
        self._rubbing: np.ndarray | slice | None = None  # dofs that rub

    def rows(self, model: mujoco.MjModel, data: mujoco.MjData) -> DofRows:
        """Arrays for `read`."""
        zeros = [np.zeros(model.nv) for _ in range(5)]
        return DofRows(data.qacc, zeros[0], zeros[1], model.dof_frictionloss, *zeros[2:])

    def read(self, data: mujoco.MjData, rows: Any) -> Bool[np.ndarray, " nefc"] | None:
        """Bring the rows up to date; a mask of those of MuJoCo's rows that are not among them, or None."""
        first, frictions, limits = data.ne, data.nf, data.nl
        weight, target = data.efc_D, data.efc_aref
        if frictions != self._frictions:
            self._find_frictions(data, rows)
        if self._rubbing is not None:
            here = slice(first, first + self._rubbed)
            rows.friction_weight[self._rubbing] = weight[here]
            rows.friction_target[self._rubbing] = target[here]
        if limits or self._last:
            self._read_limits(data, rows, weight, target)
        if not (data.ncon or first or self._has_others):
            return None
        others = np.ones(data.nefc, bool)
        others[first : first + frictions] = data.efc_type[first : first + frictions] != FRICTION_OF_DOF
        start = first + frictions
        others[start : start + limits] = np.logical_not(self._single(data, start, limits))
        return others

    def _find_frictions(self, data: mujoco.MjData, rows: Any) -> None:
        """Which dofs rub: those of the first rows of friction, before those of tendons."""
        here = slice(data.ne, data.ne + data.nf)
        dofs = data.efc_id[here][data.efc_type[here] == FRICTION_OF_DOF]
        rows.friction_weight.fill(0.0)
        self._frictions, self._rubbed, self._rubbing = data.nf, len(dofs), None
        if len(dofs):
            one_piece = (np.diff(dofs) == 1).all()
            self._rubbing = slice(int(dofs[0]), int(dofs[-1]) + 1) if one_piece else dofs

    def none(self, rows: Any) -> None:
        """There are none in this step."""
        rows.friction_weight.fill(0.0)
        rows.limit_weight.fill(0.0)
        self._last, self._frictions, self._rubbing = [], 0, None

    def _read_limits(self, data: mujoco.MjData, rows: Any, weight: np.ndarray, target: np.ndarray) -> None:
        """One by one: there are few, and for so few a call of NumPy costs more."""
        for dof in self._last:
            rows.limit_weight[dof] = 0.0
        start, count, qpos = data.ne + data.nf, data.nl, data.qpos
        here = slice(start, start + count)
        single = self._single(data, start, count)
        self._last = []
        for joint, heavy, wanted, own in zip(
            data.efc_id[here].tolist(), weight[here].tolist(), target[here].tolist(), single, strict=True
        ):
            if own:
                dof, place, middle = self._of_joint[joint]
                rows.limit_weight[dof], rows.limit_target[dof] = heavy, wanted
                rows.limit_sign[dof] = 1.0 if qpos[place] < middle else -1.0
                self._last.append(dof)

    def _single(self, data: mujoco.MjData, start: int, count: int) -> Any:
        """Which of the rows of limits are of hinges and slides."""
        here = slice(start, start + count)
        if not self._has_others:
            return [True] * count
        of_joints = data.efc_type[here] == LIMIT_OF_JOINT
        return of_joints & self._scalar[np.where(of_joints, data.efc_id[here], 0)]


def dof_law(rows: DofRows, scale: Float[Array, " nv"], reference: Float[Array, " nv"], dt) -> JointLaw:
    """Limits and dry friction as a law of the end velocity, exact at the reference. scale: diag B / diag M."""
    friction = rows.friction_weight * scale / dt
    limit = rows.limit_weight * scale / dt
    rubbed = rows.friction_weight * (rows.friction_target - rows.acceleration) + friction * reference
    pushed = rows.limit_weight * (rows.limit_target - rows.limit_sign * rows.acceleration)
    spring = limit / dt
    given = rows.limit_weight > 0
    depth = (pushed + rows.limit_sign * limit * reference) / jnp.where(given, spring, 1.0)
    zeros = jnp.zeros_like(reference)
    return JointLaw(
        below=jnp.where(given & (rows.limit_sign > 0), depth, -HUGE),
        above=jnp.where(given & (rows.limit_sign < 0), depth, -HUGE),
        spring=spring,
        pd_offset=rubbed,
        pd_slope=friction,
        pd_bound=jnp.where(rows.friction_weight > 0, rows.friction_bound, 0.0),
        friction_bound=zeros,
        friction_slope=zeros,
        dt=dt,
    )


def constraint_stiffness(
    model: mujoco.MjModel, data: mujoco.MjData, acting: Bool[np.ndarray, " nefc"]
) -> Float[np.ndarray, "nv nv"]:
    """K of the constraints that act."""
    jacobian = dense_jacobian(model, data)
    return (jacobian.T * (data.efc_D * acting)) @ jacobian


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


def dense_jacobian(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Jacobian (nefc, nv) of MuJoCo's constraints."""
    count, nv = data.nefc, model.nv
    if not mujoco.mj_isSparse(model):
        return data.efc_J.reshape(count, nv)
    dense = np.zeros((count, nv))
    mujoco.mju_sparse2dense(dense, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    return dense


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


DAMPER = getattr(mujoco.mjtDisableBit, "mjDSBL_DAMPER", getattr(mujoco.mjtDisableBit, "mjDSBL_PASSIVE", 0))
WITHOUT_DAMPING = int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP) | int(DAMPER)


def damping_flags(model: mujoco.MjModel) -> int:
    """Those flags of `opt.disableflags` that are set and take joint damping out of Euler's step."""
    return int(model.opt.disableflags) & WITHOUT_DAMPING
