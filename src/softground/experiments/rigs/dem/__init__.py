"""A box of grains in LAMMPS: what they are, the bed they settle into, the foot driven through it."""

from softground.experiments.rigs.dem.bed import Bed, Container, settled_bed
from softground.experiments.rigs.dem.grains import GRAINS, Grains
from softground.experiments.rigs.dem.rig import DemRig

__all__ = ["GRAINS", "Bed", "Container", "DemRig", "Grains", "settled_bed"]
