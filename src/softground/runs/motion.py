"""A motion: how a robot moves on a ground, simulated or planned; a run: a motion that was simulated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Float

from softground.arrays import Array, require_double
from softground.errors import FileFormatError
from softground.robots import Robot
from softground.runs.cost_of_transport import WalkCost, walk_cost
from softground.runs.dataset import OF_BODIES, VARIABLES, RunInfo, run_dataset
from softground.runs.description import build_robot, build_simulator, is_opaque, restore
from softground.runs.file import read_dataset, write_dataset
from softground.runs.measures import Stance, find_stances, up_against
from softground.runs.verdict import Fall, find_fall, summarise, troubles
from softground.simulation.simulator import Record, Simulator, State
from softground.surfaces import Surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class RobotMotion:
    """What runs and plans have in common: samples over time, each variable with its unit, meaning and frame.

    A `Run` is a motion that was simulated; that of a plan is `Plan.motion`. Whatever draws, plays or measures a motion
    takes either. Everything is stored in `dataset`, an `xarray.Dataset`, also what is needed to build robot and ground
    again.

    >>> import softground as sg
    >>> motion: sg.runs.RobotMotion = sg.Simulator(sg.Robot.load("foot"), sg.sand()).run(seconds=0.01)
    >>> motion["depth"].dims
    ('time', 'foot')
    """

    dataset: xr.Dataset

    # -- read ----------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> xr.DataArray:
        return self.dataset[name]

    def __contains__(self, name: str) -> bool:
        return name in self.dataset

    def __repr__(self) -> str:
        time = self["time"].values
        return f"<RobotMotion: {self.attrs['title']}, {time[0]:g} to {time[-1]:g} s, {len(time)} samples>"

    def _repr_html_(self) -> str:
        return self.dataset._repr_html_()

    @property
    def attrs(self) -> dict[str, Any]:
        """What is known of it as a whole: title, robot, dt_s, ..."""
        return self.dataset.attrs

    @property
    def sizes(self) -> Mapping[Any, int]:
        """Number of samples, feet, actuators, ..."""
        return self.dataset.sizes

    def isel(self, **rows: Any) -> Self:
        """A part of it by numbers of samples, as `xarray.Dataset.isel`."""
        return replace(self, dataset=self.dataset.isel(**rows))

    def sel(self, **where: Any) -> Self:
        """A part of it by times (s), as `xarray.Dataset.sel`."""
        return replace(self, dataset=self.dataset.sel(**where))

    def assign(self, attrs: Mapping[str, Any] | None = None, **variables: Any) -> Self:
        """The motion with more variables, as `xarray.Dataset.assign`, and more attributes."""
        return replace(self, dataset=self.dataset.assign(variables).assign_attrs(attrs or {}))

    # -- robot and ground ----------------------------------------------------------------------------------

    @cached_property
    def robot(self) -> Robot:
        """The robot, loaded from where it came from, with what was changed of it."""
        return build_robot(self._recipe("simulator"), self._arrays)

    @cached_property
    def surface(self) -> Surface:
        """Of the ground."""
        return Surface.from_dict(self._restored(self._recipe("simulator")["surface"]))

    @property
    def gravity(self) -> Float[np.ndarray, "3"]:
        """Acceleration of free fall (m/s2, world)."""
        return np.asarray(self.attrs["gravity_m_per_s2"], dtype=float)

    @property
    def weight(self) -> float:
        """Of the robot, N."""
        return float(self.attrs["mass_kg"]) * float(np.linalg.norm(self.gravity))

    @property
    def up(self) -> Float[np.ndarray, "3"]:
        """Unit vector against gravity (world); where there is none, the world's z."""
        return up_against(self.gravity)

    def simulator(self) -> Simulator:
        """Robot and ground with the time step of the motion, as they were."""
        return build_simulator(self._recipe("simulator"), self._arrays)

    # -- judged --------------------------------------------------------------------------------------------

    def fall(self) -> Fall | None:
        """When and why the robot fell; None where it did not (`softground.runs.verdict`)."""
        return find_fall(self)

    def stances(self) -> list[Stance]:
        """Intervals in which a foot carries, in the order in which they begin (`softground.runs.measures`)."""
        return find_stances(self)

    def cost(self, start: float | None = None, end: float | None = None) -> WalkCost:
        """Cost of transport between two times (s), by default of the whole run."""
        return walk_cost(self, start, end)

    def height(self, of: str = "center_of_mass") -> Float[np.ndarray, " t"]:
        """Distance (m) of the centre of mass, or of another point of it, from the ground, whatever its slope."""
        return np.array(_distances(self.surface, self[of].values))

    def ground_normal(self) -> Float[np.ndarray, "t 3"]:
        """Unit normal (world) of the ground at the centre of mass."""
        return np.array(_normals(self.surface, self["center_of_mass"].values))

    def foot_poses(self, robot: Robot | None = None) -> tuple[Float[np.ndarray, "t f 3"], Float[np.ndarray, "t f 3 3"]]:
        """Centres (m, world) and orientations of the soles. robot: that of the motion, where it is at hand already."""
        poses = (self.robot if robot is None else robot).foot_poses
        position, rotation = jax.jit(jax.vmap(poses))(self["configuration"].values)
        return np.asarray(position), np.asarray(rotation)

    def vertical_force(self) -> Float[np.ndarray, "t f"]:
        """Vertical force of the ground on every foot, against gravity, N."""
        return self["wrench_world"].sel(wrench_axis=["fx", "fy", "fz"]).values @ self.up

    # -- shown ---------------------------------------------------------------------------------------------

    def plot(self, path: str | Path | None = None, title: str = "") -> Figure:
        """Forces, sinkage, the base's motion and the actuators' power over time; written to `path` if one is given."""
        from softground.runs.figures import run_figure, save_figure  # Matplotlib takes a second to import

        figure = run_figure(self, title)
        if path is not None:
            save_figure(figure, path)
        return figure

    def video(self, path: str | Path, **options: Any) -> Path:
        """Render it as a video (mp4 or gif); options as of `softground.bridges.animation.animate`."""
        from softground.bridges.animation import animate

        return animate(self, path, **options)

    def _recipe(self, name: str) -> Any:
        return json.loads(self.attrs[f"{name}_recipe"])

    def _restored(self, description: Any) -> Any:
        return restore(description, self._arrays)

    @property
    def _arrays(self) -> dict[str, np.ndarray]:
        """Arrays that the recipes refer to, by name."""
        known = VARIABLES | OF_BODIES
        return {str(name): values.values for name, values in self.dataset.data_vars.items() if name not in known}


@eqx.filter_jit
def _distances(surface: Surface, points: Float[Array, "t 3"]) -> Float[Array, " t"]:
    return jax.vmap(surface.signed_distance)(points)


@eqx.filter_jit
def _normals(surface: Surface, points: Float[Array, "t 3"]) -> Float[Array, "t 3"]:
    return jax.vmap(surface.normal)(points)


@dataclass(frozen=True, eq=False, repr=False)
class Run(RobotMotion):
    """A run, or a part of one: samples over time, each variable with its unit, meaning and frame.

    >>> import softground as sg
    >>> run = sg.Simulator(sg.Robot.load("foot"), sg.sand()).run(seconds=0.01)
    >>> run["depth"].attrs["units"]  # an xarray.DataArray, of every foot over time
    'm'
    >>> run.fall() is None  # or when and why the robot fell
    True

    `run.save("run.nc")` keeps it, `Run.load("run.nc")` reads it, and `run.repeat()` simulates it again.

    Everything is stored in `dataset`, an `xarray.Dataset`, also what is needed to build the simulator again.
    """

    # -- made and kept -------------------------------------------------------------------------------------

    @classmethod
    def of(cls, simulator: Simulator, start: State, final: State, history: Record, control: Any, info: RunInfo) -> Run:
        """Run from `start` to `final` under `control`; `history` has a leading axis of samples."""
        return cls(run_dataset(simulator, start, final, history, control, info))

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Read a run file; FileFormatError says what is wrong with one that cannot be read."""
        return cls(read_dataset(path))

    def save(self, path: str | Path) -> Path:
        """Write the run to a file (netCDF), whole or not at all. Folders are made as needed."""
        return write_dataset(path, self.dataset)

    # -- read ----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        time, fall = self["time"].values, self.fall()
        how = str(self.attrs["ended"]) if fall is None else f"fell at {fall.time:.2f} s"
        return f"<Run: {self.attrs['title']}, {time[0]:g} to {time[-1]:g} s, {len(time)} samples, {how}>"

    # -- judged --------------------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Names with units -> the few numbers that tell how the run went."""
        return summarise(self)

    def troubles(self) -> list[str]:
        """What a user must know of a run that did not go as asked, one line each."""
        return troubles(self)

    # -- repeated ------------------------------------------------------------------------------------------

    def rebuild(self, at: Literal["start", "final"] = "start") -> tuple[Simulator, State]:
        """The simulator of the run, and the state in which it began (or, to continue it, ended)."""
        if self.attrs["precision"] == "float64":
            require_double("this run, which was made with it,")
        return self.simulator(), jax.tree.map(jnp.asarray, self.state(at))

    def state(self, at: Literal["start", "final"] = "start") -> State:
        """The state in which the run began, or ended."""
        return self._restored(self._recipe(at))

    def control(self) -> Any:
        """The control of the run: a `Control`, or a policy that is an `equinox.Module`; functions are not kept."""
        recipe = self._recipe("control")
        if is_opaque(recipe):
            raise FileFormatError(
                "the run was controlled by a plain function, which a file does not hold: rebuild() the simulator "
                "and give run() that function again, or write policies as equinox modules"
            )
        return self._restored(recipe)

    def repeat(self, *, progress: bool = False) -> Run:
        """Simulate the run again, as long as it lasted."""
        simulator, state = self.rebuild()
        seconds = int(self.attrs["steps"]) * float(self.attrs["dt_s"])
        return simulator.run(self.control(), seconds, state=state, every=int(self.attrs["every"]), progress=progress)

    # -- shown ---------------------------------------------------------------------------------------------

    def view(self, **options: Any) -> None:
        """Open the run in the viewer, in a browser; options as of `softground.bridges.viewer.view_run`."""
        from softground.bridges.viewer import view_run

        view_run(self, **options)
