"""Results on the terminal: tables whose columns and units are read off the keys of a result."""

from __future__ import annotations

from typing import Any

UNITS = {"m": "m", "mm": "mm", "rad": "rad", "n": "N", "j": "J", "us": "us"}
"""Endings of keys that are units, and how they are written."""


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
    """A line for every entry."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", show_header=False)
    for name, value in pairs.items():
        table.add_row(_label(name), _text(value))
    Console().print(table)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if type(value) is int else str(value)


def _label(name: str) -> str:
    """A key of a result as words: "distance_m" becomes "distance (m)"."""
    words, _, unit = name.rpartition("_")
    return f"{words} ({UNITS[unit]})".replace("_", " ") if words and unit in UNITS else name.replace("_", " ")
