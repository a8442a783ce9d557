"""Parts of one campaign, made on several machines, put together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from softground.experiments.campaign.manifest import Manifest
from softground.experiments.campaign.packing import FILE, check_agreement, write_packed
from softground.experiments.campaign.store import Store


def pack(folder: str | Path) -> int:
    """Write the wrenches of all finished runs to DIR/packed.csv; returns how many there are."""
    return merge(folder, ())


def merge(folder: str | Path, others: Sequence[str | Path]) -> int:
    """Add the finished runs of other folders of the same campaign to this one's packed.csv; returns how many there are.

    Settings must agree in everything, and so must runs that several folders hold: else ExperimentError, and nothing is
    written.
    """
    store = Store(Path(folder))
    Manifest.read(store.folder)  # there must be one
    parts = [Store(Path(other)) for other in others]
    for part in parts:
        Manifest.read(part.folder).settle(store.folder)
    with store.held():
        runs = store.outcomes()
        for part in parts:
            added = part.outcomes()
            check_agreement(runs, added, part.folder)
            runs = added | runs
        write_packed(store.folder / FILE, runs)
    return len(runs)
