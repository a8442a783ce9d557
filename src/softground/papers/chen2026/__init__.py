"""Chen, Huang, Shan, Yi and Liu 2026: bipedal-walking-dynamics model on granular terrains.

The law of the ground is `softground.media.Wedge`, the robot `Robot.load("biped")`. Here are the paper's augmented
models (`models`), their stances (`stance`), the rolling foot (`rolling`), the walks that stand for the paper's tests
(`experiment`), what the models make of them (`prediction`), and the studies.
"""

from softground.papers.chen2026 import (
    cheap_gaits,
    classification,
    comparison,
    identification,
    landing,
    law,
    rolling_feet,
    speed,
    transport,
    turning,
    walker,
)

STUDIES = (
    law.STUDY,
    comparison.STANCE,
    comparison.VELOCITIES,
    rolling_feet.STUDY,
    walker.STUDY,
    transport.STUDY,
    landing.STUDY,
    cheap_gaits.STUDY,
    identification.STUDY,
    classification.STUDY,
    turning.STUDY,
    speed.STUDY,
)
"""In the order of the paper."""

__all__ = ["STUDIES"]
