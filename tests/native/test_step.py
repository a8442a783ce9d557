"""The whole step of a robot on sand as a scalar program."""

import jax
import numpy as np
import pytest

from softground import media
from softground.bench.motions import swaying
from softground.native.scalarise import scalarise
from softground.simulation import Simulator

from .programs import compare, statements


@pytest.mark.parametrize(("name", "size"), [("foot", 10_000), ("anymal", 31_000)])
def test_a_step_is_the_simulator_s(name, size):
    """In the air, at touch-down and deep in the ground."""
    motion = swaying(name)
    simulator = Simulator(motion.robot, media.sand(eps=1e-3), 0.002)
    step = jax.jit(lambda state: simulator.step(state, motion.policy(state)))
    program = scalarise(step, simulator.initial_state())
    assert len(statements(program)) < size
    for height in (0.05, 0.0, -0.03):
        state = simulator.initial_state(height=height)
        compare(program, step, state, tolerance=1e-9)
        compare(program, step, step(state)[0], tolerance=1e-9)
    assert np.isfinite(state.q).all()
