"""Compiled programs kept on disk: found again by name, made again where they are damaged."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from softground.cache import programs_folder
from softground.errors import OutputError
from softground.whole_file import write_whole


def kept(name: str, make: Callable[[], bytes]) -> bytes:
    """What is kept under a name; made and kept if it is not there."""
    file = programs_folder() / "native" / name
    code = _read(file)
    if code is None:
        code = make()
        content = hashlib.sha256(code).digest() + code
        with suppress(OutputError, OSError):  # a disk that is full or read-only costs the next process a compilation
            write_whole(file, lambda path: path.write_bytes(content))
    return code


def digest_of(*parts: str) -> str:
    """A name for what is made of these."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _read(file: Path) -> bytes | None:
    """Code in a file; None if there is none, or it is damaged."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    digest, code = content[:32], content[32:]
    return code if hashlib.sha256(code).digest() == digest else None
