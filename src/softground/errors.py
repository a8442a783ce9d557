"""Exceptions raised at the boundary: loading files, building objects, reading options.

Every message says what was wrong, where, and what would be right. Inside jitted code nothing raises:
failure there is a flag in the result (see `softground.simulation`).
"""

__all__ = [
    "ExperimentError",
    "FileFormatError",
    "MediumError",
    "OptionError",
    "OutputError",
    "RobotError",
    "SoftgroundError",
    "SurfaceError",
]


class SoftgroundError(ValueError):
    """Base class of every error that softground raises on purpose."""


class RobotError(SoftgroundError):
    """A robot model could not be read, or does not hold what was asked of it."""


class SurfaceError(SoftgroundError):
    """A ground surface was given data it cannot stand on."""


class MediumError(SoftgroundError):
    """A medium was given parameters or data without physical meaning."""


class ExperimentError(SoftgroundError):
    """A measurement, a campaign or a wrench database is incomplete or contradicts itself."""


class OptionError(SoftgroundError):
    """An option of a simulation or command is out of range."""


class OutputError(SoftgroundError):
    """A file could not be written."""


class FileFormatError(SoftgroundError):
    """A file is truncated, of another version, or not one of ours."""


def unknown_name(kind: str, name: str, known) -> str:
    """Message for a name that was not found, with the names that would have been."""
    choices = ", ".join(sorted(map(str, known))) or "none"
    return f"unknown {kind} {name!r}: must be one of {choices}"
