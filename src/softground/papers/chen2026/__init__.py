"""Chen, Huang, Shan, Yi and Liu 2026: bipedal-walking-dynamics model on granular terrains.

The law of the ground is `softground.media.Wedge`, the robot `Robot.load("biped")`. Here are the paper's augmented
models (`models`), their stances (`stance`), the rolling foot (`rolling`), and one file a study.
"""

from softground.papers.chen2026 import law, speed

STUDIES = tuple(module.STUDY for module in (law, speed))
"""In the order of the paper."""

__all__ = ["STUDIES"]
