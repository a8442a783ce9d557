"""One compiled programme for all terrains of a kind: the same numbers as one made for each."""

import subprocess
import sys
from collections import OrderedDict
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache
from scipy.sparse import coo_matrix

from softground.contact.feet import feet_along
from softground.papers.zhu2021.wavy import block_below
from softground.planning import programs, transcription
from softground.planning.blocks import Block, Pattern, generic
from softground.planning.costs import ForwardSpeed
from softground.planning.dynamics.bilevel import Bilevel
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.guesses import random_unknowns
from softground.planning.kept_programs import Kept
from softground.planning.layout import Layout
from softground.planning.problem import GaitProblem
from softground.planning.programs import identity
from softground.planning.transcription import Transcription
from softground.robots import Robot
from softground.simulation import Ground
from softground.surfaces import HeightField, MeshSurface, Plane, Wave

from .foot_problem import foot_problem


def on_slope(slope: float) -> GaitProblem:
    problem = foot_problem()
    return replace(problem, ground=Ground(problem.ground.medium, Plane(slope=slope)))


def asked_otherwise(problem: GaitProblem) -> GaitProblem:
    """The same shape of problem: another slope, speed, weight and strength."""
    ground = Ground(problem.ground.medium, Plane(slope=0.2)).stronger(1.3)
    costs = [replace(cost, speed=0.3, weight=7.0) if isinstance(cost, ForwardSpeed) else cost for cost in problem.costs]
    return replace(problem, ground=ground, costs=costs)


def test_shared_programme_has_the_numbers_of_one_made_there(monkeypatch):
    """Patterns may differ by entries that are zero there, so matrices are compared whole."""
    level = Transcription(on_slope(0.0))
    moved = Transcription(asked_otherwise(on_slope(0.0)))
    assert moved.programs is level.programs
    monkeypatch.setattr(transcription, "_recent", OrderedDict())
    monkeypatch.setattr(programs, "Kept", lambda name: Kept(None))  # nor are those on disk
    steep = Transcription(asked_otherwise(on_slope(0.0)))
    rng = np.random.default_rng(1)
    z = steep.samples()[0] + 0.01 * rng.normal(size=steep.layout.size)
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
    z = Transcription(on_slope(0.2)).samples()[0]
    np.testing.assert_allclose(rows_of(sampled, z), rows_of(on_slope(0.2), z), rtol=0, atol=error)


def rows_of(problem: GaitProblem, z: np.ndarray) -> np.ndarray:
    """All constraints of a problem at z."""
    blocks = [part.block for part in Transcription(problem).constraints]
    rows = jax.jit(lambda z: [block.all_rows(z, 1.0).reshape(-1) for block in blocks])
    return np.concatenate(rows(z))


def test_problems_of_other_shapes_have_other_programmes():
    level = on_slope(0.0)
    first = Transcription(level).programs
    shorter = replace(level, knots=5)
    wavy = replace(level, ground=Ground(level.ground.medium, Wave(0.05, 2.0)))
    unweighted = replace(level, costs=[replace(cost, weight=0.0) for cost in level.costs])
    for other in (shorter, wavy, unweighted):
        assert Transcription(other).programs is not first
    assert Transcription(level, Bilevel).programs is not first


class OfTheUser(Block):
    """A block from elsewhere, of which nobody knows whether its source has changed."""


def test_only_what_is_made_of_our_own_parts_is_kept():
    made = Transcription(on_slope(0.0))
    blocks = made.costs, [part.block for part in made.constraints]
    assert identity(blocks) is not None
    assert identity(([*made.costs, OfTheUser("mine", np.zeros((1, 1), int))], blocks[1])) is None


def test_what_is_kept_is_read_again(tmp_path, monkeypatch):
    """By a process that has made nothing: machine code gives the same numbers, and what is gone is made again."""
    monkeypatch.setenv("SOFTGROUND_CACHE", str(tmp_path))
    twice = [Kept("a test").program("sum", lambda x, y: [x + y, x * y])(np.arange(3.0), 2.0) for _ in range(2)]
    np.testing.assert_array_equal(*(np.stack(one) for one in twice))
    patterns = [Pattern(3, np.array([0, 2]), np.array([1, 1])), Pattern(1, np.array([0]), np.array([4]))]
    for make in (lambda: patterns, lambda: 1 / 0):
        for one, other in zip(Kept("a test").found("pattern", Pattern, make), patterns, strict=True):
            assert one.n_rows == other.n_rows
            np.testing.assert_array_equal(one.row, other.row)
            np.testing.assert_array_equal(one.column, other.column)
    for file in tmp_path.rglob("*.plan"):
        file.write_bytes(b"damaged")
    assert Kept("a test").found("pattern", Pattern, lambda: []) == []


@pytest.fixture
def without_jax_cache():
    """What JAX's own cache has is not kept a second time; whether it has one a process asks once, or after a reset."""
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    yield
    jax.config.update("jax_enable_compilation_cache", True)
    compilation_cache.reset_cache()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x * y,
        lambda x, y: {"sum": [x + y], "rest": (jnp.sin(x), {"y": y})},
        lambda x, y: (x,),  # one argument is not needed
    ],
    ids=["array", "nested", "unused"],
)
def test_programs_from_disk_return_what_they_returned(function, without_jax_cache, tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTGROUND_CACHE", str(tmp_path))
    fresh, loaded = (Kept("forms").program("any", function)(np.arange(3.0), 2.0) for _ in range(2))
    assert list(tmp_path.rglob("*.plan"))
    assert jax.tree.structure(fresh) == jax.tree.structure(loaded)
    jax.tree.map(np.testing.assert_array_equal, fresh, loaded)


ALONE = """
import jax, numpy as np
jax.config.update("jax_enable_x64", True)
from softground.planning.kept_programs import Kept
halves = Kept("equations").program("solved", None)(2.0 * np.eye(3), np.ones(3))
np.testing.assert_array_equal(halves, [0.5, 0.5, 0.5])
"""


def test_programs_from_disk_solve_equations_in_a_process_that_has_compiled_nothing(
    without_jax_cache, tmp_path, monkeypatch
):
    """JAX looks for LAPACK when it compiles: a process that only loads must have it looked for."""
    monkeypatch.setenv("SOFTGROUND_CACHE", str(tmp_path))
    Kept("equations").program("solved", lambda a, b: jnp.linalg.solve(a, b))(2.0 * np.eye(3), np.ones(3))
    subprocess.run([sys.executable, "-c", ALONE], check=True)


def test_patterns_are_found_with_every_foot_in_the_ground():
    """On a steep slope too: what was found there is kept for all slopes."""
    robot = Robot.load("robosimian")
    problem = replace(on_slope(0.35), robot=robot, knots=16)
    layout = Layout.of(robot, problem.knots, 12)
    for seed in range(2):
        q = layout.take_apart(random_unknowns(problem, layout, seed)).q
        deep = np.asarray(feet_along(robot, problem.ground.surface, q).depth) > 0.01
        assert deep.any(axis=0).all()
        assert not deep.all()


def test_generic_surface_has_no_zeros():
    stirred = generic({"ground": Plane(), "other": np.zeros(1)})
    assert all((np.asarray(leaf) != 0).all() for leaf in jax.tree.leaves(stirred["ground"]))
    assert not stirred["other"].any()


def test_no_native_code_is_made_of_a_table_of_heights():
    """LLVM would take minutes for its copies; of formulas it is made as before."""
    problem = replace(foot_problem(), knots=20)
    field = HeightField(np.zeros((81, 41)), spacing=0.1, origin=(-4.0, -2.0))
    for surface, worth in ((Plane(), True), (field, False)):
        sampled = replace(problem, ground=Ground(problem.ground.medium, surface))
        layout = Layout.of(sampled.robot, sampled.knots, 3)
        block = ClosedForm(sampled.robot, sampled.ground, sampled.dt, 0.5).block(layout)
        assert block.worth_native_code is worth
