"""Running a campaign: make the runs that are missing, write each as it ends, go on past failures.

A folder is resumed by running the same campaign again. What is finished is never repeated; a process killed at
any moment loses at most the runs that were going on. Runs that failed before are tried again.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from collections.abc import Generator
from contextlib import closing, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from softground.errors import ExperimentError
from softground.experiments.campaign.collecting import collect
from softground.experiments.campaign.manifest import Manifest
from softground.experiments.campaign.plan import Grid, Run
from softground.experiments.campaign.store import Store
from softground.experiments.campaign.working import Attempt, in_process, on_ray
from softground.experiments.database_file import write_database
from softground.experiments.rigs.base import Rig

ATTEMPTS = 2
"""How often a run is tried before it is recorded as failed."""
SPEED_PERIOD = 3600.0
"""Time (s) over which the progress bar averages: runs may take minutes."""


@dataclass(frozen=True)
class Outcome:
    """What a campaign has come to."""

    total: int
    finished: int
    made_now: int
    failed: dict[str, str]  # reasons by the names of runs


def run_campaign(
    rig: Rig,
    grid: Grid,
    folder: str | Path,
    *,
    medium: str = "",
    workers: int = 1,
    ray_address: str | None = None,
    progress: bool = False,
) -> Outcome:
    """Make the runs of the grid that `folder` does not hold yet.

    workers: processes on this machine; one needs no Ray. ray_address: of a cluster, all of which is used.
    """
    if workers < 1:
        raise ExperimentError(f"a campaign needs at least one worker, got {workers}")
    if grid.mirror and not rig.foot.is_mirrored:
        raise ExperimentError(f"foot {rig.foot.name} need not be its own mirror image: use a grid with mirror=False")
    store = Store(Path(folder))
    with store.held():
        Manifest.of(rig, grid, medium).settle(store.folder)
        runs = grid.runs()
        before = store.finished()
        pending = deque(run for run in runs if run.name not in before)
        total = len(runs)
        attempts, tried = _attempts(rig, pending, workers, ray_address), Counter[str]()
        # Ray reports dead workers on standard output, which belongs to the caller.
        with redirect_stdout(sys.stderr), closing(attempts), _bar(progress) as bar:
            task = bar.add_task("acquiring", total=total, completed=total - len(pending))
            for result in attempts:
                tried[result.run.name] += 1
                if result.recording is not None:
                    store.save(result, rig.settings())
                elif tried[result.run.name] < ATTEMPTS:
                    pending.append(result.run)
                    continue
                else:
                    store.save_failure(result.run, result.reason)
                bar.advance(task)
        finished = store.finished() & {run.name for run in runs}
        return Outcome(total, len(finished), len(finished - before), store.failures())


def acquire(
    rig: Rig,
    grid: Grid,
    out: Path,
    *,
    medium: str,
    workers: int | None = None,
    ray_address: str | None = None,
    reference_height: float = 0.0,
    progress: bool = True,
) -> dict[str, Any]:
    """Run what is missing, write OUT/database.csv, and say in JSON values what has come of it.

    workers: by default all cores, but one for resistive force theory, which is quicker than Ray's start.
    reference_height: of the point about which torques are taken, up the foot's axis, m.
    """
    if workers is None:
        workers = 1 if rig.name == "rft" else os.cpu_count() or 1
    outcome = run_campaign(rig, grid, out, medium=medium, workers=workers, ray_address=ray_address, progress=progress)
    result: dict[str, Any] = {"folder": str(out), **vars(outcome), "database": None, "rows": 0}
    try:
        database = collect(out, reference_height)
    except ExperimentError:
        if not outcome.failed:
            raise
        return result  # every pose lacks a failed run: nothing to write
    return result | {"database": str(write_database(out / "database.csv", database)), "rows": len(database)}


def _attempts(rig: Rig, pending: deque[Run], workers: int, ray_address: str | None) -> Generator[Attempt]:
    """Attempts as they end."""
    if not pending or (workers == 1 and ray_address is None):
        return in_process(rig, pending)
    return on_ray(rig, pending, workers, ray_address)


def _bar(shown: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        speed_estimate_period=SPEED_PERIOD,
        disable=not shown,
    )
