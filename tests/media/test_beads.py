"""Shipped media of grains: each follows its campaign, which is shipped too, and feet rest on it."""

import jax
import numpy as np
import pytest

from softground import media
from softground.errors import MediumError, OptionError
from softground.experiments.campaign import beds_in
from softground.experiments.learning import Physics, cross_validated, learning_curve, leave_one_out
from softground.experiments.learning.ensemble import beds_of, between_beds, mean_bed
from softground.experiments.learning.grid import feet_at
from softground.experiments.learning.report import PUBLISHED
from softground.experiments.learning.validation import normalised_error
from softground.media import load_medium
from softground.media.named import DATA
from softground.robots import Robot
from softground.robots.shapes import Box, Cylinder
from softground.runs.members import runs_on
from softground.simulation import Simulator

ERRORS = {"beads": 0.13, "gravel": 0.3, "beads_cylinder": 0.25, "beads_box": 0.25}
"""Of the medium on the beds that it was learned from: about the difference of two beds where there is one only."""


def test_half_of_the_beads_teach_physics_what_thin_plates_need_all_for():
    grid = mean_bed(beds_of(beds_in(DATA / "beads")))
    half = learning_curve([Physics()], grid, [0.5], repeats=10)["physics"][0.5]
    assert half < cross_validated(PUBLISHED, grid, leave_one_out(grid))


@pytest.mark.parametrize("name", ERRORS)
def test_a_medium_follows_its_campaign(name):
    """Within what one bed differs from the next (docs/beads.md), and so not to the last newton."""
    space = load_medium(DATA / f"{name}.json")
    beds = beds_in(DATA / name, seeds=(1, 2, 3) if name == "beads" else (1,))
    grid = mean_bed(beds_of(beds))
    assert (grid.foot, grid.kind) == (space.foot, space.kind)
    measured, weights = grid.wrenches[grid.under], grid.component_weights
    fitted = np.asarray(jax.jit(jax.vmap(space.vertices))(feet_at(grid.poses[grid.under])))[:, :-1]
    assert normalised_error(fitted, measured, weights) < ERRORS[name]
    assert len(media.ensemble_of(name)) >= 10


def test_beads_are_three_beds_of_a_whole_grid():
    beds = beds_of(beds_in(DATA / "beads"))
    assert len(beds) == 3
    depths, tilts = (np.unique(column) for column in beds[0].poses[beds[0].under, :2].T)
    assert beds[0].under.sum() == len(depths) * len(tilts) == 12
    assert len(beds[0].twists) == 26


def test_a_bed_of_beads_that_was_not_used_is_known_within_its_noise():
    """The bar: a fit of two beds errs on the third by no more than 1.3 times as much as their mean differs from it."""
    error, noise = between_beds(beds_of(beds_in(DATA / "beads")), Physics(learn_hyper=False))
    assert error < 1.3 * noise


def test_a_foot_rests_in_beads():
    robot = Robot.load("foot")
    sim = Simulator(robot, media.beads(), 2e-3)
    _, record = jax.jit(lambda state: sim.rollout(state, None, 500))(sim.initial_state(height=0.02))
    assert np.asarray(record.converged).all()
    assert 0.01 < float(record.depth[-1, 0]) < 0.1
    assert float(record.wrench_world[-1, 0, 2]) == pytest.approx(9.81 * float(robot.total_mass), rel=1e-2)


def test_runs_on_members_are_those_on_each():
    """Compiled once for all, and the same as one by one; media that are not alike are refused."""
    sim = Simulator(Robot.load("foot"), media.beads(), 4e-3)
    start, members = sim.initial_state(height=0.02), media.ensemble_of("beads").members(3)
    together = runs_on(sim, members, start, seconds=0.1)
    alone = Simulator(sim.robot, members[2], 4e-3).run(None, 0.1, state=start)
    np.testing.assert_allclose(together[2]["configuration"], alone["configuration"], atol=1e-9)
    assert float(together[0]["configuration"][-1, 2] - together[2]["configuration"][-1, 2]) != 0
    with pytest.raises(OptionError, match="alike in all but their numbers"):
        runs_on(sim, [members[0], media.sand()], start, seconds=0.1)


def test_other_feet_are_refused():
    with pytest.raises(MediumError, match="learned with"):
        media.beads().for_foot(Cylinder(0.02, 0.1), planar=True)
    with pytest.raises(MediumError, match="planar"):
        media.beads().for_foot(Cylinder(0.05, 0.25), planar=False)
    flat = Box(0.12, 0.08, 0.03)  # however high
    assert media.beads_box().for_foot(flat, planar=False).kind == "spatial"
    with pytest.raises(MediumError, match="load it without planar"):
        media.beads_box().for_foot(flat, planar=True)
    with pytest.raises(MediumError, match=r"learned with Cylinder.*the robot's foot is Box"):
        media.beads_cylinder().for_foot(flat, planar=False)


def test_beads_say_by_what_they_may_be_wrong():
    ensemble = media.ensemble_of("beads", strength=2)
    assert len(ensemble) == 72  # twelve configurations in three beds, and their mirror images
    assert float(ensemble.medium.strength) == 2
    with pytest.raises(MediumError, match="sand is theory"):
        media.ensemble_of("sand")
