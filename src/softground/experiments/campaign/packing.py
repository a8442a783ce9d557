"""Finished runs without their records: one small table in a campaign's folder, which travels between machines.

A run file holds the whole record of a run, some 20 kB; the wrench at its target is six numbers. A campaign that was
made in parts on several machines is put together from such tables:

    DIR/packed.csv      name of the run, wrench at the target pose (6), seconds it took and runs that went on at a time

Where both are there the run file is read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softground.errors import ExperimentError, FileFormatError
from softground.whole_file import write_whole

FILE, TITLE = "packed.csv", "# softground packed runs, version 1"
WRENCH = ("fx_n", "fy_n", "fz_n", "tx_nm", "ty_nm", "tz_nm")
COLUMNS = ("run", *WRENCH, "computing_s", "slots")


class PackedRun(NamedTuple):
    """What is kept of a run."""

    wrench: np.ndarray  # (6,) filtered, at the target pose, at the sole's centre, surface frame
    seconds: float
    slots: int


def read_packed(path: Path) -> dict[str, PackedRun]:
    """Runs by name; none where there is no such file."""
    if not path.is_file():
        return {}
    lines = path.read_text().splitlines()
    if len(lines) < 2 or lines[0] != TITLE or tuple(lines[1].split(",")) != COLUMNS:
        first = lines[0][:60] if lines else "nothing"
        raise FileFormatError(
            f"{path} must begin with {TITLE!r} and the columns {', '.join(COLUMNS)}, and begins with {first!r}: pack "
            "the campaign again with this softground (softground acquire pack)"
        )
    runs = {}
    for number, row in enumerate(csv.reader(lines[2:]), 3):
        try:
            if len(row) != len(COLUMNS):
                raise ValueError(f"it has {len(row)} of {len(COLUMNS)} columns")
            name, *values = row
            packed = PackedRun(np.array(values[:6], dtype=float), float(values[6]), int(values[7]))
            if not np.isfinite([*packed.wrench, packed.seconds]).all():
                raise ValueError("its numbers must be finite")
        except ValueError as error:
            raise FileFormatError(
                f"{path}, line {number}: not a packed run ({error}); was the file cut short? Delete the line, and "
                "acquire makes the run again"
            ) from None
        if name in runs and not np.array_equal(runs[name].wrench, packed.wrench):
            raise FileFormatError(f"{path}, line {number}: run {name} is there twice, with other wrenches: delete one")
        runs[name] = packed
    return runs


def write_packed(path: Path, runs: dict[str, PackedRun]) -> Path:
    """Write the table whole, runs in the order of their names."""

    def lines() -> Iterable[str]:
        yield TITLE
        yield ",".join(COLUMNS)
        for name in sorted(runs):
            wrench, seconds, slots = runs[name]
            yield ",".join([name, *(f"{value:.6g}" for value in wrench), f"{seconds:.3g}", str(slots)])

    return write_whole(path, lambda file: file.write_text("\n".join(lines()) + "\n"))


def check_agreement(first: dict[str, PackedRun], second: dict[str, PackedRun], where: Path) -> None:
    """Refuse runs that two tables tell differently: another engine or a damaged file. Six digits are written."""
    for name in first.keys() & second.keys():
        one, other = first[name].wrench, second[name].wrench
        if not np.allclose(one, other, rtol=1e-5, atol=1e-6):
            raise ExperimentError(
                f"run {name} of {where} is here already with another wrench ({other.round(2)} there, {one.round(2)} "
                "here): campaigns of two engines or versions must not be mixed; keep one of them"
            )
