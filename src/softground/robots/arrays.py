"""The arrays this layer takes: parameters are NumPy arrays as loaded, JAX arrays once traced or replaced."""

import jax
import numpy as np

Array = jax.Array | np.ndarray
