"""A small wrench database with a known law: resistive force theory, scaled, with noise if wanted."""

import numpy as np

from softground.experiments.database import WrenchDatabase
from softground.experiments.protocol import Pose, moved
from softground.media.resistive import surface_of, wrenches
from softground.media.resistive.directions import directions, planar_twists
from softground.robots.shapes import Cylinder

FOOT = Cylinder(radius=0.05, length=0.15)
HEIGHT = 0.1
DEPTHS, TILTS = (0.01, 0.03, 0.05), (0.0, 0.4, 0.8)
SCALE = 0.4


def true_wrenches(depth: float, tilt: float) -> np.ndarray:
    """Wrenches (26, 3) of the plane law at scale `SCALE`, about the reference point."""
    turn = Pose(depth, tilt).rotation
    there = wrenches(surface_of(FOOT), "plane", turn[None], np.array([depth]), planar_twists())[0, 0]
    return SCALE * moved(there, HEIGHT * turn[:, 2])[:, [0, 2, 4]]


def database(depths=DEPTHS, tilts=TILTS, noise=0.0, seed=0, **changes) -> WrenchDatabase:
    """Every direction at every depth (m) and tilt (rad); noise is a share of the size at a configuration."""
    poses = [(depth, tilt) for depth in depths for tilt in tilts]
    random = np.random.default_rng(seed)
    rows = [true_wrenches(*pose) for pose in poses]
    rows = [w + noise * np.sqrt((w**2).mean(axis=0)) * random.normal(size=w.shape) for w in rows]
    depth, tilt = np.repeat(np.array(poses), 26, axis=0).T
    fields = {
        "medium": "synthetic sand",
        "foot": FOOT,
        "reference_height": HEIGHT,
        "kind": "planar",
        "provenance": "plane law",
        "depth": depth,
        "tilt": tilt,
        "heading": np.zeros(len(depth)),
        "direction": np.tile(np.arange(26), len(poses)),
        "twist": np.tile(directions(26), (len(poses), 1)),
        "wrench": np.concatenate(rows),
        "source": ("measured",) * len(depth),
    }
    return WrenchDatabase(**{**fields, **changes})
