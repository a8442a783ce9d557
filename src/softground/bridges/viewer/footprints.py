"""Footprints: how far feet have pressed the ground in, at every vertex of the tiles they touched.

For ground that remembers nothing, to be seen and not felt; `true_prints` draws those that are felt.

A foot lowers the ground to its sole. Around it grains slide in until they rest at the angle of repose, so a print
is a crater whose walls have that slope. The ground keeps the greatest depth that any foot has had there.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from softground.bridges.viewer.ground_sheet import GroundSheet, Tile
from softground.robots import Shape

REPOSE = np.tan(np.radians(32.0))
"""Slope at which dry sand rests."""
SAME = 1e-6  # m
FINER = 1e-3  # m: a foot that has not sunk by as much, nor moved by half a cell, leaves no new print


@dataclass(frozen=True)
class Sole:
    """One foot in the ground at one moment."""

    shape: Shape
    origin: np.ndarray  # (3,) m, world: of the foot frame (a sphere's centre)
    axes: np.ndarray  # (3, 3) columns: axes of the foot frame in the world
    normal: np.ndarray  # (3,) outward normal of the ground there
    depth: float  # m, positive below the surface

    @property
    def surface_point(self) -> np.ndarray:
        """(3,) m: the point of the undisturbed surface over the sole."""
        return self.origin + (self.depth - self.shape.clearance) * self.normal

    @property
    def reach(self) -> float:
        """Distance (m) beyond which the print has ended."""
        half = self.shape.farthest
        lean = half * float(np.linalg.norm(_sole_slope(self)))
        return half + (max(self.depth, 0.0) + lean) / REPOSE


def lowering(points: np.ndarray, sole: Sole) -> np.ndarray:
    """How far (m) a sole lowers points (n, 3) of the undisturbed surface, along its normal."""
    if sole.depth <= 0:
        return np.zeros(len(points))
    away = points - sole.surface_point
    away = away - np.outer(away @ sole.normal, sole.normal)  # in the tangent plane
    if sole.shape.rolls:
        return _ball_lowering(np.linalg.norm(away, axis=1), sole.depth, sole.shape.clearance)
    nearest = _nearest_on_sole(away, sole)
    outside = np.linalg.norm(away - nearest, axis=1)
    return np.maximum(sole.depth + nearest @ _sole_slope(sole) - REPOSE * outside, 0.0)


def _ball_lowering(distance: np.ndarray, depth: float, radius: float) -> np.ndarray:
    under = depth - radius + np.sqrt(np.maximum(radius**2 - distance**2, 0.0))
    wall = depth - radius - REPOSE * (distance - radius)
    return np.maximum(np.where(distance < radius, under, wall), 0.0)


def _sole_slope(sole: Sole) -> np.ndarray:
    """(3,) how much deeper the plane of the sole is a metre along the ground."""
    if sole.shape.rolls:
        return np.zeros(3)
    axis = sole.axes[:, 2]
    upright = float(axis @ sole.normal)
    return (axis - upright * sole.normal) / max(upright, 0.5)  # a toppled foot has no sole to speak of


def _nearest_on_sole(away: np.ndarray, sole: Sole) -> np.ndarray:
    """The points under the sole that are nearest to offsets (n, 3) in the ground's tangent plane."""
    along = sole.axes[:, 0] - (sole.axes[:, 0] @ sole.normal) * sole.normal
    along /= max(float(np.linalg.norm(along)), 1e-9)
    across = np.cross(sole.normal, along)
    axes = np.stack([along, across])
    return sole.shape.nearest(away @ axes.T) @ axes


@dataclass
class _Pressed:
    """The states that one tile went through."""

    vertices: np.ndarray  # (n, 3) m, undisturbed
    normals: np.ndarray  # (n, 3)
    frames: list[int] = field(default_factory=list)  # at which each state began
    depths: list[np.ndarray] = field(default_factory=list)  # (n,) m, float32


class Footprints:
    """All prints on a sheet. Press feet in the order of frames; ask for the ground at any frame."""

    def __init__(self, sheet: GroundSheet, keep_history: bool = True):
        """With `keep_history` False only the latest state is kept: for a simulation without end."""
        self.sheet = sheet
        self.keep_history = keep_history
        self._pressed: dict[Tile, _Pressed] = {}
        self._last: dict[int, Sole] = {}

    @property
    def tiles(self) -> set[Tile]:
        """Tiles that any foot has touched."""
        return set(self._pressed)

    def press(self, frame: int, foot: int, sole: Sole) -> None:
        """Let one foot press the ground."""
        if sole.depth <= 0 or not self._is_new(foot, sole):
            return
        for tile in self.sheet.tiles_within(sole.surface_point, sole.reach):
            self._press_tile(tile, frame, sole)

    def _press_tile(self, tile: Tile, frame: int, sole: Sole) -> None:
        pressed = self._pressed.get(tile)
        if pressed is None:
            pressed = _Pressed(*self.sheet.tile(tile))
        before = pressed.depths[-1] if pressed.depths else np.float32(0.0)
        self._keep(tile, frame, np.maximum(before, lowering(pressed.vertices, sole).astype(np.float32)))

    def _keep(self, tile: Tile, frame: int, after: np.ndarray) -> None:
        """A tile pressed in so far (n,) from a frame on, if that is new."""
        pressed = self._pressed.get(tile) or _Pressed(*self.sheet.tile(tile))
        before = pressed.depths[-1] if pressed.depths else np.float32(0.0)
        if (np.abs(after - before) < SAME).all():
            return
        self._pressed[tile] = pressed
        if pressed.frames and (pressed.frames[-1] == frame or not self.keep_history):
            pressed.frames[-1], pressed.depths[-1] = frame, after
        else:
            pressed.frames.append(frame)
            pressed.depths.append(after)

    def _is_new(self, foot: int, sole: Sole) -> bool:
        """Whether this differs from the foot's last print by more than the eye sees."""
        last = self._last.get(foot)
        if last is not None:
            moved = np.linalg.norm(sole.surface_point - last.surface_point)
            turned = np.linalg.norm(sole.axes - last.axes) * self.sheet.cell
            if sole.depth - last.depth < FINER and moved < self.sheet.cell / 2 and turned < FINER:
                return False
        self._last[foot] = sole
        return True

    def version(self, tile: Tile, frame: int) -> int:
        """Frame at which a tile came into the state it has at this frame; -1 before the first print."""
        state = self._state(tile, frame)
        return self._pressed[tile].frames[state] if state >= 0 else -1

    def _state(self, tile: Tile, frame: int) -> int:
        return bisect_right(self._pressed[tile].frames, frame) - 1

    def depths(self, tile: Tile, frame: int) -> np.ndarray:
        """(n,) m: how far the vertices of a tile are pressed in at a frame."""
        state = self._state(tile, frame)
        pressed = self._pressed[tile]
        return pressed.depths[state] if state >= 0 else np.zeros(len(pressed.vertices), np.float32)

    def surface(self, tile: Tile, frame: int) -> np.ndarray:
        """(n, 3) m: vertices of a tile at a frame, world."""
        pressed = self._pressed[tile]
        return pressed.vertices - self.depths(tile, frame)[:, None] * pressed.normals
