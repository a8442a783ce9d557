"""The surface of a foot, on which resistive force theory is summed."""

from __future__ import annotations

from softground.errors import MediumError
from softground.robots.shapes import Panels, Shape, checked_shape


def surface_of(shape: Shape, refine: int = 1) -> Panels:
    """Elements of the sole and the sides of a foot; `refine` multiplies their number along each edge.

    At refine = 1 the wrenches on a box, a cylinder, a half-cylinder or a ball are within 1 % (rms, of the greatest) of
    those at refine = 3.
    """
    return checked_shape(shape, MediumError).panels(refine)
