"""More directions change little: a foot dropped on media learned from 26 and from 58 (zhu2019 IV.A)."""

import equinox as eqx
import numpy as np
import pytest

from softground.experiments.campaign import Grid, collect, run_campaign
from softground.experiments.learning import Physics, grid_of
from softground.experiments.learning.compression import compressed
from softground.experiments.rigs import named_rig
from softground.robots import Robot
from softground.simulation import Simulator

COUNTS = ("26", "58")


@pytest.fixture(scope="module")
def simulators(tmp_path_factory) -> list[Simulator]:
    return [Simulator(Robot.load("foot"), learned(count, tmp_path_factory.mktemp(count)), 2e-3) for count in COUNTS]


def learned(directions: str, folder):
    grid = Grid(depths=(0.05,), tilts=(0.0, 0.6), directions=directions)
    run_campaign(named_rig("rft", medium="sand"), grid, folder)
    return compressed(Physics().fit(grid_of(collect(folder))).medium())


@pytest.mark.parametrize("pitch", [0.0, 0.2])
def test_a_dropped_foot_moves_alike(simulators, pitch):
    paths = []
    for sim in simulators:
        state = sim.initial_state(np.array([0.0, 0.3, pitch]), height=0.02)
        _, record = eqx.filter_jit(lambda sim, state: sim.rollout(state, None, 500))(sim, state)
        assert np.asarray(record.converged).all()
        paths.append(np.asarray(record.q))  # x, z in m, pitch in rad
    apart = np.abs(paths[0] - paths[1])
    print(f"pitch {pitch}: greatest {apart.max(axis=0)}, at rest {apart[-1]}")
    # Upright both meet the same pole. Tilted, the foot tips over, which multiplies small differences on its way.
    assert apart[-1, :2].max() < (0.001 if pitch == 0 else 0.01)
    assert apart[-1, 2] < (0.001 if pitch == 0 else 0.1)
