"""Rotations: quaternions (w, x, y, z, as MuJoCo), 3x3 matrices, and the exponential map.

Products of 3x3 matrices are written as three-term sums: XLA fuses them into the neighbouring elementwise
work, where a `dot` of that size would be a separate call costing more than its arithmetic.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array


@jax.jit
def matmul3(a: Float[Array, "*#n 3 3"], b: Float[Array, "*#n 3 m"]) -> Float[Array, "... 3 m"]:
    """Product a b of (batches of) 3x3 matrices and matrices of three rows."""
    return a[..., :, 0:1] * b[..., 0:1, :] + a[..., :, 1:2] * b[..., 1:2, :] + a[..., :, 2:3] * b[..., 2:3, :]


@jax.jit
def matvec3(a: Float[Array, "*#n 3 3"], x: Float[Array, "*#n 3"]) -> Float[Array, "... 3"]:
    """Product a x of (batches of) 3x3 matrices and vectors."""
    return a[..., :, 0] * x[..., 0:1] + a[..., :, 1] * x[..., 1:2] + a[..., :, 2] * x[..., 2:3]


def transpose3(a: Float[Array, "*n 3 3"]) -> Float[Array, "*n 3 3"]:
    """Transpose of the last two axes."""
    return jnp.swapaxes(a, -1, -2)


@jax.jit
def cross(a: Float[Array, "*#n 3"], b: Float[Array, "*#n 3"]) -> Float[Array, "... 3"]:
    """Vector product a x b along the last axis."""
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    return jnp.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1)


@jax.jit
def skew(a: Float[Array, "*n 3"]) -> Float[Array, "*n 3 3"]:
    """Matrix [a]x with [a]x b = a x b."""
    zero = jnp.zeros_like(a[..., 0])
    rows = [zero, -a[..., 2], a[..., 1], a[..., 2], zero, -a[..., 0], -a[..., 1], a[..., 0], zero]
    return jnp.stack(rows, axis=-1).reshape(*a.shape[:-1], 3, 3)


@jax.jit
def normalize(quaternion: Float[Array, "*n 4"]) -> Float[Array, "*n 4"]:
    """Quaternion of unit length along the given one."""
    return quaternion / jnp.sqrt(jnp.sum(quaternion * quaternion, axis=-1, keepdims=True))


@jax.jit
def quaternion_matrix(quaternion: Float[Array, "*n 4"]) -> Float[Array, "*n 3 3"]:
    """Rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = (quaternion[..., k] for k in range(4))
    entries = [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return jnp.stack(entries, axis=-1).reshape(*quaternion.shape[:-1], 3, 3)


@jax.jit
def quaternion_product(a: Float[Array, "*#n 4"], b: Float[Array, "*#n 4"]) -> Float[Array, "... 4"]:
    """Hamilton product a b."""
    aw, ax, ay, az = (a[..., k] for k in range(4))
    bw, bx, by, bz = (b[..., k] for k in range(4))
    return jnp.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


@jax.jit
def quaternion_conjugate(quaternion: Float[Array, "*n 4"]) -> Float[Array, "*n 4"]:
    """Inverse of a unit quaternion."""
    return jnp.concatenate([quaternion[..., :1], -quaternion[..., 1:]], axis=-1)


@jax.jit
def quaternion_exp(rotation_vector: Float[Array, "*n 3"]) -> Float[Array, "*n 4"]:
    """Unit quaternion of a rotation vector (radians): (cos |r|/2, sin(|r|/2) r/|r|), smooth at zero."""
    square = jnp.sum(rotation_vector * rotation_vector, axis=-1, keepdims=True)
    small = square < 1e-12
    angle = jnp.sqrt(jnp.where(small, 1.0, square))  # the safe operand keeps derivatives finite at zero
    scale = jnp.where(small, 0.5 - square / 48, jnp.sin(0.5 * angle) / angle)
    real = jnp.where(small, 1 - square / 8, jnp.cos(0.5 * angle))
    return jnp.concatenate([real, scale * rotation_vector], axis=-1)


@jax.jit
def quaternion_log(quaternion: Float[Array, "*n 4"]) -> Float[Array, "*n 3"]:
    """Rotation vector (radians, at most pi long) of a unit quaternion; inverse of `quaternion_exp`."""
    quaternion = jnp.where(quaternion[..., :1] < 0, -quaternion, quaternion)  # q and -q are one rotation
    real, vector = quaternion[..., :1], quaternion[..., 1:]
    square = jnp.sum(vector * vector, axis=-1, keepdims=True)
    small = square < 1e-12
    sine = jnp.sqrt(jnp.where(small, 1.0, square))
    scale = jnp.where(small, 2 + square / 3, 2 * jnp.arctan2(sine, real) / sine)
    return scale * vector


# The same in plain NumPy (no tracing, always float64): for models that are being read and motions that are over.


def quaternion_matrix_numpy(quaternion) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of quaternions (..., 4: w, x, y, z) of any length, in NumPy."""
    w, x, y, z = np.moveaxis(_unit(quaternion), -1, 0)
    entries = [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return np.stack(entries, axis=-1).reshape(*w.shape, 3, 3)


def axis_angle_quaternion_numpy(axis, angle) -> np.ndarray:
    """Unit quaternions (..., 4: w, x, y, z) of turns by angles (rad) about `axis`, in NumPy."""
    half = np.asarray(angle, float)[..., None] / 2
    return np.concatenate([np.cos(half), np.sin(half) * _unit(axis)], axis=-1)


def quaternion_product_numpy(a, b) -> np.ndarray:
    """Hamilton products of quaternions (..., 4: w, x, y, z), in NumPy."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    (aw, av), (bw, bv) = (a[..., :1], a[..., 1:]), (b[..., :1], b[..., 1:])
    real = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate([real, aw * bv + bw * av + np.cross(av, bv)], axis=-1)


def quaternion_between_numpy(a, b) -> np.ndarray:
    """Quaternions (..., 4: w, x, y, z) of the turns from b to a, which are a b^-1, in NumPy."""
    return quaternion_product_numpy(_unit(a), _unit(b) * [1.0, -1.0, -1.0, -1.0])


def _unit(vectors) -> np.ndarray:
    vectors = np.asarray(vectors, float)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
