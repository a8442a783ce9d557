"""Run files: a run on disk (netCDF), checked when it is loaded."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from softground.errors import FileFormatError
from softground.runs import old_files
from softground.runs.dataset import FORMAT, OF_BODIES, VARIABLES, VERSION
from softground.whole_file import write_whole

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
EARTH = (0.0, 0.0, -9.81)
"""m/s2, world: assumed of run files that do not say, which softground 0.1 wrote."""
OLDEST = 1
"""Version of files that can still be read: those of softground 0.1 name classes by their places in it."""
PLAN_FORMAT = "softground-plan"
RECIPES = ("simulator", "start", "final", "control")


def write_dataset(path: str | Path, dataset: xr.Dataset) -> Path:
    """Write a run or a plan whole (`softground.whole_file`). Folders are made as needed."""
    packed = {name: {"zlib": True, "complevel": 4} for name in VARIABLES | OF_BODIES if name in dataset}
    return write_whole(path, lambda file: dataset.to_netcdf(file, engine="h5netcdf", encoding=packed))


def read_dataset(path: str | Path) -> xr.Dataset:
    """Read a run file, whole, into memory; FileFormatError says what is wrong with one that cannot be."""
    return checked_run(read_netcdf(path), path)


def read_netcdf(path: str | Path, kind: str = "run", made_by: str = "simulate") -> xr.Dataset:
    """What is in a netCDF file, whole, in memory, whatever it means; kind, made_by: what is looked for, in messages."""
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(f"no {kind} file at {path}: make one with `softground {made_by} ... --out {path.name}`")
    with path.open("rb") as file:
        ours = file.read(len(HDF5_SIGNATURE)) == HDF5_SIGNATURE
    if not ours:
        raise FileFormatError(
            f"{path} is not a {kind} file (not netCDF-4): {kind} files are written by {kind.capitalize()}.save"
        )
    try:
        with xr.open_dataset(path, engine="h5netcdf") as opened:
            return opened.load()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise FileFormatError(
            f"{path} is truncated or damaged ({str(error).splitlines()[0]}): copy it again or repeat the {kind}"
        ) from error


def checked_run(dataset: xr.Dataset, path: str | Path) -> xr.Dataset:
    """What was read from a file as a run; FileFormatError where it is none."""
    if holds_plan(dataset):
        raise FileFormatError(f"{path} is a planned gait, not a run: open it with softground.load or Plan.load")
    return completed_run(dataset, path)


def completed_run(dataset: xr.Dataset, path: str | Path) -> xr.Dataset:
    """The same for what was written as a run, plans of softground 0.1 included."""
    dataset = _completed(dataset)
    _check(dataset, path)
    return dataset


def holds_plan(dataset: xr.Dataset) -> bool:
    """Whether it was written by a plan; softground 0.1 wrote plans as runs with an attribute more."""
    return dataset.attrs.get("format") == PLAN_FORMAT or "plan" in dataset.attrs


def _completed(dataset: xr.Dataset) -> xr.Dataset:
    """A run with what files of softground 0.1 do not keep, and under today's names.

    Gravity is taken for the Earth's, and the base's orientation from the free joint or, in the plane, from the pitch.
    """
    if dataset.attrs.get("format") != FORMAT:
        return dataset
    dataset = dataset.rename({old: new for old, new in old_files.VARIABLES.items() if old in dataset.variables})
    dataset = dataset.assign_attrs({"gravity_m_per_s2": np.array(EARTH)} | dataset.attrs)
    if "base_quaternion" in dataset or not {"configuration", "base_pitch"} <= set(dataset):
        return dataset
    names = [str(name) for name in dataset["q"].values]
    free = [f"{names[0].removesuffix('_x')}_q{entry}" for entry in "wxyz"]
    half, zero = dataset["base_pitch"].values / 2, np.zeros(dataset.sizes["time"])
    about_y = np.stack([np.cos(half), zero, np.sin(half), zero], axis=-1)
    quaternion = dataset["configuration"].sel(q=free).values if set(free) <= set(names) else about_y
    return dataset.assign(base_quaternion=(("time", "quaternion"), quaternion))


def _check(dataset: xr.Dataset, path: str | Path) -> None:
    attrs = dataset.attrs
    if attrs.get("format") != FORMAT:
        raise FileFormatError(f"{path} is netCDF but not a softground run: its attribute `format` must be {FORMAT!r}")
    check_version(attrs, path, OLDEST, VERSION, again="repeat the run")
    missing = [name for name in VARIABLES if name not in dataset]
    missing += [f"{name}_recipe" for name in RECIPES if f"{name}_recipe" not in attrs]
    if missing:
        raise FileFormatError(f"{path} lacks {', '.join(missing)}: the file is damaged, repeat the run")


def check_version(attrs: Mapping[Hashable, Any], path: str | Path, oldest: int, newest: int, again: str) -> None:
    """FileFormatError where a file is of a version that is not read here; again: how to make another."""
    version, writer = int(attrs.get("format_version", 0)), attrs.get("softground_version", "unknown")
    if version > newest:
        raise FileFormatError(
            f"{path} has format version {version}, this softground reads {newest}: "
            f"upgrade softground (the file was written by {writer})"
        )
    if version < oldest:
        raise FileFormatError(
            f"{path} has format version {version}, this softground reads {oldest} to {newest}: "
            f"{again}, or read it with softground {writer}"
        )
