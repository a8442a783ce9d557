"""Wrench databases on disk: CSV with a header that says what the numbers are.

    # softground wrench database, version 1
    # medium: play sand
    # foot: cylinder radius_m=0.05 length_m=0.15
    # reference_height_m: 0.1572
    # kind: planar
    # provenance: measured on ... by ...
    depth_m,tilt_rad,direction,vx_m_s,vz_m_s,wy_rad_s,fx_n,fz_n,ty_nm,source

Depth is positive below the surface. Spatial databases have heading_rad after tilt_rad and all six components.

Tables of others are read too: the plain table published with zhu2019 has the columns depth_m (negative below the
surface), tilt_rad, direction, fx_n, fz_n, ty_nm. Its directions are numbered as in
`softground.media.resistive.directions`; the foot was turned about its sole's centre.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from softground.errors import ExperimentError, FileFormatError
from softground.experiments.database import MEASURED, ZERO, WrenchDatabase, check_complete
from softground.media.base import COMPONENTS
from softground.media.resistive.directions import PLANAR_COUNTS, directions
from softground.robots.shapes import Cylinder, Shape, shape_from_dict
from softground.whole_file import write_whole

TITLE, VERSION = "softground wrench database", 1
HEADER_FIELDS = ("medium", "foot", "reference_height_m", "kind", "provenance")
TWIST_COLUMNS = ("vx_m_s", "vy_m_s", "vz_m_s", "wx_rad_s", "wy_rad_s", "wz_rad_s")
WRENCH_COLUMNS = ("fx_n", "fy_n", "fz_n", "tx_nm", "ty_nm", "tz_nm")


def columns_of(kind: str) -> list[str]:
    """Names of the columns, in order."""
    pose = ["depth_m", "tilt_rad"] + (["heading_rad"] if kind == "spatial" else [])
    parts = [[names[i] for i in COMPONENTS[kind]] for names in (TWIST_COLUMNS, WRENCH_COLUMNS)]
    return [*pose, "direction", *parts[0], *parts[1], "source"]


def write_database(path: str | Path, database: WrenchDatabase) -> Path:
    """Write a database whole."""
    return write_whole(path, lambda file: file.write_text(_text(database)))


def read_database(path: str | Path, *, partial: bool = False) -> WrenchDatabase:
    """Read and check a database; messages name the line of the file.

    partial: allow configurations that lack directions (of a campaign that goes on, or to complete by symmetry).
    """
    path = Path(path)
    lines = read_lines(path)
    header, start = _header(path, lines)
    kind = header["kind"]
    if kind not in ("planar", "spatial"):
        raise FileFormatError(f"{path}: `# kind:` must be planar or spatial, got {kind!r}")
    names = columns_of(kind)
    columns, numbers = read_columns(path, lines, start, names, text=("source",))
    pick = lambda chosen: np.stack([columns[name] for name in chosen], axis=1)  # noqa: E731
    with errors_naming(path):
        database = WrenchDatabase(
            medium=header["medium"],
            foot=_shape(path, header["foot"]),
            reference_height=_number(path, header["reference_height_m"]),
            kind=kind,
            provenance=header["provenance"],
            depth=columns["depth_m"],
            tilt=columns["tilt_rad"],
            heading=columns.get("heading_rad", np.zeros(len(numbers))),
            direction=whole_numbers(path, columns["direction"], numbers),
            twist=pick([name for name in TWIST_COLUMNS if name in names]),
            wrench=pick([name for name in WRENCH_COLUMNS if name in names]),
            source=tuple(columns["source"]),
            lines=np.array(numbers),
        )
        if not partial:
            check_complete(database)
    return database


@contextmanager
def errors_naming(path: Path) -> Iterator[None]:
    """Put the name of the file before what is wrong with its rows."""
    try:
        yield
    except ExperimentError as error:
        raise ExperimentError(f"{path}, {error}") from error


def read_lines(path: Path) -> list[str]:
    """Lines of a text file; FileFormatError where it is none."""
    if not path.is_file():
        raise FileFormatError(f"no file at {path}: give the path of a CSV table")
    try:
        return path.read_text().splitlines()
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path} is not text: wrench databases are CSV") from error


def read_columns(
    path: Path, lines: list[str], start: int, names: list[str], text: tuple[str, ...] = ()
) -> tuple[dict[str, np.ndarray], list[int]]:
    """Columns by name and the line number (from 1) of every row, of a CSV table whose heading is line `start`."""
    heading = [name.strip() for name in lines[start].split(",")]
    if heading != names:
        raise FileFormatError(f"{path}, line {start + 1}: columns must be {','.join(names)}, got {','.join(heading)}")
    rows, numbers = [], []
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if not line.strip():
            continue
        (row,) = csv.reader([line])
        if len(row) != len(names):
            raise FileFormatError(f"{path}, line {number}: {len(row)} values in {len(names)} columns")
        rows.append(row)
        numbers.append(number)
    if not rows:
        raise FileFormatError(f"{path} has a heading but no rows: measure something first")
    columns = {}
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        columns[name] = np.array(values) if name in text else _floats(path, name, values, numbers)
    return columns, numbers


def _floats(path: Path, name: str, values: tuple[str, ...], numbers: list[int]) -> np.ndarray:
    parsed = np.empty(len(values))
    for i, (value, number) in enumerate(zip(values, numbers, strict=True)):
        try:
            parsed[i] = float(value)
        except ValueError as error:
            raise FileFormatError(f"{path}, line {number}: {name} must be a number, got {value!r}") from error
    return parsed


def whole_numbers(path: Path, values: np.ndarray, numbers: list[int]) -> np.ndarray:
    """Direction numbers as integers."""
    wrong = np.flatnonzero(~(values == np.round(values)))
    if len(wrong):
        row = int(wrong[0])
        raise FileFormatError(f"{path}, line {numbers[row]}: direction must be a whole number, got {values[row]:g}")
    return values.astype(int)


def _text(database: WrenchDatabase) -> str:
    foot = database.foot.to_dict()
    sizes = " ".join(f"{name}={size!r}" for name, size in foot.items() if name != "type")
    values = (
        _one_line(database.medium),
        f"{foot['type']} {sizes}",
        repr(float(database.reference_height)),
        database.kind,
        _one_line(database.provenance),
    )
    out = io.StringIO()
    out.write(f"# {TITLE}, version {VERSION}\n")
    out.writelines(f"# {name}: {value}\n" for name, value in zip(HEADER_FIELDS, values, strict=True))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns_of(database.kind))
    pose = [database.depth, database.tilt] + ([database.heading] if database.kind == "spatial" else [])
    for row in range(len(database)):
        numbers = [column[row] for column in pose]
        values = [repr(float(x)) for x in (*database.twist[row], *database.wrench[row])]
        writer.writerow(
            [*(repr(float(x)) for x in numbers), int(database.direction[row]), *values, database.source[row]]
        )
    return out.getvalue()


def _one_line(text: str) -> str:
    return " ".join(text.split())


def is_database(lines: list[str]) -> bool:
    """Whether these are lines of a database of ours, of whatever version."""
    return bool(lines) and lines[0].startswith(f"# {TITLE}, version ")


def _header(path: Path, lines: list[str]) -> tuple[dict[str, str], int]:
    """Fields of the header, and the index of the line after it."""
    if not is_database(lines):
        raise FileFormatError(
            f"{path} is not a wrench database: its first line must be `# {TITLE}, version {VERSION}`; "
            "see softground.experiments.database_file for other tables"
        )
    version = lines[0].rpartition(" ")[2]
    if version != str(VERSION):
        raise FileFormatError(f"{path} has version {version}, this softground reads {VERSION}: upgrade softground")
    start = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    pairs = (line[1:].partition(":") for line in lines[1:start])
    header = {name.strip(): value.strip() for name, _, value in pairs}
    missing = [name for name in HEADER_FIELDS if name not in header]
    if missing:
        raise FileFormatError(f"{path}: the header lacks `# {missing[0]}: ...`")
    if start == len(lines):
        raise FileFormatError(f"{path} ends after its header: the file is truncated")
    return header, start


def _shape(path: Path, text: str):
    kind, *sizes = text.split() or [""]
    try:
        return shape_from_dict({"type": kind, **dict(size.split("=") for size in sizes)})
    except (ValueError, TypeError) as error:
        raise FileFormatError(
            f"{path}: `# foot:` must read like `cylinder radius_m=0.05 length_m=0.15`, got {text!r} ({error})"
        ) from error


def _number(path: Path, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise FileFormatError(f"{path}: `# reference_height_m:` must be a number, got {text!r}") from error


ZHU2019_COLUMNS = ["depth_m", "tilt_rad", "direction", "fx_n", "fz_n", "ty_nm"]
#: Foot and reference point (m up its axis) of zhu2019's physical measurements.
ZHU2019_FOOT, ZHU2019_REFERENCE = Cylinder(radius=0.05, length=0.15), 0.1572


def from_zhu2019(
    path: str | Path,
    *,
    medium: str = "",
    foot: Shape = ZHU2019_FOOT,
    reference_height: float = ZHU2019_REFERENCE,
    provenance: str = "",
    partial: bool = False,
) -> WrenchDatabase:
    """Database of a plain table of zhu2019; `medium` is the file's name unless given.

    reference_height: of the point about which torques were taken, m.
    partial: allow configurations that lack directions.
    """
    path = Path(path)
    lines = read_lines(path)
    start = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    if start == len(lines):
        raise FileFormatError(f"{path} has no rows: its columns must be {','.join(ZHU2019_COLUMNS)}")
    columns, numbers = read_columns(path, lines, start, ZHU2019_COLUMNS)
    direction = whole_numbers(path, columns["direction"], numbers)
    _check_depth(path, columns["depth_m"], numbers)
    at_surface = columns["depth_m"] == 0
    with errors_naming(path):
        database = WrenchDatabase(
            medium=medium or path.stem,
            foot=foot,
            reference_height=reference_height,
            kind="planar",
            provenance=provenance or f"plain table {path.name}",
            depth=-columns["depth_m"] + 0.0,
            tilt=columns["tilt_rad"],
            heading=np.zeros(len(numbers)),
            direction=direction,
            twist=_twists(path, direction, numbers),
            wrench=np.stack([columns[name] for name in ZHU2019_COLUMNS[3:]], axis=1),
            source=tuple(np.where(at_surface, ZERO, MEASURED).tolist()),
            lines=np.array(numbers),
        )
        if not partial:
            check_complete(database)
    return database


def _check_depth(path: Path, depth: np.ndarray, numbers: list[int]) -> None:
    wrong = np.flatnonzero(depth > 0)
    if len(wrong):
        row = int(wrong[0])
        raise ExperimentError(
            f"{path}, line {numbers[row]}: depth_m is {depth[row]:g}, and in tables of zhu2019 it is negative below "
            "the surface; change the sign"
        )


def _twists(path: Path, direction: np.ndarray, numbers: list[int]) -> np.ndarray:
    """Twists (r, 3) of the numbered directions, of the smallest set that has them all."""
    count = next((count for count in PLANAR_COUNTS if direction.max() < count), None)
    wrong = np.flatnonzero((direction < 0) | (direction >= (count or PLANAR_COUNTS[-1])))
    if count is None or len(wrong):
        row = int(wrong[0])
        raise ExperimentError(
            f"{path}, line {numbers[row]}: direction {direction[row]} is not one of 0 to {PLANAR_COUNTS[-1] - 1}"
        )
    return directions(count)[direction]


def read_any(path: str | Path) -> WrenchDatabase:
    """A database from a file of ours or from a plain table of zhu2019, whichever it is."""
    lines = read_lines(Path(path))
    return read_database(path) if is_database(lines) else from_zhu2019(path)
