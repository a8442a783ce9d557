"""The push and the trot on learned ground: the claims can fail, and a robot that is too heavy fails them."""

import numpy as np
import pytest

from softground.experiments.campaign import collect
from softground.media import beads
from softground.papers.study import Options
from softground.papers.zhu2019 import learned_ground
from softground.papers.zhu2019.databases import BEADS
from softground.papers.zhu2019.learned_cases import cases, learned_medium

PUSH = {"rear_load_share": 0.7, "slip_ratio": 0.01, "front_slip_mm": 170.0, "fell": False}
TROT = {
    "deeper_by_mm": 8.0,
    "sunk_in_two_foot_phase_mm": 13.0,
    "clearance_mm": 55.0,
    "speed_m_s": 0.35,
    "fell": False,
}


@pytest.mark.parametrize(("name", "value"), [("rear_load_share", 0.5), ("slip_ratio", 0.2), ("front_slip_mm", 40.0)])
def test_a_push_that_shows_less_does_not_hold(name, value):
    assert learned_ground.push_holds(PUSH)
    assert not learned_ground.push_holds(PUSH | {name: value})
    assert not learned_ground.push_holds(PUSH | {"fell": True})


@pytest.mark.parametrize("name", ["deeper_by_mm", "sunk_in_two_foot_phase_mm", "clearance_mm", "speed_m_s"])
def test_a_trot_that_shows_less_does_not_hold(name):
    assert learned_ground.trot_holds(TROT)
    assert not learned_ground.trot_holds(TROT | {name: -1.0})


def test_cases_change_the_robot_or_the_ground():
    ground, medium = learned_medium(None)
    found = {case.name: case for case in cases({ground: medium})}
    own, light, wide, strong, theory = found.values()
    assert ground == "beads"
    assert float(light.robot.total_mass) < float(own.robot.total_mass) < float(wide.robot.total_mass)
    assert float(strong.medium.strength) == 2 * float(own.medium.strength)
    assert wide.medium.foot.radius == pytest.approx(1.4 * beads().foot.radius)
    assert wide.robot.feet[0].shape.radius == pytest.approx(wide.medium.foot.radius)
    assert np.isclose(theory.medium.strength, 2.0)


def test_a_robot_that_is_set_down_sinks_deeper_than_it_could_stand_and_less_than_twice():
    """Force grows with depth as beads were measured, k d. It stands at W / k; what falls freely on such ground, which
    gives nothing back, stops where W d = k d^2 / 2."""
    own = cases({"beads": beads})[0]
    row = learned_ground._pushed(own, quick=True)
    assert not row["fell"]
    database = collect(BEADS)
    down = (database.depth == 0.18) & (database.tilt == 0) & (database.twist[:, 1] < -0.19)
    (force,) = database.wrench[down, 1]
    load = row["rear_load_share"] * own.robot.weight / 2
    assert 1.0 < row["rear_depth_mm"] / 1e3 / (load / (force / 0.18)) < 2.0
    assert row["front_depth_mm"] < row["rear_depth_mm"]


@pytest.mark.slow
def test_members_of_the_ensemble_give_intervals():
    tables = learned_ground._on_members(Options(quick=True, members=3))
    assert [table.name for table in tables] == ["push_members", "trot_members"]
    for row in tables[0].rows:
        low, high = row["rear_depth_mm"].split("(")[1].rstrip(")").split(" to ")
        assert float(low) < float(high)
    assert learned_ground._on_members(Options(quick=True)) == []
