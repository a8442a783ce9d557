"""Pytrees of arrays as one flat vector and back.

A compiled function takes microseconds for every array that it is given by the host and for every one that it returns:
a tick hands over one vector and gets one.
"""

from __future__ import annotations

import math
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import OptionError

Tree = TypeVar("Tree")


class Packing(Generic[Tree]):
    """The layout of a pytree, taken from an example (arrays, or shapes as `jax.eval_shape` gives them)."""

    def __init__(self, example: Tree):
        leaves, self._structure = jax.tree.flatten(jax.eval_shape(lambda tree: tree, example))
        self._paths = _paths(example)
        self._shapes = [leaf.shape for leaf in leaves]
        self._other_types = [(k, leaf.dtype) for k, leaf in enumerate(leaves) if leaf.dtype != np.float64]
        ends = np.cumsum([math.prod(shape) for shape in self._shapes]).tolist()
        self._slices = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    def pack(self, tree: Tree) -> Float[np.ndarray, " n"]:
        """The tree's numbers in a row (NumPy). A tree that is not like the example raises OptionError."""
        leaves, structure = jax.tree.flatten(tree)
        arrays = [np.asarray(leaf) for leaf in leaves]
        if structure != self._structure or [array.shape for array in arrays] != self._shapes:
            raise OptionError(self._misfit(tree))
        return np.concatenate([array.ravel() for array in arrays], dtype=float, casting="unsafe")

    def pack_traced(self, tree: Tree) -> Float[Array, " n"]:
        """The same inside a compiled function."""
        return jnp.concatenate([jnp.ravel(leaf).astype(float) for leaf in jax.tree.leaves(tree)])

    def unpack(self, vector: Any) -> Tree:
        """The tree again: views of a NumPy vector where the type allows, slices of a traced one."""
        parts = [vector[place].reshape(shape) for place, shape in zip(self._slices, self._shapes, strict=True)]
        for k, kind in self._other_types:
            parts[k] = parts[k].astype(kind)
        return jax.tree.unflatten(self._structure, parts)

    def _misfit(self, tree: Tree) -> str:
        """What is wrong with a tree that is not like the example."""
        given, expected = _paths(tree), self._paths
        missing, extra = ([path for path in a if path not in b] for a, b in ((expected, given), (given, expected)))
        if missing or extra:
            return f"missing: {', '.join(missing) or 'nothing'}; not expected: {', '.join(extra) or 'nothing'}"
        shapes = [np.shape(leaf) for leaf in jax.tree.leaves(tree)]
        wrong = (
            f"{path} must have shape {right}, got {shape}"
            for path, right, shape in zip(expected, self._shapes, shapes, strict=True)
            if shape != right
        )
        return "; ".join(wrong)


def _paths(tree) -> list[str]:
    """Names of the leaves: .com.position, .frames['chest'].rotation, ..."""
    return [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
