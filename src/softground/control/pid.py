"""A PID controller whose integral is explicit state, for loops that carry it along."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import OptionError


class Pid(eqx.Module):
    """effort = kp error + ki integral + kd error rate, for each of n coordinates; clipped to `limit` where given.

    The integral is the sum of errors times the time step (rectangle rule, the present error included). Where the
    effort is clipped the integral stands still unless the error would bring it back (no wind-up).
    """

    kp: Float[Array, " n"]  # N/m, N m/rad
    ki: Float[Array, " n"]  # N/(m s), N m/(rad s)
    kd: Float[Array, " n"]  # N s/m, N m s/rad
    limit: Float[Array, " n"] | None = None  # N, N m

    def __init__(self, kp, ki, kd, limit=None):
        gains = {"kp": kp, "ki": ki, "kd": kd} | ({} if limit is None else {"limit": limit})
        arrays = {name: np.atleast_1d(np.asarray(value, dtype=float)) for name, value in gains.items()}
        for name, value in arrays.items():
            if value.shape != arrays["kp"].shape or not (value >= 0).all():
                raise OptionError(f"{name} of a PID must be {arrays['kp'].shape[0]} numbers >= 0, got {value}")
        self.kp, self.ki, self.kd = arrays["kp"], arrays["ki"], arrays["kd"]
        self.limit = arrays.get("limit")

    def initial(self) -> Float[Array, " n"]:
        """The integral before the first step."""
        return jnp.zeros(self.kp.shape)

    def __call__(
        self,
        integral: Float[Array, " n"],
        error: Float[Array, " n"],
        error_rate: Float[Array, " n"],
        dt: Float[Array, ""] | float,
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """Effort (N, N m) and the integral after this step of `dt` seconds."""
        summed = integral + dt * error
        effort = self.kp * error + self.ki * summed + self.kd * error_rate
        if self.limit is None:
            return effort, summed
        clipped = jnp.clip(effort, -self.limit, self.limit)
        winding = (effort != clipped) & (jnp.sign(error) == jnp.sign(effort))
        return clipped, jnp.where(winding, integral, summed)
