"""Frames of a run drawn by MuJoCo's renderer, off screen."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from softground.bridges.graphics import draws_in_software, make_context
from softground.bridges.playback import Playback
from softground.bridges.scene import SAND, build_scene

ARROW = np.array([0.84, 0.15, 0.10, 1.0], dtype=np.float32)
PRINT = np.array([*(0.62 * SAND), 0.55], dtype=np.float32)


def mujoco_frames(play: Playback, backend: str, width: int, height: int) -> Iterator[np.ndarray]:
    """Images (height, width, 3), bytes, one per frame of the playback."""
    pictures = MujocoPictures(play, backend, width, height)
    try:
        prints, look = footprints(play), _smooth(play.base, 15)
        for i in range(len(play.time)):
            yield pictures.draw(play, i, look[i], prints)
    finally:
        pictures.close()


class MujocoPictures:
    """The scene of a playback in an OpenGL context, in which moments of the same robot on the same ground are drawn."""

    def __init__(self, play: Playback, backend: str, width: int, height: int):
        self.size = width, height
        self.context = make_context(backend, width, height)
        try:
            self.model = build_scene(play, width, height, in_software=draws_in_software())
            self.data = mujoco.MjData(self.model)
            self.scene = mujoco.MjvScene(self.model, maxgeom=2000 + self.model.ngeom)
            self.drawing = mujoco.MjrContext(self.model, mujoco.mjtFontScale.mjFONTSCALE_100)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self.drawing)
        except BaseException:
            self.context.free()
            raise

    def draw(self, play: Playback, i: int, look: np.ndarray, prints=()) -> np.ndarray:
        """Frame i, seen from beside `look` (m), with prints as `footprints` finds them."""
        _pose(self.model, self.data, play, i)
        option, camera, everything = mujoco.MjvOption(), _camera(play, look), mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self.model, self.data, option, None, camera, everything, self.scene)
        _draw_prints(self.scene, prints, i)
        _draw_forces(self.scene, play, i)
        return _image(self.scene, self.drawing, *self.size, f"{play.title}   t = {play.time[i]:.2f} s")

    def close(self) -> None:
        """Free what it has of the graphics library."""
        self.drawing.free()
        self.context.free()


def footprints(play: Playback) -> list[tuple[int, np.ndarray, np.ndarray, float]]:
    """Where feet have pressed the ground and left: (first frame to draw it, place, surface frame, radius)."""
    prints = []
    for foot in range(play.foot.shape[1]):
        inside = np.concatenate([[False], play.depth[:, foot] > 0, [False]])
        for begin, end in np.flatnonzero(np.diff(inside)).reshape(-1, 2):
            if end >= len(play.time) or end - begin < 3:
                continue
            deepest = begin + int(np.argmax(play.depth[begin:end, foot]))
            depth = play.depth[deepest, foot]
            frame = np.asarray(play.surface.frame(play.foot[deepest, foot]), dtype=float)
            size = float(play.foot_radius[foot] + min(depth, play.foot_radius[foot]))
            prints.append((int(end), play.foot[deepest, foot] + depth * frame[:, 2], frame, size))
    return prints


def _pose(model: mujoco.MjModel, data: mujoco.MjData, play: Playback, i: int) -> None:
    data.mocap_pos[:], data.mocap_quat[:] = play.position[i, 1:], play.quaternion[i, 1:]
    mujoco.mj_kinematics(model, data)
    mujoco.mj_camlight(model, data)


def _camera(play: Playback, base: np.ndarray) -> mujoco.MjvCamera:
    """From the robot's right and a little above, following the base."""
    camera = mujoco.MjvCamera()
    camera.type = mujoco.mjtCamera.mjCAMERA_FREE
    camera.lookat[:] = base - np.array([0.0, 0.0, 0.38 * play.size])
    camera.distance, camera.azimuth, camera.elevation = 2.3 * play.size, 105.0, -13.0
    return camera


def _draw_forces(scene: mujoco.MjvScene, play: Playback, i: int) -> None:
    """An arrow beside each foot: 1.2 times the robot's height for a force of the robot's weight."""
    for foot, force, depth, radius in zip(play.foot[i], play.force[i], play.depth[i], play.foot_radius, strict=True):
        if np.linalg.norm(force) < 0.01 * play.weight:
            continue
        # Towards the camera, out of the leg, and up, out of the ground: to be seen.
        foot = foot + np.array([0.0, -(radius + 0.05 * play.size), max(depth, 0.0)])
        tip = foot + 1.2 * play.size * force / play.weight
        geom = _new_geom(scene, mujoco.mjtGeom.mjGEOM_ARROW, ARROW)
        if geom is not None:
            mujoco.mjv_connector(geom, mujoco.mjtGeom.mjGEOM_ARROW, 0.014 * play.size, foot, tip)
            geom.emission = 0.4


def _draw_prints(scene: mujoco.MjvScene, prints, i: int) -> None:
    for first, place, frame, radius in prints:
        if i >= first:
            geom = _new_geom(scene, mujoco.mjtGeom.mjGEOM_ELLIPSOID, PRINT)
            if geom is not None:
                geom.size[:] = [radius, radius, 0.004]
                geom.pos[:], geom.mat[:] = place, frame


def _new_geom(scene: mujoco.MjvScene, kind: mujoco.mjtGeom, colour: np.ndarray):
    if scene.ngeom >= scene.maxgeom:
        return None
    geom = scene.geoms[scene.ngeom]
    mujoco.mjv_initGeom(geom, kind, np.full(3, 0.01), np.zeros(3), np.eye(3).ravel(), colour)
    geom.category = mujoco.mjtCatBit.mjCAT_DECOR
    scene.ngeom += 1
    return geom


def _image(scene, drawing, width: int, height: int, caption: str) -> np.ndarray:
    rectangle = mujoco.MjrRect(0, 0, width, height)
    mujoco.mjr_render(rectangle, scene, drawing)
    font, corner = mujoco.mjtFont.mjFONT_NORMAL, mujoco.mjtGridPos.mjGRID_TOPLEFT
    mujoco.mjr_overlay(font, corner, rectangle, caption, "", drawing)
    image = np.zeros((height, width, 3), dtype=np.uint8)
    mujoco.mjr_readPixels(image, None, rectangle, drawing)
    return image[::-1]


def _smooth(path: np.ndarray, width: int) -> np.ndarray:
    """Moving average over frames, so that the camera does not shake."""
    padded = np.pad(path, ((width // 2, width // 2), (0, 0)), mode="edge")
    kernel = np.ones(width) / width
    return np.stack([np.convolve(column, kernel, mode="valid") for column in padded.T], axis=1)
