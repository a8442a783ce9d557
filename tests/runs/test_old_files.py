"""Media and shapes as 0.1 described them are those of today."""

import numpy as np
import pytest

from softground import media
from softground.media.resistive.medium import BallDepth, Sinking
from softground.robots import Box, Cylinder, HalfCylinder, Polygon, Sphere
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
    "features of a ball": (
        "softground.media.resistive.medium:BallDepth",
        {"radius": 0.03, "powers": 4, "ramp": 2e-4},
        BallDepth(0.03),
    ),
    "features of a sole": (
        "softground.media.resistive.medium:Sinking",
        {"powers": 2, "harmonics": 3, "spatial": False, "max_tilt": np.pi, "ramp": 1e-3, "onset": 5e-3},
        Sinking(),
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


@pytest.mark.parametrize(
    "shape", [Sphere(0.03), Cylinder(0.05, 0.15), Box(0.2, 0.1, 0.02), HalfCylinder(0.04, 0.08)], ids=lambda s: s.name
)
def test_a_shape_described_by_0_1(shape):
    """It wrote the module and the class; a file of today says the shape's public name."""
    old = {"type": f"softground.robots.feet:{type(shape).__name__}", "fields": vars(shape)}
    assert restore(old, {}) == shape
    assert describe(shape, {})["type"] == shape.name


def test_a_polygon_described_by_0_1():
    corners = [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1)]
    vertices = {"tuple": [{"tuple": [x, y]} for x, y in corners]}
    old = {"type": "softground.robots.feet:Polygon", "fields": {"vertices": vertices, "height": 0.02}}
    assert restore(old, {}) == Polygon(corners, 0.02)
