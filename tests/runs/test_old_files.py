"""Media as 0.1 described them are those of today."""

import numpy as np
import pytest

from softground import media
from softground.runs.description import describe, restore

ARRAYS = {"coefficients": np.arange(24.0).reshape(2, 4, 3) * [[[1.0], [1.0], [1.0], [0.0]]]}
NUMBER = {"array": 1.0, "dtype": "float64"}
SPACE = {name: NUMBER for name in ("eps", "strength", "max_depth", "max_tilt")}
FEATURES = describe(media.DepthTilt(powers=1, harmonics=0), {})
OLD = {
    "resistive": (
        "softground.media.resistive.medium:Resistive",
        {"scale": NUMBER, "eps": NUMBER, "strength": NUMBER, "stress_law": "3d"},
        media.Resistive(1.0, eps=1.0, law="3d"),
    ),
    "wrench_space": (
        "softground.media.wrench_space:WrenchSpace",
        {
            "coefficients": {"stored": "coefficients"},
            "features": FEATURES,
            **SPACE,
            "components": "planar",
            "height": 0.1,
        },
        media.WrenchSpace(
            ARRAYS["coefficients"][:, :3],
            media.DepthTilt(1, 0),
            eps=1.0,
            max_depth=1.0,
            max_tilt=1.0,
            reference_height=0.1,
        ),
    ),
    "firm": (
        "softground.media.visco_elastic.medium:Firm",
        {
            "stiffness": NUMBER,
            "damping": NUMBER,
            "friction": NUMBER,
            "to_edge": False,
            "sole": None,
            "components": "spatial",
        },
        media.Firm(1.0, 1.0, 1.0),
    ),
    "noisy": (
        "softground.media.noise:Noisy",
        {
            "ground": describe(media.sand(), {}),
            **{name: NUMBER for name in ("sigma_force", "sigma_torque")},
            **{name: {"array": 0, "dtype": "uint32"} for name in ("seed", "foot")},
        },
        media.Noisy(media.sand(), 1.0),
    ),
}


@pytest.mark.parametrize("name", OLD)
def test_a_medium_described_by_0_1(name):
    path, fields, medium = OLD[name]
    arrays = {}
    assert describe(restore({"type": path, "fields": fields}, ARRAYS), arrays) == describe(medium, arrays)
