"""Rigid-body dynamics of a tree as pure functions of q, v, a (MuJoCo's conventions of state).

All motion is written in the world frame about one common origin o (the position of the first link), so that
no transformation between links is needed: a dof is a screw s = (angular, linear at o), the twist of a body
is the sum of s v over the dofs that move it, and the force on a dof is s . (sum of wrenches of the bodies
it moves). Those sums are products with constant 0/1 matrices. Only the orientations are a recursion, done
for whole tree levels at once.

Inside this module twists are (angular, linear) and wrenches (torque, force) at o; `Robot` turns them into the
library's order (linear, angular).

The configuration space comes last: slides and hinges add; the orientation of a free or ball joint turns by the
exponential map of its angular velocity, which MuJoCo measures in the body frame: quaternion <- quaternion *
exp(omega dt).
"""

from collections.abc import Iterator, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.robots.rotations import (
    cross,
    matmul3,
    matvec3,
    normalize,
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_matrix,
    quaternion_product,
    skew,
    transpose3,
)
from softground.robots.tree import BALL, FREE, HINGE, SLIDE, WORLD, Tree, TreeParameters


class Kinematics(eqx.Module):
    """Where everything is at one configuration. World frame, SI."""

    q: Float[Array, " nq"]
    link_rotation: Float[Array, "nl 3 3"]
    """Orientation of each link."""
    link_position: Float[Array, "nl 3"]
    """Joint anchor of each link (m)."""
    origin: Float[Array, "3"]
    """The common origin o of screws and twists (m)."""
    screw: Float[Array, "nv 6"]
    """Motion of everything beyond each dof at unit speed: (angular, linear at o)."""
    com: Float[Array, "nb 3"]
    """Centre of mass of each body relative to o (m)."""
    inertia: Float[Array, "nb 3 3"]
    """Rotational inertia of each body about o (kg m2)."""

    @property
    def dtype(self):
        return self.q.dtype


def kinematics(tree: Tree, parameters: TreeParameters, q: Float[Array, " nq"]) -> Kinematics:
    """Poses, screws and inertias of the whole tree at q."""
    parameters = cast(parameters, q.dtype)
    rotation_parent, rotation = _link_rotations(tree, parameters, q)
    axis = matvec3(rotation, parameters.axis)
    position = _link_positions(tree, parameters, q, rotation_parent, axis)
    origin = position[0]
    screw = _screws(tree, rotation, position - origin, axis)
    bodies = np.array(tree.body_link)
    rotation_body, position_body = take(rotation, bodies), take(position, bodies)
    com = position_body - origin + matvec3(rotation_body, parameters.com)
    inertia = matmul3(matmul3(rotation_body, parameters.inertia), transpose3(rotation_body))
    square = jnp.sum(com * com, axis=-1)[:, None, None] * np.eye(3, dtype=q.dtype)
    inertia = inertia + parameters.mass[:, None, None] * (square - com[:, :, None] * com[:, None, :])
    return Kinematics(q, rotation, position, origin, screw, com, inertia)


def mass_matrix(tree: Tree, parameters: TreeParameters, kin: Kinematics) -> Float[Array, "nv nv"]:
    """Joint-space inertia M(q): M_ij = s_i . (inertia beyond i) s_j for j carrying i, plus armature."""
    lower = tree.dof_support.astype(kin.dtype)
    products = momentum_matrix(tree, parameters, kin) @ kin.screw.T
    strictly_lower = products * (lower - np.eye(tree.nv, dtype=kin.dtype))
    diagonal = products * np.eye(tree.nv, dtype=kin.dtype)
    return strictly_lower + strictly_lower.T + diagonal + jnp.diag(jnp.asarray(parameters.armature, kin.dtype))


def momentum_matrix(tree: Tree, parameters: TreeParameters, kin: Kinematics) -> Float[Array, "nv 6"]:
    """Momentum (angular about o, linear) of everything beyond each dof, moving at its unit speed alone."""
    parameters = cast(parameters, kin.dtype)
    mass = parameters.mass[:, None]
    rigid = jnp.concatenate([kin.inertia.reshape(-1, 9), mass * kin.com, mass], axis=1)
    composite = tree.body_support.T.astype(kin.dtype) @ rigid  # (nv, 13) bodies beyond each dof, as one
    inertia, moment, mass = composite[:, :9].reshape(-1, 3, 3), composite[:, 9:12], composite[:, 12:]
    return _momentum(inertia, moment, mass, kin.screw)


def body_twists(tree: Tree, kin: Kinematics, v: Float[Array, " nv"]) -> Float[Array, "nb 6"]:
    """Twist of each body: (angular, linear at o)."""
    return tree.body_support.astype(kin.dtype) @ (kin.screw * v[:, None])


def body_accelerations(tree: Tree, kin: Kinematics, v: Float[Array, " nv"], a=None) -> Float[Array, "nb 6"]:
    """Spatial acceleration of each body, sum of s a + (ds/dt) v over its dofs (a=None: of ds/dt v alone)."""
    carrier = tree.axis_support.astype(kin.dtype) @ (kin.screw * v[:, None])  # twist that carries each axis
    turn, move = carrier[:, :3], carrier[:, 3:]
    angular, linear = kin.screw[:, :3], kin.screw[:, 3:]
    rate = jnp.concatenate([cross(turn, angular), cross(turn, linear) + cross(move, angular)], axis=1)
    terms = rate * v[:, None]
    if a is not None:
        terms = terms + kin.screw * a[:, None]
    return tree.body_support.astype(kin.dtype) @ terms


def body_wrenches(
    parameters: TreeParameters,
    kin: Kinematics,
    twist: Float[Array, "nb 6"],
    acceleration: Float[Array, "nb 6"],
) -> Float[Array, "nb 6"]:
    """Wrench (torque about o, force) that gives each body its motion: I a + v x* (I v)."""
    parameters = cast(parameters, kin.dtype)
    mass = parameters.mass[:, None]
    moment = mass * kin.com
    inertial = _momentum(kin.inertia, moment, mass, acceleration)
    momentum = _momentum(kin.inertia, moment, mass, twist)
    angular, linear = twist[:, :3], twist[:, 3:]
    torque = cross(angular, momentum[:, :3]) + cross(linear, momentum[:, 3:])
    return inertial + jnp.concatenate([torque, cross(angular, momentum[:, 3:])], axis=1)


def inverse_dynamics(
    tree: Tree,
    parameters: TreeParameters,
    kin: Kinematics,
    v: Float[Array, " nv"],
    a: Float[Array, " nv"] | None,
    gravity: Float[Array, "3"],
) -> Float[Array, " nv"]:
    """Generalised force M a + bias(q, v) (recursive Newton-Euler in sums); `a=None` gives the bias alone."""
    twist = body_twists(tree, kin, v)
    fall = jnp.concatenate([jnp.zeros(3, kin.dtype), jnp.asarray(gravity, kin.dtype)])
    acceleration = body_accelerations(tree, kin, v, a) - fall  # gravity as an upward acceleration of the world
    wrench = body_wrenches(parameters, kin, twist, acceleration)
    beyond = tree.body_support.T.astype(kin.dtype) @ wrench
    force = jnp.sum(kin.screw * beyond, axis=1)
    return force if a is None else force + jnp.asarray(parameters.armature, kin.dtype) * a


def point_jacobians(
    tree: Tree, kin: Kinematics, bodies: tuple[int, ...], points: Float[Array, "f 3"]
) -> Float[Array, "f 6 nv"]:
    """Jacobians of points fixed to bodies, rows (linear, angular), world frame."""
    support = tree.body_support[list(bodies)].astype(kin.dtype)[:, :, None]
    angular = kin.screw[None, :, :3]
    linear = kin.screw[None, :, 3:] + cross(angular, (points - kin.origin)[:, None])
    return jnp.swapaxes(jnp.concatenate([linear * support, angular * support], axis=2), 1, 2)


def momentum(parameters: TreeParameters, kin: Kinematics, twist: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
    """Momentum of each body: (angular about o, linear)."""
    mass = jnp.asarray(parameters.mass, kin.dtype)[:, None]
    return _momentum(kin.inertia, mass * kin.com, mass, twist)


def cast(parameters, dtype):
    """The same parameters in the given precision (the precision of q decides)."""
    return jax.tree.map(lambda x: jnp.asarray(x, dtype), parameters)


def take(array: Array, rows: Sequence[int] | np.ndarray) -> Array:
    """array[rows] for constant rows; a strided slice where that will do, which fuses better than a gather."""
    rows = np.asarray(rows)
    if len(rows) == array.shape[0] and np.array_equal(rows, np.arange(len(rows))):
        return array
    steps = np.diff(rows)
    if len(rows) == 1 or (steps[0] > 0 and (steps == steps[0]).all()):
        step = int(steps[0]) if len(rows) > 1 else 1
        return array[int(rows[0]) : int(rows[-1]) + 1 : step]
    return array[rows]


def _momentum(inertia, moment, mass, motion):
    """Rigid inertia about o times motion: (I w + h x u, m u - h x w), with h = mass times centre of mass."""
    angular, linear = motion[:, :3], motion[:, 3:]
    return jnp.concatenate(
        [matvec3(inertia, angular) + cross(moment, linear), mass * linear - cross(moment, angular)], axis=1
    )


def _scalar_motion(tree: Tree, parameters: TreeParameters, q, links):
    """How far the hinge or slide of each given link has moved from its reference (rad, m)."""
    links = np.asarray(links)
    return take(q, np.array(tree.q_address)[links]) - take(parameters.reference, links)


def _joint_rotations(tree: Tree, parameters: TreeParameters, q):
    """Rotation of links against their parents' frames, and the row where each link is found."""
    row, blocks = {}, []
    quaternion_links = [i for i, t in enumerate(tree.joint_type) if t in (FREE, BALL)]
    hinges = [i for i, t in enumerate(tree.joint_type) if t == HINGE]
    slides = [i for i, t in enumerate(tree.joint_type) if t == SLIDE and tree.turned[i]]
    for i in quaternion_links:
        start = tree.q_address[i] + (3 if tree.joint_type[i] == FREE else 0)
        block = quaternion_matrix(normalize(q[start : start + 4]))[None]
        if tree.turned[i]:
            block = matmul3(parameters.offset_rotation[i : i + 1], block)
        row[i] = len(row)
        blocks.append(block)
    if hinges:
        # Rodrigues: R = 1 + sin(a) K + (1 - cos(a)) K^2; the offset turn multiplies the constant matrices.
        angle = _scalar_motion(tree, parameters, q, hinges)[:, None, None]
        generator = skew(take(parameters.axis, np.array(hinges)))
        square = matmul3(generator, generator)
        offset = take(parameters.offset_rotation, np.array(hinges))
        if any(tree.turned[i] for i in hinges):
            generator, square = matmul3(offset, generator), matmul3(offset, square)
        else:
            offset = np.eye(3, dtype=q.dtype)
        row |= {i: len(row) + k for k, i in enumerate(hinges)}
        blocks.append(offset + jnp.sin(angle) * generator + (1 - jnp.cos(angle)) * square)
    if slides:
        row |= {i: len(row) + k for k, i in enumerate(slides)}
        blocks.append(take(parameters.offset_rotation, np.array(slides)))
    return (jnp.concatenate(blocks) if blocks else jnp.zeros((0, 3, 3), q.dtype)), row


def _link_rotations(tree: Tree, parameters: TreeParameters, q):
    """Orientation (nl, 3, 3) in the world of each link's parent and of each link."""
    blocks: list[Array] = [jnp.eye(3, dtype=q.dtype)[None]]
    order = {WORLD: 0}
    local, row = _joint_rotations(tree, parameters, q)
    for level in tree.levels:
        block = take(local, [row[i] for i in level.links])
        if level.parent_rows is not None:
            rows = level.parent_rows
            block = matmul3(take(blocks[-1], rows[:1] if len(set(rows)) == 1 else rows), block)
        blocks.append(block)
        order |= {i: len(order) + k for k, i in enumerate(level.links)}
    rotations = jnp.concatenate(blocks)
    own = np.array([order[f] for f in tree.frame_link])
    parent = np.array([order[WORLD if p == WORLD else tree.frame_link[p]] for p in tree.parent])
    return rotations[parent], rotations[own]


def _link_positions(tree: Tree, parameters: TreeParameters, q, rotation_parent, axis):
    """Joint anchors in the world: sums of the steps from anchor to anchor along the tree."""
    step = matvec3(rotation_parent, parameters.offset)
    if SLIDE in tree.joint_type:
        links = np.arange(tree.n_links)
        slides = np.array([t == SLIDE for t in tree.joint_type], dtype=q.dtype)
        travel = _scalar_motion(tree, parameters, q, links) * slides
        step = step + axis * travel[:, None]
    support = tree.link_support.astype(q.dtype)
    position = support @ step
    for i, kind in enumerate(tree.joint_type):
        if kind == FREE:  # its own step is zero: everything it carries starts from the position in q
            start = tree.q_address[i]
            position = position + support[:, i, None] * q[start : start + 3]
    return position


def _screws(tree: Tree, rotation, position, axis):
    """Screw (angular, linear at o) of each dof, from link orientations, anchors relative to o and axes."""
    dtype = axis.dtype
    hinge = np.array([t == HINGE for t in tree.joint_type], dtype=dtype)[:, None]
    slide = np.array([t == SLIDE for t in tree.joint_type], dtype=dtype)[:, None]
    turning = axis * hinge
    scalar = jnp.concatenate([turning, cross(position, turning) + axis * slide], axis=1)
    rows, start = [], 0
    for i, kind in enumerate(tree.joint_type):
        if kind not in (FREE, BALL):
            continue
        rows.append(scalar[start:i])
        if kind == FREE:
            rows.append(np.eye(6, dtype=dtype)[3:])
        turning = transpose3(rotation[i])  # columns of the orientation: the body's own axes
        rows.append(jnp.concatenate([turning, cross(position[i][None], turning)], axis=1))
        start = i + 1
    rows.append(scalar[start:])
    return jnp.concatenate(rows) if len(rows) > 1 else scalar


def integrate(tree: Tree, q: Float[Array, " nq"], v: Float[Array, " nv"], dt) -> Float[Array, " nq"]:
    """Configuration reached from q at constant velocity v after time dt (s)."""
    pieces = []
    for curved, in_q, in_v in _pieces(tree):
        if curved:
            turn = quaternion_exp(v[in_v] * dt)
            pieces.append(normalize(quaternion_product(q[in_q], turn)))  # no drift over many steps
        else:
            pieces.append(q[in_q] + v[in_v] * dt)
    return jnp.concatenate(pieces)


def difference(tree: Tree, q0: Float[Array, " nq"], q1: Float[Array, " nq"]) -> Float[Array, " nv"]:
    """Velocity that takes q0 to q1 in unit time, by the shorter way round."""
    pieces = []
    for curved, in_q, _ in _pieces(tree):
        if curved:
            turn = quaternion_product(quaternion_conjugate(normalize(q0[in_q])), normalize(q1[in_q]))
            pieces.append(quaternion_log(turn))
        else:
            pieces.append(q1[in_q] - q0[in_q])
    return jnp.concatenate(pieces)


def _pieces(tree: Tree) -> Iterator[tuple[bool, slice, slice]]:
    """Runs of q and v that add (False) and quaternions with their angular velocities (True), in order."""
    start_q = start_v = 0
    end_q = end_v = 0
    for kind in tree.joint_type:
        if kind not in (FREE, BALL):
            end_q, end_v = end_q + 1, end_v + 1
            continue
        if kind == FREE:
            end_q, end_v = end_q + 3, end_v + 3
        if end_q > start_q:
            yield False, slice(start_q, end_q), slice(start_v, end_v)
        yield True, slice(end_q, end_q + 4), slice(end_v, end_v + 3)
        start_q, start_v = end_q + 4, end_v + 3
        end_q, end_v = start_q, start_v
    if end_q > start_q:
        yield False, slice(start_q, end_q), slice(start_v, end_v)
