"""Feet: where a robot meets the ground, and with what shape.

The frame of a foot has its origin at the centre of the sole and z up along the foot. Round soles are the
exception: the frame of a sphere sits at its centre with the axes of the body, that of a half-cylinder in the middle
of its axis, and their `clearance` is the radius, so that for every foot the depth in the ground is
`clearance - signed_distance(origin)`.
"""

from dataclasses import dataclass

import equinox as eqx
import mujoco
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from softground.arrays import Array
from softground.errors import RobotError
from softground.robots.names import close_matches
from softground.robots.outline import checked_outline
from softground.robots.tree import WORLD, Attachment

DEFAULT_SITE_SIZE = 0.005  # MuJoCo's size of a site that gives none


@dataclass(frozen=True)
class Sphere:
    """Ball of this radius (m)."""

    radius: float


@dataclass(frozen=True)
class Cylinder:
    """Upright cylinder: radius of the sole and length of the shank above it (m)."""

    radius: float
    length: float


@dataclass(frozen=True)
class Box:
    """Flat sole: length along x, width along y, height along z (m)."""

    length: float
    width: float
    height: float


@dataclass(frozen=True, init=False)
class Polygon:
    """Flat sole with any outline that does not cross itself: its vertices (x, y) in order round it, and height (m).

    The origin of the foot frame need not be the centroid. Vertices are kept anticlockwise.
    """

    vertices: tuple[tuple[float, float], ...]
    height: float

    def __init__(self, vertices: ArrayLike, height: float = 0.02):
        outline = checked_outline(vertices)
        object.__setattr__(self, "vertices", tuple((float(x), float(y)) for x, y in outline))
        object.__setattr__(self, "height", height)

    @property
    def outline(self) -> Float[np.ndarray, "n 2"]:
        """Vertices as an array, m."""
        return np.array(self.vertices)

    @property
    def length(self) -> float:
        """Extent along x, m."""
        return float(np.ptp(self.outline[:, 0]))

    @property
    def width(self) -> float:
        """Extent along y, m."""
        return float(np.ptp(self.outline[:, 1]))


@dataclass(frozen=True)
class HalfCylinder:
    """Curved sole: the lower half of a cylinder that lies along y, on which the foot rolls forwards (m)."""

    radius: float
    width: float


Shape = Sphere | Cylinder | Box | Polygon | HalfCylinder

POINT_SITE_SHAPE = Cylinder(0.05, 0.15)
"""Shape of a foot marked by a plain site: the foot of Zhu et al. 2019."""
BARE_BODY_SHAPE = Box(0.2, 0.1, 0.02)
"""Shape of a foot given as a body without geometry."""


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
        """Distance from the frame's origin to the sole (m): the radius of a round sole, else 0."""
        return self.shape.radius if isinstance(self.shape, Sphere | HalfCylinder) else 0.0


@dataclass(frozen=True)
class _Placed:
    """A foot in the frame of a MuJoCo body, before the body is looked up on the tree."""

    mj_body: int
    position: np.ndarray
    rotation: np.ndarray
    shape: Shape


def find_feet(
    model: mujoco.MjModel, attachments: list[Attachment], posture: np.ndarray, feet, source: str
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
    return tuple(_find_foot(model, data, attachments, name, shapes.get(name), source) for name in names)


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


def _find_foot(model, data, attachments, name, shape, source) -> Foot:
    find = {
        mujoco.mjtObj.mjOBJ_SITE: _foot_of_site,
        mujoco.mjtObj.mjOBJ_GEOM: _foot_of_geom,
        mujoco.mjtObj.mjOBJ_BODY: _foot_of_body,
    }
    for kind, place in find.items():
        number = mujoco.mj_name2id(model, kind, name)
        if number >= 0:
            placed = place(model, data, number)
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
    return Foot(
        name=name,
        body=host.body,
        shape=placed.shape if shape is None else shape,
        position=host.position + host.rotation @ placed.position,
        rotation=host.rotation @ placed.rotation,
    )


def _foot_of_site(model, data, site: int) -> _Placed:
    """A site gives the frame itself; its type and size the shape, unless it is a bare point."""
    kind, size = model.site_type[site], model.site_size[site]
    shape: Shape = POINT_SITE_SHAPE
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        shape = Box(*(2 * float(s) for s in size))
    elif kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        shape = Cylinder(float(size[0]), 2 * float(size[1]))
    elif kind == mujoco.mjtGeom.mjGEOM_SPHERE and size[0] > DEFAULT_SITE_SIZE:
        shape = Sphere(float(size[0]))
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.site_quat[site])
    return _Placed(int(model.site_bodyid[site]), model.site_pos[site].copy(), rotation.reshape(3, 3), shape)


def _foot_of_geom(model, data, geom: int) -> _Placed:
    """A sphere for round geoms; the lowest face (at the posture) of a box, cylinder, ellipsoid or mesh."""
    body, size = int(model.geom_bodyid[geom]), model.geom_size[geom]
    kind = model.geom_type[geom]
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return _Placed(body, model.geom_pos[geom].copy(), np.eye(3), Sphere(float(size[0])))
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return _Placed(body, _far_end(model, geom), np.eye(3), Sphere(float(size[0])))
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return _bottom_of_cylinder(model, data, geom)
    half, centre = model.geom_aabb[geom, 3:], model.geom_aabb[geom, :3]
    return _bottom_of_box(model, data, geom, centre, half)


def _foot_of_body(model, data, body: int) -> _Placed:
    """The lowest collision geom of the body, or the body's own frame if it has none."""
    geoms = [
        g
        for g in range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body])
        if model.geom_contype[g] or model.geom_conaffinity[g]
    ]
    if not geoms:
        return _Placed(body, np.zeros(3), np.eye(3), BARE_BODY_SHAPE)
    return _foot_of_geom(model, data, min(geoms, key=lambda g: _lowest_height(model, data, g)))


def _lowest_height(model, data, geom: int) -> float:
    """Lowest world z of the geom's bounding box (m)."""
    up = data.geom_xmat[geom].reshape(3, 3)[2]
    centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
    return float(data.geom_xpos[geom, 2] + up @ centre - np.abs(up) @ half)


def _geom_rotation(model, geom: int) -> np.ndarray:
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
    return rotation.reshape(3, 3)


def _far_end(model, geom: int) -> np.ndarray:
    """Centre of the end cap of a capsule that is farther from its body's joint (body frame)."""
    body = model.geom_bodyid[geom]
    anchor = model.jnt_pos[model.body_jntadr[body]] if model.body_jntnum[body] else np.zeros(3)
    along = _geom_rotation(model, geom)[:, 2] * model.geom_size[geom, 1]
    ends = [model.geom_pos[geom] + along, model.geom_pos[geom] - along]
    return max(ends, key=lambda end: np.linalg.norm(end - anchor))


def _bottom_of_cylinder(model, data, geom: int) -> _Placed:
    """Bottom disc of a cylinder; one lying on its side is taken as the box around it."""
    up = data.geom_xmat[geom].reshape(3, 3)[2]
    radius, half = (float(s) for s in model.geom_size[geom, :2])
    if abs(up[2]) < 0.7:
        return _bottom_of_box(model, data, geom, np.zeros(3), np.array([radius, radius, half]))
    rotation = _geom_rotation(model, geom)
    if up[2] < 0:  # the cylinder's axis points down: turn its frame about x
        rotation = rotation @ np.diag([1.0, -1.0, -1.0])
    position = model.geom_pos[geom] - rotation[:, 2] * half
    return _Placed(int(model.geom_bodyid[geom]), position, rotation, Cylinder(radius, 2 * half))


def _bottom_of_box(model, data, geom: int, centre: np.ndarray, half: np.ndarray) -> _Placed:
    """Lowest face of a box (geom frame); z up through it, x along the edge nearest the world's x axis."""
    world = data.geom_xmat[geom].reshape(3, 3)
    z = int(np.argmax(np.abs(world[2])))
    x = max((k for k in range(3) if k != z), key=lambda k: abs(world[0, k]))
    axes = np.zeros((3, 3))
    axes[z, 2] = np.sign(world[2, z])
    axes[x, 0] = 1.0 if world[0, x] >= 0 else -1.0
    axes[:, 1] = np.cross(axes[:, 2], axes[:, 0])
    y = 3 - x - z
    rotation = _geom_rotation(model, geom)
    position = model.geom_pos[geom] + rotation @ (centre - axes[:, 2] * half[z])
    shape = Box(*(2 * float(half[k]) for k in (x, y, z)))
    return _Placed(int(model.geom_bodyid[geom]), position, rotation @ axes, shape)
