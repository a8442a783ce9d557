"""Starts that step nowhere, and terrains: what they are. What is made of them takes too long for a test."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from softground.papers.zhu2021 import discovered, terrains
from softground.planning.strides import stride_problem
from softground.planning.trajectory import gait_metrics


@pytest.mark.parametrize(
    ("label", "lifts", "speed"), [("trotting in place", 1, 0.0), ("standing", 0, 0.0), ("a shuffle", 0, 0.4)]
)
def test_starts_are_what_their_names_say(label, lifts, speed):
    """Of half a stride, in which a diagonal pair steps; noise on joints lifts no foot out of the sand."""
    one = stride_problem(discovered.problem())
    start = discovered.SEARCH.perturbed(discovered.STARTS[label](one), 0)
    found = gait_metrics(one, start)
    assert sum(found.lifts) == 2 * lifts
    assert found.speed == pytest.approx(speed)
    assert not start.torque.any()


def gait(status: str = "converged", fewest: int = 1, kept: float = 1.0, cost: float = 0.34) -> SimpleNamespace:
    return SimpleNamespace(
        converged=status == "converged",
        walks=kept > 0.9,
        report={"status": status, "objective": cost, "violation": 1e-4, "optimality": 1e-6},
        metrics={"fewest_lifts_in_a_period": fewest, "velocity_error": 1e-4, "paper_cost": 9.0},
        replayed={"speed_kept": kept},
    )


def test_checks_of_what_was_discovered_can_fail():
    library = SimpleNamespace(report=SimpleNamespace(objective=0.336))
    found = discovered.Discovered("standing", (0, 0, 0, 0), {}, gait())  # type: ignore[arg-type]
    assert all(check.passed for check in discovered.checks(found, library))  # type: ignore[arg-type]
    bad = replace(found, gait=gait("feasible", 0, 0.5, 0.6))  # type: ignore[arg-type]
    assert not any(check.passed for check in discovered.checks(bad, library))  # type: ignore[arg-type]


def test_checks_of_terrains_can_fail():
    assert all(check.passed for check in terrains.checks("waves", gait()))  # type: ignore[arg-type]
    slow = {check.name: check.passed for check in terrains.checks("step", gait(kept=0.5))}  # type: ignore[arg-type]
    assert [name for name, passed in slow.items() if not passed] == ["step: speed kept when replayed, no fall"]


def test_a_step_and_bumps_are_as_high_as_they_say():
    x = np.linspace(-2.0, 6.0, 1601)
    step, bumps = terrains.step(x), terrains.bumps(x)
    assert (step[0], step[-1]) == (0.0, pytest.approx(0.1))
    assert np.diff(step).max() / 0.005 == pytest.approx(np.tan(terrains.REPOSE))
    assert np.abs(bumps).max() == pytest.approx(0.05)
    assert bumps.min() < -0.01 < 0.01 < bumps.max()
