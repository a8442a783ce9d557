"""One compiled programme for all terrains of a kind: the same numbers as one made for each."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.sparse import coo_matrix

from softground.papers.zhu2021.wavy import block_below
from softground.planning.blocks import generic, on_surface, same_kind
from softground.planning.dynamics.bilevel import Bilevel
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.problem import GaitProblem
from softground.planning.solve import transcribed
from softground.planning.transcription import Transcription
from softground.simulation import Ground
from softground.surfaces import HeightField, MeshSurface, Plane, Wave

from .foot_problem import foot_problem


def on_slope(slope: float) -> GaitProblem:
    problem = foot_problem()
    return replace(problem, ground=Ground(problem.ground.medium, Plane(slope=slope)))


def test_moved_programme_has_the_numbers_of_one_made_there():
    """Patterns may differ by entries that are zero there, so matrices are compared whole."""
    level, steep = Transcription(on_slope(0.0)), Transcription(on_slope(0.2))
    moved = level.moved_to(on_slope(0.2))
    rng = np.random.default_rng(1)
    z = steep._samples[0] + 0.01 * rng.normal(size=steep.layout.size)
    here, there = moved.nlp(1.0, "exact"), steep.nlp(1.0, "exact")
    multipliers = rng.normal(size=here.n_rows)
    np.testing.assert_allclose(here.constraints(z), there.constraints(z), rtol=1e-10, atol=1e-12)
    assert here.objective(z) == pytest.approx(there.objective(z), rel=1e-12)
    for part in ("jacobian", "hessian"):
        matrices = []
        for nlp in (here, there):
            places = (getattr(nlp, f"{part}_rows"), getattr(nlp, f"{part}_columns"))
            values = nlp.jacobian(z) if part == "jacobian" else nlp.hessian(z, 1.0, multipliers)
            matrices.append(coo_matrix((values, places), shape=(max(nlp.n_rows, nlp.size),) * 2).toarray())
        np.testing.assert_allclose(*matrices, rtol=1e-8, atol=1e-8)
    assert not np.allclose(here.constraints(z), level.nlp(1.0).constraints(z))


def sampled_slope(kind: str, slope: float) -> HeightField | MeshSurface:
    """A plane, given as samples of its height or as a block of triangles."""
    x = np.linspace(-2.0, 2.0, 41)
    height = np.tan(slope) * x
    if kind == "height field":
        return HeightField(np.repeat(height[:, None], 11, axis=1), spacing=0.1, origin=(-2.0, -0.5))
    return MeshSurface(block_below(x[::10], height[::10]), 0.1)


@pytest.mark.parametrize(("kind", "error"), [("height field", 1e-6), ("mesh", 5e-3)])
def test_sampled_terrain_gives_the_programme_of_the_formula(kind, error):
    """The spline of a plane is that plane; that of a block's distance rings by 0.1 mm, 0.3 N on this foot."""
    problem = foot_problem()
    sampled = replace(problem, ground=Ground(problem.ground.medium, sampled_slope(kind, 0.2)))
    z = Transcription(on_slope(0.2))._samples[0]
    np.testing.assert_allclose(rows_of(sampled, z), rows_of(on_slope(0.2), z), rtol=0, atol=error)


def rows_of(problem: GaitProblem, z: np.ndarray) -> np.ndarray:
    """All constraints of a problem at z."""
    blocks = [part.block for part in Transcription(problem).constraints]
    rows = jax.jit(lambda z: [block.all_rows(z, 1.0).reshape(-1) for block in blocks])
    return np.concatenate(rows(z))


def test_programmes_are_shared_between_slopes_only():
    level = on_slope(0.0)
    first = transcribed(level)
    assert transcribed(on_slope(0.1))._once_made is first._once_made
    assert first.surface is level.ground.surface  # the first one stays where it is
    shorter = replace(on_slope(0.1), knots=5)
    wavy = replace(on_slope(0.0), ground=Ground(foot_problem().ground.medium, Wave(0.05, 2.0)))
    for other in (shorter, wavy):
        assert not first.serves(other, ClosedForm)
    assert not first.serves(on_slope(0.1), Bilevel)


def test_generic_surface_is_of_the_same_kind_without_zeros():
    level = Plane()
    stirred = generic(level)
    assert same_kind(level, stirred)
    assert all((np.asarray(leaf) != 0).all() for leaf in jax.tree.leaves(stirred))
    assert not same_kind(level, Wave(0.05, 2.0))
    assert on_surface({"ground": level, "other": 1}, stirred)["ground"] is stirred
