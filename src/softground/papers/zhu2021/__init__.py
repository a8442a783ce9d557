"""zhu2021: bilevel, contact-implicit trajectory optimisation with learned models of soft contact.

The planner is `softground.planning`. Here is one file a study, and the gaits that they share.
"""

from softground.papers.zhu2021 import flat, not_optimised, slopes, wavy

STUDIES = (flat.STUDY, slopes.STUDY, wavy.STUDY, not_optimised.STUDY)
"""In the order of the paper."""

__all__ = ["STUDIES"]
