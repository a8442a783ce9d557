"""Gymnasium's ant and walker on soft ground: their own observations, rewards and endings, another floor.

Only what happens between two observations differs: `mj_step` on the rigid floor of the file becomes `sg.mujoco.Ground`.
The files ask for Runge-Kutta, which soft ground does not serve (docs/from_mujoco.md); steps are implicitfast here, of
at most 5 ms, as many as make up the time between two observations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import mujoco
import numpy as np
from gymnasium.envs.mujoco.ant_v5 import AntEnv
from gymnasium.envs.mujoco.walker2d_v5 import Walker2dEnv

from softground.bridges.gymnasium.robots import seed_of
from softground.bridges.mujoco import Ground, take_out_floor
from softground.bridges.mujoco.options import soft_ground
from softground.bridges.scene import add_field, add_plane, plane_pose
from softground.envs.grounds import OF_PLANES, Grounds
from softground.errors import OptionError
from softground.media import firm, medium_of
from softground.media.base import Medium
from softground.simulation.ground import Ground as SoftGround
from softground.surfaces import Plane, Surface

LONGEST_STEP = 0.005  # s
FLOOR, CELLS = 40.0, 400  # m, to each side, as in Gymnasium's files; of ground that is not flat


class _OnGround:
    """What both have in common: put it before the environment among the bases of a class."""

    feet: ClassVar[tuple[str, ...]]
    contacts: ClassVar[tuple[str, ...]]  # on which the robot falls
    stance: ClassVar[dict[str, float]]  # in which soles are down, rad

    fullpath: str
    width: int
    height: int
    model: mujoco.MjModel
    data: mujoco.MjData
    frame_skip: int

    np_random: np.random.Generator

    def __init__(
        self, ground: str | Medium | SoftGround = "sand", vary: Mapping[str, Any] | None = None, **options: Any
    ):
        self._grounds = Grounds(_soft(ground), vary)
        self._chosen: dict[str, float] = {}  # parameters for the next episode, in place of drawn ones
        super().__init__(**options)
        self._ezpickle_args, self._ezpickle_kwargs = (), options | {"ground": ground, "vary": vary}
        model = self.model
        between = model.opt.timestep * self.frame_skip
        self.frame_skip = int(np.ceil(between / min(model.opt.timestep, LONGEST_STEP) - 1e-9))
        model.opt.timestep, model.opt.integrator = between / self.frame_skip, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        take_out_floor(model)
        self.ground = Ground(model, self._grounds, feet=self.feet, contacts=self.contacts, posture=self.stance)

    def _initialize_simulation(self) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """As Gymnasium does, with a floor that is drawn where the ground is."""
        model = with_floor_of(self._grounds.with_parameters(self._grounds.middle()).surface, self.fullpath)
        size = model.vis.global_
        size.offwidth, size.offheight = max(size.offwidth, self.width), max(size.offheight, self.height)
        return model, mujoco.MjData(model)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """An episode's beginning, on ground that is drawn for it or chosen by options["ground"]."""
        self._chosen = self._grounds.checked((options or {}).get("ground") or {})
        return super().reset(seed=seed, options=options)  # type: ignore[misc]

    def reset_model(self) -> np.ndarray:
        """As Gymnasium does, and then the ground: a start is the same with and without ground that varies."""
        observation = super().reset_model()  # type: ignore[misc]
        if self._grounds.names:
            drawn = self._grounds.draw(jax.random.key(seed_of(self.np_random)))
            self.ground.change({name: float(value) for name, value in drawn.items()} | self._chosen)
            self._move_floor()
        return observation

    def _move_floor(self) -> None:
        """To where a plane that has been drawn is."""
        surface = self.ground.ground.surface
        if isinstance(surface, Plane) and set(OF_PLANES) & set(self._grounds.names):
            floor = self.model.geom("floor").id
            self.model.geom_sameframe[floor] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE
            self.model.geom_pos[floor], self.model.geom_quat[floor] = plane_pose(surface, np.zeros(2))
            mujoco.mj_kinematics(self.model, self.data)

    def _get_reset_info(self) -> dict[str, Any]:
        return self._told(super()._get_reset_info())  # type: ignore[misc]

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Gymnasium's, with the parameters of the ground in info["ground"] if they vary."""
        observation, reward, ended, late, info = super().step(action)  # type: ignore[misc]
        return observation, reward, ended, late, self._told(info)

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        return info | {"ground": self.ground.parameters} if self._grounds.names else info

    def _step_mujoco_simulation(self, ctrl: np.ndarray, n_frames: int) -> None:
        wrong = np.flatnonzero(~np.isfinite(ctrl)).tolist()
        if wrong:
            raise OptionError(
                f"an action must be finite numbers, got {np.asarray(ctrl)[wrong]} at entries {wrong}: nothing has moved"
            )
        self.data.ctrl[:] = ctrl
        for _ in range(n_frames):
            self.ground.step(self.model, self.data)
        mujoco.mj_rnePostConstraint(self.model, self.data)


class AntOnGround(_OnGround, AntEnv):
    """Gymnasium's Ant-v5 on soft ground: a name ("sand", "foam", "mud"), a medium or an `sg.Ground`; vary: ranges from
    which parameters of it are drawn for every episode, as of `sg.envs.make`."""

    feet = tuple(f"{leg}_ankle_geom" for leg in ("left", "right", "third", "fourth"))
    contacts = ("torso_geom",)
    stance: ClassVar[dict[str, float]] = {"ankle_1": 1.0, "ankle_2": -1.0, "ankle_3": -1.0, "ankle_4": 1.0}  # rad


class Walker2dOnGround(_OnGround, Walker2dEnv):
    """Gymnasium's Walker2d-v5 on soft ground, as the ant; it stays in its plane on any."""

    feet = ("foot_geom", "foot_left_geom")
    contacts = ("torso_geom", "thigh_geom")
    stance: ClassVar[dict[str, float]] = {}  # rad


def with_floor_of(surface: Surface, path: str) -> mujoco.MjModel:
    """The model of a file, whose geom "floor" is put where a surface is; a file without one stays as it is."""
    spec = mujoco.MjSpec.from_file(path)
    floor = spec.geom("floor")
    if floor is None:
        return spec.compile()
    look = {"name": "floor", "material": floor.material, "rgba": floor.rgba.copy()}
    spec.delete(floor)
    if isinstance(surface, Plane):
        add_plane(spec, surface, np.zeros(2), FLOOR, **look)
    else:
        add_field(spec, surface, np.full(2, -FLOOR), np.full(2, FLOOR), CELLS, **look)
    return spec.compile()


def _soft(ground: str | Medium | SoftGround) -> SoftGround:
    """Ground in which robots that fall lie on firm ground."""
    medium = medium_of(ground) if isinstance(ground, str) else ground
    return SoftGround(medium, bodies=firm()) if isinstance(medium, Medium) else soft_ground(medium, "MuJoCo")
