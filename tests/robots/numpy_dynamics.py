"""Our dynamics in NumPy: the same functions, without the seconds that JAX takes to compile each model."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from softground.robots import Robot, dynamics, rotations
from softground.robots import robot as robot_module


@contextmanager
def numpy_arithmetic() -> Iterator[None]:
    """The functions of dynamics run with NumPy inside. That JAX computes the same is tested on the listed robots."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (dynamics, rotations, robot_module):
            patch.setattr(module, "jnp", np)
            for name, function in vars(module).copy().items():
                if hasattr(function, "lower") and hasattr(function, "__wrapped__"):  # compiled: what it is made of
                    patch.setattr(module, name, function.__wrapped__)
        for name in vars(Robot):
            if (method := getattr(getattr(Robot, name), "__wrapped__", None)) is not None:
                patch.setattr(Robot, name, method)
        yield


def equations_of_motion(robot: Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix, and force of gravity, gyroscopic terms, springs and dampers."""
    with numpy_arithmetic():
        kin = robot.kinematics(q)
        return np.array(robot.mass_matrix(kin)), np.array(robot.passive_force(kin, v) - robot.bias_force(kin, v))


def acceleration(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Acceleration without motors, limits, dry friction or contact."""
    mass, force = equations_of_motion(robot, q, v)
    return np.linalg.solve(mass, force)
