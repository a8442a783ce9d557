"""Gaits cheap on sand, depths of landing, varied ground: what these studies make of walks, without walking."""

from types import SimpleNamespace

import numpy as np
import pytest

from softground.papers.chen2026 import cheap_gaits, landing, varied_ground
from softground.papers.chen2026.cheap_gaits import RANGES, Gait, cheapest, frontal_cost, whole_cost
from softground.papers.chen2026.experiment import DT
from softground.papers.chen2026.varied_ground import CHANGE, SOON, STRENGTHS, STRETCH, Told, field
from softground.papers.chen2026.walker import Steps
from softground.papers.study import Options

FELL = "centre of mass too low at 1.20 s"


def steps(cost: float, speed: float) -> Steps:
    return Steps(np.zeros(2), np.ones(2), np.zeros(2), way=0.04, height=0.4, speed=speed, cost=cost)


# Cheap gaits


def test_the_cheapest_gait_is_found_within_its_ranges_and_what_is_not_free_stays(monkeypatch):
    def bowl(ground, gait):
        assert ground == "sand"
        return 1.0 + ((gait.stance - 0.3) / 0.26) ** 2 + ((gait.width - 0.25) / 0.12) ** 2

    monkeypatch.setattr(cheap_gaits, "reduced_cost", bowl)
    found = cheapest("sand", ("stance", "width"), budget=80)
    assert found.stance == pytest.approx(0.3, abs=0.02)
    assert found.width == pytest.approx(RANGES["width"][1], abs=0.003)  # the bottom of the bowl is out of range
    assert (found.swing_height, found.speed) == (Gait().swing_height, Gait().speed)


def test_a_gait_that_falls_is_not_chosen(monkeypatch):
    falling_below = 0.25  # s; the cheapest of all, would it walk
    monkeypatch.setattr(
        cheap_gaits, "reduced_cost", lambda _, gait: np.inf if gait.stance < falling_below else 1 + gait.stance
    )
    assert cheapest("sand", ("stance",), budget=40).stance == pytest.approx(falling_below, abs=0.02)


@pytest.mark.parametrize(
    ("told", "cost"),
    [(steps(0.7, 0.205), 0.7), (steps(0.7, 0.185), np.inf), (steps(0.7, 0.215), np.inf), (FELL, np.inf)],
)
def test_only_a_walk_that_keeps_its_speed_has_a_cost(monkeypatch, told, cost):
    monkeypatch.setattr(cheap_gaits, "stepped", lambda *_: told)
    assert whole_cost("sand", Gait(speed=0.2)) == cost


def test_a_planar_walk_that_falls_costs_infinitely_much():
    assert cheap_gaits._over_strides(SimpleNamespace(fall=lambda: FELL), Gait()) == np.inf  # type: ignore[arg-type]


def test_swaying_costs_by_the_way_and_more_where_it_is_wider_or_slower():
    """Work of a stance over weight and way: half the speed, half the way. A longer stance sways further."""
    costs = [frontal_cost(Gait(width=width)) for width in (0.12, 0.16, 0.2)]
    assert 0 < costs[0] < costs[1] < costs[2]
    assert frontal_cost(Gait(speed=0.1)) == pytest.approx(2 * frontal_cost(Gait(speed=0.2)), rel=1e-12)


def test_a_stance_lasts_whole_samples():
    assert Gait(stance=0.3149).stepping.stance == pytest.approx(157 * DT, abs=1e-12)


# Landing


def test_ratios_take_rigid_ground_once_and_say_which_walk_failed(monkeypatch):
    asked = []

    def walked(ground, walker, speed, seed):
        damper, at = walker.gains.foot_damper, walker.gait.landing
        asked.append((ground, at, damper, speed))
        if ground == "rigid":
            return steps(1.0, 0.1 if damper == 200.0 and speed == 0.3 else speed)
        return FELL if (at, damper) == (1.0, 50.0) else steps(1.5 - 0.4 * at, speed)

    monkeypatch.setattr(landing, "stepped", walked)
    costs = landing.ratios((0.0, 1.0), (50.0, 200.0), (0.2, 0.3))
    assert [one for one in asked if one[0] == "rigid"] == [
        ("rigid", 0.0, d, v) for d in (50.0, 200.0) for v in (0.2, 0.3)
    ]
    assert len(asked) == 4 + 8
    assert costs[1.0, 200.0, 0.2] == (pytest.approx(1.1), 1.0)
    assert landing._row(1.0, 50.0, (0.2,), costs)["0.2"] == "falls on sand"
    assert landing._row(0.0, 200.0, (0.3,), costs)["0.3"] == "slow on rigid ground"


@pytest.mark.parametrize(("costs", "share", "holds"), [((1.43, 1.05), 0.5, False), ((1.43, 1.2), 1.0, True)])
def test_the_share_of_the_grid_in_the_papers_range(monkeypatch, costs, share, holds):
    monkeypatch.setattr(
        landing,
        "stepped",
        lambda ground, walker, speed, _: steps(1.0 if ground == "rigid" else costs[int(walker.gait.landing)], speed),
    )
    (check,) = landing.perform(Options(quick=True)).checks
    assert (check.value, check.passed) == (share, holds)


def test_a_grid_on_which_nothing_walks_fails(monkeypatch):
    monkeypatch.setattr(landing, "stepped", lambda *_: FELL)
    findings = landing.perform(Options(quick=True))
    assert not findings.checks[0].passed
    assert findings.metrics["walked"] == 0


# Varied ground


def test_strengths_of_stretches_cover_the_way_and_differ_as_the_robot_is_told():
    fields = [field(seed) for seed in range(300)]
    strengths = np.array([one.values for one in fields])
    assert (strengths[:, 0] == 1.0).all()  # as usual, where it starts
    assert strengths.min() >= STRENGTHS[0]
    assert strengths.max() <= STRENGTHS[1]
    assert np.asarray(fields[0].edges)[-1] >= varied_ground.SPEED * varied_ground.STEPS * 0.2
    np.testing.assert_allclose(np.diff(fields[0].edges), STRETCH)
    changes = np.diff(np.log(strengths[:, 1:]), axis=1)
    assert np.sqrt((changes**2).mean()) == pytest.approx(CHANGE, rel=0.05)


def test_late_errors_leave_out_the_steps_after_a_change():
    """A robot that is right but for the three steps that begin with a change, and for its first ones."""
    truth = np.repeat([1.0, 2.0, 1.0], 10)
    believed = truth.copy()
    believed[:SOON] = 5.0
    believed[10 : 10 + SOON] = 1.0
    believed[20 : 20 + SOON] = 2.0
    one = Told(np.arange(30.0), truth, {"robot": believed, "stuck": np.full(30, 2.0)}, "")
    assert one.late("robot") == 0.0
    assert one.error("robot") == pytest.approx(np.log(2) * np.sqrt(2 * SOON / 27))
    assert one.late("stuck") > 0.5


def test_walks_that_fall_on_varied_ground_fail_by_name(monkeypatch):
    monkeypatch.setattr(varied_ground, "told", lambda *_: Told(np.zeros(0), np.zeros(0), {}, FELL))
    findings = varied_ground.perform(Options(quick=True))
    assert [check.passed for check in findings.checks] == [False]
    assert findings.checks[0].value == FELL
    assert not findings.figures


def test_mud_is_as_firm_as_sand_where_it_was_made_so():
    push = varied_ground._push
    assert push(varied_ground.firm_mud()) == pytest.approx(push(varied_ground.SAND), rel=1e-3)
