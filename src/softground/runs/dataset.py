"""A run as an xarray dataset: every variable with unit, meaning and frame, and the recipe to repeat it."""

from __future__ import annotations

import importlib.metadata
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import mujoco
import numpy as np
import xarray as xr
from jaxtyping import Float

from softground.media.base import COMPONENTS
from softground.robots import Robot
from softground.robots.base import base_body
from softground.robots.rotations import quaternion_between_numpy, quaternion_matrix_numpy
from softground.runs.description import describe, simulator_recipe
from softground.runs.names import public_name
from softground.simulation.simulator import Record, Simulator, State


class Place(NamedTuple):
    """Where the base body and the centre of mass are, in the world."""

    base_position: Float[np.ndarray, "3"]  # m
    base_quaternion: Float[np.ndarray, "4"]  # wxyz
    center_of_mass: Float[np.ndarray, "3"]  # m


class Placement:
    """Callable: the `Place` of a robot in a configuration. Masses are the robot's own, which may have been changed."""

    def __init__(self, robot: Robot):
        self._model = robot.mujoco_model()
        self._data = mujoco.MjData(self._model)
        self._base = base_body(robot, self._model)
        self._moving = [self._model.body(name).id for name in robot.body_names]
        mass = np.asarray(robot.parameters.mass, dtype=float)
        self._share = mass / mass.sum()
        origin = np.asarray(robot.parameters.body_origin, dtype=float)
        self._inside = np.asarray(robot.parameters.com, dtype=float) - origin  # in the bodies' own frames

    def __call__(self, q: Float[np.ndarray, " nq"]) -> Place:
        data = self._data
        data.qpos[:] = q
        mujoco.mj_kinematics(self._model, data)
        rotation = data.xmat[self._moving].reshape(-1, 3, 3)
        centers = data.xpos[self._moving] + np.einsum("bij,bj->bi", rotation, self._inside)
        return Place(data.xpos[self._base].copy(), data.xquat[self._base].copy(), self._share @ centers)


FORMAT, VERSION = "softground-run", 2
OF_SOLVER = ("iterations", "converged")
"""Variables that only a simulation has: they tell of its steps, not of the motion."""

WRENCH_AXES = ("fx", "fy", "fz", "tx", "ty", "tz")
TWIST_AXES = ("vx", "vy", "vz", "wx", "wy", "wz")
XYZ = ("x", "y", "z")

#: name: (dimensions after time, unit, meaning, frame)
VARIABLES: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "configuration": (
        ("q",),
        "see q_unit",
        "generalised position q (MuJoCo's qpos) at the start of the step",
        "joint",
    ),
    "velocity": (
        ("v",),
        "see v_unit",
        "generalised velocity v (MuJoCo's qvel) at the start of the step",
        "joint",
    ),
    "torque": (("actuator",), "see actuator_unit", "actuator effort during the step, after clipping", "joint"),
    "wrench_world": (
        ("foot", "wrench_axis"),
        "N, N m",
        "wrench (force, torque) of the ground on each foot during the step, about the foot's origin",
        "world",
    ),
    "depth": (("foot",), "m", "depth of each foot, positive below the surface", "surface"),
    "tilt": (
        ("foot",),
        "rad",
        "tilt of each foot's axis in the surface's x-z plane, positive about +y",
        "surface",
    ),
    "twist": (
        ("foot", "twist_axis"),
        "m/s, rad/s",
        "twist (linear, angular) of each foot at the end of the step, at the medium's reference point",
        "surface",
    ),
    "base_position": (("xyz",), "m", "origin of the base body", "world"),
    "base_quaternion": (("quaternion",), "1", "orientation of the base body", "world"),
    "base_pitch": (
        (),
        "rad",
        "pitch of the base body from the robot's posture, positive about +y; in space about the heading's +y",
        "world",
    ),
    "center_of_mass": (("xyz",), "m", "centre of mass of the robot", "world"),
    "iterations": ((), "1", "most Newton iterations of a step since the last sample", "none"),
    "converged": ((), "1", "whether every step since the last sample converged", "none"),
    "outside_data": (("foot",), "1", "whether the foot left the medium's data since the last sample", "none"),
}

#: The same of robots of which more than the feet meets the ground.
OF_BODIES: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "body_wrench_world": (
        ("body", "wrench_axis"),
        "N, N m",
        "wrench (force, torque) of the ground on each body beside the feet during the step, about the body's origin",
        "world",
    ),
    "body_depth": (("body",), "m", "depth of the deepest point of each body, positive below the surface", "surface"),
}


@dataclass(frozen=True)
class RunInfo:
    """How a run was made, and how it went."""

    steps: int
    every: int = 1  # steps per sample
    not_converged: int = 0  # steps
    outside_data: int = 0  # steps in which a foot left the medium's data
    iterations: int = 0  # of the solver, over all steps
    ended: str = "finished"  # or "interrupted", "non-finite", or the reason that a controller gave
    compile_seconds: float = 0.0
    steps_per_second: float = 0.0
    seed: int | None = None
    command: str = ""
    title: str = ""

    def attributes(self) -> dict[str, Any]:
        return {
            "steps": self.steps,
            "every": self.every,
            "steps_not_converged": self.not_converged,
            "steps_outside_data": self.outside_data,
            "mean_iterations": self.iterations / max(self.steps, 1),
            "ended": self.ended,
            "compile_seconds": self.compile_seconds,
            "steps_per_second": self.steps_per_second,
            "seed": "none" if self.seed is None else self.seed,
            "command": self.command,
        }


def run_dataset(
    simulator: Simulator, start: State, final: State, history: Record, control: Any, info: RunInfo
) -> xr.Dataset:
    """Dataset of a run from `start` to `final` under `control`; `history` has a leading axis of samples."""
    arrays: dict[str, np.ndarray] = {}
    recipe = {
        "simulator": simulator_recipe(simulator, arrays),
        "start": describe(start, arrays, "start"),
        "final": describe(final, arrays, "final"),
        "control": describe(control, arrays, "control"),
    }
    motion = motion_dataset(simulator, np.asarray(history.time), _values(history), info.title)
    return with_recipes(motion, recipe, arrays).assign_attrs(
        {
            "format": FORMAT,
            "format_version": VERSION,
            "softground_version": importlib.metadata.version("softground"),
            **info.attributes(),
        }
    )


def motion_dataset(simulator: Simulator, time: np.ndarray, values: dict[str, np.ndarray], title: str) -> xr.Dataset:
    """Dataset of a motion: `values` of `VARIABLES` at times (s), those of the base's motion are added to them."""
    robot = simulator.robot
    values = values | _base_motion(robot, values["configuration"])
    return xr.Dataset(
        {
            name: (("time", *said[0]), values[name], _attributes(*said[1:]))
            for name, said in (VARIABLES | OF_BODIES).items()
            if name in values
        },
        coords=_coordinates(simulator, time),
        attrs={
            "title": title or f"{robot.name} on {public_name(type(simulator.ground.medium))}",
            "robot": robot.name,
            "mass_kg": float(robot.total_mass),
            "gravity_m_per_s2": np.asarray(robot.gravity, dtype=float),
            "precision": str(values["configuration"].dtype),
            "dt_s": float(simulator.dt),
        },
    )


def with_recipes(dataset: xr.Dataset, recipes: dict[str, Any], arrays: dict[str, np.ndarray]) -> xr.Dataset:
    """A dataset with recipes (JSON-able), and the arrays that these have put aside."""
    aside = {name: _put_aside(name, array) for name, array in arrays.items()}
    return dataset.assign(aside).assign_attrs({f"{name}_recipe": json.dumps(value) for name, value in recipes.items()})


def _values(history: Record) -> dict[str, np.ndarray]:
    names = ("torque", "wrench_world", "depth", "tilt", "twist", "iterations", "converged", "outside_data")
    values = {name: np.asarray(getattr(history, name)) for name in names}
    if history.body_depth is not None:
        values |= {name: np.asarray(getattr(history, name)) for name in OF_BODIES}
    return values | {"configuration": np.asarray(history.q), "velocity": np.asarray(history.v)}


def _base_motion(robot: Robot, configurations: np.ndarray) -> dict[str, np.ndarray]:
    """Base pose and centre of mass over time."""
    place = Placement(robot)
    along = Place(*(np.array(values) for values in zip(*map(place, configurations), strict=True)))
    upright = place(np.asarray(robot.posture)).base_quaternion
    return along._asdict() | {"base_pitch": _pitch(along.base_quaternion, upright, robot.planar)}


def _pitch(quaternion: np.ndarray, posture: np.ndarray, planar: bool) -> np.ndarray:
    """Pitch (rad) of rotations from that in the posture, whichever way the base's own frame points."""
    turned = quaternion_matrix_numpy(quaternion_between_numpy(quaternion, posture))
    x, y, z = turned[:, :, 0].T  # where what points along +x in the posture is now
    return np.unwrap(np.arctan2(-z, x)) if planar else np.arctan2(-z, np.hypot(x, y))


def _attributes(unit: str, meaning: str, frame: str) -> dict[str, str]:
    return {"units": unit, "long_name": meaning, "frame": frame}


def _put_aside(name: str, array: np.ndarray):
    """A large array of the recipe, on dimensions of its own."""
    dims = tuple(f"{name}_{axis}" for axis in range(array.ndim))
    return dims, array, {"units": "see recipe", "long_name": f"{name} of the recipe", "frame": "see recipe"}


def _coordinates(simulator: Simulator, time: np.ndarray) -> dict[str, Any]:
    robot = simulator.robot
    q_names, q_units, v_units = coordinate_names(robot)
    actuators = list(robot.actuated)
    named = lambda dim, values, what: (dim, np.array(list(values), dtype=str), {"long_name": what})  # noqa: E731
    components = COMPONENTS[simulator.twist_kind]
    return {
        "time": (
            "time",
            time,
            {"units": "s", "long_name": "time at the start of the step"},
        ),
        "q": named("q", q_names, "entries of the configuration"),
        "q_unit": named("q", q_units, "unit of each entry of the configuration"),
        "v": named("v", robot.dof_names, "degrees of freedom"),
        "v_unit": named("v", v_units, "unit of each entry of the velocity"),
        "actuator": named("actuator", [robot.dof_names[i] for i in actuators], "joints that have an actuator"),
        "actuator_unit": named(
            "actuator", ["N m" if v_units[i] == "rad/s" else "N" for i in actuators], "unit of the effort"
        ),
        "actuator_dof": (
            "actuator",
            np.array(actuators, dtype=int),
            {"long_name": "entry of v that each actuator drives"},
        ),
        "foot": named("foot", [foot.name for foot in robot.feet], "feet"),
        **({"body": named("body", [body.name for body in robot.bodies], "bodies")} if robot.bodies else {}),
        "wrench_axis": named("wrench_axis", WRENCH_AXES, "force and torque components"),
        "twist_axis": named("twist_axis", [TWIST_AXES[i] for i in components], "twist components of the medium"),
        "xyz": named("xyz", XYZ, "world axes"),
        "quaternion": named("quaternion", "wxyz", "entries of a quaternion, the scalar first"),
    }


def coordinate_names(robot: Robot) -> tuple[list[str], list[str], list[str]]:
    """Names and units of the entries of q, and units of the entries of v."""
    quaternion = [f"_q{c}" for c in "wxyz"]
    per_type = {
        0: (["_x", "_y", "_z", *quaternion], ["m"] * 3 + ["1"] * 4, ["m/s"] * 3 + ["rad/s"] * 3),
        1: (quaternion, ["1"] * 4, ["rad/s"] * 3),
        2: ([""], ["m"], ["m/s"]),
        3: ([""], ["rad"], ["rad/s"]),
    }
    names, q_units, v_units = [], [], []
    for joint, kind in zip(robot.joint_names, robot.tree.joint_type, strict=True):
        suffixes, units, speeds = per_type[int(kind)]
        names += [joint + suffix for suffix in suffixes]
        q_units += units
        v_units += speeds
    return names, q_units, v_units
