"""What the ground must have been given for bodies to be where they are in it, by its law alone.

A body came from above the surface, so its surface has passed every point of the ground that is now inside it, with
its outward normal n ahead: n.v > 0. There the ground took, per area and time, at least

    grains:   c scale depth (n.v),      c = min over n and v of  phi(v; n) / (n.v)        (docs/media.md, Elements)
    springs:  k depth (n.v), n and v vertical: what a bed of springs holds goes by where a body is, not by its way

and n.v dA dt is the volume that is passed. So a body that occupies the volume V below the surface has cost the rate
(k, or c times the scale, N/m3) times the integral of depth over V, whatever the way it came. By the divergence theorem
that integral is one over its surface, of -n_z depth^2 / 2: no elements and no points of the step are in it.

Of bodies made of several parts, feet among them, the part counts that displaces most, because parts overlap.
"""

from __future__ import annotations

from functools import cache

import jax
import numpy as np
from jaxtyping import Float

from softground.errors import OptionError
from softground.media.base import Medium
from softground.media.elements import Elements
from softground.media.elements.fit import directions
from softground.media.elements.stress_sets import ellipsoids
from softground.media.resistive import Resistive
from softground.media.resistive.stress import GENERIC, SURFACE_FRICTION
from softground.media.visco_elastic import ViscoElastic
from softground.robots import Robot
from softground.robots.shapes import Panels

TILTS, WAYS = 201, 4000
"""Vertical components of normals and directions of motion over which c is sought."""
POSES, PANELS = 64, 2048
"""Looked at at a time: their depths stay in the processor's cache."""


def least_rate(medium: Medium) -> float:
    """Least energy that bodies cost for each unit of `displaced`, J/m4."""
    if isinstance(medium, ViscoElastic):
        return float(np.asarray(medium.stiffness))
    if isinstance(medium, Resistive | Elements):
        friction = float(medium.friction) if isinstance(medium, Elements) else SURFACE_FRICTION
        return least_share(friction) * level_rate(medium)
    raise OptionError(f"{type(medium).__name__}: what depth must cost is known of springs and dry grains only")


def level_rate(medium: Medium) -> float:
    """The same where a level face goes straight down: k of springs, the scale of grains."""
    if isinstance(medium, Resistive | Elements):
        return float(medium.scale * medium.strength) * GENERIC
    return least_rate(medium)


@cache
def least_share(friction: float) -> float:
    """c: the least power of grains per area, scale, depth and speed along the normal, of faces of all tilts that
    move in all directions."""
    up = np.linspace(-1, 1, TILTS)
    normal = np.stack([np.sqrt(1 - up**2), 0 * up, up], axis=-1)
    velocity = directions(WAYS)
    with jax.ensure_compile_time_eval():
        centre, square = (np.asarray(part) for part in ellipsoids(normal, np.asarray(friction)))
    ahead = normal @ velocity.T
    power = centre @ velocity.T + np.sqrt(np.einsum("vi,eij,vj->ev", velocity, square, velocity))
    return float((np.maximum(power, 0.0) / np.where(ahead > 0.02, ahead, np.nan))[ahead > 0.02].min())


def displaced(robot: Robot, positions: Float[np.ndarray, "n b 3"], rotations: Float[np.ndarray, "n b 3 3"]):
    """Integral (n, b) of depth over what each body displaces of level ground at z = 0, at least, m4."""
    found = np.zeros(positions.shape[:2])
    for number, parts in enumerate(_parts(robot)):
        for panels in parts:
            moments = _moment(panels, positions[:, number], rotations[:, number])
            found[:, number] = np.maximum(found[:, number], moments)
    return found


@cache
def _parts_of(shape) -> tuple[Panels, ...]:
    return tuple(part.panels(2) for part in shape.parts)


def _parts(robot: Robot) -> list[tuple[Panels, ...]]:
    return [_parts_of(body.shape) for body in robot.bodies]


def _moment(panels: Panels, position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    found = np.zeros(len(position))
    low = np.flatnonzero(position[:, 2] < np.sqrt((panels.centre**2).sum(1).max()))  # elsewhere no panel is below
    poses = np.c_[rotation[low, 2], position[low, 2]]  # (n, 4): the vertical in the body's frame, and the height
    places = np.c_[panels.centre, np.ones(len(panels.area))]
    facing = panels.normal * panels.area[:, None]
    for rows in _blocks(len(low), POSES):
        pose = poses[rows]
        for some in _blocks(len(places), PANELS):
            depth = np.minimum(pose @ places[some].T, 0.0)
            depth *= depth
            found[low[rows]] -= ((depth @ facing[some]) * pose[:, :3]).sum(1) / 2
    return found


def _blocks(count: int, most: int) -> list[slice]:
    return [slice(first, first + most) for first in range(0, count, most)]
