"""Studies of zhu2021 in their quick form: gaits of 1.5 s, a few iterations of the optimiser."""

from dataclasses import replace

import numpy as np
import pytest

from softground.contact.feet import feet_along
from softground.papers.report import write_report
from softground.papers.study import Options
from softground.papers.zhu2021 import flat, gaits, not_optimised, slopes, wavy
from softground.papers.zhu2021.table_one import SLOPES
from softground.planning import kept
from softground.planning.replay import slip_per_metre

QUICK = Options(quick=True)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """Gaits are kept for this module alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOFTGROUND_CACHE", str(tmp_path_factory.mktemp("gaits")))
        yield


def test_flat_gait_improves_and_is_reported(tmp_path):
    findings = flat.perform(QUICK)
    passed = {check.name: check.passed for check in findings.checks}
    assert passed["velocity error Mv (m/s)"]
    assert passed["speed kept when replayed in the simulator"]
    assert not passed["optimality"]  # a few iterations do not get there, and the check says so
    objective, violation, _ = zip(*gaits.flat(quick=True).report["stages"][0]["history"], strict=True)
    assert objective[-1] < 0.3 * objective[0]
    assert min(violation) < 0.1 * violation[0]
    folder = write_report(tmp_path, flat.STUDY, findings, QUICK).parent
    assert (folder / "gait.png").stat().st_size > 10_000
    assert "| paper |" in (folder / "report.md").read_text()


def test_slopes_go_on_from_the_cache(monkeypatch):
    first = slopes.perform(QUICK)
    assert [row["slope (deg)"] for row in first.tables[0].rows] == [-2.5, 0.0, 2.5]
    monkeypatch.setattr(kept, "solve", None)  # solving again would fail
    again = slopes.perform(QUICK)
    assert again.metrics == first.metrics


def test_flat_gait_on_a_slope_is_measured():
    findings = not_optimised.perform(QUICK)
    assert set(findings.metrics) == {"flat gait, tracked", "planned for it"}
    for row in findings.metrics.values():
        assert 0.2 < row["speed (m/s)"] < 0.6


def test_slip_is_the_way_of_feet_in_the_ground():
    """A robot that is pushed along as it stands, all feet 3 cm deep, slips a metre for every metre."""
    problem = gaits.problem_on(gaits.slope(0.0), quick=True)
    q = np.tile(np.asarray(problem.robot.posture, float), (11, 1))
    depth = np.asarray(feet_along(problem.robot, problem.ground.surface, q[:1]).depth)[0]
    q[:, 1] += depth.mean() - 0.03
    q[:, 0] += np.linspace(0.0, 0.5, 11)
    assert slip_per_metre(problem.robot, problem.ground, q) == pytest.approx(1.0, abs=1e-9)
    q[:, 1] += 0.2
    assert slip_per_metre(problem.robot, problem.ground, q) == 0.0


def test_checks_of_slopes_can_fail():
    """A gait that the solver did not finish, or that loses its speed, is named."""
    gait = gaits.flat(quick=True)
    missed = {check.name: check for check in slopes.checks({0.0: gait})}
    assert missed["slopes not solved to 1e-3 (deg)"].value == "0"
    solved = replace(gait.plan, report=replace(gait.plan.report, status="converged"))
    slow = replace(gait, plan=solved, replayed=gait.replayed | {"speed_kept": 0.5})
    names = [check.value for check in slopes.checks({0.0: slow}) if not check.passed]
    assert "0" in names


def test_table_has_seventeen_slopes_of_which_the_paper_solved_fifteen():
    assert len(SLOPES) == 17
    assert sum(row is not None for row in SLOPES.values()) == 15


def test_waves_are_the_top_of_a_closed_block():
    x = np.linspace(-2.0, 6.0, 161)
    block = wavy.block_below(x, wavy.AMPLITUDE * np.sin(2 * np.pi * x / wavy.WAVELENGTH))
    assert block.is_watertight
    assert block.is_winding_consistent
    assert block.volume == pytest.approx(8.0 * 2 * wavy.HALF_WIDTH * -wavy.BOTTOM, rel=1e-9)  # whole waves
