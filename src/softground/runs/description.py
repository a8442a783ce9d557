"""Descriptions: any pytree of ours as plain JSON, and back, without pickle and without running constructors.

A module is described by the name of its class (`names`) and its fields, an array by its numbers, or, where it is large
or not finite, by the name under which it was put aside (a variable of the run file). What cannot be described (a plain
function) is written as an opaque note, so that a run can always be saved; only repeating it then fails.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from softground.errors import FileFormatError
from softground.runs.names import canonical, class_called, public_name
from softground.runs.old_files import up_to_date

#: Arrays of more entries than this are put aside.
LARGEST_INLINE = 16


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
