"""What a surface refuses to be built from. Traced values pass: they are not known yet."""

import numpy as np
from jax.core import Tracer
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import SurfaceError


def finite(where: str, value, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
    """The value as a float array of the given shape; raises unless it is numeric and finite."""
    if isinstance(value, Tracer):
        return value
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise SurfaceError(f"{where} must be numeric, got {value!r}") from None
    if array.shape != shape:
        wanted = "one number" if shape == () else f"an array of shape {shape}"
        raise SurfaceError(f"{where} must be {wanted}, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise SurfaceError(f"{where} must be finite, got {value!r}")
    return array


def positive(where: str, value, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
    """As `finite`, and greater than zero."""
    array = finite(where, value, shape)
    if not isinstance(array, Tracer) and not (np.asarray(array) > 0).all():
        raise SurfaceError(f"{where} must be positive, got {value!r}")
    return array


def slope_angle(where: str, value) -> Float[Array, ""]:
    """As `finite`, an angle [rad] short of the vertical."""
    array = finite(where, value)
    if not isinstance(array, Tracer) and not abs(float(array)) < np.pi / 2:
        raise SurfaceError(
            f"{where} must lie between -pi/2 and pi/2 rad, got {float(array):g}; "
            f"angles are in radians (numpy.deg2rad converts)"
        )
    return array


def samples(where: str, values, dimensions: int) -> Float[np.ndarray, "..."]:
    """Grid samples as a float64 numpy array: finite, at least 4 nodes along each axis (a cubic needs 4)."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise SurfaceError(f"{where} must be a rectangular array of numbers") from None
    if array.ndim != dimensions or min(array.shape) < 4:
        raise SurfaceError(
            f"{where} must have {dimensions} dimensions with at least 4 nodes each, got shape {array.shape}"
        )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise SurfaceError(
            f"{where} must be finite, got {len(bad)} NaN or infinite values, the first at index "
            f"{tuple(int(i) for i in bad[0])}; fill holes before building the surface"
        )
    return array
