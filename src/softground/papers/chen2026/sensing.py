"""What the sensors of the walking biped show: actuator torques, joint angles and rates, and how its base moves."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from softground.control.terrain_identification import Sensed, SensorNoise
from softground.papers.chen2026.experiment import DT, GAIT
from softground.runs import Run

NOISE = SensorNoise()
SAMPLES = round(float(GAIT.stance) / DT)
"""Samples of a step."""


def sensed_steps(run: Run, first: int, steps: int, seed: int | None = None, noise: float = 1.0) -> Sensed:
    """Steps of a walk, from number `first` on, as its sensors show them; without a seed, free of noise.

    noise: its size, in those of `NOISE`.
    """
    begin, end = first * SAMPLES, (first + steps) * SAMPLES
    kept = run.isel(time=slice(begin, end + 1))
    velocity, torque = kept["velocity"].values, kept["torque"].values
    if seed is not None:
        draws = np.random.default_rng(seed)
        velocity = velocity + noise * NOISE.of_velocity(velocity.shape[1]) * draws.standard_normal(velocity.shape)
        torque = torque + noise * NOISE.torque * draws.standard_normal(torque.shape)
    return Sensed(kept["configuration"].values[:-1], velocity[:-1], velocity[1:], torque[:-1])


def carrying(step: int) -> int:
    """The foot that a step stands on: 0 left, 1 right, in turn from the first."""
    return step % 2


def in_steps(samples: Float[np.ndarray, "t ..."]) -> Float[np.ndarray, "s n ..."]:
    """Samples, step by step."""
    return samples.reshape(-1, SAMPLES, *samples.shape[1:])
