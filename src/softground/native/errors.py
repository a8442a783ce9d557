"""Why a program stays with XLA."""

from __future__ import annotations

from softground.errors import SoftgroundError


class NotNative(SoftgroundError):
    """A program, or this machine, is not one that native code can be made for. Callers go on with XLA."""
