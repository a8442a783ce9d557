"""Soft ground inside of MuJoCo is our simulator's ground: its forces and depths, stable, and passive."""

from itertools import product
from typing import Any

import jax
import mujoco
import numpy as np
import pytest

import softground as sg
from softground.bench.motions import swaying
from softground.control.posture import pd_gains

from .mujoco_cases import (
    GROUNDS,
    LIES_ON,
    explicit,
    ground_under,
    potential_fall,
    robot,
    servo_model,
    standing,
    step_explicitly,
    true_power,
)

# -- beside our own simulator --------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "medium"), [*product(["foot", "ant", "walker2d"], GROUNDS), ("g1", "sand")])
def test_under_torques_it_is_our_simulator(name, medium):
    """MuJoCo's Euler step with motors is ours: v+ = v + dt (M + dt D)^-1 force. Then so is the ground, to rounding."""
    own, dt, steps = robot(name), 0.002, 40 if name in LIES_ON else 150  # before limits are met
    ours = sg.Simulator(own, GROUNDS[medium](), dt)
    random = np.random.default_rng(0)
    strong = 0.003 if name == "g1" else 0.3  # its wrists are light
    torques = strong * random.normal(size=(steps, own.nu)) * np.minimum(own.torque_limit, 5.0)
    bent = np.array(own.posture)
    if name == "walker2d":
        bent[[3, 4, 6, 7]] -= 0.2  # away from the limits at which it stands, which MuJoCo has otherwise
    start = ours.initial_state(q=bent, v=0.1 * random.normal(size=own.nv), height=0.002)
    run = ours.run(torques, state=start)
    model = own.mujoco_model()
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_EULER, dt
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = start.q, start.v
    ground = ground_under(model, name, GROUNDS[medium]())
    worst = 0.0
    for k in range(steps):
        data.qfrc_applied[list(own.actuated)] = torques[k]
        ground.step(model, data)
        worst = max(worst, np.abs(ground.wrenches - run["wrench_world"].values[k]).max())
        np.testing.assert_allclose(ground.depth, run["depth"].values[k], atol=1e-9)
    weight = float(own.weight)
    assert run["wrench_world"].values[:, :, 2].max() > 0.2 * weight / len(own.feet)
    assert worst < 1e-5 * weight  # the two solves stop within 1e-12 J of the minimum, at other points


@pytest.mark.parametrize("medium", GROUNDS)
@pytest.mark.parametrize("name", ["ant", "go1"])
def test_under_servos_sinkage_and_forces_are_within_two_percent(name, medium):
    """Servos are taken implicitly in other ways (MuJoCo: damping; ours: stiffness too), so this is not exact."""
    motion, dt = swaying(name), 0.002
    run = sg.Simulator(motion.robot, GROUNDS[medium](), dt).run(motion.policy, seconds=2.0, height=0.01)
    model = servo_model(name, dt, motion.kp, motion.kd)
    data = mujoco.MjData(model)
    data.qpos[:] = run["configuration"].values[0]
    ground = ground_under(model, name, GROUNDS[medium]())
    targets = np.asarray(jax.jit(jax.vmap(motion.target))(dt * np.arange(run.sizes["time"])))
    depth, force = [], []
    for target in targets:
        data.ctrl[:] = target
        ground.step(model, data)
        depth.append(ground.depth.copy())
        force.append(ground.wrenches[:, 2].copy())
    for what, found, ours in (
        ("sinkage", np.array(depth), run["depth"].values),
        ("force", np.array(force), run["wrench_world"].values[:, :, 2]),
    ):
        off = np.sqrt(((found - ours) ** 2).mean()) / np.sqrt((ours**2).mean())
        print(f"{name} on {medium}: {what} differs by {off:.2%}")
        assert off < 0.02


# -- stable and passive ------------------------------------------------------------------------------


def pushed_about(name, dt, seconds, step, data):
    """Servos hold the posture while the trunk is pushed for 0.1 s every second: called after every step."""
    weight = float(robot(name).weight)
    random = np.random.default_rng(0)
    push = np.zeros(6)
    for k in range(round(seconds / dt)):
        if k % round(1 / dt) == 0:
            push = weight * random.normal(size=6) * [0.3, 0.3, 0.1, 0.02, 0.02, 0.02]
            push *= [1, 0, 1, 0, 1, 0] if robot(name).planar else 1
        data.xfrc_applied[1] = push if (k * dt) % 1.0 < 0.1 else 0.0
        step()
        yield k


@pytest.mark.parametrize("dt", [0.002, 0.005])
@pytest.mark.parametrize("medium", GROUNDS)
@pytest.mark.parametrize("name", ["ant", "walker2d", "go1", "g1"])
def test_it_is_stable_and_gives_no_energy(name, medium, dt):
    """Twenty seconds. In every step the work of the ground is at most what its
    springs have given back, and on sand eps log K a foot (docs/media.md); the velocity that it saw is that with which
    MuJoCo ended the step.

    A flat sole that turns moves its stored energy in ways that do no work (tests/simulation/test_physics_energy.py), so
    for those on foam the fall of the step's own potential stands for it.
    """
    model = servo_model(name, dt)
    data = standing(model, name)
    soft = sg.Ground(GROUNDS[medium](), bodies=sg.firm())
    ground = ground_under(model, name, soft, contacts=LIES_ON.get(name, "feet"))
    allowed = 0.0
    under_feet: Any = ground._programs.groups[0].medium
    if medium == "sand":
        allowed = float(np.sum(under_feet.eps)) * np.log(under_feet.coefficients.shape[2] + 1)
    turning = medium == "foam" and name in LIES_ON
    fall = potential_fall(ground, data)
    slack = 1e-5 * 3 * float(robot(name).weight) * dt  # the tolerance, under three times the weight
    gained, stored, rounds, work = 0.0, 0.0, [], None
    for k in pushed_about(name, dt, 20.0, lambda: ground.step(model, data), data):
        if work is not None and not turning:
            gained = max(gained, work + ground.stored_energy - stored)
        work, stored = dt * true_power(ground, data), ground.stored_energy
        if turning and k % 3 == 0:
            gained = max(gained, work - dt * fall())
        off = ground.last.jacobian @ (data.qvel - ground.last.velocity)
        assert np.abs(off).max() <= 1.01e-5 + 1e-3 * ground.last.speed
        assert ground.converged
        rounds.append(ground.rounds)
    print(f"{name} on {medium}, {dt} s: rounds {np.mean(rounds):.2f}, at most {max(rounds)}; gain {gained:.1e} J")
    assert np.isfinite(data.qpos).all()
    assert np.abs(data.qvel).max() < 30
    assert gained <= dt * allowed + slack


def two_seconds(name, medium, dt, soft, by_hand):
    """Dropped from 5 cm: greatest speed after the first second, least upright axis of the trunk, greatest height."""
    kp, kd = (soft * gain for gain in pd_gains(robot(name)))
    model = servo_model(name, dt, kp, kd)
    data = standing(model, name, height=0.05)
    ground = ground_under(model, name, GROUNDS[medium]())
    now = explicit(ground, data) if by_hand else None
    fastest, upright, highest = 0.0, 1.0, 0.0
    for k in range(round(2 / dt)):
        ground.step(model, data) if now is None else step_explicitly(ground, data, now)
        speed = np.abs(data.qvel).max()
        fastest = max(fastest, speed if np.isfinite(speed) else np.inf) if k * dt > 1 else fastest
        upright, highest = min(upright, data.xmat[1, 8]), max(highest, data.qpos[2])
    return fastest, upright, highest


def test_the_same_law_applied_by_hand_throws_a_robot_into_the_air():
    """What people are told to do: forces of the state at the start of the step. A light robot on foam."""
    by_hand, implicit = (two_seconds("ant", "foam", 0.005, 1.0, way) for way in (True, False))
    print(f"ant on foam: by hand {by_hand[2]:.2f} m high, implicit {implicit[2]:.2f} m")
    assert by_hand[2] > 1.5
    assert implicit[2] < 0.65  # it began at 0.6 m
    assert implicit[0] < 0.1


def test_the_same_law_applied_by_hand_flips_a_robot():
    """Gentle servos on sand: forces that overshoot in every step turn a quadruped on its back."""
    by_hand, implicit = (two_seconds("go1", "sand", 0.002, 0.1, way) for way in (True, False))
    print(f"go1 on sand: upright {by_hand[1]:.2f} by hand, {implicit[1]:.2f} implicit")
    assert by_hand[1] < 0.0
    assert implicit[1] > 0.7


def test_the_same_law_applied_by_hand_thrashes():
    """A humanoid on sand. How wildly depends on MuJoCo's version: 30 to 200 rad/s."""
    by_hand, implicit = (two_seconds("g1", "sand", 0.005, 1.0, way) for way in (True, False))
    print(f"g1 on sand: {by_hand[0]:.0f} rad/s by hand, {implicit[0]:.1f} implicit")
    assert by_hand[0] > 20
    assert implicit[0] < 10
