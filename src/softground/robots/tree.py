"""The kinematic tree of a robot: its structure (static, hashable) and its parameters (arrays).

A *link* is the frame carried by one joint: link i belongs to joint i of the MuJoCo model, so links and dofs
keep MuJoCo's order. Its origin lies at the joint's anchor. A *body* is a rigid body that can move: MuJoCo
bodies welded to one another are one body here, and a body with several joints is carried by the last of its
links.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import equinox as eqx
import mujoco
import numpy as np
from jaxtyping import Float

from softground.arrays import Array, is_known
from softground.robots.rotations import quaternion_matrix_numpy


@dataclass(frozen=True)
class RigidInertia:
    """Mass (kg), first moment (kg m) and inertia about the origin of a frame (kg m2)."""

    mass: float | Array
    moment: Array
    inertia: Array

    def __add__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(self.mass + other.mass, self.moment + other.moment, self.inertia + other.inertia)

    def __sub__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(self.mass - other.mass, self.moment - other.moment, self.inertia - other.inertia)

    def moved(self, position: np.ndarray, rotation: np.ndarray) -> RigidInertia:
        """The same body seen from a frame in which its own frame stands at this pose."""
        com, about_com = self.about_com()
        com, about_com = position + rotation @ com, rotation @ about_com @ rotation.T
        return from_com(self.mass, com, about_com)

    def about_com(self) -> tuple[Array, Array]:
        """Centre of mass and inertia about it."""
        com = np.zeros(3) if is_known(self.mass) and self.mass <= 0 else self.moment / self.mass
        return com, self.inertia - self.mass * point_inertia(com)

    def is_physical(self) -> bool:
        """Whether mass and inertia are positive."""
        return bool(self.mass > 0) and bool(np.linalg.eigvalsh(self.about_com()[1]).min() > 0)


def from_com(mass: float | Array, com: Array, about_com: Array) -> RigidInertia:
    """Inertia about the frame's origin, from the inertia about the centre of mass."""
    return RigidInertia(mass, mass * com, about_com + mass * point_inertia(com))


def point_inertia(c: Array) -> Array:
    """Inertia about the origin of a unit mass at c: |c|^2 1 - c c'."""
    return (c @ c) * np.eye(3) - c[:, None] * c


FREE, BALL, SLIDE, HINGE = 0, 1, 2, 3  # mujoco.mjtJoint
JOINT_NQ = {FREE: 7, BALL: 4, SLIDE: 1, HINGE: 1}
JOINT_NV = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}
WORLD = -1


@dataclass(frozen=True)
class Level:
    """Rotating links at one depth of the tree, whose orientations are computed together."""

    links: tuple[int, ...]
    parent_rows: tuple[int, ...] | None  # rows of the parents in the level above; None: the world


@dataclass(frozen=True)
class Tree:
    """Structure of the kinematic tree: everything that decides shapes and the order of operations."""

    joint_type: tuple[int, ...]
    """(nl,) FREE, BALL, SLIDE or HINGE."""
    parent: tuple[int, ...]
    """(nl,) link that carries this one; WORLD (-1) for roots."""
    turned: tuple[bool, ...]
    """(nl,) whether the link's frame is turned against its parent's at zero joint angle."""
    body_link: tuple[int, ...]
    """(nb,) link that carries each body."""

    @property
    def n_links(self) -> int:
        return len(self.joint_type)

    @property
    def n_bodies(self) -> int:
        return len(self.body_link)

    @cached_property
    def nq(self) -> int:
        return sum(JOINT_NQ[t] for t in self.joint_type)

    @cached_property
    def nv(self) -> int:
        return sum(JOINT_NV[t] for t in self.joint_type)

    @cached_property
    def q_address(self) -> tuple[int, ...]:
        """(nl,) first entry of each joint in q."""
        return _starts([JOINT_NQ[t] for t in self.joint_type])

    @cached_property
    def dof_address(self) -> tuple[int, ...]:
        """(nl,) first entry of each joint in v."""
        return _starts([JOINT_NV[t] for t in self.joint_type])

    @cached_property
    def dof_link(self) -> tuple[int, ...]:
        """(nv,) link moved by each dof."""
        return tuple(i for i, t in enumerate(self.joint_type) for _ in range(JOINT_NV[t]))

    @cached_property
    def dof_turns(self) -> tuple[bool, ...]:
        """(nv,) whether a dof turns what it moves."""
        turns = {FREE: (False,) * 3 + (True,) * 3, BALL: (True,) * 3, SLIDE: (False,), HINGE: (True,)}
        return tuple(one for kind in self.joint_type for one in turns[kind])

    @cached_property
    def dof_q(self) -> tuple[int, ...]:
        """(nv,) entry of q that a slide or hinge dof moves; -1 for dofs of free and ball joints."""
        return tuple(self.q_address[i] if self.joint_type[i] in (SLIDE, HINGE) else -1 for i in self.dof_link)

    @cached_property
    def frame_link(self) -> tuple[int, ...]:
        """(nl,) link whose orientation a link shares: itself, or for an unturned slide its parent's."""
        frame: list[int] = []
        for i, kind in enumerate(self.joint_type):
            shares = kind == SLIDE and not self.turned[i]
            parent_frame = WORLD if self.parent[i] == WORLD else frame[self.parent[i]]
            frame.append(parent_frame if shares else i)
        return tuple(frame)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The chain of rotations, root to leaf: each level needs only the one above it."""
        depth: dict[int, int] = {WORLD: 0}
        parents: dict[int, int] = {}
        for i in range(self.n_links):
            if self.frame_link[i] == i:
                parents[i] = WORLD if self.parent[i] == WORLD else self.frame_link[self.parent[i]]
                depth[i] = depth[parents[i]] + 1
        levels: list[Level] = []
        for k in range(1, max(depth.values()) + 1):
            links = tuple(i for i in parents if depth[i] == k)
            rows = None if k == 1 else tuple(levels[-1].links.index(parents[i]) for i in links)
            levels.append(Level(links, rows))
        return tuple(levels)

    @cached_property
    def link_support(self) -> np.ndarray:
        """(nl, nl) 1 where column link carries row link or is it."""
        support = np.eye(self.n_links)
        for i, parent in enumerate(self.parent):
            if parent != WORLD:
                support[i] += support[parent]
        return support

    @cached_property
    def body_support(self) -> np.ndarray:
        """(nb, nv) 1 where the dof moves the body."""
        return self.link_support[np.ix_(self.body_link, self.dof_link)]

    @cached_property
    def dof_support(self) -> np.ndarray:
        """(nv, nv) lower triangular, 1 where the column dof moves the link of the row dof."""
        return np.tril(self.link_support[np.ix_(self.dof_link, self.dof_link)])

    @cached_property
    def axis_support(self) -> np.ndarray:
        """(nv, nv) 1 where the column dof carries the axis of the row dof along.

        Hinge and slide axes move with their own link; those of a ball or free joint with the turned body
        (MuJoCo measures that angular velocity in the body frame); the translations of a free joint stay
        fixed in the world.
        """
        carried = self.link_support[np.ix_(self.dof_link, self.dof_link)].copy()
        for i, kind in enumerate(self.joint_type):
            if kind == FREE:
                carried[self.dof_address[i] : self.dof_address[i] + 3] = 0
        return carried


class TreeParameters(eqx.Module):
    """Geometry and inertia of the tree (SI). Arrays, so that they can be differentiated or randomised."""

    offset: Float[Array, "nl 3"]
    """Origin of the link in its parent link's frame at zero joint motion (m)."""
    offset_rotation: Float[Array, "nl 3 3"]
    """Orientation of the link in its parent link's frame at zero joint motion."""
    axis: Float[Array, "nl 3"]
    """Unit axis of a slide or hinge in the link's frame (zeros for other joints)."""
    reference: Float[Array, " nl"]
    """Value of q (rad, m) at which the joint has not moved (zero for free and ball joints)."""
    mass: Float[Array, " nb"]
    """Mass of each body (kg)."""
    com: Float[Array, "nb 3"]
    """Centre of mass in the body's link frame (m)."""
    inertia: Float[Array, "nb 3 3"]
    """Rotational inertia about the centre of mass, axes of the body's link frame (kg m2)."""
    body_origin: Float[Array, "nb 3"]
    """Origin of the MuJoCo body frame in the body's link frame (m); the axes are the same."""
    armature: Float[Array, " nv"]
    """Rotor inertia reflected to each dof (kg m2, or kg on slides)."""


@dataclass(frozen=True)
class Attachment:
    """Where a MuJoCo body sits on the tree: rigidly on `body` (WORLD if it cannot move) at this pose."""

    body: int
    position: np.ndarray
    rotation: np.ndarray


def build_tree(model: mujoco.MjModel) -> tuple[Tree, TreeParameters, list[Attachment]]:
    """Read the tree from a compiled MuJoCo model; also where each MuJoCo body is attached to it."""
    moving = [b for b in range(1, model.nbody) if model.body_jntnum[b] > 0]
    attachments = _attachments(model, moving)
    joint_type, parent, turned = [], [], []
    offset, offset_rotation, axis, reference = [], [], [], []
    body_link, body_origin = [], []
    for b in moving:
        host = attachments[model.body_parentid[b]]
        carrier = WORLD if host.body == WORLD else body_link[host.body]
        anchor = np.zeros(3) if host.body == WORLD else body_origin[host.body]
        place = host.position + host.rotation @ model.body_pos[b] + anchor
        turn = host.rotation @ quaternion_matrix_numpy(model.body_quat[b])
        previous = np.zeros(3)
        for j in range(model.body_jntadr[b], model.body_jntadr[b] + model.body_jntnum[b]):
            kind = int(model.jnt_type[j])
            scalar = kind in (SLIDE, HINGE)
            position = model.jnt_pos[j].copy() if kind in (BALL, HINGE) else np.zeros(3)
            if kind == FREE:  # q is the pose itself
                place, turn = np.zeros(3), np.eye(3)
            joint_type.append(kind)
            parent.append(carrier)
            turned.append(not np.array_equal(turn, np.eye(3)))
            offset.append(place + turn @ (position - previous))
            offset_rotation.append(turn)
            axis.append(model.jnt_axis[j].copy() if scalar else np.zeros(3))
            reference.append(model.qpos0[model.jnt_qposadr[j]] if scalar else 0.0)
            place, turn, previous, carrier = np.zeros(3), np.eye(3), position, len(joint_type) - 1
        body_link.append(carrier)
        body_origin.append(-previous)
    mass, com, inertia = _merged_inertia(model, attachments, len(moving))
    tree = Tree(tuple(joint_type), tuple(parent), tuple(turned), tuple(body_link))
    parameters = TreeParameters(
        offset=np.array(offset).reshape(-1, 3),
        offset_rotation=np.array(offset_rotation).reshape(-1, 3, 3),
        axis=np.array(axis).reshape(-1, 3),
        reference=np.array(reference),
        mass=mass,
        com=com + np.array(body_origin).reshape(-1, 3),
        inertia=inertia,
        body_origin=np.array(body_origin).reshape(-1, 3),
        armature=model.dof_armature.copy(),
    )
    return tree, parameters, attachments


def _starts(sizes: list[int]) -> tuple[int, ...]:
    return tuple(int(s) for s in np.cumsum([0, *sizes])[:-1])


def _attachments(model: mujoco.MjModel, moving: list[int]) -> list[Attachment]:
    """For every MuJoCo body, the moving body it is welded to and its constant pose there."""
    number = {b: k for k, b in enumerate(moving)}
    attachments = [Attachment(WORLD, np.zeros(3), np.eye(3))]
    for b in range(1, model.nbody):
        if b in number:
            attachments.append(Attachment(number[b], np.zeros(3), np.eye(3)))
            continue
        host = attachments[model.body_parentid[b]]
        attachments.append(
            Attachment(
                host.body,
                host.position + host.rotation @ model.body_pos[b],
                host.rotation @ quaternion_matrix_numpy(model.body_quat[b]),
            )
        )
    return attachments


def _merged_inertia(model: mujoco.MjModel, attachments: list[Attachment], n_bodies: int):
    """Mass, centre of mass and inertia about it of each body with what is welded to it (body frame)."""
    mass, moment, about_origin = np.zeros(n_bodies), np.zeros((n_bodies, 3)), np.zeros((n_bodies, 3, 3))
    for b in range(1, model.nbody):
        attached = attachments[b]
        if attached.body == WORLD:
            continue
        m = model.body_mass[b]
        c = attached.position + attached.rotation @ model.body_ipos[b]
        axes = attached.rotation @ quaternion_matrix_numpy(model.body_iquat[b])
        mass[attached.body] += m
        moment[attached.body] += m * c
        about_origin[attached.body] += axes @ np.diag(model.body_inertia[b]) @ axes.T + m * point_inertia(c)
    com = moment / np.where(mass > 0, mass, 1.0)[:, None]
    inertia = np.array([i - m * point_inertia(c) for i, m, c in zip(about_origin, mass, com, strict=True)])
    return mass, com, inertia.reshape(-1, 3, 3)
