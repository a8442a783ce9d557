"""The files of a campaign: one netCDF file per finished run, one text per run that failed.

    DIR/campaign.json      settings of the rig and the grid
    DIR/runs/NAME.nc       a finished run: the raw record, the motion, the filtered wrench at the target
    DIR/packed.csv         runs that were made elsewhere, without their records (packing.py)
    DIR/failed/NAME.txt    why a run failed twice
    DIR/database.csv       the wrench database of what is finished

A run is finished when its file or its packed row is there: files are written whole.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5netcdf
import h5py
import numpy as np

from softground.errors import ExperimentError, FileFormatError
from softground.experiments.campaign.packing import FILE as PACKED
from softground.experiments.campaign.packing import PackedRun, read_packed
from softground.experiments.campaign.plan import Run
from softground.experiments.campaign.working import Attempt
from softground.experiments.protocol import CUTOFF_PER_RUN, Recording
from softground.whole_file import remove_leftovers, write_whole

FORMAT, VERSION = "softground run of a rig", 1


@dataclass(frozen=True)
class FinishedRun:
    """A run read back."""

    recording: Recording
    wrench: np.ndarray  # (6,) filtered, at the target pose, at the sole's centre, surface frame
    twist: np.ndarray  # (6,)
    seconds: float  # of computing
    slots: int  # runs that went on at a time
    settings: dict[str, Any]  # of the rig


@dataclass(frozen=True)
class Store:
    """The runs in a campaign's folder."""

    folder: Path

    def path(self, name: str) -> Path:
        return self.folder / "runs" / f"{name}.nc"

    def failure_path(self, name: str) -> Path:
        return self.folder / "failed" / f"{name}.txt"

    def finished(self) -> set[str]:
        """Names of the finished runs."""
        return self.recorded() | set(self.packed())

    def recorded(self) -> set[str]:
        """Names of the finished runs whose records are here."""
        return {path.stem for path in (self.folder / "runs").glob("depth*.nc")}

    def packed(self) -> dict[str, PackedRun]:
        """Runs of which the wrench alone is here, by name."""
        return read_packed(self.folder / PACKED)

    def outcomes(self) -> dict[str, PackedRun]:
        """Wrenches of all finished runs, by name."""
        read = {name: self.load(name) for name in self.recorded()}
        return self.packed() | {name: PackedRun(run.wrench, run.seconds, run.slots) for name, run in read.items()}

    def failures(self) -> dict[str, str]:
        """Why runs failed, by name: the last line of each report."""
        paths = sorted((self.folder / "failed").glob("*.txt"))
        last = {path.stem: (path.read_text().strip().splitlines() or [""])[-1] for path in paths}
        return {name: line.removeprefix("softground.errors.") for name, line in last.items()}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the folder to this process; the system lets it go when the process ends, however it ends."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "campaign.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ExperimentError(
                    f"another process is running the campaign in {self.folder}: wait for it, look at it with "
                    "softground acquire status, or choose another folder"
                ) from None
            for part in (".", "runs", "failed"):
                remove_leftovers(self.folder / part)
            yield

    def save(self, result: Attempt, settings: dict[str, Any]) -> None:
        """Write a finished run, made with these settings of the rig; a report of an earlier failure is removed."""
        run, recording = result.run, result.recording
        assert recording is not None
        attributes = {
            "format": FORMAT,
            "format_version": VERSION,
            "depth_m": run.pose.depth,
            "tilt_rad": run.pose.tilt,
            "heading_rad": run.pose.heading,
            "direction": run.direction,
            "seed": run.seed,
            "duration_s": run.motion.duration,
            "target_time_s": run.motion.target_time,
            "cutoff_hz": CUTOFF_PER_RUN / run.motion.duration,
            "rig_settings": json.dumps(settings),
            "computing_s": result.seconds,
            "slots": result.slots,
        }
        unit = "N and N m at the sole's centre, surface frame"
        series = {
            "time": (("time",), recording.time, "s"),
            "wrench": (("time", "component"), recording.wrench, unit),
            "wrench_at_target": (("component",), result.wrench, f"{unit}, filtered"),
            "twist": (("component",), np.array(run.motion.twist), "m/s and rad/s at the sole's centre"),
        }
        write_whole(self.path(run.name), lambda path: _write(path, series, attributes))
        self.failure_path(run.name).unlink(missing_ok=True)

    def save_failure(self, run: Run, reason: str) -> None:
        write_whole(self.failure_path(run.name), lambda path: path.write_text(reason.rstrip() + "\n"))

    def load(self, name: str) -> FinishedRun:
        """Read a finished run; FileFormatError says what is wrong with one that cannot be."""
        path = self.path(name)
        try:
            with h5py.File(path, "r") as file:  # a fifth of the time that h5netcdf takes
                attributes = {name: np.ravel(value)[0] for name, value in file.attrs.items()}
                known = attributes.get("format"), attributes.get("format_version")
                if known != (FORMAT, VERSION):
                    raise KeyError(f"its format is {known[0]!r}, version {known[1]}")
                arrays = {key: np.asarray(file[key]) for key in ("time", "wrench", "wrench_at_target", "twist")}
                return FinishedRun(
                    recording=Recording(arrays["time"], arrays["wrench"]),
                    wrench=arrays["wrench_at_target"],
                    twist=arrays["twist"],
                    seconds=float(attributes["computing_s"]),
                    slots=int(attributes["slots"]),
                    settings=json.loads(attributes["rig_settings"]),
                )
        except (OSError, KeyError, ValueError, RuntimeError) as error:
            raise FileFormatError(
                f"{path} cannot be read as a finished run ({error}): delete it and give the same acquire command again"
            ) from error


def _write(path: Path, series: dict[str, tuple], attributes: dict[str, Any]) -> None:
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"time": len(series["time"][1]), "component": 6}
        for name, (dimensions, values, unit) in series.items():
            file.create_variable(name, dimensions, data=np.asarray(values, dtype=float)).attrs["units"] = unit
        for name, value in attributes.items():
            file.attrs[name] = value
