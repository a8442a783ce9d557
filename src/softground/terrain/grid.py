"""Numbers on a grid: maps of the ground."""

from __future__ import annotations

from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array, as_float, is_known
from softground.errors import MediumError
from softground.media.parameters import check_positive
from softground.media.visco_elastic import Field
from softground.terrain.areas import Area


class GridField(Field):
    """A number for every place, linear between values[i, j] at (x_0 + i cell, y_0 + j cell); beyond, those of the edge.

    >>> from softground import terrain
    >>> strength = terrain.GridField([[1.0, 1.0], [3.0, 3.0]], cell=0.5)  # m
    >>> float(strength(np.array([0.25, 0.0, 0.0])))
    2.0
    """

    values: Float[Array, "nx ny"] = eqx.field(converter=as_float)  # in the units of what they are of
    cell: Float[Array, ""] = eqx.field(converter=as_float)  # m
    origin: Float[Array, "2"] = eqx.field(converter=as_float, default=(0.0, 0.0))  # m, of values[0, 0]

    def __check_init__(self):
        check_positive("cell of a grid", self.cell)
        if np.ndim(self.values) != 2 or min(np.shape(self.values)) < 2:
            raise MediumError(f"a grid needs at least 2 x 2 values, got shape {np.shape(self.values)}")
        if is_known(self.values) and not np.isfinite(self.values).all():
            raise MediumError("values of a grid must be finite")

    def __call__(self, position: Float[Array, "3"]) -> Float[Array, ""]:
        last = np.array(np.shape(self.values)) - 1
        place = jnp.clip((position[:2] - self.origin) / self.cell, 0.0, last.astype(position.dtype))
        corner = jnp.minimum(jnp.floor(place).astype(jnp.int32), (last - 1).astype(np.int32))
        fraction = place - corner
        table = jnp.asarray(self.values).astype(position.dtype).reshape(-1)
        columns = int(last[1]) + 1
        first = corner[0] * columns + corner[1]
        near, far = ((1 - fraction[1]) * table[at] + fraction[1] * table[at + 1] for at in (first, first + columns))
        return (1 - fraction[0]) * near + fraction[0] * far


class OnGrid(Area):
    """The area of a map: the share at its cells, linear between their middles."""

    share: GridField

    def __call__(self, position: Float[Array, "3"]) -> Float[Array, ""]:
        return self.share(position)


def areas_of_map(indices, cell: float, origin=(0.0, 0.0)) -> list[Area]:
    """The areas of 0, 1, 2, ... in a map: indices[i, j] is of the square of side `cell` (m) about origin + (i, j) cell.

    Their shares are 1 in the middle of a cell and linear between middles, and sum to 1 everywhere.
    """
    try:
        indices = np.asarray(indices)
    except ValueError:
        raise MediumError("the rows of a map must be of one length") from None
    if indices.ndim != 2 or indices.dtype.kind not in "iub" or indices.size == 0 or indices.min() < 0:
        raise MediumError(f"a map holds indices 0, 1, 2, ... in rows and columns, got {indices.dtype} {indices.shape}")
    return [OnGrid(GridField((indices == one).astype(float), cell, origin)) for one in range(int(indices.max()) + 1)]


def read_map(path: str | Path) -> np.ndarray:
    """Indices from a .npy file, or a .csv of whole numbers: one line for each x, along it y."""
    path = Path(path)
    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if path.suffix == ".csv":
            return np.loadtxt(path, delimiter=",", ndmin=2, dtype=int)
    except (OSError, EOFError) as error:
        raise MediumError(f"the map {path} cannot be read: {error}") from error
    except ValueError as error:
        what, *_ = str(error).split(";")
        raise MediumError(f"the map {path} must hold whole numbers from 0 on, as many in every line: {what}") from error
    raise MediumError(f"a map must be a .npy or .csv file of indices, got {path.name!r}")
