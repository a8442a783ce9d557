"""Imports that wait: names of packages until they are first used (PEP 562), modules until there is time or need."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any


def lazily(
    package: str, names: Sequence[str], homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that exports `names`.

    homes: modules of the package -> the names that come from them. A name without a home is a sub-package.
    A name must not be that of a module beside it: once that is imported, Python finds the module instead.
    """
    home_of = {name: home for home, exported in homes.items() for name in exported}

    def find(name: str) -> Any:
        if name in home_of:
            return getattr(importlib.import_module(f"{package}.{home_of[name]}"), name)
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find, lambda: list(names)


@contextmanager
def imported_meanwhile(*modules: str) -> Iterator[None]:
    """Import modules beside what the context does, which gains time where that waits for compiled code."""
    thread = threading.Thread(target=lambda: [importlib.import_module(module) for module in modules], daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def import_when_used(name: str) -> None:
    """A module is there from now on, and is loaded when something of it is asked for."""
    if name in sys.modules:
        return
    package, _, own = name.rpartition(".")
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    setattr(sys.modules[package], own, module)
