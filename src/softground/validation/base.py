"""What all measurements have in common: what was found, what a medium says of it, and halves that do not overlap."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from softground.errors import FileFormatError
from softground.media.base import Medium


class Measurements:
    """Base class: conditions in rows, measured numbers in columns; `predict` gives what a medium has in their place."""

    #: public name, in reports
    name: ClassVar[str] = ""
    #: what the columns are, with units
    columns: ClassVar[tuple[str, ...]] = ()
    worth: ClassVar[tuple[float, ...]] = ()  # errors that count the same in a fit, in the units of the columns

    measured: np.ndarray  # (condition, column)

    def predict(self, medium: Medium) -> np.ndarray:
        """What a medium gives for every condition (condition, column)."""
        raise NotImplementedError

    def rows(self, which: np.ndarray) -> Measurements:
        """Some of the conditions."""
        raise NotImplementedError

    def spread(self) -> np.ndarray:
        """Standard deviation between repeats, pooled over conditions (column,); nan where nothing was repeated."""
        return np.full(len(self.columns), np.nan)

    def __len__(self) -> int:
        return len(self.measured)

    def halves(self) -> tuple[Measurements, Measurements]:
        """Every other condition, and the rest: to fit on one and judge on the other."""
        odd = np.arange(len(self)) % 2 == 1
        return self.rows(~odd), self.rows(odd)

    def residuals(self, medium: Medium) -> np.ndarray:
        """Errors over what they are worth, dimensionless."""
        return ((self.predict(medium) - self.measured) / np.array(self.worth)).ravel()

    def errors(self, medium: Medium) -> np.ndarray:
        """Mean absolute errors (column,)."""
        return np.abs(self.predict(medium) - self.measured).mean(0)


def read_csv(path: Path, numbers: list[str], words: list[str]) -> dict[str, np.ndarray]:
    """Columns of a table by name; FileFormatError names what is missing or not a number."""
    import csv

    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    lacking = [name for name in numbers + words if not rows or name not in rows[0]]
    if lacking:
        raise FileFormatError(f"{path} lacks {', '.join(lacking)}: its columns must be {', '.join(numbers + words)}")
    found = {name: np.array([row[name] for row in rows]) for name in words}
    for name in numbers:
        try:
            found[name] = np.array([float(row[name]) for row in rows])
        except (TypeError, ValueError) as error:
            raise FileFormatError(f"{path}: {name} must be numbers: {error}") from None
        if not np.isfinite(found[name]).all():
            line = int(np.flatnonzero(~np.isfinite(found[name]))[0]) + 2
            raise FileFormatError(f"{path}, line {line}: {name} must be finite")
    return found
