"""The campaigns of grains behind `beads` and `gravel`: zhu2019's 28 poses, 26 directions, three beds of each material.

    python scripts/grains_campaign.py --out campaigns --workers 8 --seconds 1200

The same runs as two commands `softground acquire --rig dem --medium beads|gravel --grid beads --seeds 1,2,3` with the
settings below, in another order, so that a part of them is of use: tilts of 0, 0.5 and 1 rad at all depths in all beds
of both materials, then variants of single choices and directions between the 26 (convergence.csv), then the other
tilts. Only wrenches are kept (packed.csv). Stop it at any moment and give it again, here or on another machine: it goes
on. --known names folders in which runs of these campaigns lie already, DIR/beads and DIR/gravel.
"""

import argparse
import csv
import multiprocessing
import os
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from softground.experiments.campaign.manifest import Manifest
from softground.experiments.campaign.options import read_grid
from softground.experiments.campaign.packing import FILE, PackedRun, read_packed, write_packed
from softground.experiments.campaign.plan import Grid, Run, coarse_first
from softground.experiments.campaign.working import Attempt, attempt
from softground.experiments.protocol import Pose
from softground.experiments.rigs import named_rig
from softground.experiments.rigs.dem import Container, DemRig
from softground.whole_file import write_whole

MATERIALS = ("beads", "gravel")
GRID: Grid = read_grid("beads", seeds="1,2,3")
COARSE = (0.0, 0.5, 1.0)  # rad, tilts that are measured in all beds before anything else
CONTAINER, APPROACH = Container(0.5, 0.34, 0.35), 1.0
FEW_POSES = (Pose(0.12), Pose(0.24), Pose(0.12, 0.5))  # in which choices and further directions are tried
SAVED_EVERY = 10.0  # s


def rig_of(material: str) -> DemRig:
    rig = named_rig("dem", medium=material)
    assert isinstance(rig, DemRig)
    return replace(rig, container=CONTAINER, approach_speed=APPROACH)


@dataclass(frozen=True)
class Job:
    """A run, and where its wrench goes: a campaign, or a variant of it."""

    material: str
    variant: str
    rig: DemRig
    run: Run

    @property
    def bed(self) -> tuple:
        return self.rig.container, self.rig.grains, self.run.seed

    @property
    def key(self) -> tuple[str, str, str]:
        return self.material, self.variant, self.run.name


def campaign_jobs(poses: list[Pose]) -> list[Job]:
    """Bed by bed, the two materials in turn."""
    runs = [run for run in GRID.runs() if run.pose in poses]
    order = {pose: rank for rank, pose in enumerate(poses)}
    runs.sort(key=lambda run: (run.seed, order[run.pose], run.direction))
    return [Job(material, "", rig_of(material), run) for run in runs for material in MATERIALS]


def variant_jobs() -> list[Job]:
    """Single choices changed, in the motions straight down and level: what they change is the error they make."""
    base = {material: rig_of(material) for material in MATERIALS}
    beads, gravel = base["beads"], base["gravel"]
    slow = replace(GRID, speed=0.1, spin=0.3, duration=0.5)
    variants = [
        ("beads", "modulus 3e7 Pa", replace(beads, grains=replace(beads.grains, modulus=3e7)), GRID, (1, 2, 3)),
        ("gravel", "modulus 3e7 Pa", replace(gravel, grains=replace(gravel.grains, modulus=3e7)), GRID, (1, 2, 3)),
        ("beads", "approach 0.5 m/s", replace(beads, approach_speed=0.5), GRID, (1, 2, 3)),
        ("beads", "way 10 cm", beads, replace(GRID, duration=0.5), (1, 2, 3)),
        ("beads", "speed 0.1 m/s", beads, slow, (1, 2, 3)),
        ("beads", "box 0.8 x 0.6 x 0.42 m", replace(beads, container=Container(0.8, 0.6, 0.42)), GRID, (1, 2)),
        ("beads", "modulus 1e8 Pa", replace(beads, grains=replace(beads.grains, modulus=1e8)), GRID, (1, 2)),
        ("gravel", "modulus 1e8 Pa", replace(gravel, grains=replace(gravel.grains, modulus=1e8)), GRID, (1, 2)),
    ]
    return [
        Job(material, name, rig, run)
        for material, name, rig, grid, seeds in variants
        for run in replace(grid, seeds=seeds, depths=(0.12, 0.24), tilts=(0.0, 0.5)).runs()
        if run.pose in FEW_POSES and straight(run)
    ]


def direction_jobs() -> list[Job]:
    """Directions between the 26, of zhu2019's set of 58: does what was learned from 26 know them?"""
    grid = replace(GRID, directions="58", depths=(0.12, 0.24), tilts=(0.0, 0.5))
    known = GRID.twists()
    runs = [
        run
        for run in grid.runs()
        if run.pose in FEW_POSES and not np.isclose(known, run.motion.twist, rtol=0, atol=1e-6).all(axis=1).any()
    ]
    return [Job(material, "58 directions", rig_of(material), run) for run in runs for material in MATERIALS]


def straight(run: Run) -> bool:
    """Down or level, without turning."""
    vx, _, vz, *turn = (abs(value) > 1e-9 for value in run.motion.twist)
    return not any(turn) and (vx != vz) and run.motion.twist[2] <= 1e-9 and run.motion.twist[0] >= -1e-9


def jobs() -> list[Job]:
    coarse, fine = (
        coarse_first([pose for pose in GRID.poses() if (pose.tilt in COARSE) is first]) for first in (True, False)
    )
    return campaign_jobs(coarse) + variant_jobs() + direction_jobs() + campaign_jobs(fine)


class Results:
    """Wrenches of finished runs, and the files that hold them: a folder for each campaign, by name."""

    def __init__(self, out: Path, known: list[Path], campaigns: dict[str, Manifest]):
        self.out = out
        self.packed: dict[str, dict[str, PackedRun]] = {}
        for name, manifest in campaigns.items():
            manifest.settle(out / name)
            here = [out, *(folder for folder in known if (folder / name / FILE).exists())]
            for folder in here:
                Manifest.read(folder / name).settle(out / name)
            self.packed[name] = {run: one for folder in here for run, one in read_packed(folder / name / FILE).items()}
        self.variants: dict[tuple, list] = {}
        for folder in [out, *known]:
            if (path := folder / "convergence.csv").exists():
                with path.open() as file:
                    rows = list(csv.reader(file))[1:]
                self.variants |= {tuple(row[:3]): row[3:] for row in rows}
        self.saved = 0.0

    def has(self, job: Job) -> bool:
        return job.key in self.variants if job.variant else job.run.name in self.packed[job.material]

    def add(self, job: Job, found: Attempt) -> None:
        assert found.wrench is not None
        if job.variant:
            self.variants[job.key] = [f"{value:.6g}" for value in (*found.wrench, found.seconds)]
        else:
            self.packed[job.material][job.run.name] = PackedRun(found.wrench, found.seconds, found.slots)
        if time.monotonic() - self.saved > SAVED_EVERY:
            self.save()

    def save(self) -> None:
        for material, runs in self.packed.items():
            write_packed(self.out / material / FILE, runs)
        head = "material,variant,run,fx_n,fy_n,fz_n,tx_nm,ty_nm,tz_nm,computing_s"
        lines = [head, *(",".join([*key, *values]) for key, values in sorted(self.variants.items()))]
        if self.variants:
            write_whole(self.out / "convergence.csv", lambda file: file.write_text("\n".join(lines) + "\n"))
        self.saved = time.monotonic()


def prepared(rig: DemRig, seed: int) -> None:
    rig.prepare(seed)


class Workers:
    """Processes that pour beds and make runs; when one crashes all are started anew."""

    def __init__(self, count: int):
        self.count = count
        self.flying: dict[Future, Any] = {}  # jobs, and beds (see `Job.bed`) that are being poured
        self.start()

    def start(self) -> None:
        self.pool = ProcessPoolExecutor(self.count, mp_context=multiprocessing.get_context("spawn"))

    def send(self, what: Any, function: Callable, *arguments) -> None:
        self.flying[self.pool.submit(function, *arguments)] = what

    def done(self, patience: float) -> list[tuple[Any, Future]]:
        finished = wait(self.flying, timeout=patience, return_when=FIRST_COMPLETED).done
        found = [(self.flying.pop(future), future) for future in finished]
        if any(isinstance(future.exception(), BrokenProcessPool) for _, future in found):
            found += [(what, future) for future, what in self.flying.items()]
            self.flying = {}
            self.start()
        return found


def work(todo: list[Job], results: Results, workers: Workers, end: float) -> Counter:
    """Make the jobs in their order, each as soon as its bed is there, until `end` (monotonic, s)."""
    pending, count, tried = deque(todo), Counter(), Counter()
    beds: dict[tuple, str] = {}
    while (pending or workers.flying) and time.monotonic() < end:
        for _ in range(len(pending)):
            if len(workers.flying) >= workers.count + 2:
                break
            job = pending.popleft()
            state = beds.get(job.bed)
            if state == "ready":
                workers.send(job, attempt, job.rig, job.run)
                continue
            if state is None:
                beds[job.bed] = "pouring"
                workers.send(job.bed, prepared, job.rig, job.run.seed)
            pending.append(job)  # until the bed is there, others go first
        for what, future in workers.done(2.0):
            if not isinstance(what, Job):
                failed = future.exception() is not None
                beds[what] = "ready"  # where pouring failed each run says why
                count["beds" if not failed else "failed beds"] += 1
                pending = deque(sorted(pending, key=order_of(todo)))
                continue
            found = None if future.exception() else future.result()
            if found is not None and found.wrench is not None:
                results.add(what, found)
                count["runs"] += 1
                count["seconds"] += found.seconds
            elif (tried.update([what.key]) or tried[what.key]) < 2:
                pending.append(what)
            else:
                count["failed runs"] += 1
                print(what.key, found.reason.splitlines()[-1] if found else future.exception(), flush=True)
    return count


def order_of(todo: list[Job]):
    rank = {job.key: number for number, job in enumerate(todo)}
    return lambda job: rank[job.key]


def options_of(description: str | None) -> argparse.ArgumentParser:
    """What all campaigns of this kind are told on the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("campaigns"))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--known", type=Path, nargs="*", default=[])
    return parser


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--materials", nargs="+", choices=MATERIALS, default=MATERIALS, help="those to make runs of")
    options = parser.parse_args()
    campaigns = {material: Manifest.of(rig_of(material), GRID, material) for material in MATERIALS}
    make([job for job in jobs() if job.material in options.materials], campaigns, options)


def make(wanted: list[Job], campaigns: dict[str, Manifest], options: argparse.Namespace) -> None:
    """Make the runs that are not there yet, in their order, until time is up."""
    results = Results(options.out, options.known, campaigns)
    todo = [job for job in wanted if not results.has(job)]
    print(f"{len(wanted)} runs, {len(todo)} to make", flush=True)
    workers = Workers(options.workers)
    count = work(todo, results, workers, time.monotonic() + options.seconds)
    results.save()
    print(dict(count), flush=True)
    for process in list(getattr(workers.pool, "_processes", {}).values()):
        process.terminate()  # what is going on when time is up is lost


if __name__ == "__main__":
    main()
