"""Ground that yields inside of MJX, as functions for batches: docs/from_mujoco.md."""

import contextlib
import sys

try:
    with contextlib.redirect_stdout(sys.stderr):  # MJX says on standard output which optional parts are missing
        import mujoco.mjx  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("sg.mjx needs MJX: pip install 'softground[mjx]'", name=error.name) from error

from softground.bridges.mjx.ground import Ground, Memory

__all__ = ["Ground", "Memory"]
