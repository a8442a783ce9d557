"""The positive part of a step's curvature, by eigenvalues of whole matrices."""

import numpy as np
import pytest

from softground.planning.blocks import CurvaturePlan
from softground.planning.guesses import random_unknowns
from softground.planning.projection import filled, positive_part
from softground.planning.stages import Damping
from softground.planning.transcription import Transcription

from .foot_problem import foot_problem

PLACES, WIDTH = 3, 5
USED = np.array([0, 2, 3])  # columns that bend


def triangle(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    row, column = np.tril_indices(len(columns))
    return columns[row], columns[column]


def symmetric(row, column, entries, size: int) -> np.ndarray:
    lower = np.zeros((size, size))
    np.add.at(lower, (row, column), entries)
    return lower + np.tril(lower, -1).T


@pytest.fixture
def plan() -> CurvaturePlan:
    none = np.zeros(0, int)
    return CurvaturePlan(*triangle(USED), np.zeros((0, WIDTH)), none, none)


def test_positive_part_is_that_of_the_scaled_matrix(plan):
    random = np.random.default_rng(0)
    entries, size = random.normal(size=(PLACES, 6)), random.uniform(0.1, 2.0, (PLACES, WIDTH))
    found = positive_part(plan, entries, size)
    for one, part, diagonal in zip(entries, found, size, strict=True):
        matrix = symmetric(plan.row, plan.column, one, WIDTH)
        positive = symmetric(*filled(plan), part, WIDTH)
        scale = np.diag(diagonal**-0.5)
        value = np.linalg.eigvalsh(scale @ matrix @ scale)
        np.testing.assert_allclose(np.linalg.eigvalsh(scale @ positive @ scale), np.maximum(value, 0.0), atol=1e-12)
        # What was taken away has no positive part left, and nothing in common with what stays.
        assert np.linalg.eigvalsh(matrix - positive).max() < 1e-12
        assert np.abs(scale @ positive @ scale @ scale @ (matrix - positive) @ scale).max() < 1e-12


def test_positive_curvature_stays_as_it_is(plan):
    root = np.random.default_rng(1).normal(size=(PLACES, 3, 3))
    matrix = root @ root.transpose(0, 2, 1)
    row, column = np.tril_indices(3)
    entries = matrix[:, row, column]
    np.testing.assert_allclose(positive_part(plan, entries, np.full((PLACES, WIDTH), 0.3)), entries, atol=1e-12)


def test_projected_hessian_of_a_problem_lies_above_the_exact_one():
    """Whatever the multipliers, its smallest eigenvalue is that of the damping at least."""
    problem = foot_problem()
    transcription = Transcription(problem)
    layout = transcription.layout
    z = random_unknowns(problem, layout, 3)
    damping = Damping().times(0.01)
    models = {name: transcription.nlp(1.0, name, damping) for name in ("gauss-newton", "projected", "exact")}
    multipliers = np.random.default_rng(2).normal(size=models["exact"].n_rows)
    hessian = {
        name: symmetric(nlp.hessian_rows, nlp.hessian_columns, nlp.hessian(z, 1.0, multipliers), layout.size)
        for name, nlp in models.items()
    }
    rounding = 1e-12 * np.abs(hessian["exact"]).max()
    assert np.linalg.eigvalsh(hessian["exact"]).min() < -1e-3  # else there is nothing to project
    assert np.linalg.eigvalsh(hessian["projected"] - hessian["exact"]).min() > -rounding
    assert np.linalg.eigvalsh(hessian["projected"] - hessian["gauss-newton"]).min() > -rounding
