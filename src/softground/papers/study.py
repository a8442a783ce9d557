"""What every study of a paper shares: claims that can fail, what was found, and how a study is found by name.

A study repeats one table or figure of a paper. It returns findings: checks (claims of the paper or of ours, each with
the number that decides it), tables of the paper's numbers beside ours, figures and runs. `softground.papers.report`
writes them down.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from softground.planning import Plan
from softground.runs import Run

Row = dict[str, Any]


@dataclass(frozen=True)
class Check:
    """A claim that can fail."""

    name: str
    passed: bool
    value: float | str  # what decided it, in the unit that `expected` has
    expected: str  # what the value had to be


@dataclass(frozen=True)
class Table:
    """Rows of named columns; each row becomes a line of the report and of a CSV file."""

    name: str  # of the file
    title: str
    rows: list[Row]


@dataclass(frozen=True)
class Video:
    """A run, or a plan, worth watching."""

    run: Run | Plan
    title: str
    speed: float = 1.0  # of the video, times life


@dataclass(frozen=True)
class Findings:
    """What a study found."""

    checks: list[Check]
    metrics: dict[str, Any]  # JSON values
    tables: list[Table] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
    videos: dict[str, Video] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # what differs from the paper, and why


@dataclass(frozen=True)
class Options:
    """What a study may be asked."""

    quick: bool = False  # shorter and coarser, and no videos
    sand: Path | None = None  # the measured sand of zhu2019
    workers: int = 1  # processes for what is long and can be done at the same time
    rerun_dem: bool = False  # drive the foot through grains again instead of reading what is shipped
    members: int = 0  # of the ensemble of learned ground on which a study is performed as well, for intervals
    reports: Path | None = None  # folder with PAPER/STUDY of studies that an account need not perform again


@dataclass(frozen=True)
class Study:
    """One table or figure of a paper, as something to run."""

    paper: str
    name: str
    title: str
    claim: str  # what the paper says, in our words
    perform: Callable[[Options], Findings]

    @property
    def label(self) -> str:
        return f"{self.paper}/{self.name}"


def document(study: Study, findings: Findings, options: Options) -> dict[str, Any]:
    """The contract of `softground reproduce --json`."""
    checks = [
        {"name": one.name, "passed": bool(one.passed), "value": one.value, "expected": one.expected}
        for one in findings.checks
    ]
    return _finite({"study": study.label, "quick": options.quick, "checks": checks, "metrics": findings.metrics})


def _finite(value: Any) -> Any:
    """JSON values with null for numbers that are not finite, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def below(name: str, value: float, limit: float, unit: str = "") -> Check:
    """Claim that a value is less than a limit."""
    return Check(name, bool(value < limit), float(value), f"< {limit:g} {unit}".rstrip())


def above(name: str, value: float, limit: float, unit: str = "") -> Check:
    """Claim that a value is greater than a limit."""
    return Check(name, bool(value > limit), float(value), f"> {limit:g} {unit}".rstrip())


def at_most(name: str, value: float, limit: float) -> Check:
    """Claim that a value does not exceed a limit."""
    return Check(name, bool(value <= limit), float(value), f"<= {limit:g}")


def at_least(name: str, value: float, limit: float) -> Check:
    """Claim that a value reaches a limit."""
    return Check(name, bool(value >= limit), float(value), f">= {limit:g}")


def between(name: str, value: float, low: float, high: float, unit: str = "") -> Check:
    """Claim that a value lies between two limits."""
    return Check(name, bool(low < value < high), float(value), f"{low:g} to {high:g} {unit}".rstrip())
