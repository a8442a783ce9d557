"""Where results are kept that take long to compute."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path


def cache_folder() -> Path:
    """SOFTGROUND_CACHE, or softground in the user's cache folder."""
    if chosen := os.environ.get("SOFTGROUND_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "softground")


def programs_folder() -> Path:
    """Folder of compiled programs, which only processors of one kind can run: a home folder may be shared by
    several."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = sorted({line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))})
    except OSError:
        processor = [platform.processor()]
    digest = hashlib.sha256("\n".join([platform.machine(), *processor]).encode()).hexdigest()
    return cache_folder() / f"programs-{digest[:12]}"
