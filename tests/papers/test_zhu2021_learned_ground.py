"""Gaits on learned ground: slopes are reached from level ground, and what is not solved is counted as not solved."""

from types import SimpleNamespace
from typing import Any

import pytest

from softground.papers import thresholds
from softground.papers.zhu2019.databases import MEASURED_SAND
from softground.papers.zhu2019.learned_cases import cases, learned_medium
from softground.papers.zhu2021 import learned_ground
from softground.papers.zhu2021.table_one import SLOPES


@pytest.mark.parametrize("degrees", [slope for slope in SLOPES if slope])
def test_every_slope_has_one_before_it_and_they_lead_to_level_ground(degrees):
    way = [degrees]
    while way[-1]:
        way.append(learned_ground.nearer_to_level(way[-1]))
    assert way == sorted(way, key=abs, reverse=True)
    assert len(way) == 1 + abs(degrees) / 2.5  # none is left out


def test_too_few_slopes_fail_and_gaits_that_do_not_walk_are_not_named():
    gait = lambda **how: SimpleNamespace(**({"converged": True, "walks": True} | how))  # noqa: E731
    level: Any = {"sand, larger feet": gait(), "sand, strength 2": gait(walks=False), "theory, strength 2": gait()}
    walks, solved = learned_ground._checks(level, int(thresholds.LEARNED_SLOPES) - 1)
    assert walks.passed
    assert walks.value == "sand, larger feet"
    assert not solved.passed
    assert learned_ground._checks(level, 17)[1].passed
    level = {"sand": gait(converged=False)}
    assert not learned_ground._checks(level, 17)[0].passed


def test_remedies_on_slopes_are_cases(monkeypatch):
    monkeypatch.delenv(MEASURED_SAND, raising=False)
    ground, medium = learned_medium(None)
    names = {case.name for case in cases({ground: medium})}
    assert {f"{ground}, {remedy}" for remedy in learned_ground.SLOPED[ground]} <= names
