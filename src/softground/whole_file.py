"""Writing a file whole: under a temporary name beside it, then renamed. A kill leaves the old one or the new one."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from softground.errors import OutputError


def write_whole(path: str | Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill a temporary file with the ending of `path`, and put it in that place.

    Folders are made as needed. OutputError where it cannot be done; what was there before is untouched then.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())  # else a power cut may leave the name without the content
        os.replace(temporary, path)
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}. What was there before is kept: make room or choose "
            "another place, and give the same command again"
        ) from error
    finally:
        with suppress(OSError):  # there is none, or no folder for one
            temporary.unlink()
    return path


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of a writer that was killed."""
    for leftover in folder.glob(".*.part*"):
        leftover.unlink(missing_ok=True)
