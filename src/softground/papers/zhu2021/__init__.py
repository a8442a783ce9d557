"""zhu2021: bilevel, contact-implicit trajectory optimisation with learned models of soft contact.

The planner is `softground.planning`. Here is one file a study, and the gaits that they share.
"""

from softground.papers.zhu2021 import (
    baselines,
    bilevel,
    discovered,
    flat,
    foot_size,
    learned_ground,
    not_optimised,
    objectives,
    predicted,
    reinforcement,
    slopes,
    spatial,
    terrains,
    wavy,
)

STUDIES = tuple(
    study.STUDY
    for study in (
        flat,
        slopes,
        learned_ground,
        wavy,
        terrains,
        not_optimised,
        baselines,
        reinforcement,
        bilevel,
        discovered,
        spatial,
        objectives,
        predicted,
        foot_size,
    )
)
"""In the order of the paper, then beyond it."""

__all__ = ["STUDIES"]
