"""A campaign from start to database, as the command line runs it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from softground.errors import ExperimentError
from softground.experiments.campaign.collecting import collect
from softground.experiments.campaign.plan import Grid
from softground.experiments.campaign.running import run_campaign
from softground.experiments.database_file import write_database
from softground.experiments.rigs.base import Rig


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
