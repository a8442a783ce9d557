"""URDF files: made ready for MuJoCo's parser without letting it drop, fuse or invent anything that moves.

MuJoCo by itself fuses links joined by fixed joints (losing sole frames), infers missing inertias from
geometry, equalises inertias it finds unphysical, welds the root to the world and fails on package:// mesh
paths.
"""

import os
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from softground.errors import RobotError
from softground.robots.rotations import axis_angle_quaternion_numpy, quaternion_matrix_numpy
from softground.robots.tree import point_inertia

FREE_JOINT = "floating_base"
MESH_SUFFIXES = {".stl", ".obj", ".msh"}  # what MuJoCo reads; .dae is not among them


def read_urdf(root: ElementTree.Element, path: Path, meshes: bool) -> mujoco.MjSpec:
    """MuJoCo spec of a parsed URDF: all links kept, a free base, a motor on every single-dof joint."""
    _merge_inertias(root, path)
    _drop_meshes(root, path, keep_visual=meshes)
    _set_compiler(root)
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    for body in spec.worldbody.bodies:
        if not body.joints and body.name != "world":
            body.add_freejoint(name=FREE_JOINT)
    for joint in spec.joints:
        if joint.type in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    return spec


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


@dataclass(frozen=True)
class RigidInertia:
    """Mass (kg), first moment (kg m) and inertia about the origin of a frame (kg m2)."""

    mass: float
    moment: np.ndarray
    inertia: np.ndarray

    def __add__(self, other: "RigidInertia") -> "RigidInertia":
        return RigidInertia(self.mass + other.mass, self.moment + other.moment, self.inertia + other.inertia)

    def moved(self, position: np.ndarray, rotation: np.ndarray) -> "RigidInertia":
        """The same body seen from a frame in which its own frame stands at this pose."""
        com, about_com = self.about_com()
        com, about_com = position + rotation @ com, rotation @ about_com @ rotation.T
        return from_com(self.mass, com, about_com)

    def about_com(self) -> tuple[np.ndarray, np.ndarray]:
        """Centre of mass and inertia about it."""
        com = self.moment / self.mass if self.mass > 0 else np.zeros(3)
        return com, self.inertia - self.mass * point_inertia(com)

    def is_physical(self) -> bool:
        """Whether mass and inertia are positive."""
        return self.mass > 0 and bool(np.linalg.eigvalsh(self.about_com()[1]).min() > 0)


def from_com(mass: float, com: np.ndarray, about_com: np.ndarray) -> RigidInertia:
    """Inertia about the frame's origin, from the inertia about the centre of mass."""
    return RigidInertia(mass, mass * com, about_com + mass * point_inertia(com))


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


def _drop_meshes(root: ElementTree.Element, path: Path, keep_visual: bool) -> None:
    """Remove mesh geometry, which the dynamics do not need; keep visual ones that can be found if asked."""
    for link in root.findall("link"):
        for kind in ("visual", "collision"):
            for element in link.findall(kind):
                mesh = element.find("geometry/mesh")
                if mesh is None:
                    continue
                found = _find_mesh(mesh.get("filename", ""), path) if keep_visual and kind == "visual" else None
                if found is None:
                    link.remove(element)
                else:
                    mesh.set("filename", str(found))


def _find_mesh(filename: str, urdf: Path) -> Path | None:
    """The file a mesh reference means, looked for as ROS would and in the folders above the URDF."""
    if not filename.startswith("package://"):
        candidates = [urdf.parent / filename.removeprefix("file://")]
    else:
        inside = filename.removeprefix("package://").lstrip("/")
        package, _, rest = inside.partition("/")
        roots = [Path(p) for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
        candidates = [folder / inside for folder in [*roots, *urdf.resolve().parents]]
        candidates += [folder / rest for folder in urdf.resolve().parents if folder.name == package]
    for candidate in candidates:
        if candidate.suffix.lower() in MESH_SUFFIXES and candidate.is_file():
            return candidate
    return None


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
