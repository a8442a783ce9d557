"""Primitives that only move elements about, or make constants: NumPy does them on arrays of operands."""

from __future__ import annotations

import numpy as np

from softground.native.errors import NotNative
from softground.native.primitives.table import primitive
from softground.native.scalars import Builder


@primitive("copy", "copy_p", "stop_gradient", "reduce_precision", "reshard")
def same(build, equation, inputs):
    return inputs[0]


@primitive("device_put", "optimization_barrier")
def all_same(build, equation, inputs):
    return inputs


@primitive("broadcast_in_dim")
def broadcast(build, equation, inputs):
    array, shape = inputs[0], equation.params["shape"]
    aligned = [1] * len(shape)
    for size, dimension in zip(array.shape, equation.params["broadcast_dimensions"], strict=True):
        aligned[dimension] = size
    return np.broadcast_to(array.reshape(aligned), shape)


@primitive("reshape", "squeeze")
def reshape(build, equation, inputs):
    return inputs[0].reshape(equation.outvars[0].aval.shape)


@primitive("transpose")
def transpose(build, equation, inputs):
    return inputs[0].transpose(equation.params["permutation"])


@primitive("rev")
def reverse(build, equation, inputs):
    return np.flip(inputs[0], equation.params["dimensions"])


@primitive("concatenate")
def concatenate(build, equation, inputs):
    return np.concatenate(inputs, equation.params["dimension"])


@primitive("stack")
def stack(build, equation, inputs):
    return np.stack(inputs, equation.params["axis"])


@primitive("split")
def split(build, equation, inputs):
    return np.split(inputs[0], np.cumsum(equation.params["sizes"])[:-1], equation.params["axis"])


@primitive("unstack")
def unstack(build, equation, inputs):
    return [np.asarray(x, object) for x in np.moveaxis(inputs[0], equation.params["axis"], 0)]


@primitive("tile")
def tile(build, equation, inputs):
    return np.tile(inputs[0], equation.params["reps"])


@primitive("slice")
def slice_(build, equation, inputs):
    starts, stops = equation.params["start_indices"], equation.params["limit_indices"]
    strides = equation.params["strides"] or (1,) * len(starts)
    return inputs[0][tuple(map(slice, starts, stops, strides))]


@primitive("pad")
def pad(build, equation, inputs):
    """Around, between, and (where negative) off the edges."""
    array, filler = inputs
    for axis, (low, high, between) in enumerate(equation.params["padding_config"]):
        array = np.moveaxis(array, axis, 0)
        spread = max(0, len(array) + (len(array) - 1) * between)
        padded = np.full((max(low, 0) + spread + max(high, 0), *array.shape[1:]), filler.item(), object)
        padded[max(low, 0) : max(low, 0) + spread : between + 1] = array
        padded = padded[max(-low, 0) : len(padded) - max(-high, 0)]
        array = np.moveaxis(padded, 0, axis)
    return array


@primitive("iota")
def iota(build: Builder, equation, inputs):
    if inputs:
        raise NotNative("an iota of dynamic shape has no native form")
    shape, dimension = equation.params["shape"], equation.params["dimension"]
    along = np.arange(shape[dimension]).astype(equation.params["dtype"])
    return np.broadcast_to(np.expand_dims(build.lift(along), [k for k in range(len(shape)) if k != dimension]), shape)


@primitive("platform_index")
def platform(build: Builder, equation, inputs):
    """The branch for a CPU among those of several platforms, or the one for all others."""
    choices = equation.params["platforms"]
    at = next(k for k, names in enumerate(choices) if names is None or "cpu" in names)
    return build.lift(np.int32(at))
