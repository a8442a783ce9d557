"""How costs add up over a stance, on curves and walks made up for it."""

from types import SimpleNamespace

import numpy as np
import pytest

from softground.papers.chen2026 import cost_over_stance
from softground.papers.chen2026.cost_over_stance import by_leg, leaving, lost, over_stance, paid, shape_of, until_left

SHARE = np.linspace(0.0, 1.0, 101)
RAMP = 0.1 + SHARE
JUMP = np.clip(SHARE - 0.9, 0, None)


@pytest.mark.parametrize(
    ("sand", "rigid", "held"),
    [
        (RAMP + 2 * JUMP, 0.5 * RAMP, (True, True, True)),
        (RAMP, 0.5 * RAMP, (True, True, False)),  # the same without a jump
        (RAMP**3, RAMP**3 - RAMP, (True, False, True)),  # bent, and ever steeper
        (RAMP + 0.5, RAMP, (False, True, False)),  # all of the difference at once
    ],
)
def test_what_a_reader_of_fig_6c_sees(sand, rigid, held):
    checks = over_stance(sand, rigid)
    assert tuple(check.passed for check in checks) == held


def test_the_shape_in_numbers():
    shape = shape_of(RAMP + 2 * JUMP, 0.5 * RAMP)
    assert shape.bent == pytest.approx(0.0, abs=1e-12)
    assert shape.jump == pytest.approx(3.0)
    assert shape.after == pytest.approx(1 - 0.15 / 0.75)


class Walk(SimpleNamespace):
    """Stances of ten steps in which each foot takes two steps of the next stance to leave the ground."""

    weight = 100.0

    def __getitem__(self, name):
        return SimpleNamespace(values=getattr(self, name))


@pytest.fixture
def walked(monkeypatch) -> Walk:
    monkeypatch.setattr(cost_over_stance, "per", lambda: 10)
    monkeypatch.setattr(cost_over_stance, "STEADY", 0.0)
    monkeypatch.setattr(cost_over_stance, "actuator_work", lambda run: run.work)
    monkeypatch.setattr(cost_over_stance, "way_ahead", lambda run: 0.01 * np.arange(len(run.work) + 1))
    time = np.arange(81)
    depth = np.where((time % 20 < 12)[:, None], [0.01, 0.01], [-0.01, 0.01])
    depth[:, 1] = np.where((time + 10) % 20 < 12, 0.01, -0.01)
    work = np.zeros((80, 6))
    carrying = (np.arange(80) // 10) % 2
    work[np.arange(80), 3 * carrying] = np.where(np.arange(80) % 10 < 2, 3.0, 1.0)  # the leg that stands
    work[np.arange(80), 3 * (1 - carrying)] = -0.5  # the other one takes back
    return Walk(depth=depth, work=work, sizes={"time": 81})


def test_a_foot_leaves_when_it_is_out_of_the_ground(walked):
    assert leaving(walked) == 2


def test_energies_by_leg_and_what_is_lost(walked):
    legs = by_leg(walked)
    assert legs["leg that stands, first fifth (J)"] == pytest.approx(6.0)
    assert legs["leg that stands, after (J)"] == pytest.approx(8.0)
    assert legs["leg that swings, first fifth (J)"] == pytest.approx(-1.0)
    assert legs["both, cost, after (J)"] == pytest.approx(4.0)
    assert lost(walked) == pytest.approx(9.0)
    assert paid(walked) == pytest.approx(9.0)


def test_a_stance_that_lasts_until_the_foot_has_left_ends_with_the_next_landing(walked):
    """Twelve steps: two dear ones, eight, and the two dear ones of the foot that lands meanwhile; over its own way."""
    cost = until_left(walked)
    assert cost[-1] == pytest.approx((2 * 2.5 + 8 * 0.5 + 2 * 2.5) / (100 * 0.12))
    assert shape_of(cost, 0 * cost).jump > 1.5
