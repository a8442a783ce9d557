"""The surface as an argument: objects that hold one, moved to another."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from softground.surfaces import Surface

T = TypeVar("T")

UNEVEN = 1e-3
"""Relative (and absolute) size of the noise on a surface's parameters that makes it generic."""


def on_surface(tree: T, surface: Surface) -> T:
    """A pytree with every surface in it replaced."""
    holds = lambda node: isinstance(node, Surface)  # noqa: E731
    return jax.tree.map(lambda node: surface if holds(node) else node, tree, is_leaf=holds)


def same_kind(one: Surface, other: Surface) -> bool:
    """Whether an NLP compiled for one surface runs with the other: same type, arrays of the same shapes."""
    return _kind(one) == _kind(other)


def _kind(surface: Surface) -> tuple[Any, ...]:
    leaves, structure = jax.tree.flatten(surface)
    return structure, tuple((jnp.shape(leaf), jnp.result_type(leaf)) for leaf in leaves)


def generic(surface: Surface) -> Surface:
    """The surface with a little noise on its parameters.

    On level ground many derivatives are zero that are not on a slope (the height of the base by x, for one). Patterns
    found with noise hold for every surface of the kind.
    """
    rng = np.random.default_rng(0)

    def stir(leaf):
        leaf = jnp.asarray(leaf)
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf
        return leaf + UNEVEN * (1 + jnp.abs(leaf)) * rng.uniform(0.5, 1.0, leaf.shape)

    return jax.tree.map(stir, surface)
