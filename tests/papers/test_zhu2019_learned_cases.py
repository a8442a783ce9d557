"""Learned ground under robots: torques about another point, feet of another size, a lighter torso."""

import jax.numpy as jnp
import numpy as np
import pytest

from softground.experiments.learning import Physics, grid_of
from softground.experiments.learning.grid import feet_at
from softground.media import sand
from softground.media.named import REFERENCE_FOOT
from softground.media.resistive import surface_of, wrenches
from softground.papers.zhu2019.databases import resistive_database
from softground.papers.zhu2019.learned_cases import about_sole, larger, lighter
from softground.robots import Robot
from softground.robots.shapes import Cylinder


def test_torques_about_the_sole_are_those_that_theory_gives_there():
    database = resistive_database("sand")
    about = about_sole(database)
    row = int(np.flatnonzero((database.tilt == 0.6) & (database.depth == 0.05))[3])
    twist = np.zeros((1, 6))
    twist[0, [0, 2, 4]] = database.twist[row]
    turn = np.array([[np.cos(0.6), 0, np.sin(0.6)], [0, 1, 0], [-np.sin(0.6), 0, np.cos(0.6)]])
    expected = float(sand().scale) * wrenches(surface_of(REFERENCE_FOOT), "plane", turn[None], np.array([0.05]), twist)
    np.testing.assert_allclose(about.wrench[row], expected.reshape(6)[[0, 2, 4]], rtol=1e-9, atol=1e-9)
    assert abs(database.wrench[row, 2] - about.wrench[row, 2]) > 1.0  # N m: they were about another point


def test_larger_feet_meet_what_theory_says_of_them():
    """Learned from theory of one foot, scaled: beside theory of the larger foot itself."""
    learned = larger(Physics().fit(grid_of(about_sole(resistive_database("sand")))).medium(), 1.4)
    assert learned.foot == Cylinder(1.4 * REFERENCE_FOOT.radius, 1.4 * REFERENCE_FOOT.length)
    assert float(learned.max_depth) == pytest.approx(1.4 * 0.07)
    direct = sand().for_foot(learned.foot, planar=True)
    foot = feet_at(np.array([[0.05, 0.0, 0.0]]))
    one = type(foot)(*(jnp.asarray(leaf[0]) for leaf in (foot.depth, foot.position, foot.rotation, foot.surface)))
    down = jnp.array([0.0, -0.1, 0.0])
    # Of the same twist: theory of the foot itself, whose fit is good to some per cent.
    ours, theirs = (np.asarray(space.law(one, None, jnp.asarray(0.01)).wrench(down)) for space in (learned, direct))
    assert ours[1] == pytest.approx(theirs[1], rel=0.08)
    assert ours[1] == pytest.approx(200 * 1.4**2, rel=0.08)  # sand() meets 200 N with a foot of size 1 at 5 cm


def test_a_lighter_torso_takes_its_inertia_along():
    robot = Robot.load("robosimian")
    light = lighter(robot, 10.0)
    assert float(robot.total_mass - light.total_mass) == pytest.approx(31.716)
    inertia = np.asarray(robot.parameters.inertia[0])
    np.testing.assert_allclose(light.parameters.inertia[0], 10 / 41.716 * inertia)
    assert np.abs(inertia).max() > 0
    np.testing.assert_array_equal(light.parameters.mass[1:], robot.parameters.mass[1:])
