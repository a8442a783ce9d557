"""Chen, Huang, Shan, Yi and Liu 2026: bipedal-walking-dynamics model on granular terrains.

The law of the ground is `softground.media.Wedge`, the robot `Robot.load("biped")`. Here are the paper's augmented
models (`models`), their stances (`stance`), the rolling foot (`rolling`), the walks that stand for the paper's tests
(`experiment`), what the models make of them (`prediction`), and the studies.
"""

from dataclasses import replace
from functools import cache

from softground.papers.chen2026 import (
    account,
    cheap_gaits,
    classification,
    comparison,
    identification,
    landing,
    law,
    printed_rows,
    rolling_feet,
    slip_sinkage,
    speed,
    transport,
    turning,
    varied_ground,
    walker,
)

_PERFORMED = tuple(
    replace(study, perform=cache(study.perform))
    for study in (
        printed_rows.STUDY,
        law.STUDY,
        slip_sinkage.STUDY,
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
        varied_ground.STUDY,
        speed.STUDY,
    )
)
"""Each is performed once: the account of all of them asks again."""

STUDIES = (*_PERFORMED, account.account(_PERFORMED))
"""In the order of the paper, and the account of them all."""

__all__ = ["STUDIES"]
