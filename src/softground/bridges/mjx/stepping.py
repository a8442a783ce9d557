"""A step of MJX in parts: what does not depend on the ground, its end with some wrenches of it, and what follows."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from mujoco import mjx

from softground.arrays import Array
from softground.bridges.mjx.answering import has_constraints
from softground.bridges.mujoco.answering import EULER
from softground.bridges.mujoco.carrying import Pose


def begun(model: mjx.Model, data: mjx.Data) -> mjx.Data:
    """All of a step that does not depend on the ground."""
    data = mjx.sensor_pos(model, mjx.fwd_position(model, data))
    data = mjx.sensor_vel(model, mjx.fwd_velocity(model, data))
    return mjx.fwd_actuation(model, data)


def with_rows(start: mjx.Data, bodies: tuple[int, ...], rows: Float[Array, "c 6"]) -> mjx.Data:
    """With these wrenches on bodies."""
    return start.replace(xfrc_applied=start.xfrc_applied.at[np.array(bodies)].set(rows))


def ended(model: mjx.Model, start: mjx.Data, bodies: tuple[int, ...], rows: Float[Array, "c 6"]) -> mjx.Data:
    """Accelerations with these wrenches on bodies."""
    data = mjx.fwd_acceleration(model, with_rows(start, bodies, rows))
    return mjx.solve(model, data) if has_constraints(start) else data.replace(qacc=data.qacc_smooth)


class Reached(NamedTuple):
    """An end of the step: what of MJX's data depends on the ground's wrenches."""

    qfrc_smooth: Float[Array, " nv"]
    qacc_smooth: Float[Array, " nv"]
    qacc: Float[Array, " nv"]
    qfrc_constraint: Float[Array, " nv"]
    efc_force: Float[Array, " nefc"]

    @classmethod
    def of(cls, data: mjx.Data) -> Reached:
        return cls(data.qfrc_smooth, data.qacc_smooth, data.qacc, data.qfrc_constraint, data._impl.efc_force)

    def into(self, data: mjx.Data) -> mjx.Data:
        """MJX's data with this."""
        fields = {f"_impl.{name}" if name == "efc_force" else name: value for name, value in self._asdict().items()}
        return data.tree_replace(fields)


def advanced(model: mjx.Model, end: mjx.Data) -> mjx.Data:
    """Velocities and positions with which the step ends."""
    return (mjx.euler if int(model.opt.integrator) == EULER else mjx.implicit)(model, end)


def as_before(after: mjx.Data, before: mjx.Data) -> mjx.Data:
    """With the types of the data that were given, so that steps can be scanned: in double precision MJX returns some
    integers of tendons as longer ones."""
    return jax.tree.map(lambda new, old: jnp.asarray(new, jnp.result_type(old)), after, before)


def pose_of(data: mjx.Data) -> Pose:
    return Pose(data.xpos, data.xmat.reshape(-1, 9), data.xipos, data.subtree_com, data.cdof)
