"""How far a campaign is, read from its folder while it runs or after."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import numpy as np

from softground.experiments.campaign.manifest import Manifest
from softground.experiments.campaign.plan import Grid, Run
from softground.experiments.campaign.store import Store

SAMPLE = 30
"""Latest runs from which the time left is estimated."""


def campaign_status(folder: str | Path) -> dict[str, Any]:
    """Counts in all and per pose, failures with their reasons, the time left (s; None where nothing is known)."""
    store = Store(Path(folder))
    manifest = Manifest.read(store.folder)
    runs = Grid.of_document(manifest.grid).runs()
    finished, failed = store.finished(), store.failures()
    poses: dict[str, dict[str, Any]] = {}
    for run in runs:
        row = poses.setdefault(_label(run), {"done": 0, "total": 0, "failed": 0})
        row["total"] += 1
        row["done"] += run.name in finished
        row["failed"] += run.name in failed
    done = sum(row["done"] for row in poses.values())
    return {
        "folder": str(folder),
        "rig": manifest.rig["rig"],
        "medium": manifest.medium,
        "running": is_held(store.folder),
        "total": len(runs),
        "done": done,
        "failed": len(failed),
        "time_left_s": _time_left(store, len(runs) - done),
        "configurations": poses,
        "failures": failed,
    }


def _label(run: Run) -> str:
    return run.name.split("_dir")[0].replace("_", " ")


def _time_left(store: Store, left: int) -> float | None:
    """From what the latest runs took and how many went on at a time."""
    if left == 0:
        return 0.0
    paths = sorted((store.folder / "runs").glob("depth*.nc"), key=lambda path: path.stat().st_mtime)[-SAMPLE:]
    runs = [store.load(path.stem) for path in paths] or list(store.packed().values())[-SAMPLE:]
    return round(left * float(np.mean([run.seconds / run.slots for run in runs])), 3) if runs else None


def is_held(folder: Path) -> bool:
    """Whether a process is running the campaign."""
    path = folder / "campaign.lock"
    if not path.exists():
        return False
    with path.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
