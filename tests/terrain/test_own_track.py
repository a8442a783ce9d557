"""A walk along its own track: the second pass steps into the prints of the first."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import softground as sg
from softground import terrain
from softground.bench.motions import walking

STEPS = 700  # of 2 ms: RoboSimian's trot gets going, and each foot has stepped
GROUNDS = {
    "rims": terrain.Footprints(),  # all that is pushed away lies around the feet
    "compacted": terrain.Footprints(rim=0.0),  # nothing does
    "compacted and firm": terrain.Footprints(rim=0.0, firm=3.0),
}


@pytest.fixture(scope="module", params=GROUNDS)
def passes(request):
    """Name of the ground, and the state and record of two passes from the same place."""
    motion = walking("robosimian")
    ground = sg.Ground(sg.sand(2.0), footprints=GROUNDS[request.param])
    simulator = sg.Simulator(motion.robot, ground, backend="xla")
    start = simulator.initial_state(height=motion.height)
    walk = jax.jit(lambda state: simulator.rollout(state, motion.policy, STEPS))
    first = walk(start)
    return request.param, first, walk(replace(start, prints=first[0].prints))


def standing_depth(record) -> float:
    """Mean depth of feet that carry, below the undisturbed surface, m."""
    depth, force = np.asarray(record.depth), np.asarray(record.wrench_world)[..., 2]
    return float(depth[force > 100.0].mean())


def test_nothing_of_the_ground_is_lost(passes):
    """What feet push away lies around them: less than 1 % of it is missing after a walk, and after a second. Where all
    of it goes into compaction, nothing rises."""
    name, *both = passes
    for state, _ in both:
        heights = np.asarray(state.prints.window.cells)[..., 0]
        below = -heights[heights < 0].sum()
        assert below * GROUNDS[name].cell ** 2 > 1e-3  # m3: four feet of 5 cm radius, some centimetres deep
        if name == "rims":
            assert abs(heights.sum()) < 0.01 * below
        else:
            assert heights.max() <= 0


def test_the_second_pass_sinks_as_the_ground_was_left(passes):
    """A print without a rim is a hole: feet find hold only over some way in it (`length`), and stand deeper. Where it
    was pressed firm they stand higher than in one that was not. And soles rest on the highest of what is under them:
    between prints with rims that is above the undisturbed surface, and they stand higher."""
    name, first, second = passes
    assert bool(first[1].converged.all() & second[1].converged.all())
    deeper = standing_depth(second[1]) - standing_depth(first[1])
    if name == "compacted":
        assert 1e-3 < deeper < float(GROUNDS[name].length)
    else:
        assert deeper < -1e-3
