"""A few elements that stand for the surface of a body: the fine panels of its shape, gathered.

Panels that lie close together and look the same way are gathered by halving: of all groups the one that is spread most
is cut in two across the axis of its greatest spread, at its mean, until there are `count`. Spread is counted in six
numbers, the place over the size of the body and the normal, so that a sole is never mixed with a wall. Of bodies that
are their own mirror images forwards and sideways a quarter is gathered, and mirrored.

An element keeps area, centroid, mean normal and the second moments of its panels' places: the last say over which range
of depths it spreads when it is only partly in the ground. How far it reaches down then say a few of its corners.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softground.robots.shapes import Panels, Shape
from softground.robots.shapes.rolling_points import directions

FACING = 2.0
"""Length that a normal has beside places in units of the body's size."""

THIN = 0.06
"""Greatest distance (rms) between the panels of an element along its normal, of the body's size: a body of many parts
has more elements than it was asked for, up to twice as many."""

CORNERS = 8
"""Points of an element that say how far it reaches."""
LOOKS = 100
"""Directions in which these are sought."""


class Surface(NamedTuple):
    """Elements of a body, in its frame."""

    centre: np.ndarray  # (e, 3) m
    normal: np.ndarray  # (e, 3) outward unit vectors
    area: np.ndarray  # (e,) m2
    moments: np.ndarray  # (e, 3, 3) m2: mean of y y' over the element, y from its centre
    corners: np.ndarray  # (e, CORNERS, 3) m, from its centre: the outermost of its points


def gathered(shape: Shape, count: int, closed: bool = False) -> Surface:
    """About `count` elements of a shape, with its top if `closed`."""
    panels = shape.closed_panels() if closed and shape.is_solid else shape.panels()
    quarter = (panels.centre[:, 0] > 0) & (panels.centre[:, 1] > 0)
    if not shape.is_mirrored or not np.isclose(4 * panels.area[quarter].sum(), panels.area.sum(), rtol=1e-9):
        return _gathered(panels, count, 2 * count)
    found = _gathered(Panels(*(field[quarter] for field in panels)), (count + 3) // 4, 0)
    for axis in (0, 1):
        found = _with_mirror_image(found, axis)
    return found


def padded(surface: Surface, count: int) -> Surface:
    """With elements without area to fill up to a count, so that bodies of different shapes can be stacked."""
    copies = np.r_[np.arange(len(surface.area)), np.zeros(count - len(surface.area), int)]
    filled = Surface(*(field[copies] for field in surface))
    return filled._replace(area=np.where(np.arange(count) < len(surface.area), filled.area, 0.0))


def _gathered(panels: Panels, count: int, most: int) -> Surface:
    """most: elements where faces that look the same way lie behind one another."""
    size = np.sqrt(panels.area.sum() / 6)
    features = np.c_[panels.centre / size, FACING * panels.normal]
    groups = [np.arange(len(panels.area))]
    while len(groups) < min(count, len(panels.area)):
        spreads = np.array([_spread(features[group], panels.area[group]) for group in groups])
        worst, axis = np.unravel_index(spreads.argmax(), spreads.shape)
        groups += _halves(features, panels.area, groups.pop(int(worst)), int(axis))
    groups = _level(panels, groups, THIN * size, most)
    return Surface(*(np.array(field) for field in zip(*(_element(panels, group) for group in groups), strict=True)))


def _with_mirror_image(half: Surface, axis: int) -> Surface:
    """A surface and its mirror image in the plane normal to `axis`."""
    flip = np.where(np.arange(3) == axis, -1.0, 1.0)
    moments = half.moments * flip * flip[:, None]
    image = Surface(half.centre * flip, half.normal * flip, half.area, moments, half.corners * flip)
    return Surface(*(np.concatenate(pair) for pair in zip(half, image, strict=True)))


def _level(panels: Panels, groups: list[np.ndarray], thin: float, most: int) -> list[np.ndarray]:
    """Groups, of which those are cut whose panels lie behind one another by more than `thin` (m, rms), at most so many:
    of faces that look the same way the one in front goes into the ground first."""
    while len(groups) < most:
        behind = [_along_normal(panels, group) for group in groups]
        depths = [
            np.sqrt(np.average(one**2, weights=panels.area[group])) for one, group in zip(behind, groups, strict=True)
        ]
        worst = int(np.argmax(depths))
        if depths[worst] < thin:
            break
        front, group = behind.pop(worst) > 0, groups.pop(worst)
        groups += [group[front], group[~front]]
    return groups


def _along_normal(panels: Panels, group: np.ndarray) -> np.ndarray:
    """Places of the panels of a group along their mean normal, from their mean, m."""
    area = panels.area[group]
    normal = area @ panels.normal[group]
    along = panels.centre[group] @ (normal / np.linalg.norm(normal))
    return along - np.average(along, weights=area)


def _spread(features: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Second moments (6,) of the features of a group about their mean."""
    off = features - np.average(features, axis=0, weights=area)
    return (area[:, None] * off**2).sum(0)


def _halves(features: np.ndarray, area: np.ndarray, group: np.ndarray, axis: int) -> list[np.ndarray]:
    along = features[group, axis]
    first = along < np.average(along, weights=area[group])
    first = first if first.any() else np.arange(len(group)) < len(group) // 2  # all alike
    return [group[first], group[~first]]


def _element(panels: Panels, group: np.ndarray):
    """Centre, normal, area, second moments and corners of a group of panels."""
    area, edges = panels.area[group], panels.edges[group]
    total = area.sum()
    centre = area @ panels.centre[group] / total
    normal = area @ panels.normal[group]
    off = panels.centre[group] - centre
    # A panel is a parallelogram: along each of its sides it spreads evenly, with variance (half side)^2 / 3.
    within = np.einsum("p,pai,paj->ij", area, edges, edges) / 3
    moments = (np.einsum("p,pi,pj->ij", area, off, off) + within) / total
    sides = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    vertices = (off[:, None] + np.einsum("sa,pai->psi", sides, edges)).reshape(-1, 3)
    return centre, normal / np.linalg.norm(normal), total, moments, _outermost(vertices)


def _outermost(points: np.ndarray) -> np.ndarray:
    """Those of the points (CORNERS, 3) that reach farthest: one by one the one that is farthest beyond those before, in
    the direction in which any is."""
    heights = points @ directions(LOOKS).T
    chosen = [int((points**2).sum(1).argmax())]
    while len(chosen) < CORNERS:
        beyond = heights - heights[chosen].max(0)
        chosen.append(int(np.unravel_index(beyond.argmax(), beyond.shape)[0]))
    return points[chosen]
