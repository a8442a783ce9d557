"""Feet: where a robot meets the ground, and with what shape.

The frame of a foot has its origin at the centre of the sole and z up along the foot; that of a sphere sits at its
centre with the axes of the body, that of a half-cylinder in the middle of its axis (`shapes`).
"""

from dataclasses import dataclass

import equinox as eqx
import mujoco
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import RobotError
from softground.robots.names import close_matches
from softground.robots.shapes import Box, Cylinder, HalfCylinder, Shape, Sphere
from softground.robots.tree import WORLD, Attachment

DEFAULT_SITE_SIZE = 0.005  # MuJoCo's size of a site that gives none
AHEAD = 1e-9  # sine of the angle to the y axis below which a direction points neither forward nor back


UPRIGHT = np.sqrt(0.5)
"""Cosine of the greatest lean from the vertical at which a capsule or cylinder still counts as upright: 45 degrees."""


class Foot(eqx.Module):
    """One foot: a frame fixed to a body, with a shape."""

    name: str = eqx.field(static=True)
    body: int = eqx.field(static=True)
    """Index into `Robot.body_names`."""
    shape: Shape = eqx.field(static=True)
    position: Float[Array, "3"]
    """Origin of the foot frame in the body frame (m)."""
    rotation: Float[Array, "3 3"]
    """Orientation of the foot frame in the body frame."""

    @property
    def clearance(self) -> float:
        """Distance from the frame's origin to the sole (m): the radius of a sole that rolls, else 0."""
        return self.shape.clearance


@dataclass(frozen=True)
class _Placed:
    """A foot in the frame of a MuJoCo body, before the body is looked up on the tree."""

    mj_body: int
    position: np.ndarray
    rotation: np.ndarray
    shape: Shape | None
    """None where the model gives none."""


def find_feet(
    model: mujoco.MjModel, attachments: list[Attachment], posture: np.ndarray, planar: bool, feet, source: str
) -> tuple[Foot, ...]:
    """Build the feet named by `feet` (names, or name -> shape), or marked in the model if `feet` is None."""
    names = _marked(model) if feet is None else list(feet)
    shapes = feet if isinstance(feet, dict) else {}
    if not names:
        raise RobotError(
            f"{source}: no feet given and none marked in the model. Pass feet=[...] with names of "
            "bodies, geoms or sites, or add to the MJCF "
            '<custom><text name="softground_feet" data="NAME NAME"/></custom>. '
            f"Candidates: {', '.join(foot_candidates(model)) or 'none'}"
        )
    data = mujoco.MjData(model)
    data.qpos[:] = posture
    mujoco.mj_kinematics(model, data)
    scene = _Scene(model, data, planar)
    return tuple(_find_foot(scene, attachments, name, shapes.get(name), source) for name in names)


def geom_of_foot(model: mujoco.MjModel, posture: np.ndarray, name: str) -> int | None:
    """The geom that gives a foot its shape; None where a site or a given shape does."""
    geom = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, name)
    if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, name) >= 0 or geom >= 0:
        return geom if geom >= 0 else None
    data = mujoco.MjData(model)
    data.qpos[:] = posture
    mujoco.mj_kinematics(model, data)
    return _lowest_geom(_Scene(model, data, planar=False), mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name))


def foot_candidates(model: mujoco.MjModel) -> list[str]:
    """Names that look like feet: sites and bodies so called, and bodies at the end of a limb."""
    words = ("foot", "sole", "toe", "ankle")
    sites = [model.site(i).name for i in range(model.nsite)]
    parents = set(model.body_parentid[1:].tolist())
    bodies = [model.body(b).name for b in range(1, model.nbody) if b not in parents]
    names = [s for s in sites if any(w in s.lower() for w in words)] + bodies
    return list(dict.fromkeys(n for n in names if n))


def _marked(model: mujoco.MjModel) -> list[str]:
    """Names in <custom><text name="softground_feet" data="..."/></custom>."""
    number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_TEXT, "softground_feet")
    if number < 0:
        return []
    start, size = model.text_adr[number], model.text_size[number]
    return bytes(model.text_data[start : start + size]).rstrip(b"\0").decode().split()


@dataclass(frozen=True)
class _Scene:
    """The model at its posture."""

    model: mujoco.MjModel
    data: mujoco.MjData
    planar: bool


def _find_foot(scene: _Scene, attachments, name: str, shape: Shape | None, source: str) -> Foot:
    find = {
        mujoco.mjtObj.mjOBJ_SITE: _foot_of_site,
        mujoco.mjtObj.mjOBJ_GEOM: _foot_of_geom,
        mujoco.mjtObj.mjOBJ_BODY: _foot_of_body,
    }
    model = scene.model
    for kind, place in find.items():
        number = mujoco.mj_name2id(model, kind, name)
        if number >= 0:
            placed = place(scene, number)
            break
    else:
        known = [
            *(model.site(i).name for i in range(model.nsite)),
            *(model.geom(i).name for i in range(model.ngeom)),
            *(model.body(i).name for i in range(1, model.nbody)),
        ]
        raise RobotError(f"{source}: unknown foot {name!r}: must be a body, geom or site. {close_matches(name, known)}")
    host = attachments[placed.mj_body]
    if host.body == WORLD:
        raise RobotError(f"{source}: foot {name!r} is fixed to the world: it must be on a body that moves")
    shape = placed.shape if shape is None else shape
    if shape is None:
        raise RobotError(
            f'{source}: foot {name!r} has no shape: a body needs collision geometry of its own, a site type="box", '
            f'"cylinder" or "sphere" and a size. Give it, feet={{{name!r}: Box(length, width, height)}}, or name a '
            "body or geom that has one"
        )
    return Foot(
        name=name,
        body=host.body,
        shape=shape,
        position=host.position + host.rotation @ placed.position,
        rotation=host.rotation @ placed.rotation,
    )


def _foot_of_site(scene: _Scene, site: int) -> _Placed:
    """A site gives the frame itself; its type and size the shape, unless it is a bare point."""
    model = scene.model
    kind, size = model.site_type[site], model.site_size[site]
    shape = None
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        shape = Box(*(2 * float(s) for s in size))
    elif kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        shape = Cylinder(float(size[0]), 2 * float(size[1]))
    elif kind == mujoco.mjtGeom.mjGEOM_SPHERE and size[0] > DEFAULT_SITE_SIZE:
        shape = Sphere(float(size[0]))
    return _Placed(int(model.site_bodyid[site]), model.site_pos[site].copy(), _matrix(model.site_quat[site]), shape)


def _foot_of_geom(scene: _Scene, geom: int) -> _Placed:
    """A sphere for round ends, a curved or flat sole for what lies, the lowest face of what is as good as a box."""
    model = scene.model
    kind, size = model.geom_type[geom], model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return _Placed(int(model.geom_bodyid[geom]), model.geom_pos[geom].copy(), np.eye(3), Sphere(float(size[0])))
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE or kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        round_ends = kind == mujoco.mjtGeom.mjGEOM_CAPSULE
        if abs(_geom_world(scene, geom)[2, 2]) < UPRIGHT:
            return _lying(scene, geom, round_ends)
        return _lower_end(scene, geom) if round_ends else _bottom_of_cylinder(scene, geom)
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        return _bottom_of_mesh(scene, geom)
    half, centre = model.geom_aabb[geom, 3:], model.geom_aabb[geom, :3]
    return _bottom_of_box(scene, geom, centre, half)


def _foot_of_body(scene: _Scene, body: int) -> _Placed:
    """The lowest collision geom of the body, or the body's own frame if it has none."""
    geom = _lowest_geom(scene, body)
    return _Placed(body, np.zeros(3), np.eye(3), None) if geom is None else _foot_of_geom(scene, geom)


def _lowest_geom(scene: _Scene, body: int) -> int | None:
    """The lowest collision geom of a body, if it has any."""
    model = scene.model
    geoms = [
        g
        for g in range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body])
        if model.geom_contype[g] or model.geom_conaffinity[g]
    ]
    return min(geoms, key=lambda g: _lowest_height(scene, g)) if geoms else None


def _lowest_height(scene: _Scene, geom: int) -> float:
    """Lowest world z of the geom's bounding box (m)."""
    up = _geom_world(scene, geom)[2]
    centre, half = scene.model.geom_aabb[geom, :3], scene.model.geom_aabb[geom, 3:]
    return float(scene.data.geom_xpos[geom, 2] + up @ centre - np.abs(up) @ half)


def _geom_world(scene: _Scene, geom: int) -> np.ndarray:
    """Orientation of the geom in the world."""
    return scene.data.geom_xmat[geom].reshape(3, 3)


def _geom_rotation(model, geom: int) -> np.ndarray:
    """Orientation of the geom in its body."""
    return _matrix(model.geom_quat[geom])


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, quaternion)
    return rotation.reshape(3, 3)


def _lower_end(scene: _Scene, geom: int) -> _Placed:
    """The end cap of an upright capsule that stands on the ground."""
    model = scene.model
    radius, half = (float(s) for s in model.geom_size[geom, :2])
    down = -np.sign(_geom_world(scene, geom)[2, 2])
    end = model.geom_pos[geom] + down * half * _geom_rotation(model, geom)[:, 2]
    return _Placed(int(model.geom_bodyid[geom]), end, np.eye(3), Sphere(radius))


def _lying(scene: _Scene, geom: int, round_ends: bool) -> _Placed:
    """The whole underside of a capsule or cylinder that lies: a curved sole, y along its axis and z up.

    A capsule becomes the half-cylinder of the same radius r that covers the same area, with length 2 half + pi r / 2. A
    robot in the x-z plane rolls about y only: across that axis it stands on the line of contact, which is a flat
    sole along x as long as the geom itself (its caps included) and as wide as it is thick.
    """
    model, world = scene.model, _geom_world(scene, geom)
    radius, half = (float(s) for s in model.geom_size[geom, :2])
    axis = world[:, 2]
    up = np.array([0.0, 0.0, 1.0]) - axis[2] * axis
    up /= np.linalg.norm(up)
    flat = scene.planar and abs(axis[1]) < UPRIGHT
    across = np.cross(axis, up)
    # The half-cylinder's x (or the flat sole's) points forward; along y, to the left.
    forward = axis if flat else across
    sign = -1.0 if forward[0] < -AHEAD or (abs(forward[0]) <= AHEAD and forward[1] < 0) else 1.0
    columns = (sign * axis, -sign * across, up) if flat else (sign * across, sign * axis, up)
    to_body = _geom_rotation(model, geom) @ world.T
    rotation = to_body @ np.column_stack(columns)
    body, middle = int(model.geom_bodyid[geom]), model.geom_pos[geom].copy()
    if flat:
        length = 2 * (half + radius if round_ends else half)
        return _Placed(body, middle - radius * rotation[:, 2], rotation, Box(length, 2 * radius, 2 * radius))
    width = 2 * half + (np.pi * radius / 2 if round_ends else 0.0)
    return _Placed(body, middle, rotation, HalfCylinder(radius, float(width)))


def _bottom_of_cylinder(scene: _Scene, geom: int) -> _Placed:
    """Bottom disc of an upright cylinder."""
    model = scene.model
    radius, half = (float(s) for s in model.geom_size[geom, :2])
    rotation = _geom_rotation(model, geom)
    if _geom_world(scene, geom)[2, 2] < 0:  # the cylinder's axis points down: turn its frame about x
        rotation = rotation @ np.diag([1.0, -1.0, -1.0])
    position = model.geom_pos[geom] - rotation[:, 2] * half
    return _Placed(int(model.geom_bodyid[geom]), position, rotation, Cylinder(radius, 2 * half))


def _bottom_of_mesh(scene: _Scene, geom: int) -> _Placed:
    """Lowest face of the box around a mesh, along the axes in which the mesh is written.

    MuJoCo turns a mesh into its principal axes of inertia; a sole along those would be tilted.
    """
    model, mesh = scene.model, scene.model.geom_dataid[geom]
    first = model.mesh_vertadr[mesh]
    vertices = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
    turn = _matrix(model.mesh_quat[mesh])  # from principal axes to those of the file
    written = vertices @ turn.T
    lower, upper = written.min(axis=0), written.max(axis=0)
    return _bottom_of_box(scene, geom, (lower + upper) / 2, (upper - lower) / 2, turn.T)


def _bottom_of_box(
    scene: _Scene, geom: int, centre: np.ndarray, half: np.ndarray, turn: np.ndarray | None = None
) -> _Placed:
    """Lowest face of a box; z up through it, x along the edge nearest the world's x axis.

    Centre and half sides are given in axes that `turn` takes to those of the geom (None: they are the same).
    """
    turn = np.eye(3) if turn is None else turn
    world = _geom_world(scene, geom) @ turn
    z = int(np.argmax(np.abs(world[2])))
    x = max((k for k in range(3) if k != z), key=lambda k: abs(world[0, k]))
    axes = np.zeros((3, 3))
    axes[z, 2] = np.sign(world[2, z])
    axes[x, 0] = 1.0 if world[0, x] >= 0 else -1.0
    axes[:, 1] = np.cross(axes[:, 2], axes[:, 0])
    y = 3 - x - z
    rotation = _geom_rotation(scene.model, geom) @ turn
    position = scene.model.geom_pos[geom] + rotation @ (centre - axes[:, 2] * half[z])
    shape = Box(*(2 * float(half[k]) for k in (x, y, z)))
    return _Placed(int(scene.model.geom_bodyid[geom]), position, rotation @ axes, shape)
