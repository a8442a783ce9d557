"""Work and power of the actuators of a run.

The torque of a sample acts in the step that begins there, while the joint goes from its position at the step's start to
that at its end. So the work of a step is torque times displacement: exact, and, joints being moved with the velocity at
the step's end, not the torque times the velocity of the same sample.

Of a run that keeps one sample per n steps the displacement from sample to sample is still exact. Its torque is known in
one step of n, and taken as linear from a sample to the next: over steps 0 to n - 1 its mean is

    torque_k + (n - 1) / (2 n) (torque_k+1 - torque_k),

which is torque_k itself for n = 1. What is left is an error of second order in the time between samples, and whatever
the actuators do and undo in between is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    from softground.runs.motion import RobotMotion


def actuator_work(run: RobotMotion) -> Float[np.ndarray, "s m"]:
    """Mechanical work (J) of every actuator from each sample to the next, positive when it drives."""
    torque = run["torque"].values
    position = run["configuration"].sel(q=run["actuator"].values).values
    steps = _steps(run)[:, None]
    mean_torque = torque[:-1] + (steps - 1) / (2 * steps) * np.diff(torque, axis=0)
    return mean_torque * np.diff(position, axis=0)


def actuator_power(run: RobotMotion) -> Float[np.ndarray, "t m"]:
    """Mechanical power (W) of every actuator, positive when it drives: mean from each sample to the next.

    Of the last sample, which nothing follows, it is that at the start of its step.
    """
    last = run["torque"].values[-1] * run["velocity"].values[-1, run["actuator_dof"].values]
    between = actuator_work(run) / (_steps(run) * float(run.attrs["dt_s"]))[:, None]
    return np.concatenate([between, last[None]])


def _steps(run: RobotMotion) -> Float[np.ndarray, " s"]:
    """Number of steps from each sample to the next."""
    return np.maximum(np.round(np.diff(run["time"].values) / float(run.attrs["dt_s"])), 1.0)
