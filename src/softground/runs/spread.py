"""Numbers of several runs as intervals: what a result may be when something about the ground is not known better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

BAND = 0.9
"""Share of the values inside an interval."""


@dataclass(frozen=True)
class Spread:
    """The middle of some values, and an interval that holds `BAND` of them."""

    middle: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.middle:.4g} ({self.low:.4g} to {self.high:.4g})"


def spread_of(values: Sequence[float]) -> Spread:
    """Median and interval of values; NaN where one of them is not finite: nothing is left out."""
    low, middle, high = np.quantile(np.asarray(values, dtype=float), [(1 - BAND) / 2, 0.5, (1 + BAND) / 2])
    return Spread(float(middle), float(low), float(high))


def spreads(rows: Sequence[Mapping[str, object]]) -> dict[str, Spread]:
    """Spreads of what is a number in every row, truth values included: their share is not told, 1 is true."""
    names = [name for name in rows[0] if all(isinstance(row.get(name), int | float) for row in rows)]
    return {name: spread_of([float(row[name]) for row in rows]) for name in names}  # pyright: ignore[reportArgumentType]
