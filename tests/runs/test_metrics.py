"""What is measured of a run does not depend on where the scene lies, how it is turned, or how the base's frame points.

A made-up walk goes through the dataset of runs and everything that is measured of it. Scenes are the same walk moved as
a whole (with its ground and gravity), on a base whose frame is another one, under another gravity, or on a slope: their
numbers must be those of the first, or what gravity makes of them.
"""

import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import equinox as eqx
import jax
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softground.errors import OptionError
from softground.media import Firm
from softground.media.base import COMPONENTS
from softground.robots import Robot
from softground.runs import Run
from softground.runs.cost_of_transport import describe_cost, stance_rows, walk_cost
from softground.runs.dataset import RunInfo
from softground.runs.measures import base_tilt, heading, way_ahead
from softground.simulation import Ground, Record, Simulator, State
from softground.surfaces import Plane

DT, SAMPLES = 0.01, 241
TURN, SPEED = 0.7, 0.4  # rad/s, m/s
EARTH, MOON = 9.81, 1.62  # m/s2
ROUNDING = 1e-9
"""Relative. A kilometre away a position is known to 1e-13 m, a step of 4 mm to 3e-11 of it."""

MODEL = """
<mujoco>
  <compiler angle="radian" inertiafromgeom="false"/>
  <option gravity="{gravity}"/>
  <worldbody>
    <body name="base" pos="0 0 0.5" quat="{base}">
      <freejoint name="root"/>
      <inertial pos="0 0 0" mass="0.1" diaginertia="1e-3 1e-3 1e-3"/>
      <body name="trunk" quat="{back}">
        <inertial pos="0.03 0.01 0.1" mass="7" diaginertia="0.2 0.1 0.15"/>
        <body name="left" pos="0 0.1 0">
          <joint name="left_hip" axis="0 1 0"/>
          <inertial pos="0 0 -0.2" mass="1.4" diaginertia="0.02 0.02 0.01"/>
          <site name="left_foot" pos="0 0 -0.45" type="sphere" size="0.04"/>
        </body>
        <body name="right" pos="0 -0.1 0">
          <joint name="right_hip" axis="0 1 0"/>
          <inertial pos="0 0 -0.2" mass="1.4" diaginertia="0.02 0.02 0.01"/>
          <site name="right_foot" pos="0 0 -0.45" type="sphere" size="0.04"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="left_hip"/><motor joint="right_hip"/></actuator>
</mujoco>
"""


@dataclass(frozen=True)
class Scene:
    """A rigid motion of robot and ground (rotation vector, translation in m), gravity, and the base's frame."""

    turned: tuple[float, float, float] = (0.0, 0.0, 0.0)
    moved: tuple[float, float, float] = (0.0, 0.0, 0.0)
    gravity: float = EARTH
    gravity_turns: bool = True
    base_frame: tuple[float, float, float] = (0.0, 0.0, 0.0)  # rotation vector, from the trunk's frame


def about_z(angle):
    return (0.0, 0.0, angle)


ANGLES = np.random.default_rng(3).uniform(-np.pi, np.pi, 3)
FRAMES = tuple(map(tuple, Rotation.random(3, random_state=5).as_rotvec()))
TILTED = tuple(Rotation.from_euler("zyz", [0.8, 0.45, -2.1]).as_rotvec())
SCENES = {
    **{f"turned by {angle:.2f} rad": Scene(turned=about_z(angle)) for angle in (np.pi / 2, np.pi, *ANGLES)},
    "ground at -0.5 m": Scene(moved=(0.0, 0.0, -0.5)),
    "a kilometre away": Scene(moved=(1000.0, -700.0, 300.0)),
    "tilted with gravity": Scene(turned=TILTED),
    "on a slope": Scene(turned=TILTED, gravity_turns=False),
    "base looks back": Scene(base_frame=about_z(np.pi)),
    "base lies on its face": Scene(base_frame=(0.0, np.pi / 2, 0.0)),
    "base stands on its head": Scene(base_frame=(np.pi, 0.0, 0.0)),
    **{f"base frame {k}": Scene(base_frame=frame) for k, frame in enumerate(FRAMES)},
    "on the moon": Scene(gravity=MOON),
    "all of it": Scene(TILTED, (1000.0, -700.0, -0.5), MOON, True, FRAMES[0]),
}


def written(values):
    return " ".join(repr(float(value)) for value in values)


@cache
def robot_of(scene: Scene) -> Robot:
    frame = Rotation.from_rotvec(scene.base_frame)
    down = Rotation.from_rotvec(scene.turned).apply([0.0, 0.0, -1.0]) if scene.gravity_turns else np.array([0, 0, -1.0])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "made_up.xml"
        path.write_text(
            MODEL.format(
                gravity=written(scene.gravity * down),
                base=written(frame.as_quat(scalar_first=True)),
                back=written(frame.inv().as_quat(scalar_first=True)),
            )
        )
        return Robot.load(path, feet=("left_foot", "right_foot"))


def plane_of(scene: Scene) -> Plane:
    x, y, z = Rotation.from_rotvec(scene.turned).apply([0.0, 0.0, 1.0])
    return Plane(slope=np.arctan2(np.hypot(x, y), z), heading=np.arctan2(-y, -x), point=scene.moved)


def walk(scene: Scene, *, fall: str = "", every: int = 1) -> Run:
    """A walk round a corner, swaying and waddling; half way it "leans" or "sinks", both falls, or "spins".

    The second actuator brakes while the first drives. Feet change every 0.3 s.
    """
    time = DT * np.arange(SAMPLES)
    late = time > time[SAMPLES // 2]
    phase = 2 * np.pi * time / 0.6
    yaw = TURN * time + 0.1 * np.sin(phase) + (fall == "spins") * 3.0 * np.maximum(time - 1.0, 0.0)
    lean = np.outer(2.0 * late * (fall == "leans"), [np.cos(0.9), np.sin(0.9), 0.0])
    waddle = Rotation.from_euler("yx", np.stack([0.05 * np.cos(phase), 0.08 * np.sin(phase)], axis=-1))
    attitude = Rotation.from_rotvec(np.outer(yaw, [0, 0, 1])) * Rotation.from_rotvec(lean) * waddle
    sideways = 0.02 * np.sin(phase)
    angle = TURN * time
    place = SPEED / TURN * np.stack([np.sin(angle), 1 - np.cos(angle)], axis=-1)
    place += sideways[:, None] * np.stack([-np.sin(angle), np.cos(angle)], axis=-1)
    height = 0.5 + 0.01 * np.cos(2 * phase) - 0.4 * late * (fall == "sinks")
    hips = np.stack([0.3 * np.sin(phase), -0.3 * np.sin(phase)], axis=-1)
    torque = np.stack([8.0 + 5.0 * np.cos(phase), -3.0 + 2.0 * np.sin(phase)], axis=-1)
    left = np.floor(time / 0.3).astype(int) % 2 == 0
    force = np.zeros((SAMPLES, 2, 6))
    force[:, 0, 2], force[:, 1, 2] = (0.9 * 9.9 * scene.gravity * foot for foot in (left, ~left))

    world = Rotation.from_rotvec(scene.turned)
    frame = Rotation.from_rotvec(scene.base_frame)
    quaternion = (world * attitude * frame).as_quat(scalar_first=True)
    position = world.apply(np.column_stack([place, height])) + scene.moved
    q = np.column_stack([position, quaternion, hips])
    v = np.column_stack([np.zeros((SAMPLES, 6)), np.gradient(hips, DT, axis=0)])
    wrench = np.concatenate([world.apply(force[:, foot, :3])[:, None] for foot in range(2)], axis=1)
    return dataset_of(
        simulator_of(scene), q, v, torque, np.concatenate([wrench, np.zeros_like(wrench)], axis=-1), every
    )


def dataset_of(simulator: Simulator, q, v, torque, wrench, every=1) -> Run:
    """A run of these states, torques and wrenches, as if simulated."""
    count, feet, size = len(q), len(simulator.robot.feet), len(COMPONENTS[simulator.feet_medium.kind])
    zeros = np.zeros((count, feet))
    record = Record(
        time=DT * np.arange(count),
        q=q,
        v=v,
        torque=torque,
        wrench_world=wrench,
        depth=zeros + 0.01,
        tilt=zeros,
        twist=np.zeros((count, feet, size)),
        iterations=np.zeros(count, int),
        converged=np.ones(count, bool),
        finite=np.ones(count, bool),
        outside_data=np.zeros((count, feet), bool),
    )
    kept = jax.tree.map(lambda values: values[::every], record)
    start = State(np.zeros(()), q[0], v[0], (None,), (np.zeros((3, feet, size)),))
    return Run.of(simulator, start, start, kept, None, RunInfo(steps=count, every=every))


@cache
def simulator_of(scene: Scene) -> Simulator:
    return Simulator(robot_of(scene), Ground(Firm(), plane_of(scene)), DT)


def measured(dataset: Run) -> dict[str, np.ndarray]:
    """Every number that is measured of a run."""
    cost = walk_cost(dataset)
    stances = stance_rows(cost)
    summary = dataset.summary()
    told = {f"cost: {name}": value for name, value in describe_cost(cost).items()}
    told |= {f"stances: {name}": [row[name] for row in stances] for name in stances[0] if name != "foot"}
    numbers = ("distance_m", "weight_n", "mean_vertical_force_n", "actuator_work_j", "mean_sinkage_m", "seconds")
    told |= {f"summary: {name}": summary[name] for name in numbers}
    told |= {"way": way_ahead(dataset), "heading": heading(dataset), "height": dataset.height()}
    return {name: np.asarray(value, float) for name, value in told.items()}


@cache
def reference() -> dict[str, np.ndarray]:
    return measured(walk(Scene()))


def expected(scene: Scene) -> dict[str, np.ndarray]:
    """Of the reference, what gravity changes: weights go with it, costs as one over it, the time scale as its root.

    On a slope the forces, along its normal here, carry less of the weight by its cosine.
    """
    more = scene.gravity / EARTH
    upright = 1.0 if scene.gravity_turns else float(Rotation.from_rotvec(scene.turned).as_matrix()[2, 2])
    factor = {
        "cost: cost_of_transport": 1 / more,
        "cost: cost_of_transport_per_actuator": 1 / more,
        "cost: cost_per_stance_mean": 1 / more,
        "cost: cost_per_stance_deviation": 1 / more,
        "stances: cost_of_transport": 1 / more,
        "cost: dimensionless_speed": more**-0.5,
        "summary: weight_n": more,
        "summary: mean_vertical_force_n": more * upright,
    }
    return {name: factor.get(name, 1.0) * value for name, value in reference().items()}


def test_the_walk_itself_by_hand():
    """Against closed forms; the heading, averaged over a second, is late or early by half of it at the ends."""
    found = reference()
    seconds = DT * (SAMPLES - 1)
    np.testing.assert_allclose(found["cost: distance_m"], SPEED * seconds, rtol=0.02)
    phase = 2 * np.pi * DT * np.arange(SAMPLES) / 0.6
    # A waddle about x and y turns about z, too, by half the product of its angles and less.
    np.testing.assert_allclose(found["heading"], TURN * DT * np.arange(SAMPLES) + 0.1 * np.sin(phase), atol=0.05 * 0.08)
    assert len(found["stances: start_s"]) == 7
    hips = 0.3 * np.sin(phase)
    work = np.abs(np.diff(hips) * (8 + 5 * np.cos(phase[:-1]))) + np.abs(np.diff(hips) * (2 * np.sin(phase[:-1]) - 3))
    np.testing.assert_allclose(
        found["cost: cost_of_transport_per_actuator"], work.sum() / (9.9 * EARTH * found["cost: distance_m"]), rtol=1e-9
    )


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_the_same_walk_measures_the_same(scene):
    found = measured(walk(scene))
    for name, value in expected(scene).items():
        scale = max(float(np.abs(value).max()), 1e-3)
        np.testing.assert_allclose(found[name], value, rtol=0, atol=ROUNDING * scale, err_msg=name)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_the_same_falls_are_seen_and_no_others(scene):
    """On a slope the walk leans less against gravity than against the ground, yet by more than 60 degrees."""
    for fall in ("leans", "sinks"):
        found, other = (walk(one, fall=fall).fall() for one in (scene, Scene()))
        assert found.time == other.time == pytest.approx(DT * (SAMPLES // 2 + 1))
        assert found.reason == other.reason or (fall == "leans" and not scene.gravity_turns)
    assert walk(scene, fall="spins").fall() is None


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("stands", ["upright", "square to the slope"])
def test_turning_round_on_a_steep_slope_is_no_fall(frame, stands):
    """40 degrees: what points up at the start leans by 80 after half a turn about the normal, and vice versa."""
    slope = Rotation.from_euler("y", -np.deg2rad(40.0))
    scene = Scene(turned=tuple(slope.as_rotvec()), gravity_turns=False, base_frame=frame)
    angle = np.linspace(0, 2 * np.pi, 50)
    yaw = Rotation.from_rotvec(np.outer(angle, [0.0, 0.0, 1.0]))
    attitude = (yaw if stands == "upright" else slope * yaw) * Rotation.from_rotvec(frame)
    q = np.zeros((50, 9))
    q[:, :3], q[:, 3:7] = slope.apply([0.0, 0.0, 0.5]), attitude.as_quat(scalar_first=True)
    turning = dataset_of(simulator_of(scene), q, np.zeros((50, 8)), np.zeros((50, 2)), np.zeros((50, 2, 6)))
    np.testing.assert_allclose(base_tilt(turning), 0.0, atol=1e-9)
    assert turning.fall() is None


LEVEL = {name: scene for name, scene in SCENES.items() if scene.turned != TILTED}


@pytest.mark.parametrize("scene", LEVEL.values(), ids=LEVEL.keys())
def test_pitch_does_not_depend_on_the_base_frame_or_the_heading(scene):
    np.testing.assert_allclose(walk(scene)["base_pitch"], walk(Scene())["base_pitch"], atol=1e-9)


@pytest.mark.parametrize("every", [2, 4, 8])
def test_fewer_samples_measure_the_same_to_second_order_in_the_time_between_them(every):
    """Of a joint that swings, a sample interval of phase d around its reversal hides up to 2 (1 - cos(d / 2)) of the 2
    amplitudes that it goes: at most d^2 / 8 of a steady torque's work, here with 1/4 more for torques that vary.

    The second over which the heading is averaged is a whole number of samples. What it is off by, half a sample at each
    end, leaves that share of the waddle of 0.1 rad, and the way by less. A mean height weighs its first and last sample
    as the others: off by their share of it times how much it varies, 1 cm of 50.
    """
    found, exact = measured(walk(Scene(), every=every)), reference()
    swing = 2 * np.pi / 0.6 * every * DT
    for name in ("cost: energy_j", "cost: cost_of_transport_per_actuator", "summary: actuator_work_j"):
        np.testing.assert_allclose(found[name], exact[name], rtol=1.25 * swing**2 / 8, err_msg=name)
    np.testing.assert_allclose(found["cost: distance_m"], exact["cost: distance_m"], rtol=0.1 * every * DT)
    np.testing.assert_allclose(found["cost: com_height_m"], exact["cost: com_height_m"], rtol=0.02 * every / SAMPLES)


BASES = {
    "one body": """<body name="trunk" pos="0 0 0.5"><joint name="x" type="slide" axis="1 0 0"/>
        <joint name="z" type="slide" axis="0 0 1"/><joint name="pitch" axis="0 1 0"/>{trunk}</body>""",
    "a frame that looks back": """<body name="trunk" pos="0 0 0.5" quat="0 0 0 1">
        <joint name="x" type="slide" axis="-1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
        <joint name="pitch" axis="0 -1 0"/>{trunk}</body>""",
    "a chain of bodies": """<body name="x_carrier" pos="0 0 0.5"><joint name="x" type="slide" axis="1 0 0"/>
        <inertial pos="0 0 0" mass="1e-9" diaginertia="1e-9 1e-9 1e-9"/>
        <body name="z_carrier"><joint name="z" type="slide" axis="0 0 1"/>
        <inertial pos="0 0 0" mass="1e-9" diaginertia="1e-9 1e-9 1e-9"/>
        <body name="trunk"><joint name="pitch" axis="0 1 0"/>{trunk}</body></body></body>""",
}
TRUNK = """<inertial pos="0 0 0.1" mass="7" diaginertia="0.2 0.1 0.15"/>
    <body name="leg"><joint name="hip" axis="0 1 0"/><inertial pos="0 0 -0.2" mass="1.4" diaginertia="0.02 0.02 0.01"/>
    <site name="foot" pos="0 0 -0.45" type="sphere" size="0.04"/></body>"""


@pytest.mark.parametrize("written_as", BASES)
def test_planar_bases_that_turn_over(written_as, tmp_path):
    """The pitch of a planar base is not folded at 90 degrees, however the base is written, and its fall is seen."""
    path = tmp_path / "planar.xml"
    body = BASES[written_as].format(trunk=TRUNK)
    path.write_text(f"<mujoco><worldbody>{body}</worldbody><actuator><motor joint='hip'/></actuator></mujoco>")
    robot = Robot.load(path, feet=("foot",))
    pitch = np.linspace(0.0, 5.0, 26)
    q = np.column_stack([0.1 * pitch, 0 * pitch + 0.2, pitch, 0 * pitch])
    run = dataset_of(Simulator(robot, Firm(), DT), q, 0 * q, 0 * q[:, 3:], np.zeros((26, 1, 6)))
    np.testing.assert_allclose(run["base_pitch"], pitch, atol=1e-9)
    place = np.column_stack([0.1 * pitch, 0 * pitch, 0 * pitch + 0.7])
    np.testing.assert_allclose(run["base_position"], place, atol=1e-9)
    np.testing.assert_allclose(base_tilt(run), np.pi - np.abs(np.pi - pitch), atol=1e-9)
    assert run.fall().time == pytest.approx(DT * np.flatnonzero(pitch > np.pi / 3)[0])
    np.testing.assert_allclose(heading(run)[pitch < 3], 0.0, atol=1e-9)


def test_a_base_on_a_ball_joint(tmp_path):
    """Turning about the vertical is a heading and no lean; leaning is a lean."""
    path = tmp_path / "ball.xml"
    path.write_text(
        f"""<mujoco><worldbody><body name="trunk" pos="0 0 0.5" quat="0.5 0.5 0.5 0.5"><joint name="root" type="ball"/>
        {TRUNK}</body></worldbody><actuator><motor joint='hip'/></actuator></mujoco>"""
    )
    simulator = Simulator(Robot.load(path, feet=("foot",)), Firm(), DT)
    mount = Rotation.from_quat([0.5, 0.5, 0.5, 0.5], scalar_first=True)
    angle = np.linspace(0.0, 2.5, 26)

    def run(axis):
        ball = mount.inv() * Rotation.from_rotvec(np.outer(angle, axis)) * mount
        q = np.column_stack([ball.as_quat(scalar_first=True), 0 * angle])
        return dataset_of(simulator, q, np.zeros((26, 4)), np.zeros((26, 1)), np.zeros((26, 1, 6)))

    round_and_round, over = run([0.0, 0.0, 1.0]), run([0.6, 0.8, 0.0])
    np.testing.assert_allclose(heading(round_and_round), angle, atol=1e-9)
    np.testing.assert_allclose(base_tilt(round_and_round), 0.0, atol=1e-9)
    np.testing.assert_allclose(base_tilt(over), angle, atol=1e-9)
    np.testing.assert_allclose(heading(over), 0.0, atol=1e-9)


def test_centre_of_mass_of_a_robot_whose_masses_were_changed():
    """A load on the right leg, put there after loading, against MuJoCo's centre of mass with that mass."""
    simulator = simulator_of(Scene())
    robot = simulator.robot
    mass = robot.parameters.mass + np.array([0.0, 0.0, 5.0])
    loaded = eqx.tree_at(lambda s: s.robot.parameters.mass, simulator, mass)
    q = walk(Scene())["configuration"].values[:5]
    run = dataset_of(loaded, q, np.zeros((5, 8)), np.zeros((5, 2)), np.zeros((5, 2, 6)))
    model = copy.copy(robot.mujoco_model())
    model.body_mass[model.body(robot.body_names[2]).id] += 5.0
    mujoco.mj_setConst(model, mujoco.MjData(model))
    data = mujoco.MjData(model)
    for sample, center in zip(q, run["center_of_mass"].values, strict=True):
        data.qpos[:] = sample
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        np.testing.assert_allclose(center, data.subtree_com[0], atol=1e-12)
    assert run.attrs["mass_kg"] == pytest.approx(9.9 + 5.0)


def test_no_weight_no_cost_and_no_height_no_dimensionless_speed():
    weightless = walk(Scene()).assign({"gravity_m_per_s2": np.zeros(3)})
    with pytest.raises(OptionError, match="no gravity"):
        walk_cost(weightless)
    buried = walk(Scene(moved=(0.0, 0.0, -2.0)))
    buried = buried.assign({"simulator_recipe": walk(Scene()).attrs["simulator_recipe"]})  # the ground stays at 0
    described = describe_cost(walk_cost(buried))
    assert described["dimensionless_speed"] is None
    assert described["com_height_m"] == pytest.approx(float(reference()["cost: com_height_m"]) - 2.0)
    assert described["cost_of_transport"] == pytest.approx(float(reference()["cost: cost_of_transport"]))
