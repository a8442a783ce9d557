"""Postures: a reference configuration as joint values, from a keyframe, an SRDF state or the caller."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path

import mujoco
import numpy as np

from softground.errors import RobotError
from softground.robots.names import close_matches
from softground.robots.tree import FREE, JOINT_NQ

Posture = dict[str, np.ndarray]
"""Joint name -> its entries of q."""

KEYFRAMES = ("home", "stand")


def find_posture(model: mujoco.MjModel, wanted: str | Mapping | None, source: str) -> Posture:
    """The posture asked for: a keyframe's name, joint values, or None for the usual keyframe."""
    keyframes = [model.key(k).name for k in range(model.nkey)]
    if wanted is None:
        wanted = next((name for name in KEYFRAMES if name in keyframes), {})
    if isinstance(wanted, str):
        if wanted not in keyframes:
            raise RobotError(f"{source}: unknown keyframe {wanted!r}: must be one of {', '.join(keyframes) or 'none'}")
        return split(model, model.key(wanted).qpos)
    posture = split(model, model.qpos0)
    for name, value in wanted.items():
        if name not in posture:
            raise RobotError(f"{source}: unknown joint {name!r} in the posture. {close_matches(name, posture)}")
        entry = np.atleast_1d(np.asarray(value, float))
        if entry.shape != posture[name].shape:
            raise RobotError(
                f"{source}: posture of joint {name!r} must have {len(posture[name])} values, got {len(entry)}"
            )
        posture[name] = entry
    return posture


def read_srdf(path: Path, state: str, free_joint: str) -> dict[str, tuple[float, ...]]:
    """Joint values of a <group_state> of an SRDF; the quaternion of its root_joint (xyzw) turned to wxyz."""
    root = ElementTree.parse(path).getroot()
    for group in root.iter("group_state"):
        if group.get("name") == state:
            break
    else:
        raise RobotError(f"{path}: no group_state {state!r}")
    values = {}
    for joint in group.iter("joint"):
        value = tuple(float(x) for x in joint.get("value", "").split())
        if len(value) == JOINT_NQ[FREE]:
            values[free_joint] = (*value[:3], value[6], *value[3:6])
        else:
            values[joint.get("name", "")] = value
    return values


def split(model: mujoco.MjModel, qpos: np.ndarray) -> Posture:
    """A configuration by joint name."""
    return {model.joint(j).name: np.array(qpos[_entries(model, j)]) for j in range(model.njnt)}


def join(model: mujoco.MjModel, posture: Posture) -> np.ndarray:
    """The configuration of the model's joints in a posture, quaternions normalised."""
    qpos = model.qpos0.copy()
    for j in range(model.njnt):
        name = model.joint(j).name
        if name in posture:
            qpos[_entries(model, j)] = posture[name]
    mujoco.mj_normalizeQuat(model, qpos)
    return qpos


def _entries(model: mujoco.MjModel, joint: int) -> slice:
    start = model.jnt_qposadr[joint]
    return slice(start, start + JOINT_NQ[int(model.jnt_type[joint])])
