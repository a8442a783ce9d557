"""Bodies that meet the ground beside the feet: the collision geometry of a model file, body by body.

What the file welds together is one body, and meets the ground as one: its geoms are the parts of one `Compound`. Which
geoms collide is for the file to say, by MuJoCo's rule: two geoms meet if `contype` of one and `conaffinity` of the
other have a bit in common. The ground is a plane of the file, or if none of them collides one with both at 1, MuJoCo's
default.

A foot is a part of the body that carries it, but for its sole, which is the foot's own business; geoms inside it are
not counted twice.
"""

from __future__ import annotations

from collections.abc import Iterable

import equinox as eqx
import mujoco
import numpy as np

from softground.errors import RobotError
from softground.robots.feet import Foot, geom_of_foot
from softground.robots.names import close_matches
from softground.robots.rotations import quaternion_matrix_numpy
from softground.robots.shapes import Box, Capsule, Compound, ConvexMesh, Cylinder, Ellipsoid, Part, Shape, Sphere
from softground.robots.tree import WORLD, Attachment

ALL, FEET = "all", "feet"
_GROUND = (int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD))


class Body(eqx.Module):
    """A body that meets the ground with all of its collision geometry, in the body's own frame."""

    name: str = eqx.field(static=True)
    body: int = eqx.field(static=True)
    """Index into `Robot.body_names`."""
    shape: Compound = eqx.field(static=True)
    above_feet: int | None = eqx.field(static=True)
    """Bodies that move between it and the nearest foot below it: 0 if it carries one itself, None if there is none."""


def find_bodies(
    model: mujoco.MjModel,
    attachments: list[Attachment],
    posture: np.ndarray,
    names: list[str],
    feet: tuple[Foot, ...],
    contacts: str | Iterable[str],
    source: str,
) -> tuple[Body, ...]:
    """The bodies that meet the ground: all with collision geometry, or those that `contacts` names (bodies, geoms).

    names: of the bodies that move.
    """
    geoms = _colliding(model) if contacts == ALL else _named(model, contacts, source)
    taken = {geom_of_foot(model, posture, foot.name) for foot in feet if not foot.shape.is_solid}
    parts: dict[int, list[Part]] = {}
    for geom in geoms:
        host = attachments[model.geom_bodyid[geom]]
        if host.body != WORLD and geom not in taken:
            parts.setdefault(host.body, []).append(_part(model, geom, host))
    for foot in feet:
        if foot.shape.is_solid and (contacts == ALL or foot.body in parts):
            parts.setdefault(foot.body, []).append(Part.at(foot.shape, foot.position, foot.rotation, is_foot=True))
    above = _above_feet(model, attachments, feet)
    bodies = [
        Body(names[body], body, Compound(tuple(dict.fromkeys(of))), above.get(body))
        for body, of in sorted(parts.items())
    ]
    found = tuple(body for body in bodies if len(body.shape.rolling_points().centre))
    if not found:
        raise RobotError(
            f"{source}: contacts={contacts!r} finds no collision geometry: give geoms contype or conaffinity, or leave "
            "contacts at 'feet'"
        )
    return found


def _above_feet(model: mujoco.MjModel, attachments: list[Attachment], feet: tuple[Foot, ...]) -> dict[int, int]:
    """`Body.above_feet` of all bodies that have feet below them."""
    moving = [body for body in range(1, model.nbody) if model.body_jntnum[body] > 0]
    carrier = {attachments[body].body: attachments[model.body_parentid[body]].body for body in moving}
    found: dict[int, int] = {}
    for foot in feet:
        body, between = foot.body, 0
        while body != WORLD:
            found[body] = min(between, found.get(body, between))
            body, between = carrier[body], between + 1
    return found


def _colliding(model: mujoco.MjModel) -> list[int]:
    """Geoms that the ground meets."""
    grounds = [geom for geom in range(model.ngeom) if int(model.geom_type[geom]) in _GROUND]
    both = [(int(model.geom_contype[geom]), int(model.geom_conaffinity[geom])) for geom in grounds]
    bits = [own for own in both if any(own)] or [(1, 1)]

    def meets(geom: int) -> bool:
        own = int(model.geom_contype[geom]), int(model.geom_conaffinity[geom])
        return any(own[0] & affinity or own[1] & kind for kind, affinity in bits)

    return [geom for geom in range(model.ngeom) if geom not in grounds and meets(geom)]


def _named(model: mujoco.MjModel, contacts: str | Iterable[str], source: str) -> list[int]:
    """Geoms by their names, colliding geoms of bodies by theirs."""
    if isinstance(contacts, str):
        raise RobotError(f"{source}: contacts must be 'all', 'feet' or a list of names, got {contacts!r}")
    colliding, found = _colliding(model), []
    for name in contacts:
        geom = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, name)
        body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
        if geom < 0 and body < 0:
            known = [
                *(model.geom(i).name for i in range(model.ngeom)),
                *(model.body(i).name for i in range(model.nbody)),
            ]
            raise RobotError(
                f"{source}: unknown contact {name!r}: must be a body or geom, or else {ALL!r} or {FEET!r} alone. "
                f"{close_matches(name, known)}"
            )
        own = [geom] if geom >= 0 else [one for one in colliding if model.geom_bodyid[one] == body]
        if not own:
            raise RobotError(f"{source}: body {name!r} has no collision geometry of its own: name one of its geoms")
        found += own
    return list(dict.fromkeys(found))


def _part(model: mujoco.MjModel, geom: int, host: Attachment) -> Part:
    """A geom as a part of the body that carries it."""
    shape, middle = _shape(model, geom)
    turn = host.rotation @ quaternion_matrix_numpy(model.geom_quat[geom])
    return Part.at(shape, host.position + host.rotation @ model.geom_pos[geom] + turn @ middle, turn)


def _shape(model: mujoco.MjModel, geom: int) -> tuple[Shape, np.ndarray]:
    """Shape of a geom, and the origin of the shape's frame in that of the geom: ours stand on their soles."""
    kind, (a, b, c) = model.geom_type[geom], model.geom_size[geom].tolist()
    centre = np.zeros(3)
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return Sphere(a), centre
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return Capsule(a, 2 * b), centre
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return Ellipsoid(a, b, c), centre
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return Cylinder(a, 2 * b), np.array([0.0, 0.0, -b])
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return Box(2 * a, 2 * b, 2 * c), np.array([0.0, 0.0, -c])
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        return ConvexMesh.around(model.mesh_vert[first : first + model.mesh_vertnum[mesh]].astype(float)), centre
    raise RobotError(f"geom {model.geom(geom).name or geom} is of a type that cannot meet the ground: make it a mesh")
