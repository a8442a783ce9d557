"""Recipe: what a robot was loaded from, as a hashable value that can be kept, compared and loaded again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from softground.errors import RobotError
from softground.robots.shapes import Shape, checked_shape


@dataclass(frozen=True)
class Recipe:
    """Arguments of `Robot.load` in a canonical, hashable form."""

    source: str
    """Name in the catalogue, or path of the model file."""
    feet: tuple[tuple[str, Shape | None], ...] | None
    lock: tuple[tuple[str, float | None], ...]
    planar: bool
    posture: str | tuple[tuple[str, float], ...] | None
    ignore: tuple[str, ...] = field(default=(), metadata={"absent_from_old_files": True})
    """Features of the file that the robot is loaded without."""

    @classmethod
    def of(
        cls,
        path_or_name: str | Path,
        feet: Iterable[str] | Mapping[str, Shape] | None = None,
        lock: Iterable[str] | Mapping[str, float] = (),
        planar: bool = False,
        posture: str | Mapping[str, float] | None = None,
        ignore: Iterable[str] = (),
    ) -> "Recipe":
        """Canonical form of the arguments of `Robot.load`."""
        return cls(
            source=str(path_or_name),
            feet=None if feet is None else _pairs(feet, "feet"),
            lock=_pairs(lock, "lock"),
            planar=bool(planar),
            posture=posture if posture is None or isinstance(posture, str) else tuple(posture.items()),
            ignore=tuple(name for name, _ in _pairs(ignore, "ignore")),
        )

    def feet_argument(self) -> dict[str, Shape | None] | None:
        """Names of the feet with their shapes (None: from the model); None if none were given."""
        return None if self.feet is None else dict(self.feet)


def _pairs(names, what: str) -> tuple:
    """Names with what was said of each (None: nothing), as a tuple of pairs."""
    if isinstance(names, str):
        raise RobotError(f"{what} must be a list of names or a mapping, got {names!r}: write [{names!r}]")
    if not isinstance(names, Mapping):
        return tuple((str(name), None) for name in names)
    check = _shape if what == "feet" else _angle
    return tuple((str(name), None if value is None else check(name, value)) for name, value in names.items())


def _shape(name: str, value) -> Shape:
    return checked_shape(value, what=f"shape of foot {name!r}")


def _angle(name: str, value) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise RobotError(f"joint {name!r} must be locked at a number (rad, m), got {value!r}") from error
