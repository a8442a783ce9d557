"""The surfaces that every generic test runs on: a new surface is tested once it is listed here."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import trimesh

from softground.surfaces import HeightField, MeshSurface, Plane, Ramp, Surface, Wave


def bumps(x, y):
    return 0.03 * np.sin(5.0 * x + 0.4) * np.cos(4.0 * y)


def block_of_bumps(spacing: float) -> trimesh.Trimesh:
    """A closed block, 1.2 m square, bottom at -0.7 m, its top the bumps.

    Deep enough that the kink of the distance halfway down is ten samples away from the points tested.
    """
    n = round(1.2 / spacing) + 1
    axis = np.linspace(-0.6, 0.6, n)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    top = np.stack([x, y, bumps(x, y)], -1).reshape(-1, 3)
    bottom = np.stack([x, y, np.full_like(x, -0.7)], -1).reshape(-1, 3)
    i, j = (k.ravel() for k in np.meshgrid(np.arange(n - 1), np.arange(n - 1), indexing="ij"))
    a, b, c, d = i * n + j, (i + 1) * n + j, (i + 1) * n + j + 1, i * n + j + 1
    upper = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    rim = np.concatenate(
        [
            np.arange(n) * n,
            (n - 1) * n + np.arange(1, n),
            np.arange(n - 2, -1, -1) * n + n - 1,
            np.arange(n - 2, 0, -1),
        ]
    )
    p, q = rim, np.roll(rim, -1)
    side = np.concatenate([np.stack([p, p + n * n, q], 1), np.stack([q, p + n * n, q + n * n], 1)])
    faces = np.concatenate([upper, upper[:, ::-1] + n * n, side])
    return trimesh.Trimesh(np.concatenate([top, bottom]), faces)


def field_of_bumps() -> HeightField:
    axis = np.linspace(-0.6, 0.6, 31)
    return HeightField(bumps(axis[:, None], axis[None]), 0.04, origin=(-0.6, -0.6))


@cache
def mesh_of_bumps() -> MeshSurface:
    return MeshSurface(block_of_bumps(0.03), 0.04)


MAKERS = {
    "level": lambda: Plane(),
    "incline": lambda: Plane(0.3, 0.7, (0.1, -0.2, 0.05)),
    "wave": lambda: Wave(0.03, 0.8, 0.5, 0.2),
    "ramp": lambda: Ramp(0.4, 0.5, -0.6, (0.1, 0.0, 0.02)),
    "height_field": field_of_bumps,
    "mesh": mesh_of_bumps,
}
SURFACES = tuple(MAKERS)


@cache
def surface(name: str) -> Surface:
    return MAKERS[name]()


@eqx.filter_jit
def look(ground: Surface, points):
    """Distances, normals and frames at the points (n, 3). One compilation for each kind of surface."""
    return jax.vmap(lambda p: (ground.signed_distance(p), ground.normal(p), ground.frame(p)))(points)


@eqx.filter_jit
def heights(ground: Surface, xy):
    """Heights at (n, 2)."""
    return jax.vmap(ground.height)(xy)


def points_near(ground: Surface, deepest: float, count: int = 40) -> np.ndarray:
    """Points (count, 3) within `deepest` [m] above and below the ground, |x|, |y| < 0.25 m."""
    random = np.random.default_rng(0)
    xy = random.uniform(-0.25, 0.25, (count, 2))
    z = np.asarray(heights(ground, jnp.asarray(xy))) + random.uniform(-deepest, deepest, count)
    return np.column_stack([xy, z])
