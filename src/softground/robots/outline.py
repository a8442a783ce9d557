"""Geometry of a polygon in the plane of a sole: vertices (n, 2) in order, anticlockwise, m."""

import numpy as np
from jaxtyping import Bool, Float

from softground.errors import RobotError

Points = Float[np.ndarray, "n 2"]
CIRCLE_SIDES = 48
SAME = 1e-9
"""Distance within which two vertices count as one, as a share of the polygon's size."""


def checked_outline(vertices) -> Points:
    """The vertices of a simple polygon, turned anticlockwise if need be; RobotError says what is wrong with others."""
    outline = np.asarray(vertices, dtype=float)
    if outline.ndim != 2 or outline.shape[1] != 2 or len(outline) < 3:
        raise RobotError(f"a polygon needs at least 3 vertices (x, y), got an array of shape {outline.shape}")
    if not np.isfinite(outline).all():
        raise RobotError(f"vertices of a polygon must be finite, got {outline.tolist()}")
    crossing = crossing_edges(outline)
    if crossing is not None:
        i, j = crossing
        raise RobotError(
            f"a polygon must be simple, but edges {i} and {j}, which start at {outline[i].tolist()} and "
            f"{outline[j].tolist()}, touch or cross: list the vertices once each, in order round the sole"
        )
    return outline if moments(outline)[0] > 0 else outline[::-1].copy()


def crossing_edges(outline: Points) -> tuple[int, int] | None:
    """Numbers of two edges that meet elsewhere than at the vertex which neighbours share; None: the polygon is simple.

    Edge i goes from vertex i to the next. An edge without length, and one that folds back on its neighbour, count.
    """
    count = len(outline)
    start, end = outline, np.roll(outline, -1, axis=0)
    for i in range(count):
        following = (i + 1) % count
        back = end[following] - start[following]
        along = end[i] - start[i]
        if _turn(along, back) == 0 and along @ back <= 0:
            return i, following
        for j in range(i + 2, count - (i == 0)):
            if _meet(start[i], end[i], start[j], end[j]):
                return i, j
    return None


def moments(outline: Points) -> tuple[float, Float[np.ndarray, "2"], Float[np.ndarray, "2 2"]]:
    """Integrals of 1, x and x x' over the polygon (m2, m3, m4), by Green's theorem: exact sums over its edges."""
    p, q = outline, np.roll(outline, -1, axis=0)
    turn = _turn(p, q)
    middle = p + q
    first = turn @ middle / 6
    second = ((turn * p.T) @ p + (turn * q.T) @ q + (turn * middle.T) @ middle) / 24
    return float(turn.sum() / 2), first, second


def is_convex(outline: Points) -> bool:
    """Whether no vertex turns inwards."""
    along = np.roll(outline, -1, axis=0) - outline
    return bool((_turn(along, np.roll(along, -1, axis=0)) >= 0).all())


def triangles(outline: Points) -> Float[np.ndarray, "t 3 2"]:
    """The polygon cut into n - 2 triangles between its vertices, by clipping ears.

    An ear is a vertex that turns outwards and whose triangle with its neighbours holds no other vertex; a simple
    polygon always has one. Clipping the one with the best shape first keeps slivers away.
    """
    left = list(range(len(outline)))
    found = []
    while len(left) > 3:
        corners = [(left[i - 1], left[i], left[(i + 1) % len(left)]) for i in range(len(left))]
        ears = [outline[list(corner)] for corner in corners]
        quality = [_roundness(ear) if _is_ear(ear, outline[left]) else -np.inf for ear in ears]
        best = int(np.argmax(quality))
        found.append(ears[best])
        del left[best]
    return np.array([*found, outline[left]])


def quadrature(outline: Points) -> tuple[Float[np.ndarray, "m 2"], Float[np.ndarray, " m"]]:
    """Points and areas (m2) exact to the third degree: vertices, middles of the sides and centroids of triangles."""
    a, b, c = np.moveaxis(triangles(outline), 1, 0)
    size = _turn(b - a, c - b) / 2
    points = np.concatenate([a, b, c, (a + b) / 2, (b + c) / 2, (c + a) / 2, (a + b + c) / 3])
    areas = np.outer(np.r_[np.full(3, 1 / 20), np.full(3, 2 / 15), 9 / 20], size).ravel()
    # Triangles share vertices and sides: (a + b) / 2 is (b + a) / 2 to the last bit.
    points, index = np.unique(points, axis=0, return_inverse=True)
    return points, np.bincount(index.ravel(), areas)


def convex_hull(points: Points) -> Float[np.ndarray, "m 2"]:
    """Corners of the convex hull of points in the plane, anticlockwise."""
    from scipy.spatial import ConvexHull  # takes a while, and few ask

    return points[ConvexHull(points).vertices]


def half_planes(outline: Points) -> tuple[Float[np.ndarray, "m 2"], Float[np.ndarray, " m"]]:
    """Outward unit normals and distances (m) from the origin of the sides of the polygon's convex hull."""
    from scipy.spatial import ConvexHull  # takes a while, and few ask

    edges = ConvexHull(outline).equations
    return edges[:, :2], -edges[:, 2]


def rectangle(length: float, width: float) -> Points:
    """Corners of a rectangle about the origin, m."""
    return np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * np.array([length, width]) / 2


def rectangle_half_planes(length: float, width: float) -> tuple[Points, Float[np.ndarray, " n"]]:
    """As `half_planes` of a rectangle about the origin, which may be as thin as a line or a point."""
    return np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.array([length, length, width, width]) / 2


def circle(radius: float) -> Points:
    """Corners of the regular polygon of `CIRCLE_SIDES` sides inside a circle about the origin, m."""
    angle = 2 * np.pi * np.arange(CIRCLE_SIDES) / CIRCLE_SIDES
    return radius * np.c_[np.cos(angle), np.sin(angle)]


def nearest_in_circle(radius: float, points: Points) -> Points:
    """The points in a circle about the origin that are nearest to points in the plane."""
    distance = np.linalg.norm(points, axis=1, keepdims=True)
    return points * np.minimum(1.0, radius / np.maximum(distance, 1e-12))


def is_mirrored(outline: Points) -> bool:
    """Whether the polygon is its own mirror image in both axes, to `SAME` of its size."""
    away = [np.linalg.norm(outline[:, None] * signs - outline, axis=-1).min(0) for signs in ([-1, 1], [1, -1])]
    return bool(np.max(away) < SAME * np.abs(outline).max())


def nearest(outline: Points, points: Float[np.ndarray, "m 2"]) -> Float[np.ndarray, "m 2"]:
    """The points in the polygon that are nearest to points in the plane."""
    start, end = outline, np.roll(outline, -1, axis=0)
    along = end - start
    share = ((points[:, None] - start) * along).sum(-1) / (along**2).sum(-1)
    on_edges = start + np.clip(share, 0.0, 1.0)[..., None] * along
    best = np.argmin(((points[:, None] - on_edges) ** 2).sum(-1), axis=1)
    return np.where(inside(outline, points)[:, None], points, on_edges[np.arange(len(points)), best])


def inside(outline: Points, points: Float[np.ndarray, "m 2"]) -> Bool[np.ndarray, " m"]:
    """Which points lie in the polygon: a ray from those crosses its edges an odd number of times."""
    start, end = outline, np.roll(outline, -1, axis=0)
    x, y = points[:, None, 0], points[:, None, 1]
    spans = (start[:, 1] > y) != (end[:, 1] > y)
    rise = np.where(end[:, 1] == start[:, 1], 1.0, end[:, 1] - start[:, 1])
    crossing = start[:, 0] + (y - start[:, 1]) / rise * (end[:, 0] - start[:, 0])
    return (spans & (x < crossing)).sum(1) % 2 == 1


def _turn(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """z component of a x b: positive if b points to the left of a."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _meet(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> bool:
    """Whether the segments a b and c d have a point in common."""
    if (np.maximum(a, b) < np.minimum(c, d)).any() or (np.maximum(c, d) < np.minimum(a, b)).any():
        return False
    return bool(_turn(b - a, c - a) * _turn(b - a, d - a) <= 0 and _turn(d - c, a - c) * _turn(d - c, b - c) <= 0)


def _is_ear(corner: Float[np.ndarray, "3 2"], vertices: Points) -> bool:
    a, b, c = corner
    if _turn(b - a, c - b) <= 0:
        return False
    others = vertices[~(vertices[:, None] == corner).all(-1).any(1)]
    in_triangle = [_turn(q - p, others - p) >= 0 for p, q in ((a, b), (b, c), (c, a))]
    return not np.all(in_triangle, axis=0).any()


def _roundness(corner: Float[np.ndarray, "3 2"]) -> float:
    """Area over the squared lengths of the sides: greatest for an equilateral triangle."""
    a, b, c = corner
    return float(_turn(b - a, c - b) / (((b - a) ** 2).sum() + ((c - b) ** 2).sum() + ((a - c) ** 2).sum()))
