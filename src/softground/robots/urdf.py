"""URDF files: made ready for MuJoCo's parser without letting it drop, fuse or invent anything that moves.

MuJoCo by itself fuses links joined by fixed joints (losing sole frames), infers missing inertias from
geometry, equalises inertias it finds unphysical, welds the root to the world, limits continuous joints and fails on
package:// mesh paths.
"""

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection
from pathlib import Path

import mujoco
import numpy as np

from softground.errors import RobotError
from softground.robots.rotations import axis_angle_quaternion_numpy, quaternion_matrix_numpy
from softground.robots.tree import RigidInertia, from_com

FREE_JOINT = "floating_base"
MESH_SUFFIXES = {".stl", ".obj", ".msh"}  # what MuJoCo reads; .dae is not among them


def read_urdf(
    root: ElementTree.Element, path: Path, meshes: bool, feet: Collection[str], collisions: bool = False
) -> mujoco.MjSpec:
    """MuJoCo spec of a parsed URDF: all links kept, a free base, an actuator on every single-dof joint.

    A joint whose effort is limited to 0 has no actuator. `feet` are the links that take the shape of a foot from their
    collision geometry.
    collisions: whether collision meshes are kept.
    """
    _check_joints(root, path)
    _merge_inertias(root, path)
    _box_in_feet(root, path, feet)
    _drop_meshes(root, path, {"visual": meshes, "collision": collisions})
    _set_compiler(root)
    powerless = {joint.get("name") for joint in root.findall("joint") if _effort(joint) == 0}
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    for body in spec.worldbody.bodies:
        if not body.joints and body.name != "world":
            body.add_freejoint(name=FREE_JOINT)
    for joint in spec.joints:
        scalar = joint.type in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
        if scalar and joint.name not in powerless:
            spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    return spec


def _check_joints(root: ElementTree.Element, path: Path) -> None:
    """Refuse kinds of joint that MuJoCo's parser reads in part, and take the limits of continuous joints out."""
    for joint in root.findall("joint"):
        name, kind = joint.get("name"), joint.get("type")
        if kind == "planar":
            raise RobotError(
                f"{path}: joint {name!r} is planar: write two prismatic joints and a continuous one, or make it "
                "floating and load the robot with planar=True"
            )
        if joint.find("mimic") is not None and kind not in ("revolute", "continuous", "prismatic", "fixed"):
            raise RobotError(f"{path}: joint {name!r} of type {kind!r} cannot mimic another: remove its <mimic>")
        limit = joint.find("limit")
        if kind == "continuous" and limit is not None:
            for end in ("lower", "upper"):
                limit.attrib.pop(end, None)


def _effort(joint: ElementTree.Element) -> float | None:
    """Greatest effort of a joint (N m, N); None where the file gives none."""
    limit = joint.find("limit")
    text = None if limit is None else limit.get("effort")
    return None if text is None else float(text)


def _merge_inertias(root: ElementTree.Element, path: Path) -> None:
    """Put the inertia of links fixed to one another on the one that moves, and check that it has any.

    Files describe frames by links of no mass, point masses, or token inertias that are not positive
    definite; MuJoCo refuses these one by one though the rigid body they belong to is sound.
    """
    fixed = {_link_of(joint, "child"): joint for joint in root.findall("joint") if joint.get("type") == "fixed"}
    total: dict[str, RigidInertia] = {}
    for link in root.findall("link"):
        inertia, carrier = _read_inertia(link, path), link.get("name", "")
        while carrier in fixed:
            inertia = inertia.moved(*_read_origin(fixed[carrier]))
            carrier = _link_of(fixed[carrier], "parent")
        total[carrier] = total[carrier] + inertia if carrier in total else inertia
    bare = [name for name, inertia in total.items() if not inertia.is_physical() and name != "world"]
    if bare:
        raise RobotError(
            f"{path}: no mass or inertia on moving links {', '.join(bare)}: each needs an <inertial> with "
            "positive mass and inertia, on itself or on a link fixed to it"
        )
    for link in root.findall("link"):
        for element in link.findall("inertial"):
            link.remove(element)
        if link.get("name") in total and link.get("name") != "world":
            _write_inertia(link, total[link.get("name", "")])


_ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


def _read_inertia(link: ElementTree.Element, path: Path) -> RigidInertia:
    inertial = link.find("inertial")
    if inertial is None:
        return RigidInertia(0.0, np.zeros(3), np.zeros((3, 3)))
    try:
        position, rotation = _read_origin(inertial)
        mass, tensor = inertial.find("mass"), inertial.find("inertia")
        matrix = np.zeros((3, 3))
        for name, (i, j) in _ENTRIES.items():
            matrix[i, j] = matrix[j, i] = 0.0 if tensor is None else float(tensor.get(name, 0.0))
        kilograms = 0.0 if mass is None else float(mass.get("value", 0.0))
    except ValueError as error:
        raise RobotError(f"{path}: <inertial> of link {link.get('name')!r} cannot be read: {error}") from error
    return from_com(kilograms, position, rotation @ matrix @ rotation.T)


def _write_inertia(link: ElementTree.Element, inertia: RigidInertia) -> None:
    com, about_com = inertia.about_com()
    element = ElementTree.SubElement(link, "inertial")
    ElementTree.SubElement(element, "origin", xyz=" ".join(map(repr, com.tolist())), rpy="0 0 0")
    ElementTree.SubElement(element, "mass", value=repr(inertia.mass))
    entries = {name: repr(float(about_com[place])) for name, place in _ENTRIES.items()}
    ElementTree.SubElement(element, "inertia", entries)


def _read_origin(element: ElementTree.Element) -> tuple[np.ndarray, np.ndarray]:
    """Position (m) and rotation of the <origin> of a joint or inertial."""
    origin = element.find("origin")
    text = {} if origin is None else origin.attrib
    position = np.array([float(x) for x in text.get("xyz", "0 0 0").split()])
    roll, pitch, yaw = (float(x) for x in text.get("rpy", "0 0 0").split())
    turns = [((0, 0, 1), yaw), ((0, 1, 0), pitch), ((1, 0, 0), roll)]  # R = Rz(yaw) Ry(pitch) Rx(roll)
    rotation = np.eye(3)
    for axis, angle in turns:
        rotation = rotation @ quaternion_matrix_numpy(axis_angle_quaternion_numpy(axis, angle))
    return position, rotation


def _link_of(joint: ElementTree.Element, role: str) -> str:
    element = joint.find(role)
    return "" if element is None else element.get("link", "")


def _box_in_feet(root: ElementTree.Element, path: Path, feet: Collection[str]) -> None:
    """Replace the collision meshes of feet without a primitive geometry by their bounding boxes, axes of the mesh."""
    for link in root.findall("link"):
        elements = [e for e in link.findall("collision") if e.find("geometry") is not None]
        meshes = [e for e in elements if e.find("geometry/mesh") is not None]
        if link.get("name") in feet and len(meshes) == len(elements):
            for element in meshes:
                _box_in(element, link.get("name", ""), path)


def _box_in(collision: ElementTree.Element, foot: str, path: Path) -> None:
    """Replace the mesh of a <collision> by its bounding box, in place."""
    geometry, mesh = collision.find("geometry"), collision.find("geometry/mesh")
    assert geometry is not None
    assert mesh is not None
    lower, upper = _mesh_bounds(mesh, foot, path)
    position, rotation = _read_origin(collision)
    centre = position + rotation @ (lower + upper) / 2
    origin = collision.find("origin")
    if origin is None:
        origin = ElementTree.SubElement(collision, "origin")
    origin.set("xyz", " ".join(map(repr, centre.tolist())))
    geometry.remove(mesh)
    ElementTree.SubElement(geometry, "box", size=" ".join(map(repr, (upper - lower).tolist())))


def _mesh_bounds(mesh: ElementTree.Element, foot: str, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest coordinates (m) of a mesh in its own frame, scaled as the file says."""
    import trimesh  # half a second, and few robots have such feet

    name = mesh.get("filename", "")
    remedy = (
        f"give its shape, feet={{{foot!r}: Box(length, width, height)}}, or add a <collision> with a box, cylinder or "
        "sphere to the link"
    )
    start = f"{path}: the only collision geometry of foot {foot!r} is the mesh {name!r}, which"
    found = _find_file(name, path)
    if found is None:
        raise RobotError(f"{start} is not there: {remedy}")
    try:
        bounds = np.asarray(trimesh.load_mesh(found).bounds, dtype=float)
        scale = np.array([float(x) for x in mesh.get("scale", "1 1 1").split()])
        corners = np.sort(bounds * scale, axis=0)  # a mirrored mesh has a negative scale
    except Exception as error:  # trimesh's readers raise whatever their parser does
        raise RobotError(f"{start} cannot be read ({error}): {remedy}") from error
    if corners.shape != (2, 3) or not np.isfinite(corners).all():
        raise RobotError(f"{start} is empty: {remedy}")
    return corners[0], corners[1]


def _drop_meshes(root: ElementTree.Element, path: Path, kept: dict[str, bool]) -> None:
    """Remove mesh geometry, which the dynamics do not need; keep those kinds that are asked for and MuJoCo can read."""
    for link in root.findall("link"):
        for kind in ("visual", "collision"):
            for element in link.findall(kind):
                mesh = element.find("geometry/mesh")
                if mesh is None:
                    continue
                found = _find_file(mesh.get("filename", ""), path) if kept[kind] else None
                if found is None or found.suffix.lower() not in MESH_SUFFIXES:
                    link.remove(element)
                else:
                    mesh.set("filename", str(found))


def _find_file(filename: str, urdf: Path) -> Path | None:
    """The file a mesh reference means, looked for as ROS would and in the folders above the URDF."""
    if not filename.startswith("package://"):
        candidates = [urdf.parent / filename.removeprefix("file://")]
    else:
        inside = filename.removeprefix("package://").lstrip("/")
        package, _, rest = inside.partition("/")
        roots = [Path(p) for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
        candidates = [folder / inside for folder in [*roots, *urdf.resolve().parents]]
        candidates += [folder / rest for folder in urdf.resolve().parents if folder.name == package]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _set_compiler(root: ElementTree.Element) -> None:
    """Tell MuJoCo's compiler to take the file as it is."""
    extension = root.find("mujoco")
    if extension is None:
        extension = ElementTree.SubElement(root, "mujoco")
    compiler = extension.find("compiler")
    if compiler is None:
        compiler = ElementTree.SubElement(extension, "compiler")
    settings = {
        "fusestatic": "false",
        "discardvisual": "false",
        "strippath": "false",
        "inertiafromgeom": "false",
        "balanceinertia": "false",
        "boundmass": "0",
        "boundinertia": "0",
    }
    for name, value in settings.items():
        compiler.set(name, value)
    compiler.attrib.pop("meshdir", None)  # the paths are absolute by now
