"""Ground that is not the same everywhere: mixed, layered, over a floor, by map or by function."""

from softground.terrain.areas import Area, Between, By, Disc, rectangle
from softground.terrain.footprints import Footprints, Prints
from softground.terrain.grid import GridField, read_map
from softground.terrain.mixed import Mixed
from softground.terrain.over_floor import OverFloor
from softground.terrain.varied import Layered, Varied
from softground.terrain.words import terrain_of

__all__ = [
    "Area",
    "Between",
    "By",
    "Disc",
    "Footprints",
    "GridField",
    "Layered",
    "Mixed",
    "OverFloor",
    "Prints",
    "Varied",
    "read_map",
    "rectangle",
    "terrain_of",
]
