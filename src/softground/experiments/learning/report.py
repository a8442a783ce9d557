"""Learning in one call: compare the methods, keep the best, and say how sure it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from softground.errors import OptionError, unknown_name
from softground.experiments.database import MIRRORED, WrenchDatabase
from softground.experiments.learning.base import Method
from softground.experiments.learning.compression import compressed
from softground.experiments.learning.ensemble import LEAST, Trust, beds_of, ensemble, mean_bed, trust
from softground.experiments.learning.grid import Grid, orbits
from softground.experiments.learning.kernel_methods import GaussianProcess, Radial, SupportVectors
from softground.experiments.learning.physics import Physics
from softground.experiments.learning.validation import (
    Suggestion,
    cross_validated,
    folds,
    leave_one_out,
    noise_estimate,
    plan,
)
from softground.media.ensemble import Ensemble
from softground.media.learned import LearnedSpace

#: The RBF of zhu2019: for comparison only, not being symmetric.
PUBLISHED = Radial("thin_plate", mirrored=False)
#: Every method that is compared.
METHODS: tuple[Method, ...] = (
    PUBLISHED,
    Radial("thin_plate"),
    Radial("cubic"),
    Radial("multiquadric"),
    Radial("inverse_multiquadric"),
    Radial("gaussian"),
    GaussianProcess(),
    SupportVectors(),
    Physics(),
)
#: What --method takes: the name of a method, or the best of all.
CHOICES = ("auto", "rbf", "gp", "svr", "physics")


@dataclass(frozen=True)
class Errors:
    """Cross-validated normalised errors of a method."""

    five_fold: float
    leave_one_out: float  # a whole configuration at a time
    seconds: float


@dataclass(frozen=True)
class Learned:
    """A learned medium and what is known of it."""

    medium: LearnedSpace
    ensemble: Ensemble | None  # the medium and by what it may be wrong; None if the data are too few to tell
    trust: Trust | None
    method: str  # label of the method that was kept
    errors: dict[str, Errors]  # by label
    noise: dict[str, float] | None  # share of the size of the wrenches
    next: list[Suggestion]
    configurations: int

    def summary(self) -> dict[str, Any]:
        """JSON values: the contract of `softground learn --json`."""
        return {
            "method": self.method,
            "configurations": self.configurations,
            "directions": self.medium.coefficients.shape[1],
            "features": self.medium.coefficients.shape[0],
            "errors": {label: asdict(errors) for label, errors in self.errors.items()},
            "noise": self.noise,
            "trust": asdict(self.trust) if self.trust else None,
            "measure_next": [asdict(suggestion) for suggestion in self.next],
        }


def learn(
    database: WrenchDatabase,
    method: str = "auto",
    *,
    strength: float = 1.0,
    on_method: Callable[[str], None] = lambda label: None,
    further: Sequence[WrenchDatabase] = (),
) -> Learned:
    """Compare the methods by cross-validation and fit the one asked for, or ("auto") the best, to all data.

    further: the same foot measured in further beds; learned is their mean, at the poses that all have.

    "rbf" is the best of the RBFs. strength: factor on all wrenches. on_method is called with the label of each method
    before it is tried.
    """
    if method not in CHOICES:
        raise OptionError(unknown_name("method", method, CHOICES))
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # many small problems: threads would only wait for each other
        learned = _learn(beds_of([database, *further]), method, strength, on_method)
    return learned if _both_sides_measured(database) else replace(learned, noise=None)


def _learn(beds: list[Grid], method: str, strength: float, on_method: Callable[[str], None]) -> Learned:
    grid, errors = mean_bed(beds), {}
    for candidate in METHODS:
        on_method(candidate.label)
        errors[candidate.label] = _errors(candidate, grid)
    allowed = [one for one in METHODS if one != PUBLISHED and method in ("auto", one.name)]
    best = min(allowed, key=lambda one: errors[one.label].leave_one_out)
    medium = compressed(best.fit(grid).medium(strength=strength))
    on_method("the ensemble")
    enough = len(np.unique(orbits(grid)[grid.under])) >= LEAST
    return Learned(
        medium=medium,
        ensemble=ensemble(medium, beds, best) if enough else None,
        trust=trust(beds, best) if enough else None,
        method=best.label,
        errors=errors,
        noise=noise_estimate(grid),
        next=plan(grid),
        configurations=int(grid.under.sum()),
    )


def _errors(method: Method, grid: Grid) -> Errors:
    start = time.perf_counter()
    five_fold = cross_validated(method, grid, folds(grid))
    one_out = cross_validated(method, grid, leave_one_out(grid))
    return Errors(five_fold, one_out, time.perf_counter() - start)


def _both_sides_measured(database: WrenchDatabase) -> bool:
    """Whether upright feet were moved in both of mirrored directions: images filled in say nothing of noise."""
    return all(source != MIRRORED for source, tilt in zip(database.source, database.tilt, strict=True) if tilt == 0)


def error_rows(learned: Learned) -> dict[str, dict[str, Any]]:
    """Rows of the table of methods."""
    return {
        label + (" *" if label == learned.method else ""): {
            "5-fold": f"{errors.five_fold:.3f}",
            "one configuration left out": f"{errors.leave_one_out:.3f}",
            "seconds": f"{errors.seconds:.1f}",
        }
        for label, errors in learned.errors.items()
    }


def trust_rows(learned: Learned) -> dict[str, str]:
    """What is known of the errors of the learned medium, in words."""
    known = learned.trust
    if known is None:
        return {"": f"not told by fewer than {LEAST} configurations"}
    rows = {
        f"left-out wrenches inside the ensemble's {known.band:.0%} band": f"{known.coverage:.1%}",
        "width of that band, of the wrenches": f"{known.width:.2f}",
        "error of predicted wrenches, left out": f"{known.error:.3f}",
        "error of what maximum dissipation makes of them": f"{known.law_error:.3f}",
    }
    if known.bed_error is not None and known.bed_noise is not None:
        rows |= {
            "error on a bed that was left out": f"{known.bed_error:.3f}",
            "difference of that bed from the others": f"{known.bed_noise:.3f}",
        }
    return rows


def plan_rows(learned: Learned) -> dict[str, dict[str, Any]]:
    """Rows of the plan of measurements."""
    return {
        str(rank): {
            "depth (m)": f"{one.depth:.3f}",
            "tilt (rad)": f"{one.tilt:.2f}",
            "heading (rad)": f"{one.heading:.2f}",
            "uncertainty (N)": f"{one.uncertainty:.1f}",
        }
        for rank, one in enumerate(learned.next, 1)
    }
