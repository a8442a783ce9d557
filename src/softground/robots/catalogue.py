"""The catalogue: robots that can be loaded by name, shipped here or inside PyPI packages.

A recipe is what a robot was loaded from, as a hashable value that can be kept, compared and loaded again.
"""

import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from softground.errors import RobotError
from softground.robots.posture import read_srdf
from softground.robots.shapes import Box, HalfCylinder, Shape, checked_shape
from softground.robots.urdf import FREE_JOINT


@dataclass(frozen=True)
class Recipe:
    """Arguments of `Robot.load` in a canonical, hashable form."""

    source: str
    """Name in the catalogue, or path of the model file."""
    feet: tuple[tuple[str, Shape | None], ...] | None
    lock: tuple[tuple[str, float | None], ...]
    planar: bool
    posture: str | tuple[tuple[str, float], ...] | None
    ignore: tuple[str, ...] = field(default=(), metadata={"absent_from_old_files": True})
    """Features of the file that the robot is loaded without."""
    contacts: str | tuple[str, ...] = field(default="feet", metadata={"absent_from_old_files": True})
    """What meets the ground: "feet", "all" or names of bodies and geoms beside the feet."""

    @classmethod
    def of(
        cls,
        path_or_name: str | Path,
        feet: Iterable[str] | Mapping[str, Shape] | None = None,
        lock: Iterable[str] | Mapping[str, float] = (),
        planar: bool = False,
        posture: str | Mapping[str, float] | None = None,
        ignore: Iterable[str] = (),
        contacts: str | Iterable[str] = "feet",
    ) -> "Recipe":
        """Canonical form of the arguments of `Robot.load`."""
        return cls(
            source=str(path_or_name),
            feet=None if feet is None else _pairs(feet, "feet"),
            lock=_pairs(lock, "lock"),
            planar=bool(planar),
            posture=posture if posture is None or isinstance(posture, str) else tuple(posture.items()),
            ignore=tuple(name for name, _ in _pairs(ignore, "ignore")),
            contacts=_contacts(contacts),
        )

    def feet_argument(self) -> dict[str, Shape | None] | None:
        """Names of the feet with their shapes (None: from the model); None if none were given."""
        return None if self.feet is None else dict(self.feet)


def _contacts(given: str | Iterable[str]) -> str | tuple[str, ...]:
    if not isinstance(given, str):
        return tuple(map(str, given))
    if given not in ("feet", "all"):
        raise RobotError(f"contacts must be 'feet', 'all' or a list of names, got {given!r}: write [{given!r}]")
    return given


def _pairs(names, what: str) -> tuple:
    """Names with what was said of each (None: nothing), as a tuple of pairs."""
    if isinstance(names, str):
        raise RobotError(f"{what} must be a list of names or a mapping, got {names!r}: write [{names!r}]")
    if not isinstance(names, Mapping):
        return tuple((str(name), None) for name in names)
    check = _shape if what == "feet" else _angle
    return tuple((str(name), None if value is None else check(name, value)) for name, value in names.items())


def _shape(name: str, value) -> Shape:
    return checked_shape(value, what=f"shape of foot {name!r}")


def _angle(name: str, value) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise RobotError(f"joint {name!r} must be locked at a number (rad, m), got {value!r}") from error


SHIPPED = Path(__file__).parent / "models"


@dataclass(frozen=True)
class Frame:
    """A foot frame that the model file lacks: origin in a body's frame (m), same axes, with a shape."""

    name: str
    body: str
    position: tuple[float, float, float]
    shape: Shape


@dataclass(frozen=True)
class Listing:
    """One line of the catalogue: `available()`."""

    name: str
    dofs: int
    mass: float
    """kg"""
    description: str


@dataclass(frozen=True)
class Entry:
    """A robot's files and how to load it."""

    name: str
    locate: Callable[[], Path]
    """Finds the model file; raises RobotError if its package is missing."""
    description: str = ""
    feet: tuple[tuple[str, Shape | None], ...] | None = None
    frames: tuple[Frame, ...] = ()
    """Feet to add to the model as sites."""
    lock: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    """If given, every other joint (but the base) is locked."""
    srdf: tuple[str, str] | None = None
    """SRDF file relative to the model file, and the name of its standing state."""
    values: tuple[tuple[str, float | tuple[float, ...]], ...] | None = None
    """Joint values of the posture, over the SRDF's."""

    @property
    def path(self) -> Path:
        """The model file."""
        return self.locate()

    def feet_argument(self) -> dict[str, Shape | None] | None:
        """Feet with their shapes; None: those marked in the model."""
        added = {frame.name: frame.shape for frame in self.frames}
        return (dict(self.feet or ()) | added) or None

    def locked_joints(self, joints: Iterable[str]) -> list[str]:
        """Names or patterns of joints that this entry locks."""
        if not self.keep:
            return list(self.lock)
        return [*self.lock, *(j for j in joints if j not in self.keep and j != FREE_JOINT)]

    def posture(self) -> dict | None:
        """Joint values of the standing posture; None: the model's own keyframe."""
        if self.srdf is None and self.values is None:
            return None
        standing = {}
        if self.srdf is not None:
            file, state = self.srdf
            standing = read_srdf(self.path.parent / file, state, FREE_JOINT)
        return standing | dict(self.values or ())


def resolve(source: str) -> Entry:
    """The entry of a name, or one made up for a file."""
    if source in _ENTRIES:
        return _ENTRIES[source]
    path = Path(source).expanduser()
    return Entry(name=path.stem, locate=lambda: path)


def available() -> list[Listing]:
    """Every robot of the catalogue whose package is installed."""
    from softground.robots.robot import Robot  # the robot is built on the catalogue, not the other way round

    listings = []
    for entry in _ENTRIES.values():
        try:
            robot = Robot.load(entry.name)
        except RobotError:
            continue
        listings.append(Listing(entry.name, robot.nv, float(robot.total_mass), entry.description))
    return listings


def _shipped(file: str) -> Callable[[], Path]:
    """A model inside this package."""
    return lambda: SHIPPED / file


def _missing(robot: str, package: str) -> RobotError:
    return RobotError(f"robot {robot!r} needs the package {package}: pip install softground[robots]")


def _gymnasium(robot: str, file: str) -> Callable[[], Path]:
    """A model among Gymnasium's MuJoCo environments."""

    def locate() -> Path:
        found = importlib.util.find_spec("gymnasium")
        if found is None or found.origin is None:
            raise _missing(robot, "gymnasium")
        return Path(found.origin).parent / "envs" / "mujoco" / "assets" / file

    return locate


def _example_robot_data(robot: str, file: str) -> Callable[[], Path]:
    """A model of example-robot-data, a package of files without a module to import."""

    def locate() -> Path:
        try:
            package = importlib.metadata.distribution("example-robot-data")
        except importlib.metadata.PackageNotFoundError as error:
            raise _missing(robot, "example-robot-data") from error
        return Path(str(package.locate_file(f"cmeel.prefix/share/example-robot-data/robots/{file}")))

    return locate


def _icub(robot: str, model: str) -> Callable[[], Path]:
    """A model of icub_models."""

    def locate() -> Path:
        if importlib.util.find_spec("icub_models") is None:
            raise _missing(robot, "icub_models")
        import icub_models

        return Path(icub_models.get_model_file(model))

    return locate


_ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
_LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
ICUB_JOINTS = (
    *("torso_pitch", "torso_roll", "torso_yaw"),
    *(f"{side}_{joint}" for side in "lr" for joint in (*_ARM, *_LEG)),
)
"""The 23 joints that Romualdi et al. 2021 control; the others are locked."""

_ANT_STANCE = (
    ("root", (0.0, 0.0, 0.55, 1.0, 0.0, 0.0, 0.0)),
    *zip(("ankle_1", "ankle_2", "ankle_3", "ankle_4"), (1.0, -1.0, -1.0, 1.0), strict=True),
)
_G1_STANCE = (
    (FREE_JOINT, (0.0, 0.0, 0.7842, 1.0, 0.0, 0.0, 0.0)),
    *((f"{side}_{joint}_joint", angle)
      for side in ("left", "right")
      for joint, angle in (("hip_pitch", -0.1), ("knee", 0.3), ("ankle_pitch", -0.2))),
)  # fmt: skip
_ICUB_BEND = (("hip_pitch", 0.2), ("knee", -0.4), ("ankle_pitch", -0.2), ("shoulder_roll", 0.15), ("elbow", 0.5))
_ICUB_STANCE = (
    (FREE_JOINT, (0.0, 0.0, 0.6109, 0.0, 0.0, 0.0, 1.0)),  # turned: x of its root link points backwards
    *((f"{side}_{joint}", angle)
      for side in "lr"
      for joint, angle in _ICUB_BEND),
)  # fmt: skip

_ENTRIES: dict[str, Entry] = {
    entry.name: entry
    for entry in [
        Entry("foot", _shipped("foot.xml"), "one cylindrical foot in the x-z plane (Zhu et al. 2019)"),
        Entry("robosimian", _shipped("robosimian.xml"), "RoboSimian in the x-z plane (Zhu et al. 2019, 2021)"),
        Entry(
            "biped",
            _shipped("biped.xml"),
            "biped with six actuators on half-cylinders (after Chen et al. 2026)",
            feet=tuple((f"{side}_foot", HalfCylinder(radius=0.04, width=0.08)) for side in ("left", "right")),
        ),
        Entry(
            "walker2d",
            _gymnasium("walker2d", "walker2d_v5.xml"),
            "Gymnasium's planar biped",
            # The foot is a capsule lying along x: it stands on its underside, not on the cap at its toe.
            frames=(
                Frame("sole", "foot", (-0.1, 0.0, 0.04), Box(0.32, 0.12, 0.12)),
                Frame("sole_left", "foot_left", (-0.1, 0.0, 0.04), Box(0.32, 0.12, 0.12)),
            ),
            values=(("rootz", 1.21),),
        ),
        Entry(
            "ant",
            _gymnasium("ant", "ant.xml"),
            "Gymnasium's four-legged ant",
            feet=tuple((f"{leg}_ankle_geom", None) for leg in ("left", "right", "third", "fourth")),
            values=_ANT_STANCE,
        ),
        Entry(
            "anymal",
            _example_robot_data("anymal", "anymal_b_simple_description/robots/anymal.urdf"),
            "ANYmal B quadruped",
            feet=tuple((f"{leg}_FOOT", None) for leg in ("LF", "RF", "LH", "RH")),
            srdf=("../srdf/anymal.srdf", "standing"),
            values=((FREE_JOINT, (0.0, 0.0, 0.4881, 1.0, 0.0, 0.0, 0.0)),),  # the SRDF's stands 9 mm too low
        ),
        Entry(
            "go1",
            _example_robot_data("go1", "go1_description/urdf/go1.urdf"),
            "Unitree Go1 quadruped",
            feet=tuple((f"{leg}_foot", None) for leg in ("FL", "FR", "RL", "RR")),
            srdf=("../srdf/go1.srdf", "standing"),
            values=((FREE_JOINT, (0.0, 0.0, 0.2738, 1.0, 0.0, 0.0, 0.0)),),  # the SRDF's stands 14 mm too low
        ),
        Entry(
            "g1",
            _example_robot_data("g1", "g1_description/urdf/g1_29dof_rev_1_0.urdf"),
            "Unitree G1 humanoid, 29 joints",
            # The four contact spheres of each foot span this rectangle.
            frames=tuple(
                Frame(f"{side}_sole", f"{side}_ankle_roll_link", (0.035, 0.0, -0.035), Box(0.17, 0.06, 0.03))
                for side in ("left", "right")
            ),
            values=_G1_STANCE,
        ),
        Entry(
            "talos",
            _example_robot_data("talos", "talos_data/robots/talos_reduced.urdf"),
            "PAL Robotics Talos humanoid",
            feet=(("left_sole_link", Box(0.2, 0.13, 0.02)), ("right_sole_link", Box(0.2, 0.13, 0.02))),
            srdf=("../srdf/talos.srdf", "half_sitting"),
        ),
        Entry(
            "icub",
            _icub("icub", "iCubGazeboV2_5"),
            "iCub 2.5 humanoid, the 23 joints of Romualdi et al. 2021",
            feet=(("l_sole", Box(0.19, 0.09, 0.02)), ("r_sole", Box(0.19, 0.09, 0.02))),
            keep=ICUB_JOINTS,
            values=_ICUB_STANCE,
        ),
    ]
}
NAMES = tuple(_ENTRIES)
