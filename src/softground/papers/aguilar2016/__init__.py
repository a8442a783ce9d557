"""Aguilar and Goldman 2016: robophysical study of jumping dynamics on granular media (Nature Physics 12, 278)."""

from softground.papers.aguilar2016 import stutter

STUDIES = (stutter.STUDY,)

__all__ = ["STUDIES"]
