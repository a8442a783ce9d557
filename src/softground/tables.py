"""Results on the terminal: tables whose columns and units are read off the keys of a result."""

from __future__ import annotations

from typing import Any

UNITS = {"m": "m", "mm": "mm", "rad": "rad", "n": "N", "j": "J", "us": "us", "m_per_s": "m/s"}
"""Endings of keys that are units, and how they are written."""
ROUNDING = 1e-12
"""What is smaller, in the units of a result, is written as zero."""


def print_rows(title: str, rows: dict[str, dict[str, Any]]) -> None:
    """A row for every entry, a column for every key of its values."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    table.add_column("", no_wrap=True)
    for column in columns:
        table.add_column(_label(column), justify="left" if column == "" else "right", overflow="fold")
    for name, row in rows.items():
        table.add_row(str(name), *(_text(row.get(column, "")) for column in columns))
    Console().print(table)


def print_pairs(title: str, pairs: dict[str, Any]) -> None:
    """A line for every entry that says something."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", show_header=False)
    for name, value in pairs.items():
        if value == "":
            continue
        table.add_row(_label(name), _text(value))
    Console().print(table)


def _text(value: Any) -> str:
    if isinstance(value, float):
        value = 0.0 if abs(value) < ROUNDING else value
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if type(value) is int else str(value)


def _label(name: str) -> str:
    """A key of a result as words: "distance_m" becomes "distance (m)"."""
    unit = max((unit for unit in UNITS if name.endswith(f"_{unit}")), key=len, default=None)
    words = name.replace("_", " ")
    return words if unit is None else f"{words[: -len(unit) - 1]} ({UNITS[unit]})"
