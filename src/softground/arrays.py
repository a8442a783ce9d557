"""What annotations mean by an array: parameters are NumPy arrays as loaded, JAX arrays once traced."""

import jax
import numpy as np

Array = jax.Array | np.ndarray


def as_float(value) -> Array:
    """Parameters as arrays of floats: of NumPy unless they are traced."""
    return value if isinstance(value, jax.Array) else np.asarray(value, dtype=float)
