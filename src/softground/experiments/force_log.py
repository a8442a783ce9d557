"""A user's own force/torque logs: cut at the target pose, they become rows of a wrench database.

A log is a CSV table of one run. Columns in the plane:

    time_s,x_m,z_m,pitch_rad,fx_n,fz_n,ty_nm

and in space, where rx, ry, rz is the rotation vector of the foot frame (axis times angle):

    time_s,x_m,y_m,z_m,rx_rad,ry_rad,rz_rad,fx_n,fy_n,fz_n,tx_nm,ty_nm,tz_nm

The position is that of the sole's centre, z = 0 at the undisturbed surface. The wrench is that of the ground on the
foot, in the surface frame, about the point `sensor_height` up the foot's axis. Lines that start with # are skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from softground.errors import ExperimentError, FileFormatError
from softground.experiments.database import WrenchDatabase
from softground.experiments.database_file import read_columns, read_lines
from softground.experiments.protocol import CUTOFF_PER_RUN, Pose, Recording, low_pass, moved
from softground.media.base import COMPONENTS
from softground.robots.shapes import Shape

COLUMNS = {
    "planar": ["time_s", "x_m", "z_m", "pitch_rad", "fx_n", "fz_n", "ty_nm"],
    "spatial": [
        *("time_s", "x_m", "y_m", "z_m", "rx_rad", "ry_rad", "rz_rad"),
        *("fx_n", "fy_n", "fz_n", "tx_nm", "ty_nm", "tz_nm"),
    ],
}
#: Length (m) by which angles are multiplied when poses are compared: about the size of a foot.
ANGLE_LENGTH = 0.05
#: How far from the target the nearest pose of a log may be, m.
NEAR = 2e-3
#: How much a log's velocity at the target may differ from the twist of its direction, as a share of it.
TWIST_TOLERANCE = 0.3


@dataclass(frozen=True)
class ForceLog:
    """One run: where the foot was and what it felt."""

    kind: str
    recording: Recording
    position: np.ndarray  # (n, 3) m, the sole's centre in the surface frame
    rotation: np.ndarray  # (n, 3) rad, rotation vector of the foot frame


@dataclass(frozen=True)
class LoggedRun:
    """A log and what it was meant to measure."""

    path: Path
    target: Pose
    direction: int
    twist: tuple[float, ...]  # of the direction: m/s, rad/s, at the sole's centre; 3 in the plane, 6 in space


def read_log(path: str | Path) -> ForceLog:
    """Read one log; which kind it is follows from its columns."""
    path = Path(path)
    lines = read_lines(path)
    start = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if start is None:
        raise FileFormatError(f"{path} has no rows: its columns must be {','.join(COLUMNS['planar'])}")
    kind = "spatial" if "y_m" in lines[start] else "planar"
    columns, _ = read_columns(path, lines, start, COLUMNS[kind])
    pose, wrench = (np.zeros((len(columns["time_s"]), 6)) for _ in range(2))
    names, size = COLUMNS[kind][1:], len(COMPONENTS[kind])
    pose[:, COMPONENTS[kind]] = np.stack([columns[name] for name in names[:size]], axis=1)
    wrench[:, COMPONENTS[kind]] = np.stack([columns[name] for name in names[size:]], axis=1)
    if not np.isfinite(pose).all():
        raise ExperimentError(f"{path}: poses must be finite: remove the rows that hold NaN")
    try:
        return ForceLog(kind, Recording(columns["time_s"], wrench), pose[:, :3], pose[:, 3:])
    except ExperimentError as error:
        raise ExperimentError(f"{path}: {error}") from error


def nearest_sample(log: ForceLog, target: Pose) -> tuple[int, float]:
    """The sample whose depth and rotation are nearest to a pose, and how far it is, m. Where on the surface does
    not matter."""
    turn = Rotation.from_rotvec(log.rotation) * Rotation.from_matrix(target.rotation).inv()
    away = np.hypot(log.position[:, 2] + target.depth, ANGLE_LENGTH * turn.magnitude())
    best = int(away.argmin())
    return best, float(away[best])


def wrench_in_log(
    log: ForceLog, target: Pose, *, sensor_height: float, reference_height: float, cutoff: float | None = None
) -> np.ndarray:
    """The filtered wrench (6,) when the log passes the target, about the reference point.

    Heights: m up the foot's axis. cutoff: Hz; `CUTOFF_PER_RUN` cycles in the log unless given.
    """
    sample, away = nearest_sample(log, target)
    if away > NEAR:
        raise ExperimentError(
            f"the log passes the target (depth {target.depth:g} m, tilt {target.tilt:g} rad) at {1e3 * away:.1f} mm, "
            f"and {1e3 * NEAR:.0f} mm are allowed: check the target, and that z is zero at the surface, in m"
        )
    time = log.recording.time
    smooth = low_pass(time, log.recording.wrench, cutoff or CUTOFF_PER_RUN / (time[-1] - time[0]))
    return moved(smooth[sample], (reference_height - sensor_height) * target.rotation[:, 2])


def twist_in_log(log: ForceLog, target: Pose) -> np.ndarray:
    """The twist (6,) with which the log passes the target, by a straight line through a tenth of its samples."""
    sample, _ = nearest_sample(log, target)
    half = max(len(log.position) // 20, 1)
    window = slice(max(sample - half, 0), sample + half + 1)
    turn = Rotation.from_rotvec(log.rotation[window]) * Rotation.from_rotvec(log.rotation[sample]).inv()
    moves = np.hstack([log.position[window], turn.as_rotvec()])
    return np.polyfit(log.recording.time[window], moves, 1)[0]


def from_logs(
    runs: Sequence[LoggedRun],
    *,
    medium: str,
    foot: Shape,
    sensor_height: float,
    reference_height: float,
    provenance: str = "",
    cutoff: float | None = None,
) -> WrenchDatabase:
    """Database of logged runs, one row each; complete it with `softground.experiments.completed`.

    sensor_height, reference_height: of the points about which torques were measured and are wanted, up the foot's axis
    from the sole, m. cutoff: of the low-pass filter, Hz.
    """
    if not runs:
        raise ExperimentError("no logs were given: a database needs at least one run")
    logs = [read_log(run.path) for run in runs]
    kinds = {log.kind for log in logs}
    if len(kinds) > 1:
        raise ExperimentError("some logs are planar and some spatial: make a database of each")
    kind = kinds.pop()
    wrenches = [_row(run, log, sensor_height, reference_height, cutoff) for run, log in zip(runs, logs, strict=True)]
    return WrenchDatabase(
        medium=medium,
        foot=foot,
        reference_height=reference_height,
        kind=kind,
        provenance=provenance or f"{len(runs)} force logs",
        depth=np.array([run.target.depth for run in runs]),
        tilt=np.array([run.target.tilt for run in runs]),
        heading=np.array([run.target.heading for run in runs]),
        direction=np.array([run.direction for run in runs]),
        twist=np.array([run.twist for run in runs]),
        wrench=np.stack(wrenches),
        source=tuple(Path(run.path).stem for run in runs),
    )


def _row(run: LoggedRun, log: ForceLog, sensor_height: float, reference_height: float, cutoff) -> np.ndarray:
    """Wrench of one log in the components of its kind; errors name the log."""
    chosen = COMPONENTS[log.kind]
    try:
        if len(run.twist) != len(chosen):
            raise ExperimentError(f"the twist of a {log.kind} log has {len(chosen)} components, got {len(run.twist)}")
        wrench = wrench_in_log(
            log, run.target, sensor_height=sensor_height, reference_height=reference_height, cutoff=cutoff
        )
        _check_twist(np.array(run.twist), twist_in_log(log, run.target)[chosen])
    except ExperimentError as error:
        raise ExperimentError(f"{run.path}: {error}") from error
    return wrench[chosen]


def _check_twist(wanted: np.ndarray, logged: np.ndarray) -> None:
    as_speed = np.where(np.arange(len(wanted)) < (2 if len(wanted) == 3 else 3), 1.0, ANGLE_LENGTH)
    off = np.linalg.norm((wanted - logged) * as_speed)
    if off > TWIST_TOLERANCE * np.linalg.norm(wanted * as_speed):
        raise ExperimentError(
            f"at the target the log moves with {np.round(logged, 4).tolist()} (m/s, rad/s), not with the twist "
            f"{np.round(wanted, 4).tolist()} of its direction: check the direction's number, signs and units"
        )
