"""The rig without grains: resistive force theory along the path, in milliseconds.

The wrench depends on the pose and the direction only, so a record is a sequence of independent poses.
Two stress laws (see `softground.media.resistive.stress`): "plane" for motions in the x-z plane, "3d" for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from softground.errors import ExperimentError, unknown_name
from softground.experiments.protocol import Motion, Pose, Recording
from softground.experiments.rigs.base import Rig
from softground.media import named_medium
from softground.media.resistive import Resistive, wrenches
from softground.media.resistive.directions import planar_twists
from softground.media.resistive.wrench import LAWS
from softground.robots.shapes import Panels, Shape

MESH_CHANGE = 0.01
"""Greatest change of a mesh's wrenches on halving its elements, as a share of the greatest wrench."""
MESH_REFINEMENTS = (1, 2, 4)
MOST_LOADS = 200_000
"""Elements times depths to be summed at once (144 bytes each)."""


@dataclass(frozen=True)
class ResistiveRig(Rig):
    """Plane RFT or 3D-RFT on a foot of any shape.

    A sphere's sole is the end of its axis, one radius from its centre.
    """

    name: ClassVar[str] = "rft"

    foot: Shape
    scale: float = 1.0  # N/cm3, stress per depth on a horizontal plate pushed down
    law: str = "plane"
    samples: int = 51  # in a record

    def __post_init__(self):
        if self.law not in LAWS:
            raise ExperimentError(unknown_name("stress law", self.law, LAWS))
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ExperimentError(f"scale of a resistive rig must be positive and finite, got {self.scale}")
        if self.samples < 2:
            raise ExperimentError(f"a resistive rig needs at least 2 samples in a record, got {self.samples}")

    @classmethod
    def in_medium(cls, medium: str, foot: Shape, law: str = "plane") -> ResistiveRig:
        """The rig in a medium of `softground.media.named` that is resistive, such as sand or pebbles."""
        ground = named_medium(medium)
        if not isinstance(ground, Resistive):
            raise ExperimentError(f"{medium} is not granular by resistive force theory: use sand or pebbles")
        return cls(foot, scale=float(ground.scale * ground.strength), law=law)

    def record(self, motion: Motion, seed: int = 0) -> Recording:
        """Wrenches at `samples` evenly spaced times. There are no grains: the seed changes nothing."""
        if self.law == "plane":
            _check_plane(motion)
        time = np.linspace(0.0, motion.duration, self.samples)
        generic = self._generic(motion, time)
        return Recording(time, self.scale * generic)

    def _generic(self, motion: Motion, time: np.ndarray) -> np.ndarray:
        """Wrenches (n, 6) at these times in the medium of scale 1."""
        depth, twist = -motion.position(time)[:, 2], np.array([motion.twist])
        if np.abs(motion.rotation(time) - motion.target.rotation).max() > 1e-12:
            poses = zip(motion.rotation(time), depth, strict=True)
            return np.stack([self._wrenches(turn, np.array([d]), twist)[0] for turn, d in poses])
        # One rotation for all depths: its stresses are found once. In pieces, for they take memory.
        pieces = np.array_split(depth, 1 + depth.size * self.surface.area.size // MOST_LOADS)
        return np.concatenate([self._wrenches(motion.target.rotation, piece, twist) for piece in pieces])

    def _wrenches(self, rotation: np.ndarray, depths: np.ndarray, twist: np.ndarray) -> np.ndarray:
        return wrenches(self.surface, self.law, rotation[None], depths, twist)[0, :, 0]

    def settings(self) -> dict[str, Any]:
        return {
            "rig": self.name,
            "foot": self.foot.identity(),
            "law": self.law,
            "scale": self.scale,
            "samples": self.samples,
        }

    @cached_property
    def surface(self) -> Panels:
        """Elements with the origin at the sole's centre."""
        surface = self.foot.panels() if self.foot.has_fine_panels else converged(self.foot, self.law)
        return surface._replace(centre=surface.centre + np.array([0.0, 0.0, self.foot.clearance]))

    def __getstate__(self):
        """Without the surface, which is quicker to find again than to send."""
        return {name: value for name, value in self.__dict__.items() if name != "surface"}


def _check_plane(motion: Motion) -> None:
    _, vy, _, wx, _, wz = motion.twist
    if vy or wx or wz or abs(np.sin(motion.target.heading) * np.sin(motion.target.tilt)) > 1e-9:
        raise ExperimentError(
            f"the plane law serves motions in the x-z plane, got the twist {motion.twist} and the heading "
            f"{motion.target.heading:g} rad: use the law 3d"
        )


def converged(foot: Shape, law: str) -> Panels:
    """Elements of a foot so small that its wrenches change by less than 1 % when they are halved."""
    surface = foot.panels(MESH_REFINEMENTS[0])
    change = np.inf
    for refine in MESH_REFINEMENTS[1:]:
        finer = foot.panels(refine)
        change = wrench_change(surface, finer, foot.extent[2], law)
        if change < MESH_CHANGE:
            return surface
        surface = finer
    raise ExperimentError(
        f"the wrench on foot {foot} still changes by {change:.1%} when its elements are halved: "
        "remove details smaller than a hundredth of the foot"
    )


def wrench_change(surface: Panels, finer: Panels, height: float, law: str) -> float:
    """Greatest difference of the wrenches of two discretisations, over the greatest wrench of all directions.

    At a third of the foot's height, upright and leaning, in every third planar direction; torques are divided
    by that depth.
    """
    rotations = np.array([Pose(0.0, tilt).rotation for tilt in (0.0, 0.6)])
    depth = height / 3
    per_force = np.repeat([1.0, 1 / depth], 3)
    old, new = (
        wrenches(s, law, rotations, np.array([depth]), planar_twists()[::3]) * per_force for s in (surface, finer)
    )
    return float(np.linalg.norm(new - old, axis=-1).max() / np.linalg.norm(new, axis=-1).max())
