"""Gymnasium's ant and walker on soft ground: their own observations, rewards and endings, another floor.

Only what happens between two observations differs: `mj_step` on the rigid floor of the file becomes `sg.mujoco.Ground`.
The files ask for Runge-Kutta, which soft ground does not serve (docs/from_mujoco.md); steps are implicitfast here, of
at most 5 ms, as many as make up the time between two observations.
"""

from __future__ import annotations

from typing import Any, ClassVar

import mujoco
import numpy as np
from gymnasium.envs.mujoco.ant_v5 import AntEnv
from gymnasium.envs.mujoco.walker2d_v5 import Walker2dEnv

from softground.bridges.mujoco import Ground, take_out_floor
from softground.errors import OptionError, unknown_name
from softground.media import firm, foam, pebbles, sand
from softground.media.base import Medium
from softground.simulation.ground import Ground as SoftGround

GROUNDS = {"sand": sand, "pebbles": pebbles, "foam": foam, "firm": firm}
LONGEST_STEP = 0.005  # s


class _OnGround:
    """What both have in common: put it before the environment among the bases of a class."""

    feet: ClassVar[tuple[str, ...]]
    contacts: ClassVar[tuple[str, ...]]  # on which the robot falls
    stance: ClassVar[dict[str, float]]  # in which soles are down, rad

    model: mujoco.MjModel
    data: mujoco.MjData
    frame_skip: int

    def __init__(self, ground: str | Medium | SoftGround = "sand", **options: Any):
        super().__init__(**options)
        self._ezpickle_args, self._ezpickle_kwargs = (), options | {"ground": ground}
        model = self.model
        between = model.opt.timestep * self.frame_skip
        self.frame_skip = int(np.ceil(between / min(model.opt.timestep, LONGEST_STEP) - 1e-9))
        model.opt.timestep, model.opt.integrator = between / self.frame_skip, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        take_out_floor(model)
        self.ground = Ground(model, _soft(ground), feet=self.feet, contacts=self.contacts, posture=self.stance)

    def _step_mujoco_simulation(self, ctrl: np.ndarray, n_frames: int) -> None:
        self.data.ctrl[:] = ctrl
        for _ in range(n_frames):
            self.ground.step(self.model, self.data)
        mujoco.mj_rnePostConstraint(self.model, self.data)


class AntOnGround(_OnGround, AntEnv):
    """Gymnasium's Ant-v5 on soft ground: a name (sand, pebbles, foam, firm), a medium or an `sg.Ground`."""

    feet = tuple(f"{leg}_ankle_geom" for leg in ("left", "right", "third", "fourth"))
    contacts = ("torso_geom",)
    stance: ClassVar[dict[str, float]] = {"ankle_1": 1.0, "ankle_2": -1.0, "ankle_3": -1.0, "ankle_4": 1.0}  # rad


class Walker2dOnGround(_OnGround, Walker2dEnv):
    """Gymnasium's Walker2d-v5 on soft ground: a name (sand, pebbles, foam, firm), a medium or an `sg.Ground`."""

    feet = ("foot_geom", "foot_left_geom")
    contacts = ("torso_geom", "thigh_geom")
    stance: ClassVar[dict[str, float]] = {}  # rad


def _soft(ground: str | Medium | SoftGround) -> SoftGround:
    if isinstance(ground, SoftGround):
        return ground
    if isinstance(ground, Medium):
        return SoftGround(ground, bodies=firm())
    if ground not in GROUNDS:
        raise OptionError(unknown_name("ground", ground, GROUNDS))
    return SoftGround(GROUNDS[ground](), bodies=firm())
