"""What the studies of a foot along a trajectory share: which ground stands for the beads, and the figure."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.errors import OptionError
from softground.experiments.protocol import Recording
from softground.experiments.trajectory import FootTrajectory
from softground.media.learned import LearnedSpace
from softground.media.named import DATA, beads
from softground.media.resistive import Resistive
from softground.papers.study import Options, Row
from softground.papers.zhu2019.dem_records import UNSEEN, record_again, shipped
from softground.papers.zhu2019.tracking import Track, errors, recorded, resistive_scale
from softground.papers.zhu2019.trajectories import TRAJECTORIES
from softground.runs.figures import COLOURS, STYLE

LABELS = ("force x (N)", "force z (N)", "torque y (N m)")


@dataclass(frozen=True)
class BeadGround:
    """A medium that stands for the beads of the DEM, and how it was made."""

    medium: Resistive | LearnedSpace
    origin: str


def dem_record(trajectory: str, options: Options) -> Recording:
    """What DEM measured along a trajectory in the bed in which the medium was learned."""
    record = record_again(trajectory) if options.rerun_dem else shipped(trajectory)
    if record is None:
        raise OptionError(f"no DEM record of the {trajectory} trajectory is shipped: make one with --rerun-dem")
    return record


def bead_ground(options: Options) -> BeadGround:
    """The beads of `softground.media` where they have been learned, else resistive force theory with their strength."""
    if (DATA / "beads.json").is_file():
        return BeadGround(
            beads(), "`media.beads()`, learned from our DEM campaign; no trajectory of this study is in it"
        )
    scale = resistive_scale(dem_record("straight", options), TRAJECTORIES["straight"]())
    return BeadGround(
        Resistive(scale), f"resistive force theory with one number fitted to the straight trajectory, {scale:.3f} N/cm3"
    )


def in_unseen_beds(trajectory: str, tracks: dict[str, Track]) -> list[Row]:
    """Errors of tracks along a trajectory in every bed that had no part in learning and of which a record is shipped,
    beside what grains of the first bed err by there: the beds' own differences."""
    path, time, own = TRAJECTORIES[trajectory](), next(iter(tracks.values())).time, shipped(trajectory)
    rows: list[Row] = []
    for seed in UNSEEN:
        record = shipped(trajectory, seed)
        if record is None or own is None:
            continue
        (_, measured), (_, before) = recorded(record, path, time), recorded(own, path, time)
        found = {label: errors(track.wrench, measured)["together"] for label, track in tracks.items()}
        beds = errors(before, measured)["together"]
        rows.append({"trajectory": trajectory, "bed": seed} | found | {"grains of bed 1": beds})
    return rows


def series_rows(track: Track, measured: np.ndarray) -> list[Row]:
    """Poses and wrenches over time, every 10 ms."""
    every = max(1, round(0.01 / (track.time[1] - track.time[0])))
    return [
        {
            "time (s)": float(track.time[i]),
            "x (m)": float(track.pose[i, 0]),
            "z (m)": float(track.pose[i, 1]),
            **{f"{label}, DEM": float(value) for label, value in zip(LABELS, measured[i], strict=True)},
            **{f"{label}, simulated": float(value) for label, value in zip(LABELS, track.wrench[i], strict=True)},
        }
        for i in range(0, len(track.time), every)
    ]


def figure(trajectory: FootTrajectory, record: Recording, tracks: dict[str, Track]) -> Figure:
    """The trajectory, and the three components over time: DEM and simulated."""
    first = next(iter(tracks.values()))
    raw, smooth = recorded(record, trajectory, first.time)
    with matplotlib.rc_context(STYLE):
        result = blank(8.2, 4.6)
        panels = result.subplots(2, 2).ravel()
        way = panels[0]
        way.axhspan(-0.3, 0.0, color="#e3cda3", alpha=0.6, lw=0)
        way.plot(trajectory.x, -trajectory.depth, color="black", lw=1.4, label="desired")
        for (label, track), colour in zip(tracks.items(), COLOURS, strict=False):
            way.plot(track.pose[:, 0], track.pose[:, 1], color=colour, lw=1.0, ls="--", label=label)
        way.legend(fontsize=8, loc="lower left")
        way.set(xlabel="x (m)", ylabel="height of the sole (m)", ylim=(-trajectory.depth.max() - 0.03, 0.05))
        for axes, number, label in zip(panels[1:], range(3), LABELS, strict=True):
            axes.plot(first.time, raw[:, number], color="#bbbbbb", lw=0.6, label="DEM" if number == 0 else None)
            axes.plot(
                first.time, smooth[:, number], color="black", lw=1.4, label="DEM, filtered" if number == 0 else None
            )
            for (name, track), colour in zip(tracks.items(), COLOURS, strict=False):
                axes.plot(track.time, track.wrench[:, number], color=colour, label=name if number == 0 else None)
            axes.set(xlabel="time (s)", ylabel=label, xlim=(0, trajectory.duration))
        handles, labels = panels[1].get_legend_handles_labels()
        result.legend(handles, labels, loc="outside upper center", ncols=5, fontsize=8)
    return result
