"""The robot in the page: one node a body, moved every frame."""

from __future__ import annotations

import mujoco
import numpy as np
import viser

from softground.bridges.viewer.robot_meshes import body_meshes


class RobotDrawing:
    """Bodies with visible geometry; the others need no node."""

    def __init__(self, server: viser.ViserServer, model: mujoco.MjModel, foot_bodies: np.ndarray):
        self.frames: dict[int, viser.FrameHandle] = {}
        for number, mesh in enumerate(body_meshes(model, foot_bodies)):
            if mesh.body not in self.frames:
                self.frames[mesh.body] = server.scene.add_frame(f"/robot/{mesh.body}", show_axes=False)
            server.scene.add_mesh_simple(
                f"/robot/{mesh.body}/{number}",
                mesh.vertices,
                mesh.faces,
                color=mesh.colour,
                opacity=mesh.opacity if mesh.opacity < 1 else None,
            )

    def pose(self, position: np.ndarray, quaternion: np.ndarray) -> None:
        """Put every body (leading axis: bodies of the model) at a position (m) and quaternion (wxyz)."""
        for body, frame in self.frames.items():
            frame.position = position[body]
            frame.wxyz = quaternion[body]
