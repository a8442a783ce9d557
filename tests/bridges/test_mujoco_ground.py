"""Soft ground inside of MuJoCo: what it does is our simulator's ground, and what it does not do is MuJoCo's."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import jax
import mujoco
import numpy as np
import pytest

import softground as sg
from softground.bench.motions import swaying
from softground.control.posture import pd_gains
from softground.errors import OptionError, RobotError, SoftgroundError
from softground.robots.loading import build

from .mujoco_cases import (
    GROUNDS,
    LIES_ON,
    closed_model,
    closed_xml,
    explicit,
    feet_of,
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
    targets = np.asarray(jax.vmap(motion.target)(dt * np.arange(run.sizes["time"])))
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
    """Twenty seconds, of a humanoid in short steps five. In every step the work of the ground is at most what its
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
    under_feet: Any = ground._groups[0].medium
    if medium == "sand":
        allowed = float(np.sum(under_feet.eps)) * np.log(under_feet.coefficients.shape[2] + 1)
    turning = medium == "foam" and name in LIES_ON
    fall = potential_fall(ground, data)
    slack = 1e-5 * 3 * float(robot(name).weight) * dt  # the tolerance, under three times the weight
    gained, stored, rounds, work = 0.0, 0.0, [], None
    seconds = 5.0 if (name, dt) == ("g1", 0.002) else 20.0
    for k in pushed_about(name, dt, seconds, lambda: ground.step(model, data), data):
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


# -- what is MuJoCo's stays MuJoCo's --------------------------------------------------------------------


def test_in_the_air_it_is_mj_step():
    model = servo_model("go1", 0.002)
    ours, theirs = standing(model, "go1", height=1.0), standing(model, "go1", height=1.0)
    ground = ground_under(model, "go1", sg.sand())
    for _ in range(50):
        ground.step(model, ours)
        mujoco.mj_step(model, theirs)
    for field in ("time", "qpos", "qvel", "qacc", "sensordata", "act", "qacc_warmstart", "xfrc_applied"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))


@pytest.fixture(scope="module")
def closed():
    """The model with tendons, equalities and self-collision, settled on sand."""
    model = closed_model()
    sg.mujoco.take_out_floor(model)
    data = mujoco.MjData(model)
    ground = sg.mujoco.Ground(model, sg.sand(), feet=[f"foot{k}" for k in range(4)])
    rounds, touched = [], 0
    for k in range(1500):
        data.ctrl[8] = 2.0 if k < 1000 else 0.0
        ground.step(model, data)
        rounds.append((ground.rounds, ground.mismatch, float(ground.last.speed)))
        assert ground.converged
        touched += data.ncon > 0
    return model, data, ground, np.array(rounds), touched


def test_tendons_equalities_and_self_collisions_keep_acting(closed):
    model, data, ground, rounds, touched = closed
    print(f"rounds {rounds[:, 0].mean():.2f}, at most {rounds[:, 0].max():.0f}, mismatch {rounds[:, 1].max():.1e} m/s")
    assert rounds[:, 1].max() <= 1e-5 + 1e-3 * rounds[:, 2].max()
    assert touched > 1000  # the tail lies on the box
    pairs = {tuple(sorted((model.geom(c.geom1).name, model.geom(c.geom2).name))) for c in data.contact}
    assert ("box", "tip") in pairs
    angle = {model.joint(j).name: data.qpos[model.jnt_qposadr[j]] for j in range(1, model.njnt)}
    assert abs(angle["knee2"] - angle["knee3"]) < 1e-3
    loop = data.efc_pos[: data.ne][data.efc_type[: data.ne] == 0]
    assert np.abs(loop).max() < 2e-3
    assert abs(angle["hip2"] - angle["hip3"]) < 0.06
    weight = model.body_subtreemass[0] * 9.81
    assert ground.wrenches[:, 2].sum() == pytest.approx(weight, rel=0.01)


@pytest.mark.parametrize("integrator", ["EULER", "IMPLICIT", "IMPLICITFAST"])
@pytest.mark.parametrize(("cone", "jacobian"), [("PYRAMIDAL", "SPARSE"), ("ELLIPTIC", "DENSE")])
def test_every_integrator_cone_and_jacobian(integrator, cone, jacobian):
    """The ends of all steps agree, with a push that sets the tail sliding on the box."""
    model = closed_model()
    sg.mujoco.take_out_floor(model)
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    model.opt.cone = getattr(mujoco.mjtCone, f"mjCONE_{cone}")
    model.opt.jacobian = getattr(mujoco.mjtJacobian, f"mjJAC_{jacobian}")
    data = mujoco.MjData(model)
    ground = sg.mujoco.Ground(model, sg.sand(), feet=[f"foot{k}" for k in range(4)])
    rounds = []
    for k in range(600):
        data.xfrc_applied[1, :2] = (20.0, 10.0) if 300 < k < 350 else 0.0
        ground.step(model, data)
        rounds.append(ground.rounds)
        assert ground.converged, f"step {k}: {ground.mismatch} m/s after {ground.rounds} rounds"
    print(f"{integrator}, {cone}, {jacobian}: rounds {np.mean(rounds):.2f}, at most {max(rounds)}")
    assert data.xmat[1, 8] > 0.9
    assert ground.wrenches[:, 2].sum() > 0.5 * model.body_subtreemass[0] * 9.81


def test_one_ground_may_serve_several_robots():
    """Of one model: each has its own data, and the ground remembers for each."""
    model = servo_model("ant", 0.002)
    ground = ground_under(model, "ant", sg.foam())
    several = [standing(model, "ant", height) for height in (0.0, 0.02)]
    alone = []
    for height in (0.0, 0.02):
        data = standing(model, "ant", height)
        own = ground_under(model, "ant", sg.foam())
        for _ in range(100):
            own.step(model, data)
        alone.append(data.qpos.copy())
    for _ in range(100):
        for data in several:
            ground.step(model, data)
    for data, qpos in zip(several, alone, strict=True):
        np.testing.assert_array_equal(data.qpos, qpos)


def test_sensors_feel_the_ground(closed):
    """At rest the sensor at an ankle balances the ground's force less the weight of the foot, in axes of its site; the
    accelerometer gravity alone."""
    model, data, ground, *_ = closed
    site = model.site("ankle0").id
    mass = model.body("ankle0").mass[0]
    force = -data.sensor("ankle").data  # the sensor has what the shank does to the ankle
    expected = data.site_xmat[site].reshape(3, 3).T @ (ground.wrenches[0, :3] + mass * model.opt.gravity)
    np.testing.assert_allclose(force, expected, atol=0.02 * float(np.linalg.norm(expected)))
    assert np.linalg.norm(data.sensor("acc").data) == pytest.approx(9.81, rel=0.01)
    mujoco.mj_rnePostConstraint(model, data)
    body = model.body("ankle0").id
    felt = data.cfrc_ext[body, 3:]
    np.testing.assert_allclose(felt, ground.wrenches[0, :3], atol=1e-9)


def test_the_callback_is_the_step():
    model = servo_model("ant", 0.002)
    one, other = (standing(model, "ant", height=0.01) for _ in range(2))
    stepped, attached = (ground_under(model, "ant", sg.sand()) for _ in range(2))
    with attached.attached(model, other):
        for k in range(300):
            one.ctrl[0] = other.ctrl[0] = 0.2 * np.sin(0.02 * k)
            stepped.step(model, one)
            mujoco.mj_step(model, other)
            mujoco.mj_forward(model, other)  # asks for forces once more, and must not count as a step
    assert mujoco.get_mjcb_passive() is None
    assert stepped.wrenches[:, 2].sum() > 1
    np.testing.assert_allclose(other.qpos, one.qpos, atol=1e-9)


def test_rows_that_the_user_writes_are_the_users():
    model = servo_model("ant", 0.002)
    data = standing(model, "ant")
    ground = ground_under(model, "ant", sg.sand())
    foot = ground.carrier.moving[ground.carrier.feet[0].body]
    for _ in range(200):
        data.xfrc_applied[foot] = [0, 0, -20.0, 0, 0, 0]
        ground.step(model, data)
        np.testing.assert_allclose(data.xfrc_applied[foot, :3] - ground.wrenches[0, :3], [0, 0, -20], atol=1e-9)
    assert ground.wrenches[0, 2] > 15
    for _ in range(200):  # what stays is ours and the user's last word
        ground.step(model, data)
        np.testing.assert_allclose(data.xfrc_applied[foot, :3] - ground.wrenches[0, :3], [0, 0, -20], atol=1e-9)
    ground.reset(data)
    np.testing.assert_allclose(data.xfrc_applied[foot], [0, 0, -20, 0, 0, 0], atol=1e-9)


def test_a_clock_that_goes_back_makes_the_ground_forget():
    model = servo_model("go1", 0.002)
    data = standing(model, "go1")
    ground = ground_under(model, "go1", sg.foam())
    first = []
    for repeat in range(2):
        mujoco.mj_resetData(model, data)
        start = standing(model, "go1")
        data.qpos[:], data.ctrl[:] = start.qpos, start.ctrl
        for _ in range(100):
            data.qvel[0] += 0.01 if repeat == 0 else 0.0  # dragged along, so that springs are stretched
            ground.step(model, data)
        first.append(data.qpos.copy())
    fresh = ground_under(model, "go1", sg.foam())
    again = standing(model, "go1")
    for _ in range(100):
        fresh.step(model, again)
    np.testing.assert_allclose(first[1], again.qpos, atol=1e-9)
    assert np.abs(first[0] - first[1]).max() > 1e-3


def test_xla_is_native():
    model = servo_model("ant", 0.002)
    runs = []
    for backend in ("native", "xla"):
        data = standing(model, "ant", height=0.005)
        ground = ground_under(model, "ant", sg.sand(), backend=backend)
        for _ in range(60):
            ground.step(model, data)
        runs.append((data.qpos.copy(), ground.wrenches.copy()))
    np.testing.assert_allclose(runs[0][0], runs[1][0], atol=1e-10)
    np.testing.assert_allclose(runs[0][1], runs[1][1], atol=1e-5)


def test_the_whole_robot_may_meet_the_ground():
    """Limp, from 0.6 m: it ends on its trunk, not below the ground."""
    model = servo_model("ant", 0.002, kp=0.0, kd=0.1)
    data = standing(model, "ant", height=0.3)
    ground = ground_under(model, "ant", sg.Ground(sg.sand(), bodies=sg.firm()), contacts="all")
    for _ in range(1500):
        ground.step(model, data)
    weight = model.body_subtreemass[0] * 9.81
    total = ground.wrenches[:, 2].sum() + ground.body_wrenches[:, 2].sum()
    assert total == pytest.approx(weight, rel=0.05)
    assert data.qpos[2] > 0.2  # the trunk has a radius of 0.25 m


# -- the page ------------------------------------------------------------------------------------------


def test_the_program_of_the_page(tmp_path, monkeypatch):
    """docs/from_mujoco.md, as printed, with a file of ours for the user's."""
    monkeypatch.chdir(tmp_path)
    text = closed_xml()
    for k, name in enumerate(("FL", "FR", "RL", "RR")):
        text = text.replace(f'"foot{k}"', f'"{name}"')
    (tmp_path / "robot.xml").write_text(text)
    page = Path(__file__).parents[2] / "docs" / "from_mujoco.md"
    program = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[0]  # the other is MJX's
    names: dict = {}
    exec(compile(program, str(page), "exec"), names)
    assert len(program.strip().splitlines()) <= 12
    weight = names["model"].body_subtreemass[0] * 9.81
    assert names["ground"].wrenches[:, 2].sum() > 0.2 * weight
    assert names["data"].time == pytest.approx(0.2)


# -- runs --------------------------------------------------------------------------------------------


def test_steps_become_a_run(tmp_path):
    model = servo_model("go1", 0.002)
    data = standing(model, "go1")
    ground = ground_under(model, "go1", sg.sand(2.0))
    recorder = sg.mujoco.Recorder(ground, robot("go1"))
    with pytest.raises(OptionError, match="keep"):
        recorder.run()
    for _ in range(300):
        ground.step(model, data)
        recorder.keep()
    run = recorder.run()
    assert run.sizes["time"] == 300
    assert run["wrench_world"].values[-1, :, 2].sum() == pytest.approx(float(robot("go1").weight), rel=0.05)
    np.testing.assert_allclose(run["time"].values, 0.002 * np.arange(300), atol=1e-12)
    back = sg.Run.load(run.save(tmp_path / "run.nc"))
    assert back.fall() is None
    assert back.cost().walk is not None
    back.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000
    with pytest.raises(RobotError, match="load the same file"):
        sg.mujoco.Recorder(ground, robot("ant"))


# -- bad input --------------------------------------------------------------------------------------


def go1(**options):
    return servo_model("go1", 0.002), {"feet": feet_of("go1"), "posture": robot("go1").posture} | options


def test_a_rigid_floor_that_still_pushes_is_refused():
    with pytest.raises(RobotError, match=r"rigid floor \(geom floor\) still pushes on geom"):
        sg.mujoco.Ground(closed_model(), sg.sand(), feet=["foot0"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feet": None}, "no feet given and none marked"),
        ({"feet": []}, "no feet given"),
        ({"feet": ["FL_fot"]}, "unknown foot 'FL_fot'.*Did you mean"),
        ({"posture": [0.0]}, "posture must be 19 finite numbers"),
        ({"posture": "sitting"}, "unknown keyframe"),
        ({"contacts": ["hull"]}, "unknown contact 'hull'"),
        ({"backend": "numpy"}, "unknown backend"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
    ],
)
def test_bad_options_are_named(options, message):
    model, good = go1(**options)
    with pytest.raises(SoftgroundError, match=message):
        sg.mujoco.Ground(model, sg.sand(), **good)


def test_models_that_it_cannot_serve_are_refused():
    model, good = go1()
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    with pytest.raises(OptionError, match=r"RK4.*mjINT_IMPLICITFAST"):
        sg.mujoco.Ground(model, sg.sand(), **good)
    fixed = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    with pytest.raises(RobotError, match="no joints"):
        sg.mujoco.Ground(fixed, sg.sand(), feet=["x"])
    with pytest.raises(OptionError, match=r"needs a mujoco\.MjModel"):
        sg.mujoco.Ground("go1.xml", sg.sand())


def test_bad_states_are_named():
    model = servo_model("ant", 0.002)
    data = standing(model, "ant")
    ground = ground_under(model, "ant", sg.sand())
    with pytest.raises(OptionError, match="no step"):
        _ = ground.wrenches
    ground.step(model, data)
    data.qvel[3] = np.nan
    with pytest.raises(OptionError, match=r"data.qvel must be finite, got \[nan\] at entries \[3\]"):
        ground.step(model, data)
    data.qvel[3] = 0.0
    ground.step(model, data)  # nothing was lost
    with pytest.raises(OptionError, match="another model"):
        ground.step(build(robot("ant").recipe).model, data)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    with pytest.raises(OptionError, match="integrator has changed"):
        ground.step(model, data)
