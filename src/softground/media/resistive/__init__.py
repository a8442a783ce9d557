"""Dry grains by resistive force theory: stress on a plate, the foot's surface, its wrench, the medium."""

from softground.media.resistive.medium import Resistive
from softground.media.resistive.stress import scale_of_grains
from softground.media.resistive.surface import surface_of
from softground.media.resistive.wrench import wrenches

__all__ = ["Resistive", "scale_of_grains", "surface_of", "wrenches"]
