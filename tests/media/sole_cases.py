"""Soles of all kinds, and integrals over them that know nothing of points and triangles."""

import numpy as np

from softground.robots.shapes import Box, Cylinder, Polygon, Shape

CONVEX = Polygon([(0.12, 0.03), (0.1, 0.06), (-0.05, 0.04), (-0.09, 0.0), (-0.05, -0.03), (0.1, -0.02)])
#: A sole with an arch at its side, listed clockwise, and one that is a letter L.
ARCHED = Polygon([(-0.1, -0.04), (-0.1, 0.04), (-0.02, 0.04), (0.0, 0.0), (0.04, 0.045), (0.11, 0.03), (0.12, -0.03)])
LETTER = Polygon([(0.0, 0.0), (0.2, 0.0), (0.2, 0.03), (0.05, 0.03), (0.05, 0.1), (0.0, 0.1)])
SOLES: dict[str, Shape] = {
    "rectangle": Box(0.2, 0.1, 0.05),
    "disc": Cylinder(0.05, 0.15),
    "convex": CONVEX,
    "arched": ARCHED,
    "letter": LETTER,
}
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)  # exact to degree 15


def integral(shape: Shape, density) -> np.ndarray:
    """Integral of density(x, y) over the sole."""
    match shape:
        case Box(length, width):
            corners = np.array([[-length, -width], [length, -width], [length, width], [-length, width]]) / 2
            return over_polygon(corners, density)
        case Polygon():
            return over_polygon(shape.outline, density)
        case Cylinder(radius):
            return over_disc(radius, density)
    raise TypeError(shape)


def over_polygon(vertices: np.ndarray, density) -> np.ndarray:
    """Sum of what lies between each edge and the x axis, counted with the direction of the edge."""
    return sum(
        -(b[0] - a[0]) / 2 * y / 2 * wx * wy * np.asarray(density(x, y * (1 + t) / 2))
        for a, b in zip(vertices, np.roll(vertices, -1, axis=0), strict=True)
        for s, wx in zip(NODES, WEIGHTS, strict=True)
        for x, y in [a + (b - a) * (1 + s) / 2]
        for t, wy in zip(NODES, WEIGHTS, strict=True)
    )


def over_disc(radius: float, density) -> np.ndarray:
    """Gauss points along the radius, even ones round the circle."""
    angles = 2 * np.pi * np.arange(16) / 16
    return sum(
        radius / 2 * w * r * 2 * np.pi / 16 * np.asarray(density(r * np.cos(angle), r * np.sin(angle)))
        for s, w in zip(NODES, WEIGHTS, strict=True)
        for r in [radius * (1 + s) / 2]
        for angle in angles
    )
