"""Prints that are felt, drawn: the ground as the simulator's own memory of it has it."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from softground.bridges.viewer.footprints import Footprints
from softground.bridges.viewer.ground_sheet import GroundSheet
from softground.media.base import FootInGround
from softground.robots import Shape
from softground.terrain import Footprints as FeltFootprints
from softground.terrain.footprints import Felt
from softground.terrain.window import Window, heights_at


class TruePrints(Footprints):
    """All prints on a sheet, made by the model with which the ground remembered them.

    A run keeps where the feet were, and how the ground takes prints: from these its memory is made again, with the
    samples of the run in place of its steps.
    """

    def __init__(self, sheet: GroundSheet, model: FeltFootprints, shapes: Sequence[Shape]):
        super().__init__(sheet)
        self.reach = model.reach(shapes)
        self.model = model
        self._window: Window = model.fresh(shapes, jnp.float32).window
        self._felt: Felt | None = None
        self._trodden = jax.jit(lambda window, felt, feet: model.trodden(window, felt, feet, shapes))

    def tread(self, frame: int, feet: FootInGround) -> None:
        """Let feet (leading axis) be on the ground at a frame."""
        feet = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), feet)
        felt = Felt.fresh(feet) if self._felt is None else self._felt
        if not self.model.acts(felt, feet).any():
            return
        self._window, self._felt = self._trodden(self._window, felt, feet)
        near = {tile for place in np.asarray(feet.position) for tile in self.sheet.tiles_within(place, self.reach)}
        for tile in near:
            vertices, _ = self.sheet.tile(tile)
            height = heights_at(self._window, vertices[:, :2] / self.model.cell)
            self._keep(tile, frame, -height.astype(np.float32))
