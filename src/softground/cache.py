"""Where results are kept that take long to compute."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """SOFTGROUND_CACHE, or softground in the user's cache folder."""
    if chosen := os.environ.get("SOFTGROUND_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "softground")
