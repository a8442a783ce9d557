"""Ground whose stiffness or damping changes from place to place."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array, as_float, is_known
from softground.errors import MediumError
from softground.media.parameters import check_not_negative, check_positive


class Field(eqx.Module):
    """A positive number for every place. Its parameters are leaves: differentiable, and kept in run files."""

    def __call__(self, position: Float[Array, "3"]) -> Float[Array, ""]:
        """The value at a position in the world, m."""
        raise NotImplementedError


class Stretches(Field):
    """Piecewise constant along the world's x axis: values[i] before edges[i], the last one from the last edge on."""

    edges: Float[Array, " n"] = eqx.field(converter=as_float)  # m, increasing
    values: Float[Array, " n+1"] = eqx.field(converter=as_float)  # in the units of the coefficient that they are of

    def __check_init__(self):
        if not (is_known(self.edges) and is_known(self.values)):
            return
        edges, values = np.asarray(self.edges), np.asarray(self.values)
        if edges.ndim != 1 or values.shape != (edges.size + 1,):
            raise MediumError(
                "stretches need a list of edges and one value more, "
                f"got edges of shape {edges.shape} and values of shape {values.shape}"
            )
        if not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            raise MediumError(f"edges of stretches must be finite and increasing, got {edges.tolist()}")
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise MediumError(f"values of stretches must be positive and finite, got {values.tolist()}")

    def __call__(self, position: Float[Array, "3"]) -> Float[Array, ""]:
        return jnp.asarray(self.values)[(position[0] >= self.edges).sum()]


Coefficient = Array | Field
"""A number that holds everywhere (a scalar array), or a field."""


def as_coefficient(value) -> Any:
    """Numbers as arrays; fields, and what `check_coefficient` will refuse, as they are."""
    return value if callable(value) else as_float(value)


def check_coefficient(coefficient: Coefficient, label: str) -> None:
    """Raise unless it is a positive number, or a field that is nowhere negative, as far as it says what it holds."""
    if isinstance(coefficient, Field):
        check_not_negative(f"{label} of the ground, a field, everywhere", getattr(coefficient, "values", 0.0))
        return
    if callable(coefficient):
        raise MediumError(
            f"{label} of the ground must be a positive number or a media.visco_elastic.Field, got {coefficient!r}"
        )
    if is_known(coefficient) and np.ndim(coefficient):
        raise MediumError(f"{label} of the ground must be one number or a field, got {np.asarray(coefficient)}")
    check_positive(f"{label} of the ground", coefficient)


def value_at(coefficient: Coefficient, position: Float[Array, "3"]) -> Float[Array, ""]:
    """What a coefficient is at a position in the world."""
    return coefficient(position) if isinstance(coefficient, Field) else coefficient
