"""Romualdi, Dafarra and Pucci 2021: modeling of visco-elastic environments for humanoid robot motion control.

The ground is `softground.media.ViscoElastic`, the controllers are `softground.control.whole_body`, the estimator is
`softground.control.estimation`. Here is one file a study.
"""

from softground.papers.romualdi2021 import (
    adaptation,
    controllers,
    estimation,
    experiments,
    noise,
    second_robot,
    turning,
)

STUDIES = tuple(
    module.STUDY for module in (controllers, experiments, noise, estimation, adaptation, turning, second_robot)
)
"""Those of the paper in its order, then what goes beyond it."""

__all__ = ["STUDIES"]
