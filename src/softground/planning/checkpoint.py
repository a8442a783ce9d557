"""The state of a long solve on disk, from which it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from softground.errors import FileFormatError
from softground.planning.layout import Layout
from softground.whole_file import write_whole

VERSION = 1


class Checkpoint(NamedTuple):
    """A point within a stage. Going on restarts the stage's optimiser there, with its multipliers."""

    stage: int
    iteration: int  # within the stage
    z: np.ndarray
    multipliers: np.ndarray
    layout: tuple[int, ...]

    def save(self, path: Path) -> None:
        """Write whole, without pickle."""
        fields: dict = {name: np.asarray(value) for name, value in self._asdict().items()}
        write_whole(path, lambda file: np.savez(file, version=VERSION, **fields))

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        try:
            with np.load(path, allow_pickle=False) as stored:
                if int(stored["version"]) != VERSION:
                    raise FileFormatError(f"{path} has version {stored['version']}, this softground reads {VERSION}")
                fields = {name: stored[name] for name in cls._fields}
        except (OSError, KeyError, ValueError, EOFError) as error:
            raise FileFormatError(f"{path} is not a state of a solve, or damaged: remove it to start again") from error
        layout = tuple(int(size) for size in fields["layout"])
        return cls(int(fields["stage"]), int(fields["iteration"]), fields["z"], fields["multipliers"], layout)

    def check(self, layout: Layout, path: Path) -> None:
        """FileFormatError where the state belongs to another problem."""
        if self.layout != tuple(layout):
            raise FileFormatError(
                f"{path} is the state of another problem (sizes {self.layout}, here {tuple(layout)}): remove it, "
                "or give the problem and the stages with which it began"
            )
