"""Wrenches near their references, where nothing else decides: how feet share the load.

Centroidal momentum: linear momentum and angular momentum about the centre of mass, desired by their rates.
"""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.base import Task, TaskRows
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot, WrenchUnknown
from softground.control.whole_body.tasks.motions import rotation_part
from softground.robots.rotations import cross, matmul3


class WrenchRates(Task):
    """Wrench rates near f'_ref + kp (f_ref - f) (romualdi2021, eq. 19, where f'_ref is zero).

    The reference moves all the time while the weight goes from foot to foot. Without its rate the wrenches would lag
    by 1/kp, and the momentum task would make up for what is missing by rolling the feet.
    """

    needs: ClassVar[WrenchUnknown | None] = "rate"

    kp: Float[Array, "6"]  # 1/s
    weight: Float[Array, "6"]  # per foot

    @property
    def name(self) -> str:
        return "wrench rates"

    def rows(self, snapshot: Snapshot, references: References, memory: Any) -> TaskRows:
        error = references.wrenches - snapshot.wrenches
        return TaskRows(
            matrix=_one_row_per_component(snapshot),
            target=(references.wrench_rates + self.kp * error).reshape(-1),
            weight=jnp.tile(self.weight, snapshot.unknowns.feet),
            error=error.reshape(-1),
            active=snapshot.in_contact.sum() > 1,
        )


class Wrenches(Task):
    """Wrenches near f_ref."""

    needs: ClassVar[WrenchUnknown | None] = "value"

    weight: Float[Array, "6"]  # per foot

    @property
    def name(self) -> str:
        return "wrenches"

    def rows(self, snapshot: Snapshot, references: References, memory: Any) -> TaskRows:
        return TaskRows(
            matrix=_one_row_per_component(snapshot),
            target=references.wrenches.reshape(-1),
            weight=jnp.tile(self.weight, snapshot.unknowns.feet),
            error=(references.wrenches - snapshot.wrenches).reshape(-1),
        )


def _one_row_per_component(snapshot: Snapshot) -> Float[Array, "m n"]:
    feet = snapshot.unknowns.feet
    return snapshot.unknowns.matrix(wrenches=jnp.eye(6 * feet).reshape(-1, feet, 6))


class Momentum(Task):
    """What both rates have in common: the error of momentum, and its integral.

    The integral of linear momentum is the mass times the centre of mass, so that part cannot drift. The integral of
    angular momentum is no such state of the robot. With `upright` empty it is summed over time (the memory), as
    romualdi2021 do. It then keeps still an orientation "on average" that no body has: a robot that leans over one
    foot, its legs turned, must roll its trunk the other way, against the tasks that hold the trunk. With `upright`
    naming the bodies of the trunk, their mean turn from their references times the inertia about the centre of mass
    takes the integral's place: what angular momentum would have to sum up to, to bring them back.
    """

    upright: tuple[str, ...] = eqx.field(static=True)

    @property
    def name(self) -> str:
        return "momentum"

    @property
    def frames(self) -> tuple[str, ...]:
        return self.upright

    def initial_memory(self) -> Float[Array, "3"]:
        return np.zeros(3)

    def remember(self, snapshot: Snapshot, references: References, memory: Any) -> Float[Array, "3"]:
        return memory + snapshot.period * (references.angular_momentum.value - snapshot.momentum[3:])

    def error(self, snapshot: Snapshot, references: References) -> Float[Array, "6"]:
        """h_ref - h (kg m/s, kg m2/s)."""
        desired = [snapshot.total_mass * references.com.velocity, references.angular_momentum.value]
        return jnp.concatenate(desired) - snapshot.momentum

    def integral(self, snapshot: Snapshot, references: References, memory: Any) -> Float[Array, "6"]:
        """Integral of h_ref - h over time (kg m, kg m2)."""
        linear = snapshot.total_mass * (references.com.position - snapshot.com)
        if not self.upright:
            return jnp.concatenate([linear, memory])
        pairs = [(references.frames[name].rotation, snapshot.frames[name].rotation) for name in self.upright]
        turn = sum(rotation_part(matmul3(desired, rotation.T)) for desired, rotation in pairs) / len(pairs)
        return jnp.concatenate([linear, snapshot.locked_inertia @ turn])


class MomentumSecondRate(Momentum):
    """The second rate of momentum, from wrench rates (romualdi2021, eqs 12-14).

    Differentiating eq. 3,

        h'' = sum over feet of  [0; S(v_k - v_C) f_k^l] + [[1, 0], [S(p_k - p_C), 1]] f'_k,

    and it is asked to be h''_ref + kd (h'_ref - h') + kp (h_ref - h) + ki integral of (h_ref - h), whose error dies
    out if and only if kp, ki > 0 and kd kp > ki.
    """

    needs: ClassVar[WrenchUnknown | None] = "rate"

    kp: Float[Array, "6"]  # 1/s2
    kd: Float[Array, "6"]  # 1/s
    ki: Float[Array, "6"]  # 1/s3
    weight: Float[Array, "6"]

    def rows(self, snapshot: Snapshot, references: References, memory: Any) -> TaskRows:
        mass, com, spin = snapshot.total_mass, references.com, references.angular_momentum
        error, integral = self.error(snapshot, references), self.integral(snapshot, references, memory)
        rate = jnp.concatenate([mass * com.acceleration, spin.rate]) - snapshot.momentum_rate
        desired = jnp.concatenate([mass * com.jerk, spin.second_rate])
        desired = desired + self.kd * rate + self.kp * error + self.ki * integral
        moved = cross(snapshot.feet.twist[:, :3] - snapshot.com_velocity, snapshot.wrenches[:, :3]).sum(0)
        return TaskRows(
            matrix=snapshot.unknowns.matrix(wrenches=snapshot.wrench_transport),
            target=desired - jnp.concatenate([jnp.zeros(3), moved]),
            weight=self.weight,
            error=error,
        )


class MomentumRate(Momentum):
    """The rate of momentum, from wrenches that answer at once (romualdi2021, eq. 3).

    h' = sum over feet of [[1, 0], [S(p_k - p_C), 1]] f_k + m g is asked to be h'_ref + kp (h_ref - h) +
    ki integral of (h_ref - h).
    """

    needs: ClassVar[WrenchUnknown | None] = "value"

    kp: Float[Array, "6"]  # 1/s
    ki: Float[Array, "6"]  # 1/s2
    weight: Float[Array, "6"]

    def rows(self, snapshot: Snapshot, references: References, memory: Any) -> TaskRows:
        mass, com, spin = snapshot.total_mass, references.com, references.angular_momentum
        error, integral = self.error(snapshot, references), self.integral(snapshot, references, memory)
        desired = jnp.concatenate([mass * com.acceleration, spin.rate]) + self.kp * error + self.ki * integral
        fall = jnp.concatenate([mass * jnp.asarray(snapshot.robot.gravity), jnp.zeros(3)])
        matrix = snapshot.unknowns.matrix(wrenches=snapshot.wrench_transport)
        return TaskRows(matrix, desired - fall, self.weight, error)
