"""Colours of the viewer, as bytes (red, green, blue)."""

from __future__ import annotations

from softground.runs.figures import COLOURS

Colour = tuple[int, int, int]

SAND: Colour = (222, 192, 146)
PRESSED_SAND: Colour = (196, 163, 116)
SKY_ABOVE: Colour = (158, 192, 224)
SKY_BELOW: Colour = (212, 225, 236)
TORSO: Colour = (68, 84, 106)
LIMB: Colour = (150, 166, 186)
FOOT: Colour = (196, 112, 70)
HULL: Colour = (70, 130, 220)
FORCE: Colour = (206, 40, 34)
TRACE: Colour = (60, 70, 90)


def foot_colour(foot: int) -> Colour:
    """Colour of a foot's curves and traces, as in the figures."""
    text = COLOURS[foot % len(COLOURS)].lstrip("#")
    return int(text[:2], 16), int(text[2:4], 16), int(text[4:], 16)


def css(colour: Colour) -> str:
    """The colour as a web page writes it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
