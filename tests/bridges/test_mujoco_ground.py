"""Soft ground inside of MuJoCo: what is MuJoCo's stays MuJoCo's, what is the user's the user's, and what is refused."""

import gc
import re
import weakref
from pathlib import Path

import mujoco
import numpy as np
import pytest

import softground as sg
from softground.errors import OptionError, RobotError, SoftgroundError
from softground.robots.loading import build

from .mujoco_cases import GROUNDS, closed_model, closed_xml, feet_of, ground_under, robot, servo_model, standing

# -- what is MuJoCo's stays MuJoCo's --------------------------------------------------------------------


def test_in_the_air_it_is_mj_step():
    model = servo_model("go1", 0.002)
    ours, theirs = standing(model, "go1", height=1.0), standing(model, "go1", height=1.0)
    ground = ground_under(model, "go1", GROUNDS["sand"]())
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


@pytest.mark.parametrize("backend", ["native", "xla"])
def test_data_that_nobody_has_any_more_is_freed(backend):
    """But for that of the last step, which `ground.here` and `ground.torques` tell of."""
    model = servo_model("ant", 0.002)
    ground = ground_under(model, "ant", sg.foam(), backend=backend)
    several = [standing(model, "ant") for _ in range(3)]
    for data in (*several, several[0]):
        ground.step(model, data)
    time = several[0].time
    kept = [weakref.ref(data) for data in several]
    del data, several
    gc.collect()
    assert [ref() is not None for ref in kept] == [True, False, False]
    assert ground.here[0] == time
    ground.step(model, another := standing(model, "ant"))
    gc.collect()
    assert all(ref() is None for ref in kept)
    assert ground.here[0] == another.time


def test_damping_may_change_between_steps():
    """Euler's step takes it implicitly: a ground made after the change does what one made before does."""
    model = servo_model("ant", 0.002)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    ground = ground_under(model, "ant", sg.foam())
    one = standing(model, "ant")
    ground.step(model, one)
    model.dof_damping[6:] *= 30
    fresh, other = ground_under(model, "ant", sg.foam()), standing(model, "ant")
    one.qpos[:] = other.qpos
    one.qvel[:] = other.qvel[:] = np.repeat([0.0, 1.0], [6, 8])
    ground.reset(one)
    for _ in range(20):
        ground.step(model, one)
        fresh.step(model, other)
        assert np.abs(ground.last.jacobian @ (one.qvel - ground.last.velocity)).max() < 1e-9
    np.testing.assert_allclose(one.qvel, other.qvel, atol=1e-9)


def test_sensors_feel_the_ground(closed):
    """At rest the sensor at an ankle balances the ground's force less the weight of the foot, in axes of its site; the
    accelerometer gravity alone. A touch sensor feels a foot whose sole its site reaches, as MuJoCo's rigid contacts."""
    model, data, ground, *_ = closed
    site = model.site("ankle0").id
    mass = model.body("ankle0").mass[0]
    force = -data.sensor("ankle").data  # the sensor has what the shank does to the ankle
    expected = data.site_xmat[site].reshape(3, 3).T @ (ground.wrenches[0, :3] + mass * model.opt.gravity)
    np.testing.assert_allclose(force, expected, atol=0.02 * float(np.linalg.norm(expected)))
    assert np.linalg.norm(data.sensor("acc").data) == pytest.approx(9.81, rel=0.01)
    normal = ground.wrenches[0, 2]
    assert normal > 2
    assert [data.sensor(name).data[0] for name in ("touch", "inside", "cut")] == pytest.approx([normal, 0, 2])
    mujoco.mj_rnePostConstraint(model, data)
    body = model.body("ankle0").id
    felt = data.cfrc_ext[body, 3:]
    np.testing.assert_allclose(felt, ground.wrenches[0, :3], atol=1e-9)


def test_the_callback_is_the_step():
    model = servo_model("ant", 0.002)
    one, other = (standing(model, "ant", height=0.01) for _ in range(2))
    stepped, attached = (ground_under(model, "ant", GROUNDS["sand"]()) for _ in range(2))
    with attached.attached(model, other):
        for k in range(300):
            one.ctrl[0] = other.ctrl[0] = 0.2 * np.sin(0.02 * k)
            stepped.step(model, one)
            mujoco.mj_step(model, other)
            mujoco.mj_forward(model, other)  # asks for forces once more, and must not count as a step
    assert mujoco.get_mjcb_passive() is None
    assert stepped.wrenches[:, 2].sum() > 1
    np.testing.assert_allclose(other.qpos, one.qpos, atol=1e-9)


def test_mistakes_inside_of_the_callback_are_named():
    """And the process lives: MuJoCo passes an exception on by a jump."""
    model = servo_model("ant", 0.002)
    data = standing(model, "ant")
    ground = ground_under(model, "ant", GROUNDS["sand"]())
    with ground.attached(model, data):
        mujoco.mj_step(model, data)
        data.xfrc_applied[2, 1] = np.nan
        with pytest.raises(
            OptionError, match=r"data\.xfrc_applied must be finite, got \[nan\] at entries \[\(2, 1\)\]"
        ):
            mujoco.mj_step(model, data)
        data.xfrc_applied[2, 1] = 0.0
        data.qfrc_applied[6] = 1e100
        mujoco.mj_step(model, data)  # MuJoCo resets the state, and says so in data.warning
        with pytest.raises(SoftgroundError, match="numbers that are too large"):
            mujoco.mj_step(model, data)
        mujoco.mj_step(model, data)
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        with pytest.raises(OptionError, match="integrator has changed"):
            mujoco.mj_step(model, data)
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    data.qfrc_applied[6] = 1e100
    with pytest.raises(SoftgroundError, match="numbers that are too large"), ground.attached(model, data):
        mujoco.mj_step(model, data)
    assert mujoco.get_mjcb_passive() is None


def test_rows_that_the_user_writes_are_the_users():
    model = servo_model("ant", 0.002)
    data = standing(model, "ant")
    ground = ground_under(model, "ant", GROUNDS["sand"]())
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
        ground = ground_under(model, "ant", GROUNDS["sand"](), backend=backend)
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
    with pytest.raises(OptionError, match=r"ground must be a medium, sg\.sand\(\), or.*got 'sand'"):
        sg.mujoco.Ground(go1()[0], "sand", **good)  # type: ignore[arg-type]


def test_bad_states_are_named():
    model = servo_model("ant", 0.002)
    data = standing(model, "ant")
    ground = ground_under(model, "ant", GROUNDS["sand"]())
    with pytest.raises(OptionError, match="no step"):
        _ = ground.wrenches
    ground.step(model, data)
    data.qvel[3] = np.nan
    with pytest.raises(OptionError, match=r"data.qvel must be finite, got \[nan\] at entries \[3\]"):
        ground.step(model, data)
    data.qvel[3] = 0.0
    for field, where, entry in (("xfrc_applied", (2, 1), r"\(2, 1\)"), ("qfrc_applied", 7, "7")):
        time, forces = data.time, getattr(data, field)
        forces[where] = np.nan
        for what in (ground.step, ground.forward):
            with pytest.raises(OptionError, match=rf"data\.{field} must be finite, got \[nan\] at entries \[{entry}\]"):
                what(model, data)
        assert data.time == time  # MuJoCo has not reset it
        forces[where] = 0.0
    ground.step(model, data)  # nothing was lost
    with pytest.raises(OptionError, match="another model"):
        ground.step(build(robot("ant").recipe).model, data)
    with pytest.raises(OptionError, match=r"data is of another model than ant: nq = 19 \(not 15\), nv = 18 \(not 14\)"):
        ground.step(model, mujoco.MjData(servo_model("go1", 0.002)))
    with pytest.raises(OptionError, match=r"needs a mujoco\.MjData, got MjModel"):
        ground.step(model, model)
    data.qfrc_applied[6] = 1e100
    with pytest.raises(SoftgroundError, match=r"MuJoCo met numbers that are too large.*has reset the state"):
        ground.step(model, data)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    with pytest.raises(OptionError, match="integrator has changed"):
        ground.step(model, data)
