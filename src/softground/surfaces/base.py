"""The one interface between the ground's shape and everything that stands on it."""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import SurfaceError, unknown_name

SURFACE_TYPES: dict[str, type["Surface"]] = {}
"""Every surface by the `type` of its recipe; a subclass that sets `type_name` enters by itself."""


@jax.jit
def minimal_rotation(normal: Float[Array, "3"]) -> Float[Array, "3 3"]:
    """R_bar(n), the rotation of least angle with R_bar e_z = n (zhu2021, III.B.2).

    Rodrigues' formula about e_z x n, which with c = n_z collapses to

        R_bar = I + [e_z x n]_x + [e_z x n]_x^2 / (1 + c)

    and holds no angle, hence no singularity at n = e_z. It is smooth except at n = -e_z (ground seen from
    below), where no least rotation exists; there the denominator is floored, so the result stays finite
    but is not a rotation.
    """
    x, y, z = normal
    inverse = 1.0 / jnp.maximum(1.0 + z, 1e-6)
    xy = -x * y * inverse
    return jnp.stack([1.0 - x * x * inverse, xy, x, xy, 1.0 - y * y * inverse, y, -x, -y, z]).reshape(3, 3)


class Surface(eqx.Module):
    """A ground surface in the world frame: z up, metres.

    A subclass writes `signed_distance`, `_parameters` (what rebuilds it) and `type_name`. Everything is
    pure, and jit-able, vmap-able and twice differentiable in the point. The result has the dtype of the
    point, so that a float32 simulation stays in float32 whatever the surface was built in.
    """

    type_name: ClassVar[str]

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "type_name" in cls.__dict__:
            SURFACE_TYPES[cls.type_name] = cls

    @abc.abstractmethod
    def signed_distance(self, point: Float[Array, "3"]) -> Float[Array, ""]:
        """Distance [m] from the point (world, m) to the surface, positive above the ground."""

    def normal(self, point: Float[Array, "3"]) -> Float[Array, "3"]:
        """Unit outward normal (world), grad d / |grad d| (zhu2021, III.B.2).

        Where the gradient vanishes (points with several closest points) it is e_z.
        """
        gradient = jax.grad(self.signed_distance)(point)
        squared = gradient @ gradient
        vanishes = squared < 1e-12
        # Two selections: the square root of the branch not taken must have a finite derivative too.
        scale = 1.0 / jnp.sqrt(jnp.where(vanishes, 1.0, squared))
        return jnp.where(vanishes, jnp.array([0.0, 0.0, 1.0], point.dtype), gradient * scale)

    def frame(self, point: Float[Array, "3"]) -> Float[Array, "3 3"]:
        """R_bar: from the ground frame at the point to the world; columns tangent x, tangent y, normal."""
        return minimal_rotation(self.normal(point))

    def height(self, xy: Float[Array, "2"]) -> Float[Array, ""]:
        """z [m] of the highest ground over (x, y), NaN where there is none.

        For drawing and for placing robots, not for the inner loop: the column is scanned from above at
        `_column_heights`, the first crossing bisected, and one Newton step makes it differentiable in xy.
        """

        def above(z):
            return self.signed_distance(jnp.stack([xy[0], xy[1], z]))

        column = self._column_heights().astype(xy.dtype)
        distances = jax.vmap(above)(column)
        enters = (distances[:-1] > 0) & (distances[1:] <= 0)
        first = jnp.argmax(enters)

        def halve(_, bracket):
            high, low = bracket
            middle = 0.5 * (high + low)
            free = above(middle) > 0
            return jnp.where(free, middle, high), jnp.where(free, low, middle)

        high, low = jax.lax.fori_loop(0, 50, halve, (column[first], column[first + 1]))
        z = jax.lax.stop_gradient(0.5 * (high + low))
        slope = jax.lax.stop_gradient(jax.grad(above)(z))
        step = above(z) / jnp.where(jnp.abs(slope) < 1e-3, 1.0, slope)
        return jnp.where(jnp.any(enters), z - step, jnp.nan)

    def _column_heights(self) -> Float[Array, " n"]:
        """Descending z [m] where `height` looks for the first crossing."""
        return jnp.linspace(10.0, -10.0, 401)

    @abc.abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """Constructor arguments that rebuild the surface: numbers, lists, strings, or numpy arrays."""

    @classmethod
    def _build(cls, parameters: dict[str, Any]) -> "Surface":
        return cls(**parameters)

    def to_dict(self) -> dict[str, Any]:
        """The recipe: `{"type": ..., parameter: value}`. JSON-able but for numpy arrays of sampled ground."""
        return {"type": self.type_name, **self._parameters()}

    @classmethod
    def from_dict(cls, recipe: Mapping[str, Any]) -> "Surface":
        """The surface of a recipe. `Surface.from_dict` takes any type, `Plane.from_dict` only planes."""
        parameters = dict(recipe)
        name = parameters.pop("type", None)
        known = {key: kind for key, kind in SURFACE_TYPES.items() if issubclass(kind, cls)}
        if name not in known:
            raise SurfaceError(unknown_name("surface type in recipe", str(name), known))
        try:
            return known[name]._build(parameters)
        except (TypeError, KeyError) as error:
            raise SurfaceError(
                f"recipe of surface {name!r} has wrong parameters ({error}): got {sorted(parameters)}; "
                f"write recipes with to_dict()"
            ) from error
