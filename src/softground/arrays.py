"""What annotations mean by an array: parameters are NumPy arrays as loaded, JAX arrays once traced."""

import jax
import numpy as np
from jax.core import Tracer

Array = jax.Array | np.ndarray


def as_float(value) -> Array:
    """Parameters as arrays of floats: of NumPy unless they are traced."""
    return value if isinstance(value, jax.Array) else np.asarray(value, dtype=float)


def is_known(value) -> bool:
    """Whether a number can be looked at; one that is being traced cannot, and checks pass it by."""
    return not isinstance(value, Tracer)
