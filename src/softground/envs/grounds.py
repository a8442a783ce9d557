"""Grounds: one ground with parameters that differ from episode to episode and from robot to robot.

Parameters are leaves of the ground and inputs of the compiled step, so another value compiles nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import OptionError, unknown_name
from softground.media import medium_of
from softground.media.base import Medium
from softground.media.visco_elastic import ViscoElastic
from softground.media.wrench_space import EPS_SINGLE
from softground.robots import Robot
from softground.simulation import Ground
from softground.surfaces import Plane

Parameters = dict[str, Float[Array, ""]]
#: Parameters of the surface, where that is a plane, rad. All others are the medium's.
OF_PLANES = ("slope", "heading")


class Grounds:
    """A ground, and the ranges from which some of its parameters are drawn.

    ground: a name of the command line ("sand", "foam", "firm", the file of a learned medium), a medium or an
    `sg.Ground`. ranges: name of a parameter -> two numbers, or one; "strength" (of any medium), other numbers of the
    medium ("friction", "stiffness"), "slope" and "heading" (rad) of a plane. Where both are positive, and the
    parameter is not an angle, it is drawn uniformly in its logarithm.

    >>> import softground as sg
    >>> grounds = sg.envs.Grounds("sand", {"strength": (1.0, 4.0), "slope": (0.0, 0.1)})
    >>> grounds.names
    ('strength', 'slope')
    """

    def __init__(
        self,
        ground: str | Medium | Ground = "sand",
        ranges: Mapping[str, Any] | None = None,
        robot: Robot | None = None,
    ):
        self.ground = _as_ground(ground, robot)
        self.name = ground if isinstance(ground, str) else type(self.ground.medium).__name__
        self.ranges = {name: _checked(name, given) for name, given in (ranges or {}).items()}
        for name in self.ranges:
            self._check_name(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters that vary."""
        return tuple(self.ranges)

    def draw(self, key: Array, dtype=None) -> Parameters:
        """Parameters of one episode."""
        share = jax.random.uniform(key, (len(self.ranges),), dtype or jnp.zeros(()).dtype)
        return {name: self._at(name, share[i]) for i, name in enumerate(self.ranges)}

    def middle(self) -> Parameters:
        """Parameters in the middle of their ranges.

        >>> import softground as sg
        >>> sg.envs.Grounds("sand", {"slope": (0.0, 0.2)}).middle()  # rad
        {'slope': array(0.1)}
        """
        return {
            name: np.asarray(np.sqrt(low * high) if self._is_factor(name) else (low + high) / 2)
            for name, (low, high) in self.ranges.items()
        }

    def _at(self, name: str, share: Array) -> Array:
        low, high = self.ranges[name]
        if self._is_factor(name):
            return low * jnp.exp(share * np.log(high / low))
        return low + share * (high - low)

    def shares(self, values: Parameters) -> Float[Array, " p"]:
        """Where parameters are in their ranges, 0 to 1; beyond, where they were given so."""
        found = []
        for name, (low, high) in self.ranges.items():
            value = values[name]
            if low == high:
                found.append(jnp.zeros_like(value))
            elif self._is_factor(name):
                found.append(jnp.log(value / low) / np.log(high / low))
            else:
                found.append((value - low) / (high - low))
        return jnp.stack(found) if found else jnp.zeros(0)

    def with_parameters(self, values: Parameters) -> Ground:
        """The ground with parameters put in."""
        ground = self.ground
        for name, value in values.items():
            ground = eqx.tree_at(_leaves(ground, name), ground, _replacements(ground, name, value))
        return ground

    def checked(self, values: Mapping[str, float]) -> dict[str, float]:
        """Parameters that somebody chose; OptionError if they do not vary here."""
        for name, value in values.items():
            if name not in self.ranges:
                raise OptionError(
                    f"{unknown_name('parameter of the ground', name, self.ranges)}; to choose it, let it vary when the "
                    "environment is made"
                )
            _checked(name, value)
        return {name: float(value) for name, value in values.items()}

    def _is_factor(self, name: str) -> bool:
        return name not in OF_PLANES and self.ranges[name][0] > 0

    def _check_name(self, name: str) -> None:
        known = [*(OF_PLANES if isinstance(self.ground.surface, Plane) else ()), *_numbers_of(self.ground.medium)]
        if name not in known:
            raise OptionError(unknown_name("parameter of the ground", name, known))


def _numbers_of(medium: Medium) -> list[str]:
    own = [
        name for name, value in vars(medium).items() if isinstance(value, np.ndarray | jax.Array) and not np.ndim(value)
    ]
    return [*own, *(["strength"] if "strength" not in own and isinstance(medium, ViscoElastic) else [])]


def _leaves(ground: Ground, name: str):
    if name in OF_PLANES:
        return lambda one: getattr(one.surface, name)
    if hasattr(ground.medium, name):
        return lambda one: getattr(one.medium, name)
    return lambda one: (one.medium.stiffness, one.medium.damping)  # springs: strength is a factor on both


def _replacements(ground: Ground, name: str, value: Array) -> Any:
    medium: Any = ground.medium
    if name in OF_PLANES or hasattr(medium, name):
        return value
    return medium.stiffness * value, medium.damping * value


def _checked(name: str, given: Any) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in (given if np.ndim(given) else (given, given)))
    except (TypeError, ValueError) as error:
        raise OptionError(f"{name} of the ground must be a number or two, got {given!r}") from error
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise OptionError(f"{name} of the ground must lie between two finite numbers, low first, got {given!r}")
    if name not in OF_PLANES and low < 0:
        raise OptionError(f"{name} of the ground must not be negative, got {given!r}")
    return low, high


def _as_ground(ground: str | Medium | Ground, robot: Robot | None) -> Ground:
    if isinstance(ground, Ground):
        return ground
    if isinstance(ground, Medium):
        return Ground(ground)
    medium: Any = medium_of(ground, robot)
    if jnp.zeros(()).dtype == jnp.float32 and hasattr(medium, "eps"):
        medium = eqx.tree_at(lambda one: one.eps, medium, np.asarray(EPS_SINGLE))
    return Ground(medium)
