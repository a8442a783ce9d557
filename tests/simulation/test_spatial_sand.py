"""A quadruped on sand in space: six components of the wrench at every foot."""

import numpy as np
import pytest

from softground import media
from softground.control import hold_posture
from softground.robots import Robot
from softground.robots.shapes import Cylinder
from softground.simulation import Ground, Simulator
from softground.surfaces import Plane

from .physics_cases import rollout, weight


@pytest.fixture(scope="module")
def anymal() -> Robot:
    balls = Robot.load("anymal").feet
    return Robot.load("anymal", feet={foot.name: Cylinder(radius=0.05, length=0.15) for foot in balls})


@pytest.mark.parametrize("slope", [0.0, 15.0])
def test_anymal_dropped_on_sand_settles(anymal, slope):
    sim = Simulator(anymal, Ground(media.sand(), Plane(np.deg2rad(slope))), 2e-3)
    assert sim.feet_medium.kind == "spatial"
    after, record = rollout(sim, sim.initial_state(height=0.05), hold_posture(anymal), 1000)
    assert record.converged.all()
    assert record.finite.all()
    assert np.abs(np.asarray(after.v)).max() < 2e-3  # m/s and rad/s: the creep of sand, not a slide
    depth = np.asarray(record.depth[-1])
    assert (depth > 0.01).all()
    assert not np.asarray(record.outside_data[-1]).any()
    assert float(record.wrench_world[-1, :, 2].sum()) == pytest.approx(weight(anymal), rel=1e-3)
    # Left and right stand alike; downhill feet carry more and stand deeper.
    front, hind = depth[:2], depth[2:]
    np.testing.assert_allclose([front[0], hind[0]], [front[1], hind[1]], rtol=0.05)
    if slope:
        assert hind.min() > front.max()
