"""Visco-elastic ground (romualdi2021): the medium, the soles on it, and Lemma 1 as functions for controllers."""

from softground.media.visco_elastic import lemma
from softground.media.visco_elastic.fields import Field, Stretches
from softground.media.visco_elastic.friction import FrictionLaw, bounded_force
from softground.media.visco_elastic.medium import Firm, ViscoElastic
from softground.media.visco_elastic.sole import Patch, patch

__all__ = ["Field", "Firm", "FrictionLaw", "Patch", "Stretches", "ViscoElastic", "bounded_force", "lemma", "patch"]
