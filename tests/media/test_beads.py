"""The shipped beads: the medium follows its database, and a foot rests on it."""

import jax
import numpy as np
import pytest

from softground import media
from softground.errors import MediumError, OptionError
from softground.experiments.database_file import read_database
from softground.experiments.learning.grid import feet_at
from softground.media.named import DATA
from softground.robots import Robot
from softground.robots.shapes import Cylinder
from softground.runs.members import runs_on
from softground.simulation import Simulator


@pytest.fixture(scope="module")
def database():
    return read_database(DATA / "beads.csv")


def test_the_medium_follows_its_database(database):
    """Within what one bed differs from the next (docs/beads.md), and so not to the last newton."""
    under = database.configurations()[:, 0] > 0
    poses, measured = database.configurations()[under], database.table()[under]
    space = media.beads()
    fitted = np.asarray(jax.jit(jax.vmap(space.vertices))(feet_at(poses)))[:, :-1]
    weights = np.array([1.0, 1.0, 10.0])  # torques by 0.1 m
    error = np.sqrt((((fitted - measured) * weights) ** 2).mean() / ((measured * weights) ** 2).mean())
    assert error < 0.2


def test_the_database_covers_the_grid(database):
    depths, tilts = np.unique(database.depth), np.unique(database.tilt)
    assert len(database.configurations()) == len(depths) * len(tilts)
    assert len(database.directions()) == 26


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


def test_beads_say_by_what_they_may_be_wrong():
    ensemble = media.ensemble_of("beads", strength=2)
    assert len(ensemble) == 18  # nine configurations and their mirror images
    assert float(ensemble.medium.strength) == 2
    with pytest.raises(MediumError, match="sand is theory"):
        media.ensemble_of("sand")
