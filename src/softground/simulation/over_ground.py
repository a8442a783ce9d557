"""Where a run is over its ground: distances from the surface, and the surface's normal there."""

from __future__ import annotations

import jax
import numpy as np
import xarray as xr
from jaxtyping import Float

from softground.simulation.run_file import surface_of


def height_over_ground(dataset: xr.Dataset, of: str = "center_of_mass") -> Float[np.ndarray, " t"]:
    """Distance (m) of the centre of mass, or of another point of the run, from the surface, whatever its slope."""
    return np.asarray(jax.vmap(surface_of(dataset).signed_distance)(dataset[of].values))


def ground_normal(dataset: xr.Dataset) -> Float[np.ndarray, "t 3"]:
    """Unit normal (world) of the surface at the centre of mass."""
    return np.asarray(jax.vmap(surface_of(dataset).normal)(dataset["center_of_mass"].values))
