"""Table I of the paper: what its gaits achieved, and how long they took."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """A column of Table I."""

    velocity_error: float  # Mv, m/s
    cost: float  # Mc, 1/s
    hours: float  # on 20 cores


SLOPES: dict[float, Printed | None] = {
    -20.0: None,
    -17.5: None,
    -15.0: Printed(0.040, 73.2, 8.2),
    -12.5: Printed(0.046, 48.1, 3.9),
    -10.0: Printed(0.0044, 29.2, 1.1),
    -7.5: Printed(0.014, 21.5, 0.36),
    -5.0: Printed(0.0013, 12.6, 0.58),
    -2.5: Printed(0.0056, 7.58, 0.90),
    0.0: Printed(0.0010, 14.6, 0.50),
    2.5: Printed(0.0023, 12.5, 2.52),
    5.0: Printed(0.013, 14.8, 0.25),
    7.5: Printed(0.0012, 14.0, 0.48),
    10.0: Printed(0.013, 17.6, 0.57),
    12.5: Printed(0.0031, 24.5, 1.03),
    15.0: Printed(0.036, 25.4, 0.55),
    17.5: Printed(0.0054, 27.6, 1.17),
    20.0: Printed(0.29, 97.3, 1.1),
}
"""By slope (degrees, positive uphill); None where the paper's solver failed."""
WAVY = Printed(0.010, 26.73, 0.51)
TRACKED_ON_TEN_DEGREES = Printed(0.22, 35.2, float("nan"))
"""The flat gait, tracked on 10 degrees: not optimised there."""
