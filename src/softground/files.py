"""Any file of ours, opened by what it is."""

from __future__ import annotations

from pathlib import Path

from softground.errors import FileFormatError
from softground.experiments.database import WrenchDatabase
from softground.experiments.database_file import ZHU2019_COLUMNS, is_database, read_any
from softground.media import LearnedSpace, load_medium
from softground.planning.plan import Plan, load_motion
from softground.runs import Run
from softground.runs.file import HDF5_SIGNATURE

KINDS = "a run or a planned gait (netCDF), a learned medium (JSON) or a wrench database (CSV)"
ROBOTS, SHAPES = (".xml", ".mjcf", ".urdf"), (".stl", ".obj", ".ply")


def load(path: str | Path) -> Run | Plan | LearnedSpace | WrenchDatabase:
    """Open a file of ours, whatever it is called: a run or a planned gait, a learned medium, or a wrench database.

    FileFormatError says what is wrong with one that cannot be opened, and what opens files of other kinds.

    >>> import tempfile, softground as sg
    >>> run = sg.Simulator(sg.Robot.load("foot"), sg.sand()).run(seconds=0.01)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sg.load(run.save(f"{folder}/run.nc"))["depth"].attrs["units"]
    'm'
    """
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(f"no file at {path}: give the path of {KINDS}")
    lines = _lines(path)
    content = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    # By its content, and what has none of ours by its name: then the reader says what is wrong.
    if (not lines and _is_hdf5(path)) or path.suffix == ".nc":
        return load_motion(path)
    if content.lstrip().startswith("{") or path.suffix == ".json":
        return load_medium(path)
    if is_database(lines) or content.split(",") == ZHU2019_COLUMNS or path.suffix == ".csv":
        return read_any(path)
    raise FileFormatError(f"{path} is not {KINDS}{_remedy(path)}")


def _is_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(HDF5_SIGNATURE)) == HDF5_SIGNATURE


def _lines(path: Path) -> list[str]:
    """Lines of a text file; none of another."""
    try:
        return path.read_text().splitlines()
    except UnicodeDecodeError:
        return []


def _remedy(path: Path) -> str:
    """What opens a file of this suffix."""
    if path.suffix.lower() in ROBOTS:
        return ": Robot.load reads models of robots"
    if path.suffix.lower() in SHAPES:
        return ": MeshSurface reads terrain"
    return ", or it is damaged: copy it again"
