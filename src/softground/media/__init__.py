"""What the ground is: media as convex potentials of a foot's next twist."""

from softground.media.base import FootInGround, FootMedium, Law, Medium
from softground.media.elements import Elements, Scm
from softground.media.ensemble import Ensemble
from softground.media.learned import LearnedSpace
from softground.media.learned_file import load_ensemble, load_medium, save_medium
from softground.media.memory import Remembering
from softground.media.named import (
    NAMED,
    beads,
    beads_box,
    beads_cylinder,
    ensemble_of,
    firm,
    foam,
    grains,
    gravel,
    medium_of,
    mud,
    named_medium,
    pebbles,
    sand,
    soil,
)
from softground.media.noise import Noisy
from softground.media.resistive import Resistive
from softground.media.visco_elastic import Field, Firm, Stretches, ViscoElastic
from softground.media.wedge import Wedge
from softground.media.wrench_space import DepthTilt, WrenchSpace

__all__ = [
    "NAMED",
    "DepthTilt",
    "Elements",
    "Ensemble",
    "Field",
    "Firm",
    "FootInGround",
    "FootMedium",
    "Law",
    "LearnedSpace",
    "Medium",
    "Noisy",
    "Remembering",
    "Resistive",
    "Scm",
    "Stretches",
    "ViscoElastic",
    "Wedge",
    "WrenchSpace",
    "beads",
    "beads_box",
    "beads_cylinder",
    "ensemble_of",
    "firm",
    "foam",
    "grains",
    "gravel",
    "load_ensemble",
    "load_medium",
    "medium_of",
    "mud",
    "named_medium",
    "pebbles",
    "sand",
    "save_medium",
    "soil",
]
