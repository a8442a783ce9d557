"""Record what `softground validate --grains` compares media with: a box foot pushed into grains simulated one by one.

    python scripts/record_pushes.py --out FOLDER [--only pushes|second|tall|...] [--beds 9 10] [--write]

Some 40 minutes on one core; needs LAMMPS. Every run is a file of the folder, and is not repeated if the command is
given again. --write gathers them into the tables that the package ships. Written down before the runs: beds 1 to 4 are
for fitting, 5 to 8 for judging; the foot comes down at 0.1 m/s, and upright also at 0.5, 1 and 2 m/s.

Written down before the later runs, of which nothing had been seen: beds 9 to 11 judge feet tilted by 15, 20 and 30
degrees (`other`), and upright ones at 0.5, 1 and 2 m/s (`speed`); beds 11 and 12, wider and deeper, of grains ten and a
hundred times as hard, judge speed (`hard`, `rigid`), from the surface to 100 mm, with the slow push into the same beds
before they were hardened (`deep`). `tall` pushes to 100 mm into beds of 72 cm, from whose floor no wave of the foot's
entry is back within 40 ms: bed 21 to fit, bed 22 to judge (docs/validation.md, "Speed", has the bars).
The tilted feet are to be judged with one law, scaled to upright feet in beds 1 to 4: elements that follow over 7 mm,
plane law, that bear a sole with an angle of 0.418 rad, 160 of them on the surface that lies a grain's radius outside of
the foot's, where the middles of grains are that touch it. Bar: half the error of the sole-centre law (plane), down and
oblique at each tilt. Speed in beds 9 to 11 is judged as in beds 5 to 8, with what was fitted in beds 1 to 4. Bar:
within 20 % with the inertial term, at all four speeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from softground.cache import cache_folder
from softground.experiments.rigs.dem import Container, DemRig, Grains
from softground.experiments.rigs.dem.bed import Bed, hardened
from softground.experiments.rigs.dem.push import Push, pushed
from softground.experiments.rigs.dem.second_step import push_again
from softground.robots import Box
from softground.validation.pushes import SHIPPED as PUSHES
from softground.validation.pushes import read_rows, write_pushes
from softground.validation.second_steps import SHIPPED as SECOND_STEPS
from softground.validation.second_steps import write_second_steps
from softground.whole_file import write_whole

FOOT = Box(0.12, 0.10, 0.15)
RIG = DemRig(FOOT, Grains(radius=0.008, modulus=8e6), Container(0.48, 0.38, 0.25))
FIT, JUDGE = (1, 2, 3, 4), (5, 6, 7, 8)
TILT, OBLIQUE = np.deg2rad(20.0), np.deg2rad(45.0)
SLOW, FAST = 0.1, (0.5, 1.0, 2.0)
TILTED = (Push(TILT, 0.0, SLOW), Push(TILT, OBLIQUE, SLOW))
UPRIGHT = (Push(0.0, 0.0, SLOW), *(Push(0.0, 0.0, speed) for speed in FAST))
STIFFER = replace(RIG, grains=replace(RIG.grains, modulus=8e7))
FINER = replace(RIG, grains=replace(RIG.grains, radius=0.005, modulus=5e6), container=Container(0.40, 0.32, 0.20))
WIDER = replace(RIG, container=Container(0.62, 0.50, 0.36))
TALL = replace(RIG, container=Container(0.48, 0.38, 0.72))
SMOOTHER = replace(RIG, grains=replace(RIG.grains, friction=0.1))
VARIANTS = {"wider": WIDER, "smoother": SMOOTHER, "finer": FINER, "stiffer": STIFFER}
OTHER_TILTS, OTHER = (15.0, 30.0, 20.0), (9, 10, 11)  # degrees, beds
DEEPER, HARD_BEDS, TALL_BEDS = 0.10, (11, 12), (21, 22)  # m
HARDER = {"hard": 8e7, "rigid": 8e8}  # Pa
SECOND = DemRig(container=Container(0.5, 0.36, 0.2))
STEPS = ((0.05, 0.0), (0.03, 0.0), (0.05, 0.12))  # m: depth of the first, distance of the second
DEEP = 0.08  # m
IDENTIFY = (1, 2)  # beds that footprints are identified on
Job = tuple[str, Callable[[], dict[str, np.ndarray]]]


@dataclass(frozen=True)
class HardenedRig(DemRig):
    """Beds poured of softer grains, which are then made harder."""

    poured: Grains = RIG.grains

    def bed(self, seed: int) -> Bed:
        path = (self.cache or cache_folder()) / f"hardened-{self.grains.modulus:g}-{self.container.fill:g}-{seed}.npz"
        if not path.exists():
            found = hardened(replace(WIDER, cache=self.cache).bed(seed), self.grains.modulus)
            write_whole(path, lambda file: np.savez(file, positions=found.positions, radii=found.radii))
        with np.load(path) as kept:
            return Bed(self.container, self.grains, kept["positions"], kept["radii"])


def push_jobs(rig: DemRig, kind: str, seed: int, pushes) -> list[Job]:
    def run(push: Push):
        bed = rig.bed(seed)
        wrench = pushed(rig, push, seed)
        motion = [push.tilt, push.direction, push.speed, push.depth]
        return {
            "wrench": wrench,
            "depth": push.depths(rig._reach),
            "push": np.array(motion),
            "density": np.array(bed.solid_fraction * rig.grains.density),
        }

    return [
        (f"{kind}_{seed}_{push.tilt:.3f}_{push.direction:.3f}_{push.speed:g}", lambda push=push: run(push))
        for push in pushes
    ]


def second_jobs(seed: int, steps) -> list[Job]:
    return [
        (f"second_{seed}_{first}_{beside}", lambda f=first, b=beside: dict(vars(push_again(SECOND, f, DEEP, b, seed))))
        for first, beside in steps
    ]


def jobs(only: str | None) -> list[Job]:
    found: list[Job] = []
    if only in (None, "pushes"):
        for one, other in zip(JUDGE, FIT, strict=True):
            found += push_jobs(RIG, "push", other, UPRIGHT)
            found += push_jobs(RIG, "push", one, (*UPRIGHT, *TILTED))
    if only in (None, "second"):
        for seed in IDENTIFY:
            found += second_jobs(seed, STEPS[:2])
        for seed in (5, 6, 7):
            found += second_jobs(seed, STEPS)
    for bed in OTHER:
        if only in (None, "other"):
            tilted = [Push(np.deg2rad(tilt), way, SLOW) for tilt in OTHER_TILTS for way in (0.0, OBLIQUE)]
            found += push_jobs(RIG, "other", bed, (UPRIGHT[0], *tilted))
        if only in (None, "speed"):
            found += push_jobs(RIG, "speed", bed, UPRIGHT[1:])
    fast = [Push(0.0, 0.0, speed, DEEPER) for speed in FAST[::-1]]
    slow = Push(0.0, 0.0, SLOW, DEEPER)
    for bed in TALL_BEDS:
        if only in (None, "tall"):
            found += push_jobs(TALL, "tall", bed, [*fast, slow])
    for bed in HARD_BEDS:
        kinds = {"hard": fast, "deep": [slow, *fast], "rigid": fast[:2]}
        for kind, pushes in kinds.items():
            if only in (None, kind):
                found += push_jobs(RIGS[kind][1], kind, bed, pushes)
    for kind, rig in VARIANTS.items():
        if only in (None, kind):
            found += push_jobs(rig, kind, 1, UPRIGHT[::-1])
        if only in (None, kind) and kind == "finer":
            found += push_jobs(rig, kind, 2, TILTED)
    return found


HARD = {
    kind: HardenedRig(FOOT, replace(RIG.grains, modulus=modulus), WIDER.container) for kind, modulus in HARDER.items()
}
RIGS = {"push": ("as planned", RIG), "other": ("as planned", RIG)}
RIGS |= {"speed": ("as planned", RIG), "deep": ("deep", WIDER), "tall": ("tall", TALL)}
RIGS |= {kind: (kind, rig) for kind, rig in (VARIANTS | HARD).items()}


def write(folder: Path) -> None:
    """The tables that the package ships: what they hold, with what the runs that there are say anew."""
    settings, shipped = read_rows(Path(str(PUSHES)))
    rows = {(row[:5], row[5]): row for row in shipped}
    for kind, (label, rig) in RIGS.items():
        for path in sorted(folder.glob(f"{kind}_*.npz")):
            seed = int(path.stem.split("_")[1])
            settings["rigs"][label] = {"grains": asdict(rig.grains), "container": asdict(rig.container)}
            with np.load(path) as run:
                push = (label, seed, *(round(float(number), 6) for number in run["push"][:3]))
                settings["density_kg_m3"].setdefault(label, {})[str(seed)] = round(float(run["density"]), 1)
                for depth, wrench in zip(run["depth"], run["wrench"], strict=True):
                    depth = round(float(depth), 4) + 0.0
                    rows[push, depth] = (*push, depth, tuple(wrench))
    write_pushes(Path(str(PUSHES)), settings, [rows[key] for key in sorted(rows)])
    steps = {path: dict(np.load(path)) for path in sorted(folder.glob("second_*.npz"))}
    if steps:
        own = {"foot": asdict(SECOND.foot), "grains": asdict(SECOND.grains), "container": asdict(SECOND.container)}
        own["engine"] = settings["engine"]
        numbered = [(int(path.stem.split("_")[1]), step) for path, step in steps.items()]
        write_second_steps(Path(str(SECOND_STEPS)), own, numbered)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the records")
    parser.add_argument("--only", choices=("pushes", "second", "other", "speed", "deep", "tall", *HARDER, *VARIANTS))
    parser.add_argument("--beds", type=int, nargs="*", help="only runs in these beds")
    parser.add_argument("--write", action="store_true", help="write the tables of the package")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, run in jobs(options.only):
        path = options.out / f"{name}.npz"
        if options.beds and int(name.split("_")[1]) not in options.beds:
            continue
        if not path.exists():
            found: dict[str, Any] = run()
            write_whole(path, partial(np.savez, **found))
            print(name, flush=True)
    if options.write:
        write(options.out)


if __name__ == "__main__":
    main()
