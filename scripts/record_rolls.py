"""Record what a round foot meets in grains: the table that `reproduce chen2026/slip-sinkage` reads.

    python scripts/record_rolls.py --out FOLDER [--cores 4] [--grains coarse fine] [--write]

Some three seconds of a core a run with coarse grains, a minute with fine ones; needs LAMMPS. Every run is a file of
the folder, not repeated if the command is given again. --write gathers them into the table that the package ships.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

from softground.experiments.rigs.dem import Container, DemRig, Grains
from softground.experiments.rigs.dem.rolling import SPACING, rolled
from softground.papers.chen2026.rolled_grains import (
    COARSE,
    FINE,
    FIT,
    FOOT,
    JUDGE,
    ROLLS,
    SHIPPED,
    Record,
    read_rolls,
    write_rolls,
)

CONTAINER = Container(0.28, 0.18, 0.11)
SIZES = {"coarse": (COARSE, (*FIT, *JUDGE)), "fine": (FINE, FIT[:1])}
"""Radius of the grains, and the beds."""


def rig(radius: float, folder: Path) -> DemRig:
    return DemRig(FOOT, Grains(radius=radius), CONTAINER, cache=folder / "beds")


def pour(job: tuple[float, int, Path]) -> str:
    radius, bed, folder = job
    found = rig(radius, folder).bed(bed)
    return f"bed {bed} of {1e3 * radius:g} mm: {len(found.radii)} grains, {found.surface:.4f} m deep"


def run(job: tuple[float, int, str, Path]) -> str:
    radius, bed, name, folder = job
    path = folder / f"{1e3 * radius:g}_{bed}_{list(ROLLS).index(name)}.csv"
    if not path.exists():
        met = rolled(rig(radius, folder), ROLLS[name], bed)
        write_rolls(path, [Record(radius, bed, name, met)], "one run")
    return path.name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--grains", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    (args.out / "beds").mkdir(parents=True, exist_ok=True)
    if not args.write:
        with get_context("spawn").Pool(args.cores) as pool:
            for size in args.grains:
                radius, beds = SIZES[size]
                for told in pool.imap_unordered(pour, [(radius, bed, args.out) for bed in beds]):
                    print(told, flush=True)
                jobs = [(radius, bed, name, args.out) for bed in beds for name in ROLLS]
                for told in pool.imap_unordered(run, jobs):
                    print(told, flush=True)
        return
    records = [record for path in sorted(args.out.glob("*_*_*.csv")) for record in read_rolls(path)]
    settings = {"foot": asdict(FOOT), "container": asdict(CONTAINER), "grains": asdict(Grains(radius=COARSE))}
    settings["grains"]["radius"] = "grain_mm"
    provenance = f"scripts/record_rolls.py; means over {1e3 * SPACING:g} mm of way; {json.dumps(settings)}"
    print(write_rolls(SHIPPED, records, provenance), len(records), "runs")


if __name__ == "__main__":
    main()
