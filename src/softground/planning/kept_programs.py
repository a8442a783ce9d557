"""Machine code of compiled functions of JAX, kept on disk under what they were made for.

JAX's own cache finds a program by its text, for which it must be traced and lowered: most of the time of a short
command. Here programs are found by an identity that their owner knows without tracing. It must hold all that they
depend on but softground itself, JAX and XLA's settings, which are added; so only functions made of softground's own
parts are kept, because of no others is known whether their source has changed.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental.serialize_executable import deserialize_and_load, serialize

import softground
from softground.native import ffi
from softground.native.errors import NotNative
from softground.native.kept import digest_of, kept

JAX_FOUND_IT = "/jax/compilation_cache/cache_hits"


class Kept:
    """Programs and findings under one identity; where that is None they are made anew in every process."""

    def __init__(self, identity: str | None):
        self._identity = None if identity is None else digest_of(identity, surroundings())
        self._lock = threading.Lock()

    def found(self, name: str, make: Callable[[], Any]) -> Any:
        """What is found out once: anything that can be pickled."""
        return pickle.loads(self._bytes(name, lambda: pickle.dumps(make())))

    def program(self, name: str, function: Callable) -> Callable:
        """The function, compiled for the shapes of its arguments: lists of arrays, arrays and numbers."""
        made: dict[tuple, Callable] = {}

        def call(*arguments):
            arguments = jax.tree.map(_as_array, arguments)
            shapes = tuple(np.shape(leaf) for leaf in jax.tree.leaves(arguments))
            if shapes not in made:
                with self._lock:
                    made.setdefault(shapes, self._compiled(f"{name} {shapes}", function, arguments))
            return made[shapes](*arguments)

        return call

    def _compiled(self, name: str, function: Callable, arguments: tuple) -> Callable:
        if self._identity is None:
            return jax.jit(function)
        fresh: list[jax.stages.Compiled] = []

        def make() -> bytes:
            compiled, targets, again = _machine_code(function, arguments)
            fresh.append(compiled)
            if again:
                raise _Unkeepable
            return pickle.dumps((sorted(targets), serialize(compiled)))

        try:
            content = self._bytes(name, make)
            return fresh[0] if fresh else _loaded(content)
        except _Unkeepable:
            return fresh[0]
        except (NotNative, RuntimeError, pickle.UnpicklingError):  # what it calls was deleted, or is of another XLA
            return jax.jit(function)

    def _bytes(self, name: str, make: Callable[[], bytes]) -> bytes:
        if self._identity is None:
            return make()
        return kept(f"{digest_of(self._identity, name)}.plan", make)


def _as_array(leaf: Any) -> Any:
    return leaf if isinstance(leaf, jax.Array) else np.asarray(leaf, dtype=float)


class _Unkeepable(Exception):
    """A program that JAX has read from its own cache: it runs, but cannot be written a second time."""


def _machine_code(function: Callable, arguments: tuple) -> tuple[jax.stages.Compiled, set[str], bool]:
    """A compiled function, the names of the native programs that it calls, and whether JAX's cache had it.

    JAX's cache knows it by its name too: that of this version, so that a new one is not taken for an old one's.
    """
    found: list[str] = []
    listen = lambda event, **_: found.append(event) if event == JAX_FOUND_IT else None  # noqa: E731
    function.__name__ = f"planning_{version('softground')}".replace(".", "_")
    jax.monitoring.register_event_listener(listen)
    try:
        with ffi.noted() as targets:
            compiled = jax.jit(function).lower(*arguments).compile()
    finally:
        jax.monitoring.unregister_event_listener(listen)
    return compiled, targets, bool(found)


def _loaded(content: bytes) -> Callable:
    targets, program = pickle.loads(content)
    for target in targets:
        ffi.register_again(target)
    return deserialize_and_load(*program)


@cache
def surroundings() -> str:
    """What every program depends on: softground's sources, JAX, XLA's settings."""
    root = Path(softground.__file__).parent
    sources = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        sources.update(f"{file.relative_to(root)}".encode() + file.read_bytes())
    settings = [f"{name}={os.environ.get(name, '')}" for name in ("XLA_FLAGS", "PJRT_NPROC", "SOFTGROUND_LLVM_LEVEL")]
    return digest_of(sources.hexdigest(), jax.__version__, np.__version__, *settings)
