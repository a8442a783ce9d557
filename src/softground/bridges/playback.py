"""Playback: the moments of a run that a video shows, with bodies' poses and feet's forces."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

from softground.arrays import Array, in_precision
from softground.errors import OptionError
from softground.robots import Robot
from softground.runs import RobotMotion
from softground.runs.file import EARTH
from softground.surfaces import Surface


@dataclass(frozen=True)
class Playback:
    """Frames of a video (leading axis), with the robot's drawing model and the ground."""

    model: mujoco.MjModel
    surface: Surface
    time: np.ndarray  # s
    position: np.ndarray  # (frame, body, 3) m, of every body of the model, world
    quaternion: np.ndarray  # (frame, body, 4) wxyz
    base: np.ndarray  # (frame, 3) m
    foot: np.ndarray  # (frame, foot, 3) m, foot origins
    force: np.ndarray  # (frame, foot, 3) N, world
    depth: np.ndarray  # (frame, foot) m
    foot_body: np.ndarray  # (foot,) body of the model
    foot_radius: np.ndarray  # (foot,) m, half its width
    weight: float  # N, see `weight_drawn`
    size: float  # m, of the robot: its height, or three quarters of its length
    title: str


def playback(run: RobotMotion, *, fps: int, speed: float, title: str = "") -> Playback:
    """Sample a motion at the frames of a video, `fps` a second, that plays `speed` times as fast as life."""
    if not speed > 0 or fps < 1:
        raise OptionError(f"speed must be positive and fps at least 1, got {speed} and {fps}")
    time = run["time"].values
    moments = np.arange(time[0], time[-1] + 1e-9, speed / fps)
    rows = np.clip(np.searchsorted(time, moments), 0, len(time) - 1)
    return moments_of(
        run.robot,
        run.surface,
        time[rows],
        run["configuration"].values[rows],
        run["base_position"].values[rows],
        run["wrench_world"].values[rows][..., :3],
        run["depth"].values[rows],
        title or str(run.attrs["title"]),
    )


def moments_of(
    robot: Robot,
    surface: Surface,
    time: np.ndarray,
    configurations: np.ndarray,
    base: np.ndarray,
    force: np.ndarray,
    depth: np.ndarray,
    title: str,
) -> Playback:
    """What is drawn of a robot at some moments (leading axis): s, configurations, m, N, m."""
    model = robot.mujoco_model(meshes=True)
    position, quaternion = body_poses(model, configurations)
    foot_body = np.array([model.body(robot.body_names[foot.body]).id for foot in robot.feet])
    sole = np.stack([_carried(position[:, b], quaternion[:, b], foot.position)
                     for b, foot in zip(foot_body, robot.feet, strict=True)], axis=1)  # fmt: skip
    return Playback(
        model=model,
        surface=surface,
        time=time,
        position=position,
        quaternion=quaternion,
        base=base,
        foot=sole,
        force=force,
        depth=depth,
        foot_body=foot_body,
        foot_radius=np.array([foot.shape.extent[1] / 2 for foot in robot.feet]),
        weight=weight_drawn(robot),
        size=robot_size(model, configurations[0]),
        title=title,
    )


def weight_drawn(robot: Robot) -> float:
    """Weight (N) by which arrows of forces are scaled; of a robot without gravity that on Earth."""
    return float(robot.weight) or -EARTH[2] * float(robot.total_mass)


def heights(surface: Surface, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Height (m) of the ground over every (x, y) of two arrays of one shape."""
    points = jnp.stack([jnp.asarray(x).ravel(), jnp.asarray(y).ravel()], -1)
    here = in_precision(surface, points.dtype)
    return np.asarray(jax.jit(jax.vmap(here.height))(points)).reshape(np.shape(x))


def robot_size(model: mujoco.MjModel, q: np.ndarray) -> float:
    """Height, or three quarters of the length, of the box around the robot's geometry (m)."""
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    moving = [g for g in range(model.ngeom) if model.body_weldid[model.geom_bodyid[g]] != 0]
    if not moving:
        return 1.0
    rotation = data.geom_xmat[moving].reshape(-1, 3, 3)
    middle = data.geom_xpos[moving] + np.einsum("gij,gj->gi", rotation, model.geom_aabb[moving, :3])
    half = np.einsum("gij,gj->gi", np.abs(rotation), model.geom_aabb[moving, 3:])
    extent = (middle + half).max(axis=0) - (middle - half).min(axis=0)
    return float(max(extent[2], 0.75 * extent[0], 0.1))


def body_poses(model: mujoco.MjModel, configurations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (frame, body, 3) in m and quaternions (frame, body, 4) of all bodies in configurations (frame, nq)."""
    data = mujoco.MjData(model)
    position = np.zeros((len(configurations), model.nbody, 3))
    quaternion = np.zeros((len(configurations), model.nbody, 4))
    for i, q in enumerate(configurations):
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        position[i], quaternion[i] = data.xpos, data.xquat
    return position, quaternion


def _carried(position: np.ndarray, quaternion: np.ndarray, point: Array) -> np.ndarray:
    """Points (frame, 3) fixed to a body, in the world."""
    result = np.zeros_like(position)
    for i, turn in enumerate(quaternion):
        mujoco.mju_rotVecQuat(result[i], np.asarray(point, float), turn)
    return position + result
