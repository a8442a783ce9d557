"""Soles, poses, and the solid wedge by hand: what its closed forms are compared with."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from softground.media.resistive.stress import plane_stress
from softground.media.wedge import sole_of, solid_under
from softground.media.wedge.medium import FRICTION_ANGLE
from softground.robots.shapes import Box, HalfCylinder

PHI, SLOPE = FRICTION_ANGLE, np.tan(FRICTION_ANGLE)
FLAT, ROUND = Box(0.1, 0.06, 0.02), HalfCylinder(0.04, 0.08)
GROWTH, ZETA, DT = 0.8, 1.36, 1e-3
#: (shape, depth, tilt): level, tilted either way, an edge in the air, just in, steeper than the flanks, deep
POSES = [
    (FLAT, 0.03, 0.0),
    (FLAT, 0.03, 0.25),
    (FLAT, 0.03, -0.4),
    (FLAT, 0.004, 0.3),
    (FLAT, 0.004, -0.3),
    (FLAT, -0.003, 0.3),
    (FLAT, 0.02, 0.9),
    (FLAT, 1.0, 0.1),
    (ROUND, 0.001, 0.0),
    (ROUND, 0.006, 0.3),
    (ROUND, 0.03, 0.3),
    (ROUND, 1.0, 0.0),
]


def outline(shape, depth, tilt):
    """Points (x, depth), m, along the sole from rear to front, and along the wedge back to the rear: by hand."""
    if isinstance(shape, HalfCylinder):
        sole = _arc(shape.radius, depth)
        share = 1.0
    else:
        sole = _plate(shape.length, depth, tilt)
        share = 1 - np.exp(-GROWTH * max(depth, 0.0) / (shape.length / 2 * SLOPE))
    (rear, front) = sole[0], sole[-1]
    # Lines down from both ends meet in the apex: x + d / slope is constant on the front one, x - d / slope on the rear.
    lines = np.array([[1.0, 1 / SLOPE], [1.0, -1 / SLOPE]])
    apex = np.linalg.solve(lines, [lines[0] @ front, lines[1] @ rear])
    deeper = max(rear[1], front[1])
    level = deeper + share * (apex[1] - deeper)
    corners = [
        np.linalg.solve([line, [0, 1]], [line @ end, level]) for line, end in zip(lines, (front, rear), strict=True)
    ]
    return sole, np.array([front, *corners, rear])


def _plate(length, depth, tilt):
    tilt = np.clip(tilt, -PHI, PHI)
    along = np.array([np.cos(tilt), np.sin(tilt)]) * length / 2
    ends = [np.array([0.0, depth]) - along, np.array([0.0, depth]) + along]
    for i in (0, 1):
        if ends[i][1] < 0:
            dry = ends[i][1] / (ends[i][1] - ends[1 - i][1])
            ends[i] = ends[i] + dry * (ends[1 - i] - ends[i])
    return np.array(ends)


def _arc(radius, depth):
    """Down to where the slope of the circle is that of the flanks, or where the surface cuts it: found by search."""
    height = lambda angle: radius * (1 - np.cos(angle)) - depth  # noqa: E731
    steep = brentq(lambda angle: np.tan(angle) - SLOPE, 0.0, 1.5)
    reach = steep if height(steep) < 0 else brentq(height, 0.0, steep)
    angle = np.linspace(-reach, reach, 4001)
    return np.c_[radius * np.sin(angle), depth - radius * (1 - np.cos(angle))]


def integrated(wedge, direction):
    """Force and torque about the surface above the reference point, per metre of width: RFT over the faces."""
    force, moment = np.zeros(3), 0.0
    for start, end in itertools.pairwise(wedge):
        length = np.hypot(*(end - start))
        if length < 1e-12:
            continue
        normal = np.array([end[1] - start[1], 0.0, end[0] - start[0]]) / length  # outwards: from front to rear
        if normal @ direction <= 0:
            continue
        stress = plane_stress(normal, direction)
        force += stress * length * integral(start, end, lambda x, depth: depth)
        lever = -stress[0] * integral(start, end, lambda x, depth: depth**2)  # (r x f)_y = z fx - x fz, z = -depth
        moment += length * (lever - stress[2] * integral(start, end, lambda x, depth: x * depth))
    return force, moment


def integral(start, end, integrand):
    """Mean of a function of (x, depth) along a line, by quadrature."""
    return quad(lambda s: integrand(*(start + s * (end - start))), 0, 1)[0]


def directions(count=24):
    angle = np.linspace(-np.pi, np.pi, count, endpoint=False) + 0.1
    return np.stack([np.cos(angle), np.zeros(count), np.sin(angle)], axis=-1)


def shoelace(points):
    x, y = points.T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def solid(shape, depth, tilt):
    return jax.tree.map(
        np.asarray, solid_under(sole_of(shape), jnp.asarray(depth), jnp.asarray(tilt), PHI, jnp.asarray(GROWTH))
    )


def normals(shape):
    flanks = np.array([[np.sin(PHI), 0, -np.cos(PHI)], [-np.sin(PHI), 0, -np.cos(PHI)]])
    return np.concatenate([flanks, [[0, 0, -1.0]] * 2]) if isinstance(shape, Box) else flanks
