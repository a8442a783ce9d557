"""The trajectories along which a foot is driven through the ground, and what DEM recorded along them.

The authors' time series and the exact trajectories of Figs 7 and 8 are not public. These have their character: a
straight line that goes forwards and down, a curve whose way down slows, levels and comes up again. Two more serve the
memory of the ground: one comes back to a spot, the other slows down, rests and drags.
"""

from __future__ import annotations

import numpy as np

from softground.experiments.trajectory import FootTrajectory

CLEARANCE = 0.03
"""Height above the surface at which a trajectory starts, m."""


def straight() -> FootTrajectory:
    """Forwards and down at 45 degrees, 0.14 m/s, to a depth of 0.15 m; upright."""
    depth = np.array([-CLEARANCE, 0.15])
    return FootTrajectory(np.array([0.0, 1.8]), depth - 0.06, depth, np.zeros(2))


def curved(lines: int = 24) -> FootTrajectory:
    """Through half an ellipse 0.2 m long and 0.14 m deep at constant speed along x; upright."""
    phase = np.linspace(0.0, np.pi, lines + 1)
    return FootTrajectory(
        2.4 * phase / np.pi, 0.1 * (2 * phase / np.pi - 1), 0.17 * np.sin(phase) - CLEARANCE, 0 * phase
    )


def revisited() -> FootTrajectory:
    """Down to 0.10 m, up to 0.03 m, down again to 0.13 m, in place."""
    depth = np.array([-CLEARANCE, 0.10, 0.03, 0.13])
    return FootTrajectory(np.append(0, np.abs(np.diff(depth)).cumsum()) / 0.1, 0 * depth, depth, 0 * depth)


def slowed(lines: int = 16) -> FootTrajectory:
    """Down to 0.12 m, ever slower, a rest of 0.3 s, then 0.08 m forwards."""
    down = np.linspace(0.0, 1.0, lines + 1)
    depth = -CLEARANCE + (0.12 + CLEARANCE) * (1 - (1 - down) ** 2)
    time = np.concatenate([1.5 * down, [1.8, 2.6]])
    x = np.concatenate([0 * down, [0.0, 0.08]])
    return FootTrajectory(time, x - 0.04, np.concatenate([depth, depth[-1:], depth[-1:]]), 0 * time)


TRAJECTORIES = {"straight": straight, "curved": curved, "revisited": revisited, "slowed": slowed}
