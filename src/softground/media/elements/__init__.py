"""Grains felt element by element: any body, partly or wholly in the ground, at any tilt."""

from softground.media.elements.medium import Elements
from softground.media.elements.scm import Scm

__all__ = ["Elements", "Scm"]
