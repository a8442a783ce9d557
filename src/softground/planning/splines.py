"""Feet that trace smooth paths: cubic splines through control points that are unknowns too (zhu2021 III.D).

    component of foot j at knot k  =  sum over points i of basis_i(k) point_ij

A spline with fewer control points than knots cannot follow a stutter of the foot. As a constraint the foot stays on it
(eq 8); as a cost (III.E) it is drawn to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import BSpline

from softground.contact.feet import feet_in_ground
from softground.errors import OptionError, unknown_name
from softground.planning.blocks import Block
from softground.planning.constraints import Bounded
from softground.planning.layout import Layout
from softground.robots import Robot
from softground.surfaces import Surface

if TYPE_CHECKING:
    from softground.planning.problem import GaitProblem

DEGREE = 3
#: What of a foot may follow a spline: places in the world (m), tilt to the surface (rad).
COMPONENTS = ("x", "z", "tilt")


@dataclass(frozen=True)
class FootSplines:
    """One cubic spline for each foot and component. `weight` None: a constraint; else a cost."""

    points: int = 30  # control points of each spline
    components: tuple[str, ...] = ("tilt",)
    weight: float | None = None

    def __post_init__(self):
        for name in self.components:
            if name not in COMPONENTS:
                raise OptionError(unknown_name("component of a foot spline", name, COMPONENTS))
        if self.points <= DEGREE:
            raise OptionError(f"a cubic spline needs at least {DEGREE + 1} control points, got {self.points}")
        if self.weight is not None and not self.weight > 0:
            raise OptionError(f"weight of a spline cost must be positive, got {self.weight}")

    def count(self, problem: GaitProblem) -> int:
        """Number of unknowns."""
        return len(problem.robot.feet) * len(self.components) * self.points

    def residuals(self, problem: GaitProblem, layout: Layout, start: int) -> Block:
        """Foot minus spline at every knot; `start`: place of the first control point among the unknowns."""
        if self.points > layout.knots:
            raise OptionError(f"splines have more control points ({self.points}) than the gait knots ({layout.knots})")
        first, basis = cubic_basis(layout.knots, self.points)
        curves = len(problem.robot.feet) * len(self.components)
        near = first[:, None] + np.arange(DEGREE + 1)  # (knot, 4) points that matter at a knot
        places = start + np.arange(curves)[:, None] * self.points + near[:, None, :]  # (knot, curve, 4)
        columns = np.concatenate([layout.q_at(np.arange(layout.knots)), places.reshape(layout.knots, -1)], axis=1)
        factor = 1.0 if self.weight is None else self.weight**0.5
        return FeetOnSplines(columns, problem.robot, problem.ground.surface, self.components, basis, factor)

    def fitted(self, problem: GaitProblem, q: np.ndarray) -> np.ndarray:
        """Control points (count,) of the splines nearest to the feet of a trajectory."""
        place = jax.jit(jax.vmap(lambda q: feet_components(problem.robot, problem.ground.surface, q, self.components)))
        first, basis = cubic_basis(len(q), self.points)
        matrix = np.zeros((len(q), self.points))
        np.put_along_axis(matrix, first[:, None] + np.arange(DEGREE + 1), basis, axis=1)
        return np.linalg.lstsq(matrix, np.asarray(place(q)), rcond=None)[0].T.reshape(-1)

    def blocks(self, problem: GaitProblem, layout: Layout, start: int) -> list[Bounded]:
        """The splines as a constraint."""
        zero = np.zeros(len(problem.robot.feet) * len(self.components))
        return [Bounded(self.residuals(problem, layout, start), zero, zero)]


class FeetOnSplines(Block):
    """factor (components of the feet - splines) at a knot."""

    robot: Robot
    surface: Surface
    components: tuple[str, ...]
    basis: np.ndarray  # (knot, 4)
    factor: float

    def __init__(self, columns, robot, surface, components, basis, factor):
        self.label, self.columns, self.linear = "splines", columns, False
        self.robot, self.surface, self.components = robot, surface, components
        self.basis, self.factor = basis, factor

    @property
    def data(self):
        return self.basis

    def rows(self, local, data, eps):
        q, points = local[: self.robot.nq], local[self.robot.nq :].reshape(-1, DEGREE + 1)
        return self.factor * (feet_components(self.robot, self.surface, q, self.components) - points @ data)


def feet_components(robot: Robot, surface: Surface, q, components: tuple[str, ...]):
    """Components (curves,) of all feet: foot by foot."""
    feet = feet_in_ground(robot, q, surface)
    values = {"x": feet.position[:, 0], "z": feet.position[:, 2], "tilt": feet.tilt}
    return jnp.stack([values[name] for name in components], axis=1).reshape(-1)


def cubic_basis(knots: int, points: int) -> tuple[np.ndarray, np.ndarray]:
    """First of the four control points (knots,) that matter at each knot, and their weights (knots, 4)."""
    inner = np.linspace(0.0, 1.0, points - DEGREE + 1)
    spline_knots = np.concatenate([np.zeros(DEGREE), inner, np.ones(DEGREE)])
    at = np.linspace(0.0, 1.0, knots)
    design = BSpline.design_matrix(at, spline_knots, DEGREE).toarray()
    first = np.clip(np.searchsorted(inner, at, side="right") - 1, 0, points - DEGREE - 1)
    return first, np.take_along_axis(design, first[:, None] + np.arange(DEGREE + 1), axis=1)
