"""What annotations mean by an array: parameters are NumPy arrays as loaded, JAX arrays once traced."""

import jax
import numpy as np

Array = jax.Array | np.ndarray
