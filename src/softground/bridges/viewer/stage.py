"""The stage on which a robot is shown: sky, light, ground, robot, forces and traces, and where one looks from."""

from __future__ import annotations

import time

import mujoco
import numpy as np
import viser

from softground.bridges.viewer import palette
from softground.bridges.viewer.footprints import Footprints
from softground.bridges.viewer.ground_drawing import GroundDrawing
from softground.bridges.viewer.hull_drawing import HullDrawing
from softground.bridges.viewer.robot_drawing import RobotDrawing
from softground.bridges.viewer.trace_drawing import TraceDrawing

FORCE_LENGTH = 0.85  # robot heights that a force of the robot's weight is drawn long
VIEW = np.array([1.0, -2.25, 0.75])  # from the look-at point to the eye, in robot heights
FIELD_OF_VIEW = float(np.radians(45))  # rad
SETTLING = 1.0  # s, until a browser has answered with the camera it was given: before, we know a stale one
HORIZON = 40.0  # robot heights that the ground extends beyond where the robot goes


class Stage:
    """Everything in three dimensions."""

    def __init__(
        self,
        server: viser.ViserServer,
        model: mujoco.MjModel,
        prints: Footprints,
        *,
        foot_bodies: np.ndarray,
        size: float,
        weight: float,
    ):
        """`size` of the robot in m, `weight` in N."""
        self.server, self.size = server, size
        self.follow = True
        self._followed = np.zeros(3)
        self._turned: dict[int, float] = {}  # when each browser's camera was last turned
        server.on_client_connect(self._turn)
        feet = len(foot_bodies)
        server.scene.set_up_direction("+z")
        _light(server, size)
        self.ground = GroundDrawing(server, prints)
        self.robot = RobotDrawing(server, model, foot_bodies)
        self.hulls = HullDrawing(server, feet, FORCE_LENGTH * size / weight, size)
        self.traces = TraceDrawing(server, feet, size)

    def replace_ground(self, prints: Footprints) -> None:
        """Put other ground under the robot."""
        with self.server.atomic():
            self.ground.remove()
            self.ground = GroundDrawing(self.server, prints)

    def look_at(self, base: np.ndarray) -> None:
        """Turn every camera, and those of browsers yet to come, to a robot whose base is there."""
        self._followed = base.copy()
        initial = self.server.initial_camera
        initial.position, initial.look_at = self._eye_and_target(base)
        initial.fov = FIELD_OF_VIEW
        for client in self.server.get_clients().values():
            self._turn(client)

    def follow_base(self, base: np.ndarray) -> None:
        """Move every camera as far as the base has moved over the ground since the last call."""
        if not self.follow:
            self._followed = base.copy()
            return
        way = (base - self._followed) * np.array([1.0, 1.0, 0.3])
        if np.linalg.norm(way) > 2e-3 * self.size:
            self._followed = base.copy()
            for client in self.server.get_clients().values():
                if time.monotonic() - self._turned.get(client.client_id, np.inf) > SETTLING:
                    client.camera.position = client.camera.position + way

    def _turn(self, client: viser.ClientHandle) -> None:
        client.camera.position, client.camera.look_at = self._eye_and_target(self._followed)
        self._turned[client.client_id] = time.monotonic()

    def _eye_and_target(self, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        target = base - np.array([0.0, 0.0, 0.35 * self.size])
        return target + self.size * VIEW, target


def _light(server: viser.ViserServer, size: float) -> None:
    server.scene.set_background_image(sky(), format="png")
    server.scene.configure_environment_map("park", environment_intensity=0.35)
    server.scene.configure_default_lights(enabled=True, cast_shadow=True)
    server.scene.configure_fog(8 * size, 0.9 * HORIZON * size, color=palette.SKY_BELOW)


def sky(rows: int = 256) -> np.ndarray:
    """(rows, 8, 3) bytes: paler from the top down to where the horizon usually is, there as pale as the fog."""
    share = np.clip(np.linspace(0, 4.0, rows), 0, 1)[:, None, None]
    above, below = np.array(palette.SKY_ABOVE), np.array(palette.SKY_BELOW)
    return np.broadcast_to((1 - share) * above + share * below, (rows, 8, 3)).astype(np.uint8)
