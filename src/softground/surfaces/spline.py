"""Uniform tensor-product cubic B-splines: twice continuously differentiable ground from samples."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from softground.arrays import Array
from softground.surfaces import checks


class CubicSpline(eqx.Module):
    """f(p) = sum_ijk c_ijk B((x - x_0)/dx - i) B(...) B(...) through samples on a uniform grid (2 or 3 axes).

    Inside the grid it is the not-a-knot interpolant (the one of `scipy.interpolate.RectBivariateSpline`).
    Outside, the outermost coefficient repeats: f goes over into a constant along that axis within two
    spacings, and is C2 there too.
    """

    coefficients: Float[Array, "..."]
    """One per node and one ghost node on either side of each axis; unit of the samples."""
    origin: Float[Array, " axes"]
    """Position of the first sample [m], world."""
    spacing: Float[Array, " axes"]
    """Distance between samples [m]."""

    def __init__(self, coefficients, origin, spacing):
        axes = np.ndim(coefficients)
        self.coefficients = jnp.asarray(checks.samples("spline coefficients", coefficients, axes), dtype=float)
        self.origin = checks.finite("spline origin", origin, (axes,))
        self.spacing = checks.positive("spline spacing", spacing, (axes,))

    @classmethod
    def through(cls, samples: Float[np.ndarray, "..."], origin, spacing) -> "CubicSpline":
        """The spline that takes the values `samples` at origin + index * spacing."""
        for axis in range(np.ndim(samples)):
            samples = _interpolation_coefficients(samples, axis)
        return cls(samples, origin, spacing)

    def value(self, point: Float[Array, " axes"]) -> Float[Array, ""]:
        """f at the point (world, m)."""
        cell, fraction, _ = self._locate(point)
        result = self._stencil(cell, point.dtype)
        for axis in reversed(range(point.shape[0])):
            result = result @ _weights(fraction[axis])
        return result

    def jet(self, xy: Float[Array, "2"]) -> tuple[Float[Array, ""], Float[Array, "2"], Float[Array, "2 2"]]:
        """f, its gradient and its Hessian at (x, y) [m], of a spline in two axes."""
        cell, fraction, spacing = self._locate(xy)
        stencil = self._stencil(cell, xy.dtype)
        x, y = (
            jnp.stack([_weights(f), _slopes(f) / d, _bends(f) / d**2]) for f, d in zip(fraction, spacing, strict=True)
        )
        table = x @ stencil @ y.T  # table[i, j] = d^(i+j) f / dx^i dy^j
        return (
            table[0, 0],
            jnp.stack([table[1, 0], table[0, 1]]),
            jnp.stack([table[2, 0], table[1, 1], table[1, 1], table[0, 2]]).reshape(2, 2),
        )

    def recipe(self) -> dict[str, Any]:
        """Constructor arguments: arrays as numpy, the rest as lists."""
        return {
            "coefficients": np.asarray(self.coefficients),
            "origin": np.asarray(self.origin).tolist(),
            "spacing": np.asarray(self.spacing).tolist(),
        }

    def _locate(
        self, point: Float[Array, " axes"]
    ) -> tuple[Int[Array, " axes"], Float[Array, " axes"], Float[Array, " axes"]]:
        """Cell index, position within the cell in [0, 1), and spacing."""
        spacing = self.spacing.astype(point.dtype)
        u = (point - self.origin.astype(point.dtype)) / spacing
        cell = jnp.floor(u)
        # Clipped while still a float: far points would overflow the integer.
        inside = jnp.clip(cell, -4.0, jnp.asarray(self.coefficients.shape, point.dtype) + 2.0)
        return inside.astype(jnp.int32), u - cell, spacing

    def _stencil(self, cell: Int[Array, " axes"], dtype) -> Float[Array, "..."]:
        """The 4 coefficients along each axis that act in the cell; clipping repeats the outermost one."""
        shape = self.coefficients.shape
        # Coefficient i belongs to node i - 1 (one ghost node), and the cell needs nodes cell-1 ... cell+2.
        index = [jnp.clip(cell[a] + jnp.arange(4), 0, shape[a] - 1) for a in range(len(shape))]
        stencil = jnp.asarray(self.coefficients).at[jnp.ix_(*index)].get(mode="promise_in_bounds")
        return stencil.astype(dtype)


def _interpolation_coefficients(samples: Float[np.ndarray, "..."], axis: int) -> Float[np.ndarray, "..."]:
    """B-spline coefficients along one axis (two longer): interpolation at the nodes, not-a-knot ends.

    (c[i-1] + 4 c[i] + c[i+1]) / 6 = samples[i]; the ends ask for an equal third derivative in the first
    two and the last two cells: a fourth difference of zero.
    """
    values = np.moveaxis(np.asarray(samples, dtype=np.float64), axis, 0)
    n = len(values)
    matrix = np.zeros((9, n + 2))  # scipy's banded storage: matrix[4 + row - column, column]
    matrix[3, 2:] = matrix[5, :n] = 1.0 / 6.0
    matrix[4, 1 : n + 1] = 4.0 / 6.0
    for column, weight in enumerate((1.0, -4.0, 6.0, -4.0, 1.0)):
        matrix[4 - column, column] = weight
        matrix[4 + column, n + 1 - column] = weight
    right = np.zeros((n + 2, values[0].size))
    right[1:-1] = values.reshape(n, -1)
    from scipy.linalg import solve_banded  # takes a while, and most ground is flat

    solution = solve_banded((4, 4), matrix, right, overwrite_b=True)
    return np.moveaxis(solution.reshape(n + 2, *values.shape[1:]), 0, axis)


def _weights(f: Float[Array, ""]) -> Float[Array, "4"]:
    """The four cubic B-splines that act at position f of a cell."""
    g = 1.0 - f
    return jnp.stack([g**3, 4.0 - 6.0 * f**2 + 3.0 * f**3, 4.0 - 6.0 * g**2 + 3.0 * g**3, f**3]) / 6.0


def _slopes(f: Float[Array, ""]) -> Float[Array, "4"]:
    """First derivatives of `_weights`."""
    g = 1.0 - f
    return jnp.stack([-(g**2), f * (3.0 * f - 4.0), g * (4.0 - 3.0 * g), f**2]) / 2.0


def _bends(f: Float[Array, ""]) -> Float[Array, "4"]:
    """Second derivatives of `_weights`."""
    g = 1.0 - f
    return jnp.stack([g, 3.0 * f - 2.0, 3.0 * g - 2.0, f])
