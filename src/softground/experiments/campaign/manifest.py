"""What a campaign's folder says about itself: campaign.json, written before the first run."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softground.errors import ExperimentError, FileFormatError
from softground.experiments.campaign.plan import Grid
from softground.experiments.rigs.base import Rig
from softground.whole_file import write_whole

FILE, FORMAT, VERSION = "campaign.json", "softground campaign", 1
COMPARED = ("medium", "foot", "rig", "grid")


@dataclass(frozen=True)
class Manifest:
    """All that the numbers of a campaign depend on, as JSON values."""

    medium: str
    foot: dict[str, Any]
    rig: dict[str, Any]
    grid: dict[str, Any]

    @classmethod
    def of(cls, rig: Rig, grid: Grid, medium: str) -> Manifest:
        return cls(medium, rig.foot.identity(), rig.settings(), grid.document())

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        path = folder / FILE
        if not path.is_file():
            raise FileFormatError(f"{folder} holds no campaign ({FILE} is missing): softground acquire --out makes one")
        try:
            document = json.loads(path.read_text())
        except ValueError as error:
            raise FileFormatError(f"{path} is damaged ({error}): start the campaign again in a new folder") from error
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise FileFormatError(f"{path} is not a {FORMAT}: start the campaign in a new folder")
        if document.get("version") != VERSION:
            raise FileFormatError(
                f"{path} is of version {document.get('version')}, and this softground goes on with version {VERSION}: "
                "its runs are left as they are; use the softground that made them, or start in a new folder"
            )
        if missing := [name for name in COMPARED if name not in document]:
            raise FileFormatError(f"{path} lacks {', '.join(missing)}: was it cut short? Copy it again")
        return cls(**{name: document[name] for name in COMPARED})

    def settle(self, folder: Path) -> None:
        """Write this manifest into an empty folder, or make sure that the one there says the same."""
        if not (folder / FILE).exists():
            header = {"format": FORMAT, "version": VERSION, "softground": importlib.metadata.version("softground")}
            text = json.dumps(header | self.document(), indent=2)
            write_whole(folder / FILE, lambda path: path.write_text(text + "\n"))
            return
        differences = list(_differences(Manifest.read(folder).document(), self.document(), ""))
        if differences:
            raise ExperimentError(
                f"{folder} holds a campaign with other settings: {'; '.join(differences[:4])}. Give the same settings "
                "to go on with it, or another folder for a new one"
            )

    def document(self) -> dict[str, Any]:
        """As it comes back from a file: lists for tuples."""
        return json.loads(json.dumps({name: getattr(self, name) for name in COMPARED}))


def _differences(old: Any, new: Any, where: str) -> Iterator[str]:
    """Settings that differ, such as "grid.speed was 0.02, now 0.2"."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            inside = f"{where}.{name}" if where else name
            yield from _differences(old.get(name), new.get(name), inside)
    elif old != new:
        yield f"{where} was {json.dumps(old)}, now {json.dumps(new)}"
