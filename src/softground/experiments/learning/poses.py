"""Features of feet at many poses, evaluated as a simulator would."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np

from softground.experiments.protocol import Pose
from softground.media.base import FootInGround

#: Poses evaluated at once: one size, so that features are compiled once.
CHUNK = 64


def feature_rows(features: Callable, poses: np.ndarray) -> np.ndarray:
    """Features (q, b) of feet at poses (q, 3) = (depth, tilt, heading)."""
    padded = np.concatenate([poses, np.zeros((-len(poses) % CHUNK, 3))])
    chunks = [np.asarray(_evaluated(features, feet_at(chunk))) for chunk in padded.reshape(-1, CHUNK, 3)]
    return np.concatenate(chunks).astype(float)[: len(poses)]


@jax.jit
def _evaluated(features: Callable, feet: FootInGround):
    return jax.vmap(features)(feet)


def feet_at(poses: np.ndarray) -> FootInGround:
    """Feet (leading axis) at poses (q, 3) in level ground."""
    count = len(poses)
    return FootInGround(
        depth=poses[:, 0],
        position=np.zeros((count, 3)),
        rotation=np.stack([Pose(*pose).rotation for pose in poses]),
        surface=np.broadcast_to(np.eye(3), (count, 3, 3)),
    )
