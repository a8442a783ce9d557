"""Every row of docs/model_files.md on URDF, with Pinocchio's own parser as the oracle, or trimesh for meshes."""

import mujoco
import numpy as np
import pytest
import trimesh

from softground.errors import RobotError
from softground.robots import Robot, Sphere

from .mjcf_cases import Kept, Refused, WithoutEffect
from .numpy_dynamics import acceleration
from .robot_cases import assert_close
from .urdf_cases import URDF_CASES, urdf

pinocchio = pytest.importorskip("pinocchio")


def _numbered(kind):
    return [pytest.param(case, id=f"{name}-{i}") for name, cases in URDF_CASES.items() for i, case in enumerate(cases)
            if isinstance(case, kind)]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A package with a foot that is not symmetric, and a file that is no mesh."""
    package = tmp_path / "hopper"
    (package / "urdf").mkdir(parents=True)
    wedge = np.array([[0, 0, -0.3], [0.3, 0, -0.28], [0, 0.2, -0.3], [0.05, 0.05, 0.1]])
    mesh = trimesh.convex.convex_hull(wedge)
    for suffix in ("stl", "obj"):
        mesh.export(package / f"foot.{suffix}")
        mesh.export(package / "urdf" / f"foot.{suffix}")
    (package / "urdf" / "broken.stl").write_text("solid nothing")
    (package / "urdf" / "foot.dae").write_text("<COLLADA/>")
    return package / "urdf"


def load(folder, parts: dict, **options) -> Robot:
    file = folder / "robot.urdf"
    file.write_text(urdf(**parts))
    return Robot.load(file, feet=["foot"], **options)


def random_state(robot: Robot, seed: int):
    rng = np.random.default_rng(seed)
    q = np.array(robot.posture)
    mujoco.mj_integratePos(robot.mujoco_model(), q, rng.normal(size=robot.nv), 0.5)
    return q, rng.normal(size=robot.nv)


@pytest.mark.parametrize("case", _numbered(Kept))
def test_kept(case, folder):
    CHECKS[case.check](load(folder, case.having), urdf(**case.having), folder)


def check_acceleration(robot, text, folder):
    """Pinocchio's acceleration under its damping, and its dry friction."""
    model = pinocchio.buildModelFromXML(text)
    data = model.createData()
    for seed in range(3):
        q, v = random_state(robot, seed)
        theirs = np.concatenate([_joint(model, name, x) for name, x in zip(robot.joint_names, q, strict=True)])
        expected = pinocchio.aba(model, data, theirs, v, -model.damping * v)
        assert_close(acceleration(robot, q, v), expected)
    np.testing.assert_array_equal(robot.friction_loss, model.friction)


def _joint(model, name: str, angle: float) -> list[float]:
    """Pinocchio writes the angle of a continuous joint as cosine and sine."""
    return [angle] if model.joints[model.getJointId(name)].nq == 1 else [np.cos(angle), np.sin(angle)]


def check_mujoco(robot, text, folder):
    """MuJoCo's acceleration, where Pinocchio has no such joint; the free joint is MuJoCo's own too."""
    spec = mujoco.MjSpec.from_string(text.replace('fusestatic="true"', ""))
    for body in spec.worldbody.bodies:
        if not body.joints:
            body.add_freejoint()
    model = spec.compile()
    assert (model.nv, robot.nu) == (robot.nv, (model.jnt_type >= 2).sum())
    data = mujoco.MjData(model)
    for seed in range(3):
        data.qpos, data.qvel = random_state(robot, seed)
        mujoco.mj_forward(model, data)
        assert_close(acceleration(robot, data.qpos, data.qvel), data.qacc)


def check_limits(robot, text, folder):
    model = pinocchio.buildModelFromXML(text)
    bounded = model.joints[model.getJointId("knee")].nq == 1
    span = [model.lowerPositionLimit[1], model.upperPositionLimit[1]] if bounded else [-np.inf, np.inf]
    np.testing.assert_array_equal(robot.joint_range[1], span)
    assert robot.limited == ((0, 1) if bounded else (0,))


def check_efforts(robot, text, folder):
    limit = np.zeros(robot.nv)
    limit[list(robot.actuated)] = robot.torque_limit
    np.testing.assert_array_equal(limit, pinocchio.buildModelFromXML(text).effortLimit)


def check_feet(robot, text, folder):
    """The lowest face of the bounding box, in the axes of the mesh, as trimesh places it; or the sphere."""
    (foot,) = robot.feet
    model, folders = pinocchio.buildModelFromXML(text), [str(folder), str(folder.parents[1])]
    collision = pinocchio.GeometryType.COLLISION
    geometry = pinocchio.buildGeomFromUrdfString(model, text, collision, package_dirs=folders).geometryObjects[0]
    link = geometry.placement  # in the frame of the joint, which is that of the link
    if isinstance(foot.shape, Sphere):
        np.testing.assert_allclose(foot.position, link.translation, atol=1e-12)
        assert foot.shape.radius == geometry.geometry.radius
        return
    if hasattr(geometry.geometry, "halfSide"):
        lower, upper = -geometry.geometry.halfSide, geometry.geometry.halfSide
    else:
        mesh = trimesh.load_mesh(folder / geometry.meshPath.rsplit("/", 1)[-1])
        mesh.apply_transform(np.diag([*geometry.meshScale, 1.0]))
        lower, upper = mesh.bounds
    sole = link.rotation @ [*(lower[:2] + upper[:2]) / 2, lower[2]] + link.translation
    np.testing.assert_allclose(foot.position, sole, atol=1e-7)  # an STL file holds single precision
    np.testing.assert_allclose(foot.rotation[:, 2], link.rotation[:, 2], atol=1e-12)
    size = {foot.shape.length, foot.shape.width}
    np.testing.assert_allclose(sorted(size), sorted(set(upper[:2] - lower[:2])), atol=1e-7)
    assert foot.shape.height == pytest.approx(upper[2] - lower[2], abs=1e-7)


CHECKS = {
    "acceleration": check_acceleration,
    "mujoco": check_mujoco,
    "limits": check_limits,
    "efforts": check_efforts,
    "feet": check_feet,
}


@pytest.mark.parametrize("case", _numbered(Refused))
def test_refused(case, folder):
    with pytest.raises(RobotError, match=case.message):
        load(folder, case.having)
    if case.ignore:
        robot = load(folder, case.having, ignore=[case.ignore])
        assert robot.sha256 == load(folder, case.lacking).sha256


@pytest.mark.parametrize("case", _numbered(WithoutEffect))
def test_without_effect(case, folder):
    assert load(folder, case.having).sha256 == load(folder, case.lacking).sha256


def test_a_shape_that_is_given_needs_no_mesh(folder):
    file = folder / "robot.urdf"
    file.write_text(urdf(foot='<collision><geometry><mesh filename="nowhere.stl"/></geometry></collision>'))
    (foot,) = Robot.load(file, feet={"foot": Sphere(0.04)}).feet
    assert foot.shape == Sphere(0.04)
    np.testing.assert_array_equal(foot.position, np.zeros(3))


def test_locking_both_joints_of_a_mimic_removes_it(folder):
    file = folder / "robot.urdf"
    file.write_text(urdf(base="trunk", knee='<mimic joint="hip" multiplier="2"/>'))
    assert Robot.load(file, feet=["foot"], lock=["hip", "knee"]).joint_names == ("floating_base",)
    with pytest.raises(RobotError, match=r"ties joint 'hip' to 'knee', which is locked"):
        Robot.load(file, feet=["foot"], lock=["knee"])
