"""The measured sand of zhu2019: force and torque on a cylindrical foot moved in 26 directions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from softground.experiments.database import WrenchDatabase
from softground.experiments.database_file import from_zhu2019
from softground.media.base import Medium
from softground.validation.base import Measurements
from softground.validation.steady import steady_wrenches


@dataclass(frozen=True)
class SandWrenches(Measurements):
    """Rows of a planar wrench database, those at the surface left out."""

    name: ClassVar[str] = "sand"
    columns: ClassVar[tuple[str, ...]] = ("forward_n", "vertical_n", "torque_nm")
    worth: ClassVar[tuple[float, ...]] = (10.0, 20.0, 1.5)  # N, N, N m

    database: WrenchDatabase
    which: np.ndarray  # rows of it

    @classmethod
    def read(cls, path: str | Path) -> SandWrenches:
        """Of the plain table published with zhu2019."""
        database = from_zhu2019(path)
        return cls(database, np.flatnonzero(database.depth > 0))

    @property
    def measured(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.database.wrench[self.which]

    def rows(self, which: np.ndarray) -> SandWrenches:
        return replace(self, which=self.which[which])

    def halves(self) -> tuple[SandWrenches, SandWrenches]:
        """Every other pose."""
        poses = np.unique(self.database.poses()[self.which], axis=0, return_inverse=True)[1]
        return self.rows(poses % 2 == 0), self.rows(poses % 2 == 1)

    def predict(self, medium: Medium) -> np.ndarray:
        data, which = self.database, self.which
        tilt, twist = data.tilt[which], np.zeros((len(which), 6))
        twist[:, [0, 2, 4]] = data.twist[which]
        cos, sin, none = np.cos(tilt), np.sin(tilt), np.zeros(len(tilt))
        rotation = np.moveaxis(np.array([[cos, none, sin], [none, none + 1, none], [-sin, none, cos]]), -1, 0)
        wrench = steady_wrenches(medium, data.foot, True, data.depth[which], rotation, twist)
        reference = data.reference_height * rotation[:, :, 2]
        torque = wrench[:, 4] - (reference[:, 2] * wrench[:, 0] - reference[:, 0] * wrench[:, 2])
        return np.c_[wrench[:, 0], wrench[:, 2], torque]
