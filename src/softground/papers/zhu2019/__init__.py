"""Zhu, Abdulmajeid and Hauser 2019: a data-driven approach for fast simulation of robot locomotion on granular media.

One file a study; the rest is what they share.
"""

from softground.papers.zhu2019 import (
    concavity,
    drop,
    foot_curved,
    foot_straight,
    learned_ground,
    learning,
    push,
    slide,
    speed,
    trot,
)

STUDIES = tuple(
    module.STUDY
    for module in (concavity, learning, foot_straight, foot_curved, drop, push, trot, learned_ground, slide, speed)
)
"""In the order of the paper."""

__all__ = ["STUDIES"]
