"""Machine code of compiled functions of JAX, kept on disk under what they were made for.

JAX's own cache finds a program by its text, for which it must be traced and lowered: most of the time of a short
command. Here programs are found by an identity that their owner knows without tracing. It must hold all that they
depend on but softground itself, JAX and XLA's settings, which are added; so only functions made of softground's own
parts are kept, because of no others is known whether their source has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

import softground
from softground.native import ffi
from softground.native.errors import NotNative
from softground.native.kept import digest_of, kept

JAX_FOUND_IT = "/jax/compilation_cache/cache_hits"
Finding = TypeVar("Finding", bound=tuple)


class Kept:
    """Programs and findings under one identity; where that is None they are made anew in every process."""

    def __init__(self, identity: str | None):
        self._identity = None if identity is None else digest_of(identity, surroundings())
        self._lock = threading.Lock()

    def found(self, name: str, kind: type[Finding], make: Callable[[], list[Finding]]) -> list[Finding]:
        """What is found out once: a list of one kind of `NamedTuple`, of arrays and integers."""
        if self._identity is None:
            return make()
        return _findings(self._bytes(name, lambda: _of_findings(make())), kind)

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
            form = _form(jax.tree.unflatten(compiled.out_tree, range(compiled.out_tree.num_leaves)))
            executable = compiled.runtime_executable()
            if again or form is None or executable is None:
                raise _Unkeepable
            head = json.dumps({"targets": sorted(targets), "form": form}).encode()
            return len(head).to_bytes(8, "little") + head + executable.serialize()

        try:
            content = self._bytes(name, make)
            return fresh[0] if fresh else _Loaded(content)
        except _Unkeepable:
            return fresh[0]
        except (NotNative, RuntimeError):  # what it calls was deleted, or is of another XLA
            return jax.jit(function)

    def _bytes(self, name: str, make: Callable[[], bytes]) -> bytes:
        if self._identity is None:
            return make()
        return kept(f"{digest_of(self._identity, name)}.plan", make)


def _of_findings(found: Sequence[tuple]) -> bytes:
    """Findings as the content of a file of NumPy's: an entry for every field of every one."""
    file = BytesIO()
    np.savez(file, **{f"{k} {field}": value for k, one in enumerate(found) for field, value in one._asdict().items()})  # type: ignore[attr-defined]
    return file.getvalue()


def _findings(content: bytes, kind: type[Finding]) -> list[Finding]:
    with np.load(BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    fields = kind._fields  # type: ignore[attr-defined]
    values = {name: array if array.ndim else array.item() for name, array in arrays.items()}
    return [kind(*(values[f"{k} {field}"] for field in fields)) for k in range(len(values) // len(fields))]


def _form(tree: Any) -> Any:
    """How lists, tuples and dictionaries hold results, whose numbers are the leaves; None where others hold them."""
    if isinstance(tree, int):
        return tree
    if type(tree) in (list, tuple):
        parts = [_form(part) for part in tree]
        return None if None in parts else {type(tree).__name__: parts}
    if type(tree) is dict and all(isinstance(key, str) for key in tree):
        parts = {key: _form(part) for key, part in tree.items()}
        return None if None in parts.values() else {"dict": parts}
    return None


def _filled(form: Any, leaves: Sequence[Any]) -> Any:
    """Results in their form."""
    if isinstance(form, int):
        return leaves[form]
    ((kind, parts),) = form.items()
    if kind == "dict":
        return {key: _filled(part, leaves) for key, part in parts.items()}
    return {"list": list, "tuple": tuple}[kind](_filled(part, leaves) for part in parts)


class _Loaded:
    """A program from disk: arrays go into XLA's executable in the order of the tree's leaves."""

    def __init__(self, content: bytes):
        size = int.from_bytes(content[:8], "little")
        head = json.loads(content[8 : 8 + size])
        _linear_algebra_is_there()
        for target in head["targets"]:
            ffi.register_again(target)
        self._form, self._device = head["form"], jax.devices()[0]
        self._program = self._device.client.deserialize_executable(content[8 + size :], [self._device])

    def __call__(self, *arguments):
        leaves = [jax.device_put(leaf, self._device) for leaf in jax.tree.leaves(arguments)]
        results = self._program.execute_sharded(leaves).disassemble_into_single_device_arrays()
        return _filled(self._form, [parts[0] for parts in results])


@cache
def _linear_algebra_is_there() -> None:
    """JAX finds LAPACK when it lowers the first program that calls it; a program from disk would call nothing."""
    jax.jit(jnp.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), float))


def _as_array(leaf: Any) -> Any:
    return leaf if isinstance(leaf, jax.Array) else np.asarray(leaf, dtype=float)


class _Unkeepable(Exception):
    """A program that JAX has read from its own cache, or whose results are held otherwise: it runs, and is not kept."""


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
            compiled = jax.jit(function, keep_unused=True).lower(*arguments).compile()
    finally:
        jax.monitoring.unregister_event_listener(listen)
    return compiled, targets, bool(found)


@cache
def surroundings() -> str:
    """What every program depends on: softground's sources, JAX, XLA's settings."""
    root = Path(softground.__file__).parent
    sources = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        sources.update(f"{file.relative_to(root)}".encode() + file.read_bytes())
    settings = [f"{name}={os.environ.get(name, '')}" for name in ("XLA_FLAGS", "PJRT_NPROC", "SOFTGROUND_LLVM_LEVEL")]
    return digest_of(sources.hexdigest(), jax.__version__, np.__version__, *settings)
