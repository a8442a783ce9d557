"""Feet of another size: what they weigh, and how the best size is sought. The solves are too long for a test."""

from dataclasses import replace
from types import SimpleNamespace

import jax
import numpy as np
import pytest
import trimesh

from softground.media.named import REFERENCE_FOOT
from softground.papers.zhu2021 import foot_size, gaits
from softground.papers.zhu2021.foot_size import FOOT_MASS, next_size, weighing

SIZE = 1.3


def moments(robot, body: int) -> tuple[float, np.ndarray, float]:
    """Mass, first moment and pitch inertia of a body about its origin, the joint above it."""
    parameters = jax.tree.map(np.asarray, robot.parameters)
    mass, com = float(parameters.mass[body]), parameters.com[body]
    return mass, mass * com, parameters.inertia[body, 1, 1] + mass * (com[0] ** 2 + com[2] ** 2)


def cylinder(size: float, sole: np.ndarray) -> tuple[float, np.ndarray, float]:
    """The same of a foot, integrated over a mesh."""
    mesh = trimesh.creation.cylinder(size * REFERENCE_FOOT.radius, size * REFERENCE_FOOT.length, sections=400)
    mesh.apply_translation(sole + size * REFERENCE_FOOT.length / 2 * np.eye(3)[2])
    mesh.density = FOOT_MASS / (np.pi * REFERENCE_FOOT.radius**2 * REFERENCE_FOOT.length)
    about_origin = mesh.moment_inertia_frame(np.eye(4))
    return mesh.mass, mesh.mass * mesh.center_mass, about_origin[1, 1]


def test_a_limb_gains_what_its_foot_gains():
    """The mesh has 400 sides, so its volume is less by (2 pi / 400)^2 / 6 = 4e-5."""
    robot = gaits.robot()
    larger = weighing(robot, SIZE)
    for foot in robot.feet:
        gained = [new - old for new, old in zip(moments(larger, foot.body), moments(robot, foot.body), strict=True)]
        sole = np.asarray(foot.position)
        expected = [new - old for new, old in zip(cylinder(SIZE, sole), cylinder(1.0, sole), strict=True)]
        for one, other in zip(gained, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-9)


def test_a_foot_of_size_one_changes_nothing():
    robot = gaits.robot()
    for one, other in zip(jax.tree.leaves(weighing(robot, 1.0)), jax.tree.leaves(robot), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-15)


def tried(size: float, slope: float) -> foot_size.Tried:
    return foot_size.Tried(size, None, None, slope, slope)  # type: ignore[arg-type]


@pytest.mark.parametrize("best", [0.93, 1.08])
def test_search_on_a_parabola(best):
    """A step downhill, then the secant, which is right at once."""
    found = [tried(1.0, 1.0 - best)]
    for _ in range(2):
        size = next_size(found)
        found.append(tried(size, size - best))
    assert found[1].size == pytest.approx(1.0 + np.sign(best - 1.0) * foot_size.FIRST_STEP)
    assert found[2].size == pytest.approx(best)


def test_search_stays_within_its_limits_and_goes_on_where_the_cost_bends_down():
    assert next_size([tried(0.75, 1.0)]) == foot_size.SIZES[0]
    assert next_size([tried(1.0, -1.0), tried(1.1, -2.0)]) == pytest.approx(1.1)


def solved(size: float, cost: float, slope: float, by_solving: float, status: str = "converged") -> foot_size.Tried:
    stride = SimpleNamespace(report=SimpleNamespace(status=status))
    gait = SimpleNamespace(report={"objective": cost}, walks=True)
    return foot_size.Tried(size, stride, gait, slope, by_solving)  # type: ignore[arg-type]


def failed(found: list[foot_size.Tried]) -> list[str]:
    best = min(found, key=lambda one: one.cost)
    return [check.name for check in foot_size.checks(found, best) if not check.passed]


def test_checks_hold_on_a_parabola_and_can_fail():
    """J = 1 + (size - 1.05)^2: slopes that are not its own, or a stride that is not solved, are named."""
    right = [solved(x, 1 + (x - 1.05) ** 2, 2 * (x - 1.05), 2 * (x - 1.05)) for x in (1.0, 1.1, 1.05)]
    assert not failed(right)
    off = replace(right[0], slope=right[0].slope + 0.1)
    assert [name.split(":")[0] for name in failed([off, *right[1:]])] == [
        "slopes",
        "error of a change of cost predicted by slopes, over the cost",
    ]
    assert "not solved" in failed([*right, solved(1.2, 1.0225, 0.3, 0.3, "feasible")])[0]
    assert "slope at the best size, over the cost" in failed(right[:1])
