"""Pytrees of arrays as one flat vector and back.

A jitted function takes microseconds for every array that it is given by the host and for every one that it
returns: a tick hands over one vector and gets one.
"""

from __future__ import annotations

import math
from typing import Any, Generic, TypeVar

import jax
import numpy as np
from jaxtyping import Float

from softground.arrays import Array

Tree = TypeVar("Tree")


class Packing(Generic[Tree]):
    """The layout of a pytree, taken from an example (arrays, or shapes as `jax.eval_shape` gives them)."""

    def __init__(self, example: Tree):
        leaves, self._structure = jax.tree.flatten(example)
        self._shapes = [np.shape(leaf) if not hasattr(leaf, "shape") else tuple(leaf.shape) for leaf in leaves]
        self._types = [np.result_type(leaf) if not hasattr(leaf, "dtype") else leaf.dtype for leaf in leaves]
        ends = np.cumsum([math.prod(shape) for shape in self._shapes]).tolist()
        self._slices = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        self.size: int = ends[-1]

    def pack(self, tree: Tree) -> Float[np.ndarray, " n"]:
        """The tree's numbers in a row (NumPy)."""
        leaves, structure = jax.tree.flatten(tree)
        if structure != self._structure:
            raise ValueError(f"expected a tree of structure {self._structure}, got {structure}")
        vector = np.empty(self.size)
        for leaf, place, shape in zip(leaves, self._slices, self._shapes, strict=True):
            vector[place].reshape(shape)[...] = leaf
        return vector

    def pack_traced(self, tree: Tree) -> Float[Array, " n"]:
        """The same inside a jitted function."""
        return jax.numpy.concatenate([jax.numpy.ravel(leaf).astype(float) for leaf in jax.tree.leaves(tree)])

    def unpack(self, vector: Any) -> Tree:
        """The tree again, with NumPy views or, inside a jitted function, traced slices."""
        parts = [vector[place].reshape(shape) for place, shape in zip(self._slices, self._shapes, strict=True)]
        if not isinstance(vector, np.ndarray):
            parts = [part.astype(kind) for part, kind in zip(parts, self._types, strict=True)]
        return jax.tree.unflatten(self._structure, parts)
