"""A robot that trots from firm ground into sand: every foot meets the ground that is under it."""

import jax
import numpy as np

import softground as sg

EDGE = 0.45  # m


def test_feet_stay_up_on_firm_ground_and_sink_in_sand():
    robot = sg.Robot.load("anymal")
    ground = sg.terrain.Mixed(sg.firm(), (sg.sand(strength=5.0), sg.terrain.Between("x", EDGE)))
    simulator = sg.Simulator(robot, ground, backend="xla")
    gait = sg.trot(robot, period=0.6, step_length=0.2, lift=0.12)
    _, record = jax.jit(lambda s: simulator.rollout(s, gait, 1500))(simulator.initial_state(height=0.01))
    assert record.converged.all()
    assert record.finite.all()
    x = np.asarray(jax.jit(jax.vmap(lambda q: robot.foot_poses(q)[0][:, 0]))(record.q))
    depth, border = np.asarray(record.depth), sg.terrain.areas.BORDER / 2
    firm, sand = x < EDGE - border, x > EDGE + border
    assert firm.any(0).all()
    assert sand.any(0).sum() >= 2  # the front feet at least have come over
    # A foot that lands comes down at up to 1.1 m/s (its lift in half its swing, by a bump), and is stopped in a step.
    assert depth[firm].max() < 1.25 * 1.1 * float(simulator.dt)
    held = np.asarray(record.wrench_world)[..., 2] > 60.0  # N, a fifth of its weight
    assert depth[sand & held].min() > 0.01  # what carries in sand has sunk
    assert depth[sand].max() < 0.08
    assert np.abs(np.asarray(record.q)[:, 1]).max() < 0.2  # it still walks, and straight
