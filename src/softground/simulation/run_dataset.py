"""A run as an xarray dataset: every variable with unit, meaning and frame, and the recipe to repeat it."""

from __future__ import annotations

import importlib.metadata
import json
from typing import Any

import mujoco
import numpy as np
import xarray as xr
from scipy.spatial.transform import Rotation

from softground.media.base import COMPONENTS
from softground.robots import Robot
from softground.simulation.description import describe
from softground.simulation.simulator import Record, Simulator, State
from softground.simulation.simulator_recipe import simulator_recipe

FORMAT, VERSION = "softground-run", 1

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
    "torque": (("motor",), "see motor_unit", "motor effort during the step, after clipping", "joint"),
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


def run_dataset(
    simulator: Simulator,
    start: State,
    final: State,
    history: Record,
    control: Any,
    *,
    tally: dict[str, int],
    options: dict[str, Any],
    timing: dict[str, float],
) -> xr.Dataset:
    """Dataset of a run from `start` to `final` under `control`; `history` has a leading axis of samples."""
    robot = simulator.robot
    values = _values(robot, history)
    dims = {name: ("time", *VARIABLES[name][0]) for name in VARIABLES}
    arrays: dict[str, np.ndarray] = {}
    recipe = {
        "simulator": simulator_recipe(simulator, arrays),
        "start": describe(start, arrays, "start"),
        "final": describe(final, arrays, "final"),
        "control": describe(control, arrays, "control"),
    }
    variables = {name: (dims[name], values[name], _attributes(name)) for name in VARIABLES}
    aside = {name: _put_aside(name, array) for name, array in arrays.items()}
    return xr.Dataset(
        variables | aside,
        coords=_coordinates(simulator, history),
        attrs={
            "format": FORMAT,
            "format_version": VERSION,
            "softground_version": importlib.metadata.version("softground"),
            "title": options["title"] or f"{robot.name} on {type(simulator.ground.medium).__name__}",
            "robot": robot.name,
            "mass_kg": float(robot.total_mass),
            "gravity_m_per_s2": np.asarray(robot.gravity, dtype=float),
            "precision": str(np.asarray(history.q).dtype),
            "dt_s": float(simulator.dt),
            "steps": tally["steps"],
            "steps_not_converged": tally["not_converged"],
            "steps_outside_data": tally["outside_data"],
            "mean_iterations": tally["iterations"] / max(tally["steps"], 1),
            "every": options["every"],
            "seed": "none" if options["seed"] is None else options["seed"],
            "command": options["command"],
            "ended": options["ended"],
            **timing,
            **{f"{key}_recipe": json.dumps(value) for key, value in recipe.items()},
        },
    )


def troubles(dataset: xr.Dataset) -> list[str]:
    """What a user must know of a run that did not go as asked, one line each."""
    attrs, lines = dataset.attrs, []
    last = float(dataset["time"][-1])
    if attrs["ended"] == "interrupted":
        lines.append(f"interrupted: the run ends at t = {last:.3f} s")
    if attrs["ended"] == "non-finite":
        fastest = np.abs(dataset["velocity"].values[-1])
        worst = str(dataset["v"].values[int(np.argmax(fastest))])
        lines.append(
            f"stopped: the state became non-finite in the step after t = {last:.3f} s (fastest then: {worst} "
            f"at {fastest.max():.3g}); try a smaller dt, check the gains and the torques"
        )
    if attrs["ended"] not in ("finished", "interrupted", "non-finite"):
        lines.append(f"ended at t = {last:.3f} s: {attrs['ended']}")
    if attrs["steps_not_converged"]:
        lines.append(
            f"{attrs['steps_not_converged']} of {attrs['steps']} steps did not converge: their forces are "
            "approximate; a larger eps or a smaller dt helps"
        )
    if attrs["steps_outside_data"]:
        lines.append(
            f"{attrs['steps_outside_data']} of {attrs['steps']} steps had a foot deeper or more tilted than "
            "the medium's data: forces there are extrapolated"
        )
    return lines


def _values(robot: Robot, history: Record) -> dict[str, np.ndarray]:
    names = ("torque", "wrench_world", "depth", "tilt", "twist", "iterations", "converged", "outside_data")
    values = {name: np.asarray(getattr(history, name)) for name in names}
    values |= {"configuration": np.asarray(history.q), "velocity": np.asarray(history.v)}
    return values | _base_motion(robot, values["configuration"])


def _base_motion(robot: Robot, configurations: np.ndarray) -> dict[str, np.ndarray]:
    """Base pose and centre of mass, by MuJoCo: no compilation for a few thousand samples."""
    model = robot.mujoco_model()
    data = mujoco.MjData(model)
    base = base_body(robot, model)
    moving = [model.body(name).id for name in robot.body_names]
    # Masses as they are now, which MuJoCo's model does not know; centres of mass in the bodies' own frames.
    mass = np.asarray(robot.parameters.mass, dtype=float)
    inside = np.asarray(robot.parameters.com, dtype=float) - np.asarray(robot.parameters.body_origin, dtype=float)

    def place(q: np.ndarray):
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        centers = data.xpos[moving] + np.einsum("bij,bj->bi", data.xmat[moving].reshape(-1, 3, 3), inside)
        return data.xpos[base].copy(), data.xquat[base].copy(), mass @ centers / mass.sum()

    position, quaternion, center = (np.array(values) for values in zip(*map(place, configurations), strict=True))
    return {
        "base_position": position,
        "base_quaternion": quaternion,
        "base_pitch": _pitch(quaternion, place(np.asarray(robot.posture))[1], robot.planar),
        "center_of_mass": center,
    }


def base_body(robot: Robot, model: mujoco.MjModel) -> int:
    """The body of MuJoCo's model that is the robot's base: the first that moves.

    A base may be written as a chain of bodies, each on a slide or a hinge: then it is the last of those that hang on
    one another without a motor and have, together, no more freedom than a free base (6, in the plane 3).
    """
    driven = {int(model.dof_bodyid[dof]) for dof in robot.actuated}
    moving = [model.body(name).id for name in robot.body_names]
    base, most = moving[0], 3 if robot.planar else 6
    freedoms = int(model.body_dofnum[base])
    while base not in driven:
        next_ones = [b for b in moving if model.body_weldid[model.body_parentid[b]] == base]
        freedoms += sum(int(model.body_dofnum[b]) for b in next_ones)
        if len(next_ones) != 1 or next_ones[0] in driven or freedoms > most:
            break
        base = next_ones[0]
    return base


def _pitch(quaternion: np.ndarray, posture: np.ndarray, planar: bool) -> np.ndarray:
    """Pitch (rad) of rotations from that in the posture, whichever way the base's own frame points."""
    turned = Rotation.from_quat(quaternion, scalar_first=True) * Rotation.from_quat(posture, scalar_first=True).inv()
    x, y, z = turned.as_matrix()[:, :, 0].T  # where what points along +x in the posture is now
    return np.unwrap(np.arctan2(-z, x)) if planar else np.arctan2(-z, np.hypot(x, y))


def _attributes(name: str) -> dict[str, str]:
    _, unit, meaning, frame = VARIABLES[name]
    return {"units": unit, "long_name": meaning, "frame": frame}


def _put_aside(name: str, array: np.ndarray):
    """A large array of the recipe, on dimensions of its own."""
    dims = tuple(f"{name}_{axis}" for axis in range(array.ndim))
    return dims, array, {"units": "see recipe", "long_name": f"{name} of the recipe", "frame": "see recipe"}


def _coordinates(simulator: Simulator, history: Record) -> dict[str, Any]:
    robot = simulator.robot
    q_names, q_units, v_units = coordinate_names(robot)
    motors = list(robot.actuated)
    named = lambda dim, values, what: (dim, np.array(list(values), dtype=str), {"long_name": what})  # noqa: E731
    components = COMPONENTS[simulator.feet_medium.kind]
    return {
        "time": (
            "time",
            np.asarray(history.time),
            {"units": "s", "long_name": "time at the start of the step"},
        ),
        "q": named("q", q_names, "entries of the configuration"),
        "q_unit": named("q", q_units, "unit of each entry of the configuration"),
        "v": named("v", robot.dof_names, "degrees of freedom"),
        "v_unit": named("v", v_units, "unit of each entry of the velocity"),
        "motor": named("motor", [robot.dof_names[i] for i in motors], "joints that have a motor"),
        "motor_unit": named("motor", ["N m" if v_units[i] == "rad/s" else "N" for i in motors], "unit of the effort"),
        "motor_dof": (
            "motor",
            np.array(motors, dtype=int),
            {"long_name": "entry of v that each motor drives"},
        ),
        "foot": named("foot", [foot.name for foot in robot.feet], "feet"),
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
