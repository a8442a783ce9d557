"""Calibration: a few parameters of a medium, such that it comes closest to measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from softground.errors import MediumError
from softground.media.base import Medium
from softground.validation.base import Measurements

FAR = 10.0
"""Where the logarithms are shifted to for differences."""


@dataclass(frozen=True)
class Calibration:
    """A medium with fitted parameters, and how well they fit: rms of `Measurements.residuals`, dimensionless."""

    medium: Medium
    fitted: dict[str, float]  # in the units of the medium's parameters
    residual: float  # rms, dimensionless
    evaluations: int


def calibrate(
    medium: Medium, measurements: Measurements | Sequence[Measurements], parameters: Sequence[str] = ("strength",)
) -> Calibration:
    """Fit parameters of a medium, by name, to measurements: least squares of errors over what they are worth.

    The logarithms of the parameters are fitted, from where they are, so that they stay positive; far errors count less
    than by their square (`soft_l1`). Judge the outcome on other measurements (`Measurements.halves`).

    >>> import softground as sg
    >>> def fitted_to_half(wheel: "sg.validation.Wheel") -> float:  # mean error of the sinkage in the other half, mm
    ...     half, rest = wheel.halves()
    ...     found = sg.calibrate(sg.media.Elements(length=0.007), half, ["scale", "level", "vertical"])
    ...     return float(rest.errors(found.medium)[0])
    """
    from scipy.optimize import least_squares

    several = [measurements] if isinstance(measurements, Measurements) else list(measurements)
    start = {name: getattr(medium, name, None) for name in parameters}
    for name, value in start.items():
        if value is None or np.ndim(value) or not float(value) > 0:
            raise MediumError(f"{name} of {type(medium).__name__} cannot be fitted: it must be a positive number now")

    def with_values(logarithms: np.ndarray) -> Medium:
        return replace(medium, **dict(zip(parameters, np.exp(logarithms), strict=True)))

    def residuals(logarithms: np.ndarray) -> np.ndarray:
        return np.concatenate([one.residuals(with_values(logarithms)) for one in several])

    first = np.log([float(value) for value in start.values()])  # pyright: ignore[reportArgumentType]
    # Steps of differences are relative to the unknowns, which must therefore not be near zero: 2 % of each parameter.
    found = least_squares(
        lambda x: residuals(first + x - FAR),
        np.full(len(first), FAR),
        loss="soft_l1",
        diff_step=0.02 / FAR,
        max_nfev=40,
    )
    logarithms = first + found.x - FAR
    values = dict(zip(parameters, map(float, np.exp(logarithms)), strict=True))
    rms = float(np.sqrt(np.mean(residuals(logarithms) ** 2)))
    return Calibration(with_values(logarithms), values, rms, int(found.nfev))
