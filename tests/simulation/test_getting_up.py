"""A robot that lies on the ground is held by it, and gets up."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import softground as sg
from softground.control.posture import actuator_positions, pd_gains

LIE, RISE = 2.0, 1.0  # s; it is watched for as long again as it lay
DT = 0.002


@pytest.mark.parametrize("ground", [sg.sand, sg.foam])
def test_a_quadruped_gets_up_from_where_it_fell(ground):
    """Limp, Go1 folds down until bodies carry it; then its servos take all joints to the standing posture."""
    pytest.importorskip("importlib.metadata").distribution("example-robot-data")
    robot = sg.Robot.load("go1", contacts="all")
    simulator = sg.Simulator(robot, ground().on_any_side(), DT, backend="xla")
    kp, kd = (np.asarray(gain) for gain in pd_gains(robot))
    start = simulator.initial_state(height=0.05)

    @jax.jit  # one program, for lying down and for getting up
    def rollout(state, kp, kd, folded, goal):
        def servo(state):
            share = jnp.clip((state.time - LIE) / RISE, 0.0, 1.0)
            return sg.Control(position=folded + share * (goal - folded), kp=kp, kd=kd)

        return simulator.rollout(state, servo, round(LIE / DT))

    none = np.zeros(robot.nu)
    lying, falling = rollout(start, none, 0.05 * np.asarray(robot.torque_limit), none, none)
    folded, goal = (actuator_positions(robot, np.asarray(q)) for q in (lying.q, robot.posture))
    up, rising = rollout(lying, kp, kd, folded, goal)
    for record in (falling, rising):
        assert bool(record.converged.all())
        assert bool(record.finite.all())

    def carried(forces) -> float:
        return float(np.asarray(forces)[-100:, :, 2].sum(1).mean() / robot.weight)

    shanks = np.array([body.above_feet == 0 for body in robot.bodies])

    assert carried(falling.body_wrench_world) > 0.7  # it lies on its bodies
    assert float(start.q[2] - lying.q[2]) > 0.15
    # It stands on its feet, and in sand on the walls of the shanks above them too; nothing else touches.
    on_legs = carried(rising.wrench_world) + carried(rising.body_wrench_world[:, shanks])
    assert carried(rising.wrench_world) > 0.75
    assert on_legs == pytest.approx(1.0, abs=0.02)
    assert not np.asarray(rising.body_wrench_world)[-100:, ~shanks].any()
    assert float(up.q[2] - lying.q[2]) > 0.1
    assert 1 - 2 * float(up.q[4] ** 2 + up.q[5] ** 2) > 0.99  # upright
