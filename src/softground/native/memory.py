"""Elements at places that are found only when a program runs: arrays of operands put into memory.

Where a place is known, nothing is put anywhere: the element is taken as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from softground.native.program import Constant, Load, LocalArray, Operand, Store, Value
from softground.native.scalars import Builder


def element(build: Builder, flat: tuple[Operand, ...], index: Operand) -> Operand:
    """The operand at an index, which must be inside if it is known."""
    if type(index) is Constant:
        return flat[int(index.number)]
    if all(x is flat[0] for x in flat):
        return flat[0]
    return build.load(keep(build, flat), index)


def keep(build: Builder, flat: tuple[Operand, ...]) -> LocalArray:
    """Memory that holds these operands and will not change, put there once."""
    key = ("kept", *map(id, flat))
    found = build.region.find(key)
    if found is None:
        numbers = [x.number for x in flat if type(x) is Constant]
        if len(numbers) == len(flat):
            found = LocalArray(flat[0].kind, len(flat), tuple(numbers))
        else:
            found = _where_they_are(build, flat) or filled(build, flat)
        build.region.table[key] = found
    return found


def _where_they_are(build: Builder, flat: tuple[Operand, ...]) -> LocalArray | None:
    """The array of which these are all elements in order, if there is one."""
    array, _ = build.place_of(flat[0]) or (None, None)
    if array is None or array.size != len(flat):
        return None
    in_order = all(build.place_of(x) == (array, build.int(k)) for k, x in enumerate(flat))
    return array if in_order else None


def filled(build: Builder, flat: Sequence[Operand]) -> LocalArray:
    """New memory that holds these operands now."""
    array = LocalArray(flat[0].kind, len(flat))
    for k, one in enumerate(flat):
        build.add(Store(array, build.int(k), one))
    return array


def current(build: Builder, array: LocalArray, index: Operand) -> Value:
    """The number that memory holds at this moment."""
    result = Value(array.kind)
    build.add(Load(array, index, result))
    return result
