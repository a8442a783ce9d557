"""Every row of docs/model_files.md: kept as MuJoCo has it, refused with a message, or without effect."""

import re
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import mujoco
import numpy as np
import pytest

from softground.errors import RobotError
from softground.robots import Robot

from .mjcf_cases import CASES, Kept, Refused, WithoutEffect, model
from .mjcf_schema import attributes
from .numpy_dynamics import acceleration
from .robot_cases import assert_close
from .urdf_cases import URDF_CASES

PAGE = Path(__file__).parents[2] / "docs" / "model_files.md"
KINDS = {Kept: "kept", Refused: "refused", WithoutEffect: "without effect"}
STATES = 3


def rows(section: str) -> dict[str, tuple[str, str]]:
    """The table of one section: feature -> (where in the file, what becomes of it)."""
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    assert len({row[0] for row in cells}) == len(cells)
    return {feature: (where, becomes) for feature, where, becomes, _ in cells[2:]}


@pytest.mark.parametrize(("section", "cases"), [("MJCF", CASES), ("URDF", URDF_CASES)])
def test_every_row_has_a_case_and_every_case_a_row(section, cases):
    table = rows(section)
    assert list(table) == list(cases)
    for feature, (_, becomes) in table.items():
        assert cases[feature], feature
        for case in cases[feature]:
            assert becomes.split(" `")[0] == KINDS[type(case)], feature
            named = re.search(r"`(\w+)`", becomes)
            if isinstance(case, Refused) and case.ignore and named and feature != "Other actuators":
                assert case.ignore == named[1], feature


def test_every_attribute_of_mjcf_has_a_row():
    cells = [cell for where, _ in rows("MJCF").values() for cell in re.findall("`([^`]+)`", where)]
    known = attributes()
    assert len(known) > 1000
    covered = {cell: {name for name in known if any(fnmatchcase(name, p) for p in _expanded(cell))} for cell in cells}
    assert sorted(set(known).difference(*covered.values())) == []
    assert [cell for cell, names in covered.items() if not names] == []  # no row for what is not in the schema


def _expanded(pattern: str) -> list[str]:
    """'a.{b,c}' -> ['a.b', 'a.c']."""
    parts = [part.split(",") for part in re.split(r"[{}]", pattern)]
    return ["".join(choice) for choice in product(*parts)]


def _numbered(kind):
    return [pytest.param(case, id=f"{name}-{i}") for name, cases in CASES.items() for i, case in enumerate(cases)
            if isinstance(case, kind)]  # fmt: skip


def written(tmp_path, parts: dict) -> Path:
    file = tmp_path / "model.xml"
    file.write_text(model(**{"option": ">"} | parts))
    return file


def load(tmp_path, parts: dict, **options) -> Robot:
    feet = None if "softground_feet" in parts.get("head", "") else ["sole"]
    return Robot.load(written(tmp_path, parts), feet=feet, **options)


def mujoco_of(parts: dict) -> mujoco.MjModel:
    """MuJoCo's own reading of the file."""
    return mujoco.MjModel.from_xml_string(model(**{"option": ">"} | parts))


def states(reference: mujoco.MjModel):
    """Random states of a model, with MuJoCo's data at them; without contacts."""
    for seed in range(STATES):
        rng = np.random.default_rng(seed)
        data = mujoco.MjData(reference)
        mujoco.mj_integratePos(reference, data.qpos, rng.normal(size=reference.nv), 0.5)
        data.qvel = rng.normal(size=reference.nv)
        reference.geom_contype[:] = reference.geom_conaffinity[:] = 0
        mujoco.mj_forward(reference, data)
        yield data


@pytest.mark.parametrize("case", _numbered(Kept))
def test_kept(case, tmp_path):
    robot, reference = load(tmp_path, case.having), mujoco_of(case.having)
    CHECKS[case.check](robot, reference, case)


def check_acceleration(robot, reference, case):
    """MuJoCo's acceleration, and another one than without the feature."""
    check_larger_tree(robot, reference, case)
    for data, other in zip(states(reference), states(mujoco_of(case.lacking)), strict=True):
        assert np.abs(data.qacc - other.qacc).max() > 1e-3


def check_larger_tree(robot, reference, case):
    for data in states(reference):
        assert_close(acceleration(robot, data.qpos, data.qvel), data.qacc)


def check_limits(robot, reference, case):
    """The knee is beyond our limit wherever MuJoCo's limit is active."""
    data, knee = mujoco.MjData(reference), reference.joint("knee")
    low, high = robot.joint_range[knee.dofadr[0]]
    for angle in np.linspace(-1.0, 1.0, 401):
        data.qpos[knee.qposadr[0]] = angle
        mujoco.mj_forward(reference, data)
        active = (data.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT).any()
        assert active == (angle < low or angle > high)
    assert robot.limited == ((knee.dofadr[0],) if np.isfinite(low) else ())


def check_friction(robot, reference, case):
    """The dry friction that MuJoCo's solver is given, dof by dof."""
    data = mujoco.MjData(reference)
    mujoco.mj_forward(reference, data)
    dofs = data.efc_type == mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF
    found = np.zeros(reference.nv)
    found[data.efc_id[dofs]] = data.efc_frictionloss[dofs]
    np.testing.assert_array_equal(robot.friction_loss, found)


def check_effort(robot, reference, case):
    """The greatest effort that controls of any size bring about, both ways."""
    limit = np.zeros(reference.nv)
    limit[list(robot.actuated)] = np.minimum(robot.torque_limit, HUGE)
    data = mujoco.MjData(reference)
    for direction in (1, -1):
        signs = np.sign(reference.actuator_gear[:, 0] * reference.actuator_gainprm[:, 0])
        drive = np.zeros(reference.nu)
        drive[reference.actuator_ctrladr] = direction * np.where(signs < 0, -1.0, 1.0)
        data.ctrl[:] = 1e3 * HUGE * drive
        mujoco.mj_forward(reference, data)
        np.testing.assert_allclose(np.clip(data.qfrc_actuator, -HUGE, HUGE), direction * limit)


HUGE = 1e6  # N m: more than any limit in the cases, so that no limit reads as this


def check_posture(robot, reference, case):
    np.testing.assert_array_equal(robot.posture, reference.key("home").qpos)


def check_feet(robot, reference, case):
    """The sole at the posture: the middle of the lower face of the pad (a box upright at the posture), or the site."""
    data = mujoco.MjData(reference)
    mujoco.mj_forward(reference, data)
    names = bytes(reference.text_data).rstrip(b"\0").decode().split()
    assert [foot.name for foot in robot.feet] == names
    half = reference.geom("pad").size
    for foot in robot.feet:
        place = data.site("sole").xpos if foot.name == "sole" else data.geom("pad").xpos - [0, 0, half[2]]
        body = data.body(robot.body_names[foot.body])
        np.testing.assert_allclose(body.xpos + body.xmat.reshape(3, 3) @ foot.position, place, atol=1e-12)
        size = reference.site("sole").size if foot.name == "sole" else half
        np.testing.assert_allclose([foot.shape.length, foot.shape.width, foot.shape.height], 2 * size)


CHECKS = {
    "acceleration": check_acceleration,
    "acceleration of more joints": check_larger_tree,
    "limits": check_limits,
    "friction": check_friction,
    "effort": check_effort,
    "posture": check_posture,
    "feet": check_feet,
}


@pytest.mark.parametrize("case", _numbered(Refused))
def test_refused(case, tmp_path):
    mujoco_of(case.having)  # it is not MuJoCo that refuses
    with pytest.raises(RobotError, match=case.message):
        load(tmp_path, case.having)
    if case.ignore:
        robot = load(tmp_path, case.having, ignore=[case.ignore])
        assert robot.sha256 == load(tmp_path, case.lacking).sha256
        assert robot.recipe.ignore == (case.ignore,)


@pytest.mark.parametrize("case", _numbered(WithoutEffect))
def test_without_effect(case, tmp_path):
    assert load(tmp_path, case.having).sha256 == load(tmp_path, case.lacking).sha256
    if case.in_mujoco:
        for data, other in zip(states(mujoco_of(case.having)), states(mujoco_of(case.lacking)), strict=True):
            assert_close(data.qacc, other.qacc)


def test_several_refusals_come_in_one_message_and_can_be_ignored_together(tmp_path):
    parts = dict(leg='gravcomp="1"', ball='range="0 50"')
    with pytest.raises(RobotError, match=r"ignore=\['gravcomp'\].*ignore=\['ball_limit'\]"):
        load(tmp_path, parts)
    assert load(tmp_path, parts, ignore=["gravcomp", "ball_limit"]).sha256 == load(tmp_path, {}).sha256


def test_unknown_feature_to_ignore(tmp_path):
    with pytest.raises(RobotError, match=r"unknown feature to ignore 'tendons': must be one of .*tendon"):
        load(tmp_path, {}, ignore=["tendons"])
    with pytest.raises(RobotError, match=r"ignore must be a list"):
        load(tmp_path, {}, ignore="tendon")
