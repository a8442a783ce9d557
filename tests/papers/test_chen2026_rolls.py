"""A foot that rolls through grains: its table, the laws beside it, and what is identified."""

import numpy as np
import pytest

from softground.errors import FileFormatError
from softground.experiments.rigs.dem.rolling import Rolled
from softground.papers.chen2026 import slip_sinkage
from softground.papers.chen2026.rolled_grains import ROLLS, Record, read_rolls, write_rolls
from softground.papers.chen2026.rolled_laws import (
    LEVEL,
    STRAIGHT,
    best_grip,
    closed_wedge,
    convex_wedge,
    laws,
    twists_along,
    zeta_of,
)
from softground.papers.study import Options

DEPTH = np.linspace(0.002, 0.03, 15)


def record(roll: str, law, zeta: float) -> Record:
    """What a roll would meet if a law were true."""
    way = ROLLS[roll]
    ahead = np.concatenate([DEPTH * np.tan(way.direction), np.linspace(0.002, way.level, 30) if way.level else []])
    depth = np.minimum(np.concatenate([DEPTH, np.full(len(ahead) - len(DEPTH), 1.0)]), way.depth)
    blank = Record(0.004, 1, roll, Rolled(ahead, depth, np.zeros((len(depth), 3))))
    force = zeta * law(depth, twists_along(blank))
    return Record(0.004, 1, roll, Rolled(ahead, depth, np.column_stack([force, np.zeros(len(force))])))


def test_table_comes_back(tmp_path):
    one = record("60 deg ahead, rolling", convex_wedge(1.0), 1.5)
    (again,) = read_rolls(write_rolls(tmp_path / "rolls.csv", [one], "made up"))
    assert (again.grain, again.bed, again.roll) == (one.grain, one.bed, one.roll)
    np.testing.assert_allclose(again.met.wrench, one.met.wrench, atol=5e-4)
    np.testing.assert_allclose(again.met.depth, one.met.depth, atol=5e-6)
    (tmp_path / "other.csv").write_text("# what\na,b\n1,2\n")
    with pytest.raises(FileFormatError, match="not a table of rolls"):
        read_rolls(tmp_path / "other.csv")


@pytest.mark.parametrize("grip", [0.0, 0.4])
def test_scale_and_grip_of_a_wedge_are_found(grip):
    rolls = {name: [record(name, convex_wedge(grip), 0.6)] for name in ROLLS}
    zeta = zeta_of(convex_wedge(1.0), rolls[STRAIGHT])
    assert zeta == pytest.approx(0.6, rel=1e-6)
    assert best_grip(zeta, rolls) == pytest.approx(grip)


def test_a_closed_wedge_that_rolls_without_slip_meets_nothing_sideways():
    """By the velocity of the contact point; without grip it is dragged along as one that slips."""
    twist = np.tile([0.1, 0.0, 0.1 / 0.04], (len(DEPTH), 1))
    assert np.abs(closed_wedge(1.0)(DEPTH, twist)).max() == 0
    slips = closed_wedge(1.0)(DEPTH, twist * [1.0, 1.0, 0.0])
    np.testing.assert_allclose(closed_wedge(0.0)(DEPTH, twist), slips)
    assert (slips[:, 0] < 0).all()


def test_study_of_the_shipped_rolls():
    findings = slip_sinkage.perform(Options())
    kept = findings.metrics["kept"]
    assert set(kept) == set(LEVEL)
    assert all(0 < of["grains"] < 1 for of in kept.values())
    assert set(findings.metrics["zeta"]) == set(laws(0.5))
    assert {check.name: check.passed for check in findings.checks}["miss of the wedge with its grip, over that without"]
