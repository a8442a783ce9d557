"""Fits that are kept: a wrench space is fitted to a foot once, and read from the cache by every later program."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from softground.cache import cache_folder
from softground.errors import OutputError
from softground.whole_file import write_whole

MEDIA = Path(__file__).parent.parent


def kept_fit(label: str, arrays: Iterable[ArrayLike], fit: Callable[[], np.ndarray]) -> np.ndarray:
    """The coefficients that `fit` gives, bit for bit: kept from an earlier call, or made now.

    label, arrays: all that they depend on, beside the code. A file that cannot be read is made anew, and where nothing
    can be written nothing is kept.
    """
    path = cache_folder() / f"fit-{_fingerprint(label, arrays)}.npz"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return stored["coefficients"]
    except Exception:  # absent or damaged: an archive fails in as many ways as it has bytes
        coefficients = fit()
    with suppress(OutputError):
        write_whole(path, lambda file: np.savez(file, coefficients=coefficients))
    return coefficients


def _fingerprint(label: str, arrays: Iterable[ArrayLike]) -> str:
    """A name for all that a fit depends on."""
    digest = hashlib.sha256(_code())
    digest.update(label.encode())
    for array in map(np.asarray, arrays):
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


@cache
def _code() -> bytes:
    """Digest of the code of all media: laws, features and fit. A fit by other code is not found."""
    digest = hashlib.sha256()
    for file in sorted(MEDIA.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.digest()
