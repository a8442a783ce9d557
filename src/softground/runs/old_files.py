"""Files of older versions: what their descriptions of classes said, in today's terms.

A class whose fields changed has an entry here under its name; `up_to_date` leaves descriptions of today as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Fields = dict[str, Any]

VARIABLES = {"motor": "actuator", "motor_unit": "actuator_unit", "motor_dof": "actuator_dof"}
"""Names of dimensions and variables of a run in older files -> today's."""


def _renamed(**names: str | None) -> Callable[[Fields], Fields]:
    """Fields under their new names; None: they are gone."""

    def update(fields: Fields) -> Fields:
        return {names.get(key, key): value for key, value in fields.items() if names.get(key, key)}  # type: ignore[misc]

    return update


def _wrench_space(fields: Fields) -> Fields:
    """Until 0.1 coefficients had a last vertex at the origin, which is now added when they are used."""
    if "components" in fields:
        fields = fields | {"coefficients": fields["coefficients"][:, :-1]}
    return _renamed(components="kind", height="reference_height")(fields)


def _as_array(name: str) -> Callable[[Fields], Fields]:
    """A number that was fixed in the program, as the array that it is now."""
    return lambda fields: fields | {name: np.asarray(fields[name], dtype=float)}


def _state(fields: Fields) -> Fields:
    """Until 0.2 all feet were of one group, whose memory and twists stood alone, and the twists of two steps were kept:
    the third is put on a line with them, so that extrapolation goes on as it did."""
    if not isinstance(fields["twists"], tuple):
        fields = fields | {"memory": (fields["memory"],), "twists": (fields["twists"],)}
    twists = (u if len(u) > 2 else np.concatenate([u, 2 * u[1:] - u[:1]]) for u in fields["twists"])
    return fields | {"twists": tuple(twists)}


_UPDATES: dict[str, Callable[[Fields], Fields]] = {
    "resistive": _renamed(stress_law="law"),
    "wrench-space": _wrench_space,
    "learned-space": _wrench_space,
    "noisy": _renamed(sigma_force="sigma", foot=None),
    "visco-elastic": _renamed(sole=None, components=None),
    "firm": _renamed(sole=None, components=None),
    "wedge": _renamed(sole=None, components=None),
    "state": _state,
    "sinking": _as_array("onset"),
    "ball-depth": _as_array("radius"),
}


def up_to_date(name: str, fields: Fields) -> Fields:
    """Fields of a class, as today's class of this name has them."""
    return _UPDATES[name](fields) if name in _UPDATES else fields
