"""A trajectory in a box of grains: its lines join, and it must fit. (Driving a foot along it is in scripts.)"""

import itertools

import numpy as np
import pytest

from softground.errors import ExperimentError
from softground.experiments.rigs.dem import Bed, Container, DemRig, Grains
from softground.experiments.rigs.dem.path import _check_room, straight_lines
from softground.experiments.trajectory import FootTrajectory
from softground.papers.zhu2019.trajectories import TRAJECTORIES


@pytest.fixture(scope="module")
def bed() -> Bed:
    """Grains anywhere in a box: only their heights and number matter here."""
    container, grains = Container(), Grains()
    random = np.random.default_rng(0)
    size = np.array([container.length, container.width, container.fill])
    positions = random.uniform(size=(12000, 3)) * size - [container.length / 2, container.width / 2, 0.0]
    return Bed(container, grains, positions, np.full(12000, grains.radius))


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_lines_join_and_end_where_the_trajectory_does(bed, name):
    trajectory = TRAJECTORIES[name]()
    lines = straight_lines(trajectory, bed)
    for line, after in itertools.pairwise(lines):
        np.testing.assert_allclose(line.centre(line.duration), after.start, atol=1e-12)
        assert line.pitch + line.duration * line.pitch_rate == pytest.approx(after.pitch)
    assert sum(line.duration for line in lines) == pytest.approx(trajectory.duration)
    end = lines[-1].centre(lines[-1].duration)
    np.testing.assert_allclose(end, [trajectory.x[-1], 0.0, bed.surface - trajectory.depth[-1]], atol=1e-12)


@pytest.mark.parametrize(
    ("x", "depth", "message"), [(0.0, 0.5, "fill the container higher"), (0.3, 0.1, "make the box longer")]
)
def test_a_trajectory_that_leaves_the_box_is_refused(bed, x, depth, message):
    trajectory = FootTrajectory(np.array([0.0, 1.0]), np.array([0.0, x]), np.array([-0.03, depth]), np.zeros(2))
    with pytest.raises(ExperimentError, match=message):
        _check_room(DemRig(), trajectory, bed)
