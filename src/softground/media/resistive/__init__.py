"""Dry grains by resistive force theory: stress on a plate, the wrench on a foot's surface, the medium."""

from softground.media.resistive.medium import Resistive
from softground.media.resistive.stress import scale_of_grains
from softground.media.resistive.wrench import surface_of, wrenches

__all__ = ["Resistive", "scale_of_grains", "surface_of", "wrenches"]
