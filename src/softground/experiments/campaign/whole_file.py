"""Writing a file whole: under a temporary name beside it, then renamed. A kill leaves the old one or the new one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from softground.errors import ExperimentError


def write_whole(path: Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill a temporary file and put it in place of `path`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())  # else a power cut may leave the name without the content
        os.replace(temporary, path)
    except OSError as error:
        raise ExperimentError(
            f"cannot write {path}: {error.strerror or error}. What was written before is kept: make room or repair "
            "the folder, and give the same command again"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    return path


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of a writer that was killed."""
    for leftover in folder.glob(".*.tmp"):
        leftover.unlink(missing_ok=True)
