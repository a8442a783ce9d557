"""Descriptions: any pytree of ours as plain JSON, and back, without pickle and without running constructors.

A module is described by the name of its class (`names`) and its fields, an array by its numbers, or, where it is large
or not finite, by the name under which it was put aside (a variable of the run file). What cannot be described (a plain
function) is written as an opaque note, so that a run can always be saved; only repeating it then fails.

The recipe of a simulator is such a description: all that is needed to build one again, as JSON and a few arrays.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import jax
import numpy as np

from softground.errors import FileFormatError, SoftgroundError
from softground.robots import Robot
from softground.runs.names import canonical, class_called, public_name
from softground.runs.old_files import up_to_date
from softground.simulation.ground import Ground
from softground.simulation.simulator import Simulator
from softground.surfaces import Surface

#: Arrays of more entries than this are put aside.
LARGEST_INLINE = 16
Part = TypeVar("Part", Simulator, Robot)


def describe(value: Any, arrays: dict[str, np.ndarray], name: str = "value") -> Any:
    """JSON-able description of a value. Large arrays go into `arrays`, under names that start with `name`."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return _describe_array(np.asarray(value), arrays, name)
    if isinstance(value, tuple | list):
        items = [describe(item, arrays, f"{name}.{i}") for i, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {"dict": {key: describe(item, arrays, f"{name}.{key}") for key, item in value.items()}}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: describe(getattr(value, field.name), arrays, f"{name}.{field.name}")
            for field in dataclasses.fields(value)
        }
        return {"type": public_name(type(value)), "fields": fields}
    return {"opaque": repr(value)}


def restore(description: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value of a description. Only our own classes are imported for it (`names`), and no constructor runs."""
    match description:
        case {"float": text}:
            return float(text)
        case {"array": numbers, "dtype": dtype}:
            return np.asarray(numbers, dtype=dtype)
        case {"stored": name}:
            return _stored(arrays, name)
        case {"tuple": items}:
            return tuple(restore(item, arrays) for item in items)
        case {"dict": items}:
            return {key: restore(item, arrays) for key, item in items.items()}
        case {"type": name, "fields": fields}:
            restored = {key: restore(item, arrays) for key, item in fields.items()}
            return _filled(class_called(name), up_to_date(canonical(name), restored), name)
        case {"opaque": text}:
            raise FileFormatError(f"{text} is code, which a file does not hold: give it again by hand")
        case dict():
            raise FileFormatError(f"a description has unknown keys {sorted(description)}: the file is damaged")
        case list():
            return [restore(item, arrays) for item in description]
        case _:
            return description


def is_opaque(description: Any) -> bool:
    """Whether some part of a description is code that cannot be restored."""
    if isinstance(description, dict):
        return "opaque" in description or any(is_opaque(item) for item in description.values())
    return isinstance(description, list) and any(is_opaque(item) for item in description)


def _describe_array(array: np.ndarray, arrays: dict[str, np.ndarray], name: str) -> dict:
    if array.dtype.kind not in "biuf":
        return {"opaque": repr(array)}
    if array.size > LARGEST_INLINE or (array.dtype.kind == "f" and not np.isfinite(array).all()):
        arrays[name] = array
        return {"stored": name}
    return {"array": array.tolist(), "dtype": array.dtype.name}


def _stored(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in arrays:
        raise FileFormatError(f"the array {name!r} is missing: the file is damaged")
    return np.asarray(arrays[name])


def _filled(cls: type, fields: dict[str, Any], name: str) -> Any:
    """An instance with exactly these fields; its constructor has done its work before it was described.

    A field that older versions did not write has the metadata "absent_from_old_files", and its default stands for it.
    """
    added = {f.name: f.default for f in dataclasses.fields(cls) if f.metadata.get("absent_from_old_files")}
    fields = added | fields
    expected = {field.name for field in dataclasses.fields(cls)}
    if expected != set(fields):
        raise FileFormatError(
            f"{name} has fields {sorted(expected)}, the file gives {sorted(fields)}: it was written by "
            "another version of softground; install that one to repeat the run"
        )
    value = object.__new__(cls)
    for field, item in fields.items():
        object.__setattr__(value, field, item)
    return value


def simulator_recipe(simulator: Simulator, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """JSON-able recipe; large arrays are put into `arrays`.

    Leaves replaced after the simulator was built (`eqx.tree_at` on masses, say) are kept as `changes`.
    """
    robot, surface = simulator.robot, simulator.ground.surface
    recipe = {
        "robot": {"recipe": describe(robot.recipe, arrays, "robot"), "sha256": robot.sha256},
        "medium": describe(simulator.ground.medium, arrays, "medium"),
        "bodies": describe(simulator.ground.bodies, arrays, "bodies"),
        "surface": describe(surface.to_dict(), arrays, "surface"),
        "footprints": describe(simulator.ground.footprints, arrays, "footprints"),
        "dt": float(simulator.dt),
        "solver": describe(simulator.solver, arrays, "solver"),
        "grain_inertia": describe(simulator.grain_inertia, arrays, "grain_inertia"),
        "backend": simulator.backend,
    }
    changes = _changes(simulator, recipe, arrays)
    recipe["changes"] = {path: describe(leaf, arrays, f"change.{i}") for i, (path, leaf) in enumerate(changes.items())}
    return recipe


def build_simulator(recipe: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Simulator:
    """The simulator of a recipe; FileFormatError where it would not be the one that was described."""
    simulator = _plain(recipe, arrays)
    if simulator.robot.sha256 != recipe["robot"]["sha256"]:
        raise FileFormatError(
            f"the model of robot {simulator.robot.recipe.source!r} has changed since the run: its digest is "
            f"{simulator.robot.sha256[:12]}, the run's {recipe['robot']['sha256'][:12]}; restore it"
        )
    return _with_changes(simulator, recipe, arrays)


def build_robot(recipe: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Robot:
    """The robot of a simulator's recipe, with what was changed of it."""
    robot = Robot.from_recipe(restore(recipe["robot"]["recipe"], arrays))
    return _with_changes(robot, recipe, arrays, part=".robot")


def _with_changes(built: Part, recipe: Mapping[str, Any], arrays: Mapping[str, np.ndarray], part: str = "") -> Part:
    """A simulator, or a part of it, with the changed leaves; part: its path in a simulator."""
    changes = {
        path.removeprefix(part): restore(leaf, arrays)
        for path, leaf in recipe.get("changes", {}).items()
        if path.startswith(part)
    }
    leaves, structure = jax.tree_util.tree_flatten_with_path(built)
    unknown = set(changes) - {jax.tree_util.keystr(path) for path, _ in leaves}
    if unknown:
        raise FileFormatError(f"the run changed {sorted(unknown)}, which this version of softground does not have")
    return jax.tree.unflatten(structure, [changes.get(jax.tree_util.keystr(path), leaf) for path, leaf in leaves])


def _plain(recipe: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Simulator:
    """The simulator before changes."""
    return Simulator(
        Robot.from_recipe(restore(recipe["robot"]["recipe"], arrays)),
        Ground(
            restore(recipe["medium"], arrays),
            Surface.from_dict(restore(recipe["surface"], arrays)),
            footprints=restore(recipe.get("footprints"), arrays),
            bodies=restore(recipe.get("bodies"), arrays),
        ),
        recipe["dt"],
        solver=restore(recipe["solver"], arrays),
        grain_inertia=restore(recipe["grain_inertia"], arrays),
        backend=recipe.get("backend", "auto"),
    )


def _changes(simulator: Simulator, recipe: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict:
    """Leaves (by path) in which the simulator differs from the one its recipe builds."""
    try:
        plain = _plain(recipe, arrays)
    except SoftgroundError:
        return {}  # holds code that no file can keep: building it again will say so
    leaves = jax.tree_util.tree_flatten_with_path(simulator)[0]
    built = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_flatten_with_path(plain)[0]}
    return {
        name: leaf
        for name, leaf in ((jax.tree_util.keystr(path), leaf) for path, leaf in leaves)
        if name not in built or not np.array_equal(leaf, built[name], equal_nan=True)
    }
