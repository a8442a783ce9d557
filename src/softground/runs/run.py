"""A run: what a robot did on a ground, and all that is asked of it afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp

from softground.errors import FileFormatError
from softground.precision import require_double
from softground.runs.dataset import RunInfo, run_dataset
from softground.runs.description import is_opaque
from softground.runs.file import read_dataset, write_dataset
from softground.runs.motion import RobotMotion
from softground.runs.summary import summarise, troubles
from softground.simulation.simulator import Record, Simulator, State


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
