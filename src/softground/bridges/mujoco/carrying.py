"""What of a MuJoCo model meets the ground, and where MuJoCo says that it is.

`Carrier` answers the questions that the ground asks a robot (poses and Jacobians of feet and bodies), from arrays that
`mj_fwdPosition` has filled. A twist of a point p of a body is the sum over the dofs that move it of

    v_i (c_i + w_i x (p - o),  w_i),    (w_i, c_i) = mjData.cdof[i],  o = mjData.subtree_com of the root of its tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import RobotError
from softground.robots.bodies import FEET, Body, find_bodies
from softground.robots.feet import Foot, find_feet
from softground.robots.posture import KEYFRAMES, find_posture, join, leaving_the_plane
from softground.robots.rotations import cross, matmul3, matvec3
from softground.robots.shapes import Shape
from softground.robots.tree import build_tree

Posture = str | Mapping[str, float] | np.ndarray | None
"""A configuration: the name of a keyframe, joint values (the rest at qpos0), qpos, or None for the usual one."""


class Pose(NamedTuple):
    """What `mj_fwdPosition` has computed: fields of mjData."""

    xpos: Float[Array, "nbody 3"]
    xmat: Float[Array, "nbody 9"]
    xipos: Float[Array, "nbody 3"]
    subtree_com: Float[Array, "nbody 3"]
    cdof: Float[Array, "nv 6"]


class Carrier(eqx.Module):
    """The feet and bodies of a model that meet the ground."""

    feet: tuple[Foot, ...]
    bodies: tuple[Body, ...]
    planar: bool = eqx.field(static=True)
    nv: int = eqx.field(static=True)
    moving: tuple[int, ...] = eqx.field(static=True)
    """Bodies of the model that have joints: `Foot.body` and `Body.body` are numbers in this list."""
    root: tuple[int, ...] = eqx.field(static=True)
    """Body of the model at the root of the tree of each."""
    support: Float[Array, "m nv"]
    """1 where a dof moves one of them."""

    foot_hosts: tuple[int, ...] = eqx.field(static=True)
    """Body of the model that each foot is on: one of `moving`, or one that is welded to it."""

    @property
    def hosts(self) -> tuple[int, ...]:
        """Body of the model on which the ground pushes through each foot and each of `bodies`."""
        return *self.foot_hosts, *(self.moving[body.body] for body in self.bodies)

    @property
    def touched(self) -> tuple[int, ...]:
        """Bodies of the model on which the ground may push, in order."""
        return tuple(sorted(set(self.hosts)))

    @property
    def carrying(self) -> list[int]:
        """Which of `moving` carries each of `touched`."""
        carried = dict(zip(self.hosts, (one.body for one in (*self.feet, *self.bodies)), strict=True))
        return [carried[body] for body in self.touched]

    def foot_poses(self, kin: Pose) -> tuple[Float[Array, "F 3"], Float[Array, "F 3 3"]]:
        """Origin (m) and orientation in the world of each foot frame."""
        position, rotation = self._frames(kin, self._foot_bodies)
        place = jnp.stack([jnp.asarray(foot.position) for foot in self.feet])
        turn = jnp.stack([jnp.asarray(foot.rotation) for foot in self.feet])
        return position + matvec3(rotation, place), matmul3(rotation, turn)

    def foot_jacobians(self, kin: Pose) -> Float[Array, "F 6 nv"]:
        """Jacobians of the feet: twist (linear, angular) at the foot frame's origin, world frame, = J v."""
        return self.jacobians(kin, self._foot_bodies, self.foot_poses(kin)[0])

    def touching_poses(self, kin: Pose) -> tuple[Float[Array, "B 3"], Float[Array, "B 3 3"]]:
        """Origin (m) and orientation in the world of the frame of each of `bodies`."""
        return self._frames(kin, self._touching)

    def touching_jacobians(self, kin: Pose) -> Float[Array, "B 6 nv"]:
        """Jacobians of `bodies`: twist (linear, angular) at the origin of the body's frame, world frame, = J v."""
        return self.jacobians(kin, self._touching, self.touching_poses(kin)[0])

    def touching_twists(self, kin: Pose, v: Float[Array, " nv"]) -> Float[Array, "B 6"]:
        """Twist (linear m/s, angular rad/s) of each of `bodies` at its frame's origin, world frame."""
        return (self.touching_jacobians(kin) * v).sum(-1)

    def jacobians(self, kin: Pose, bodies: list[int], points: Float[Array, "n 3"]) -> Float[Array, "n 6 nv"]:
        """Twist (linear, angular) at points of bodies (numbers in `moving`), world frame, = J v."""
        angular, linear = kin.cdof[:, :3], kin.cdof[:, 3:]
        arms = points - kin.subtree_com[np.array(self.root)[bodies]]
        at_point = linear + cross(jnp.broadcast_to(angular, (len(bodies), *angular.shape)), arms[:, None])
        both = jnp.concatenate([at_point, jnp.broadcast_to(angular, at_point.shape)], -1)
        return jnp.swapaxes(both * jnp.asarray(self.support)[np.array(bodies), :, None], 1, 2)

    @property
    def _foot_bodies(self) -> list[int]:
        return [foot.body for foot in self.feet]

    @property
    def _touching(self) -> list[int]:
        return [body.body for body in self.bodies]

    def _frames(self, kin: Pose, bodies: list[int]) -> tuple[Float[Array, "n 3"], Float[Array, "n 3 3"]]:
        numbers = np.array(self.moving)[bodies]
        return kin.xpos[numbers], kin.xmat[numbers].reshape(-1, 3, 3)


def carrier_of(
    model: mujoco.MjModel,
    feet: Iterable[str] | Mapping[str, Shape] | None,
    contacts: str | Iterable[str],
    posture: Posture,
) -> Carrier:
    """Feet by the names of bodies, geoms or sites, and bodies, of a model in a posture that shows which way is down.

    RobotError says what is wrong with a name, or with a model in which nothing moves.
    """
    source = model_name(model)
    if model.njnt == 0:
        raise RobotError(f"{source}: the model has no joints: nothing in it can move")
    qpos = configuration(model, posture)
    _, _, attachments = build_tree(model)
    moving = [b for b in range(1, model.nbody) if model.body_jntnum[b] > 0]
    planar = not leaving_the_plane(model, qpos)
    given = feet if feet is None or isinstance(feet, Mapping) else dict.fromkeys(_names(feet))
    found = find_feet(model, attachments, qpos, planar, given, source)
    names = [model.body(b).name for b in moving]
    bodies = () if contacts == FEET else find_bodies(model, attachments, qpos, names, found, contacts, source)
    return Carrier(
        feet=found,
        bodies=bodies,
        planar=planar,
        nv=int(model.nv),
        moving=tuple(moving),
        root=tuple(int(model.body_rootid[b]) for b in moving),
        support=np.array([_support(model, b) for b in moving]),
        foot_hosts=tuple(_host(model, foot.name) for foot in found),
    )


def configuration(model: mujoco.MjModel, posture: Posture) -> np.ndarray:
    """qpos of a posture."""
    source = model_name(model)
    if posture is None:
        keyframes = [model.key(k).name for k in range(model.nkey)]
        usual = next((name for name in KEYFRAMES if name in keyframes), None)
        return model.qpos0.copy() if usual is None else model.key(usual).qpos.copy()
    if isinstance(posture, str | Mapping):
        return join(model, find_posture(model, posture, source))
    qpos = np.asarray(posture, dtype=float)
    if qpos.shape != (model.nq,) or not np.isfinite(qpos).all():
        raise RobotError(f"{source}: posture must be {model.nq} finite numbers (qpos), got {posture!r}")
    return qpos


def model_name(model: mujoco.MjModel) -> str:
    """What the model calls itself, for messages."""
    return bytes(model.names).split(b"\0", 1)[0].decode() or "the model"


def _host(model: mujoco.MjModel, foot: str) -> int:
    """Body of the model that a foot is on."""
    site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, foot)
    geom = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, foot)
    if site >= 0 or geom >= 0:
        return int(model.site_bodyid[site] if site >= 0 else model.geom_bodyid[geom])
    return mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, foot)


def _names(feet: Any) -> list[str]:
    """Names of feet as a list; one name alone is one foot."""
    return [feet] if isinstance(feet, str) else list(feet)


def _support(model: mujoco.MjModel, body: int) -> np.ndarray:
    """(nv,) 1 where a dof moves a body."""
    row, dof = np.zeros(model.nv), int(model.body_dofadr[body] + model.body_dofnum[body] - 1)
    while dof >= 0:
        row[dof] = 1.0
        dof = int(model.dof_parentid[dof])
    return row
