"""Run files: a run on disk (netCDF), checked when loaded, and everything needed to repeat it.

dataset = run(simulator, state, control, seconds=3)
save_run("run.nc", dataset)
simulator, state = rebuild(load_run("run.nc"))      # the same simulator, where the run began
again = repeat(dataset)                              # the same numbers
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from softground.errors import FileFormatError, OptionError
from softground.simulation.description import is_opaque, restore
from softground.simulation.gravity import EARTH
from softground.simulation.run_dataset import FORMAT, VARIABLES, VERSION
from softground.simulation.running import run
from softground.simulation.simulator import Simulator, State
from softground.simulation.simulator_recipe import build_simulator
from softground.surfaces import Surface
from softground.whole_file import write_whole

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
RECIPES = ("simulator", "start", "final", "control")


def save_run(path: str | Path, dataset: xr.Dataset) -> Path:
    """Write a run whole (`softground.whole_file`). Folders are made as needed."""
    if dataset.attrs.get("format") != FORMAT:
        raise OptionError("save_run writes datasets made by softground.simulation.run, this one is not")
    packed = {name: {"zlib": True, "complevel": 4} for name in VARIABLES}
    return write_whole(path, lambda file: dataset.to_netcdf(file, engine="h5netcdf", encoding=packed))


def load_run(path: str | Path) -> xr.Dataset:
    """Read a run file, whole, into memory; FileFormatError says what is wrong with one that cannot be."""
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(f"no run file at {path}: make one with `softground simulate ... --out {path.name}`")
    with path.open("rb") as file:
        ours = file.read(len(HDF5_SIGNATURE)) == HDF5_SIGNATURE
    if not ours:
        raise FileFormatError(f"{path} is not a run file (not netCDF-4): run files are written by save_run")
    try:
        with xr.open_dataset(path, engine="h5netcdf") as opened:
            dataset = opened.load()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise FileFormatError(
            f"{path} is truncated or damaged ({str(error).splitlines()[0]}): copy it again or repeat the run"
        ) from error
    dataset = _completed(dataset)
    _check(dataset, path)
    return dataset


def _completed(dataset: xr.Dataset) -> xr.Dataset:
    """A run with what files of softground 0.1 do not keep.

    Gravity is taken for the Earth's, and the base's orientation from the free joint or, in the plane, from the pitch.
    """
    if dataset.attrs.get("format") != FORMAT:
        return dataset
    dataset = dataset.assign_attrs({"gravity_m_per_s2": np.array(EARTH)} | dataset.attrs)
    if "base_quaternion" in dataset or not {"configuration", "base_pitch"} <= set(dataset):
        return dataset
    names = [str(name) for name in dataset["q"].values]
    free = [f"{names[0].removesuffix('_x')}_q{entry}" for entry in "wxyz"]
    half, zero = dataset["base_pitch"].values / 2, np.zeros(dataset.sizes["time"])
    about_y = np.stack([np.cos(half), zero, np.sin(half), zero], axis=-1)
    quaternion = dataset["configuration"].sel(q=free).values if set(free) <= set(names) else about_y
    return dataset.assign(base_quaternion=(("time", "quaternion"), quaternion))


def _check(dataset: xr.Dataset, path: Path) -> None:
    attrs = dataset.attrs
    if attrs.get("format") != FORMAT:
        raise FileFormatError(f"{path} is netCDF but not a softground run: its attribute `format` must be {FORMAT!r}")
    version, writer = int(attrs.get("format_version", 0)), attrs.get("softground_version", "unknown")
    if version > VERSION:
        raise FileFormatError(
            f"{path} has format version {version}, this softground reads {VERSION}: "
            f"upgrade softground (the file was written by {writer})"
        )
    if version < VERSION:
        raise FileFormatError(
            f"{path} has format version {version}, this softground reads {VERSION}: "
            f"repeat the run, or read it with softground {writer}"
        )
    missing = [name for name in VARIABLES if name not in dataset]
    missing += [f"{name}_recipe" for name in RECIPES if f"{name}_recipe" not in attrs]
    if missing:
        raise FileFormatError(f"{path} lacks {', '.join(missing)}: the file is damaged, repeat the run")


def rebuild(dataset: xr.Dataset, at: Literal["start", "final"] = "start") -> tuple[Simulator, State]:
    """The simulator of a run, and the state in which it began (or, to continue it, ended)."""
    if dataset.attrs["precision"] == "float64" and not jax.config.jax_enable_x64:  # pyright: ignore
        raise OptionError('the run is in float64: call jax.config.update("jax_enable_x64", True) first')
    simulator = build_simulator(_recipe(dataset, "simulator"), arrays_of(dataset))
    state = restore(_recipe(dataset, at), arrays_of(dataset))
    return simulator, jax.tree.map(jnp.asarray, state)


def surface_of(dataset: xr.Dataset) -> Surface:
    """The surface of the ground of a run."""
    return Surface.from_dict(restore(_recipe(dataset, "simulator")["surface"], arrays_of(dataset)))


def control_of(dataset: xr.Dataset) -> Any:
    """The control of a run: a `Control`, or a policy that is an `equinox.Module`; functions are not kept."""
    recipe = _recipe(dataset, "control")
    if is_opaque(recipe):
        raise FileFormatError(
            "the run was controlled by a plain function, which a file does not hold: rebuild() the simulator "
            "and give run() that function again, or write policies as equinox modules"
        )
    return restore(recipe, arrays_of(dataset))


def repeat(dataset: xr.Dataset, *, progress: bool = False) -> xr.Dataset:
    """Simulate the run again, as long as it lasted."""
    simulator, state = rebuild(dataset)
    attrs = dataset.attrs
    seconds = int(attrs["steps"]) * float(attrs["dt_s"])
    return run(simulator, state, control_of(dataset), seconds, every=int(attrs["every"]), progress=progress)


def _recipe(dataset: xr.Dataset, name: str) -> Any:
    return json.loads(dataset.attrs[f"{name}_recipe"])


def arrays_of(dataset: xr.Dataset) -> dict[str, np.ndarray]:
    """Arrays that the recipes of a run refer to, by name."""
    return {str(name): variable.values for name, variable in dataset.data_vars.items() if name not in VARIABLES}
