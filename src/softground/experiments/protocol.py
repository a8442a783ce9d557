"""How a wrench is measured, whatever the rig (zhu2019 III.B.2).

A run finds the wrench that the ground exerts on a foot at one pose (depth, tilt) moving in one direction. The
foot goes at constant twist u for T seconds along a path that passes the pose at 0.8 T,

    position(t) = target + (t - 0.8 T) v,      rotation(t) = exp((t - 0.8 T) w) target rotation,

so that the grains are flowing when it arrives. The wrench along the path is recorded, low-pass filtered
forwards and backwards (so that the filter does not shift it in time), read at 0.8 T and moved to the reference
point on the foot's axis. The whole record is kept: a better filter may come.

All quantities are in the surface frame: z is the outward normal, the origin is the point of the undisturbed
surface above which (or below which) the sole's centre passes at the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.signal import butter, sosfiltfilt
from scipy.spatial.transform import Rotation

from softground.errors import ExperimentError

TARGET_SHARE = 0.8
"""When the target pose is passed, as a share of the run."""
CUTOFF_PER_RUN = 6.0
"""Cut-off of the low-pass filter, cycles in a run."""


@dataclass(frozen=True)
class Pose:
    """Where a wrench is wanted: depth of the sole's centre, tilt of the foot's axis towards a heading."""

    depth: float  # m, positive below the surface
    tilt: float = 0.0  # rad
    heading: float = 0.0  # rad, from x towards y: the side to which the foot leans

    @property
    def rotation(self) -> np.ndarray:
        """The foot frame (z along its axis) in the surface frame: the shortest turn that tilts it."""
        axis = np.array([-np.sin(self.heading), np.cos(self.heading), 0.0])
        return Rotation.from_rotvec(self.tilt * axis).as_matrix()


@dataclass(frozen=True)
class Motion:
    """One run: a constant twist that passes a pose."""

    target: Pose
    twist: tuple[float, ...]  # (6,) m/s and rad/s, at the sole's centre
    duration: float  # s

    def __post_init__(self):
        if len(self.twist) != 6 or not np.isfinite(self.twist).all():
            raise ExperimentError(f"a motion's twist must be six finite numbers, got {self.twist}")
        if not (np.isfinite(self.duration) and self.duration > 0):
            raise ExperimentError(f"a motion's duration must be positive, got {self.duration} s")

    @property
    def target_time(self) -> float:
        return TARGET_SHARE * self.duration

    def position(self, time) -> np.ndarray:
        """The sole's centre (..., 3), m."""
        ahead = np.asarray(time)[..., None] - self.target_time
        return np.array([0.0, 0.0, -self.target.depth]) + ahead * np.array(self.twist[:3])

    def rotation(self, time) -> np.ndarray:
        """The foot frame (..., 3, 3)."""
        ahead = np.asarray(time)[..., None] - self.target_time
        turn = Rotation.from_rotvec((ahead * np.array(self.twist[3:])).reshape(-1, 3)).as_matrix()
        return (turn @ self.target.rotation).reshape(*np.shape(time), 3, 3)


@dataclass(frozen=True)
class Recording:
    """What a rig measured along a motion."""

    time: np.ndarray  # (n,) s from the start of the motion
    wrench: np.ndarray  # (n, 6) N and N m on the foot, surface frame, at the sole's centre

    def __post_init__(self):
        if len(self.time) < 2 or self.wrench.shape != (len(self.time), 6):
            raise ExperimentError(f"a recording needs times (n,) and wrenches (n, 6), got {self.wrench.shape}")
        if not (np.isfinite(self.time).all() and np.isfinite(self.wrench).all()):
            raise ExperimentError("a recording must be finite: the rig reported NaN or infinite wrenches")
        if not (np.diff(self.time) > 0).all():
            raise ExperimentError("the times of a recording must increase")


def low_pass(time: np.ndarray, series: np.ndarray, cutoff: float) -> np.ndarray:
    """Series (n, ...) without what changes faster than `cutoff` (Hz), not shifted in time.

    Fourth-order Butterworth, forwards and backwards. Samples must be evenly spaced.
    """
    rate = (len(time) - 1) / (time[-1] - time[0])
    if not np.allclose(np.diff(time), 1 / rate, rtol=1e-3):
        raise ExperimentError("the low-pass filter needs evenly spaced samples: resample the record first")
    if cutoff >= rate / 2:
        return series
    reach = min(len(time) - 1, round(2 * rate / cutoff))  # how far the ends of the record are felt
    return sosfiltfilt(butter(4, cutoff, fs=rate, output="sos"), series, axis=0, padlen=reach)


def wrench_at_target(
    recording: Recording, motion: Motion, reference_height: float = 0.0, cutoff: float | None = None
) -> np.ndarray:
    """The filtered wrench (6,) at the target pose, at the point `reference_height` (m) up the foot's axis.

    cutoff: Hz; `CUTOFF_PER_RUN` cycles in a run unless given.
    """
    if not recording.time[0] <= motion.target_time <= recording.time[-1]:
        raise ExperimentError(
            f"the record covers {recording.time[0]:g} to {recording.time[-1]:g} s, not the target at "
            f"{motion.target_time:g} s: the run was cut short"
        )
    smooth = low_pass(recording.time, recording.wrench, cutoff or CUTOFF_PER_RUN / motion.duration)
    wrench = np.array([np.interp(motion.target_time, recording.time, column) for column in smooth.T])
    return moved(wrench, reference_height * motion.target.rotation[:, 2])


def moved(wrench, arm) -> Any:
    """The same wrench (..., 6) with its torque about the point `arm` away from the old one."""
    xp = jnp if isinstance(wrench, jax.Array) else np
    force, torque = wrench[..., :3], wrench[..., 3:]
    return xp.concatenate([force, torque - xp.cross(arm, force)], axis=-1)
