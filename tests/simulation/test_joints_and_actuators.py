"""Joints and actuators in the step: limits, torques, PD control, damping, dry friction."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

from softground.simulation import Control, Simulator

from .physics_cases import (
    PENDULUM,
    ground_medium,
    inline,
    pendulum,
    rollout,
    simulator,
    step,
    trajectory,
)


@pytest.mark.by_both_backends
def test_joint_limit_holds_against_full_torque():
    """20 N m into the limit at 0.5 rad: the limit's spring, 10 inertia / dt^2, gives by 20 dt^2 / (10 x 0.1)
    = 8e-5 rad; arriving at some 14 rad/s it may be passed by a share of one step's way. Implicit steps leave
    that spring little to give back: less than a fifth of the speed."""
    sim = pendulum()
    states, records = trajectory(sim, sim.initial_state(), Control(jnp.array([100.0])), 500)
    np.testing.assert_array_equal(records.torque, 20.0)  # the actuator's limit
    angle, rate = np.asarray(states.q[:, 1]), np.asarray(states.v[:, 1])
    arrival = int(np.argmax(angle > 0.5))
    assert 0 < arrival < 100
    assert angle.max() < 0.5 + rate.max() * 2e-3 / 10 + 1e-4
    np.testing.assert_allclose(angle[-1], 0.5 + 20 * 2e-3**2 / (10 * 0.1), rtol=1e-6)
    assert np.abs(rate[arrival + 20 :]).max() < 1e-6  # no chattering
    assert rate.min() > -0.2 * rate.max()


@pytest.mark.parametrize("side", [-1, 1])
def test_joint_limit_lets_go(side):
    sim = pendulum()
    pressed, _ = rollout(sim, sim.initial_state(), Control(side * jnp.array([20.0])), 200)
    released, _ = rollout(sim, pressed, Control(-side * jnp.array([1.0])), 50)
    # Free from the limit at once: -1 N m on 0.1 kg m2 for 0.1 s, plus what the last 8e-5 rad of the spring
    # return.
    np.testing.assert_allclose(released.v[1], -side * 1.0, atol=0.05)


def test_robosimian_keeps_its_limits_when_it_collapses():
    sim = simulator("robosimian", "firm")
    states, records = trajectory(sim, sim.initial_state(height=0.01), None, 400)
    limits = sim.robot.joint_range[3:]
    over = np.maximum(np.asarray(states.q)[:, 3:] - limits[:, 1], limits[:, 0] - np.asarray(states.q)[:, 3:]).max()
    print(f"\nlimits passed by {over:.4f} rad")
    assert (np.abs(np.asarray(states.q)[:, 3:]) > 0.99 * np.abs(limits).min(1)).any()  # a limit was met
    assert over < 0.02
    assert records.converged.all()


def test_torque_is_clipped_and_drives_the_joint():
    sim = pendulum()
    after, record = step(sim, sim.initial_state(), Control(jnp.array([-3.0])))
    np.testing.assert_allclose(after.v[1], -3.0 / 0.1 * 2e-3, rtol=1e-12)
    np.testing.assert_allclose(record.torque, [-3.0])
    after, record = step(sim, sim.initial_state(), Control(jnp.array([-300.0])))
    np.testing.assert_allclose(after.v[1], -20.0 / 0.1 * 2e-3, rtol=1e-12)
    np.testing.assert_allclose(record.torque, [-20.0])


@pytest.mark.by_both_backends
@pytest.mark.parametrize(("kp", "kd"), [(5.0, 0.1), (1e3, 10.0), (1e7, 1e5)])
def test_pd_is_its_formula_at_the_end_of_the_step(kp, kd):
    sim = pendulum()
    state = sim.initial_state(np.array([0.0, 0.1]), np.array([0.0, -0.3]))
    control = Control(
        jnp.array([0.7]),
        position=jnp.array([0.12]),
        velocity=jnp.array([0.2]),
        kp=jnp.array([kp]),
        kd=jnp.array([kd]),
    )
    after, record = step(sim, state, control)
    formula = kp * (0.12 - after.q[1]) + kd * (0.2 - after.v[1]) + 0.7
    # The torque is a difference of terms of size kp: its rounding grows with them.
    np.testing.assert_allclose(record.torque[0], np.clip(formula, -20, 20), rtol=1e-9, atol=1e-14 * kp)
    np.testing.assert_allclose(0.1 * (after.v[1] + 0.3) / 2e-3, record.torque[0], rtol=1e-6, atol=1e-13 * kp)


def test_stiff_pd_is_stable_and_reaches_its_target():
    sim = pendulum()
    control = Control(position=jnp.array([0.3]), kp=1e6, kd=1e3)
    states, records = trajectory(sim, sim.initial_state(), control, 300)
    np.testing.assert_allclose(states.q[-1, 1], 0.3, atol=1e-9)
    assert np.abs(records.torque).max() <= 20.0
    assert records.converged.all()


@pytest.mark.by_both_backends
@pytest.mark.parametrize("damping", [1.0, 1e6])
def test_joint_damping_is_implicit(damping):
    """v1 = I v0 / (I + dt d): stable for any damping."""
    sim = pendulum(damping)
    state = sim.initial_state(v=np.array([0.0, 2.0]))
    after, _ = step(sim, state)
    np.testing.assert_allclose(after.v[1], 0.1 * 2.0 / (0.1 + 2e-3 * damping), rtol=1e-9)
    end, _ = rollout(sim, state, None, 500)
    assert abs(float(end.v[1])) < 2.0
    assert abs(float(end.q[1])) < 0.5


ARM = """
      <body>
        <joint name="{}" axis="0 1 0"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
      </body>"""
FOUR_ARMS = """
<mujoco>
  <compiler angle="radian" inertiafromgeom="false"/>
  <option gravity="0 0 0"/>
  <custom><text name="softground_feet" data="sole"/></custom>
  <worldbody>
    <body name="base" pos="0 0 10">
      <joint name="z" type="slide" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="50" diaginertia="1 1 1"/>
      <site name="sole" type="cylinder" size="0.05 0.075"/>{}
    </body>
  </worldbody>
  <actuator>{}</actuator>
</mujoco>
"""


@pytest.mark.parametrize("order", ["abcd", "acbd", "ac", "ca"])
@pytest.mark.parametrize("pd", [False, True], ids=["torque", "pd"])
def test_actuators_drive_their_own_joints(order, pd):
    """In whatever order the file lists them, and with passive joints between them."""
    actuators = "".join(f'<motor joint="{name}"/>' for name in order)
    sim = Simulator(inline(FOUR_ARMS.format("".join(map(ARM.format, "abcd")), actuators)), ground_medium("sand"))
    torque = np.arange(1.0, 1 + len(order))
    control = Control(torque, position=np.zeros(len(order))) if pd else Control(torque)
    after, record = step(sim, sim.initial_state(), control)
    expected = [torque[order.index(name)] if name in order else 0.0 for name in "abcd"]
    np.testing.assert_allclose(after.v[1:], np.array(expected) / 0.1 * 2e-3, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(record.torque, torque)


# -- dry friction in joints -------------------------------------------------------------------------

DRY = PENDULUM.replace('range="-0.5 0.5"', 'frictionloss="0.5"')  # N m, on 0.1 kg m2


@cache
def dry_pendulum() -> Simulator:
    return Simulator(inline(DRY), ground_medium("sand"), 2e-3)


@pytest.mark.parametrize("torque", [0.3, -0.45])
def test_dry_joint_stays_put_up_to_a_creep(torque):
    """Below the loss, friction is a damper of 10 inertia / dt: creep at torque dt / (10 inertia)."""
    sim = dry_pendulum()
    states, records = trajectory(sim, sim.initial_state(), Control(jnp.array([torque])), 200)
    np.testing.assert_allclose(states.v[10:, 1], torque * 2e-3 / (10 * 0.1), rtol=1e-6)
    assert records.converged.all()


@pytest.mark.by_both_backends
def test_dry_joint_moves_by_what_exceeds_its_friction():
    """Coulomb: 0.8 N m against 0.5; at rest v follows the difference from the first step on but for the
    creep speed, 1e-3 rad/s."""
    sim = dry_pendulum()
    states, _ = trajectory(sim, sim.initial_state(), Control(jnp.array([-0.8])), 200)
    np.testing.assert_allclose(np.diff(states.v[:, 1])[5:], -0.3 / 0.1 * 2e-3, rtol=1e-9)
    np.testing.assert_allclose(states.v[-1, 1], -0.3 / 0.1 * 0.4, atol=5e-3)


@pytest.mark.parametrize("rate", [1.0, -1.0])
def test_dry_joint_decelerates_at_loss_over_inertia_and_stops(rate):
    sim = dry_pendulum()
    states, _ = trajectory(sim, sim.initial_state(v=np.array([0.0, rate])), Control(jnp.zeros(1)), 200)
    speed = rate * np.asarray(states.v[:, 1])
    np.testing.assert_allclose(speed[:100], 1.0 - 0.5 / 0.1 * 2e-3 * np.arange(100), rtol=1e-9)
    assert (speed >= -1e-12).all()  # stops without turning back
    assert speed[-1] < 1e-12
    np.testing.assert_allclose(rate * states.q[-1, 1], 1.0 / (2 * 5.0), atol=1.5e-3)  # v0^2 / 2a, first order


def test_dry_joint_resists_its_pd():
    """A PD controller comes to rest where it asks for no more than friction holds, not at its target."""
    sim = dry_pendulum()
    control = Control(position=jnp.array([0.1]), kp=20.0, kd=2.0)
    after, record = rollout(sim, sim.initial_state(), control, 500)
    assert 0.1 - 0.5 / 20.0 <= float(after.q[1]) < 0.1
    assert abs(float(after.v[1])) < 1e-3
    assert abs(float(record.torque[-1, 0])) <= 0.5
