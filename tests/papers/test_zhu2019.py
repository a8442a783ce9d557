"""Studies of zhu2019 in their quick form: their claims hold, and fail where they should."""

from dataclasses import replace

import numpy as np
import pytest

from softground.experiments.protocol import Recording
from softground.experiments.trajectory import FootTrajectory
from softground.papers.report import write_report
from softground.papers.study import Options
from softground.papers.zhu2019 import concavity, drop, foot_curved, foot_study, learning, slide, trot
from softground.papers.zhu2019.databases import MEASURED_SAND, resistive_database
from softground.papers.zhu2019.dem_records import read_record, shipped, write_record
from softground.papers.zhu2019.foot_straight import dissipation_errors
from softground.papers.zhu2019.tracking import Track, errors, recorded
from softground.papers.zhu2019.trajectories import TRAJECTORIES

QUICK = Options(quick=True)


@pytest.fixture(autouse=True)
def no_measured_sand(monkeypatch):
    """Wherever the tests run, what is shipped is what they see."""
    monkeypatch.delenv(MEASURED_SAND, raising=False)


def failing(findings) -> list[str]:
    return [check.name for check in findings.checks if not check.passed]


def test_concavity_writes_a_report(tmp_path):
    findings = concavity.perform(QUICK)
    assert failing(findings) == []
    folder = write_report(tmp_path, concavity.STUDY, findings, QUICK).parent
    assert (folder / "concavity.png").stat().st_size > 10_000
    assert "Table II" in (folder / "report.md").read_text()
    assert (folder / "table_ii.csv").read_text().startswith("medium,")


def test_wrench_spaces_that_are_not_convex_are_noticed():
    poses = np.zeros((20, 3))
    values = np.full(20, 0.01), np.append(np.zeros(18), [0.2, 0.3])
    good, bad = (concavity.Concavity("sand", poses, one) for one in values)
    assert [check.passed for check in concavity._checks("sand", good)] == [True, True]
    assert [check.passed for check in concavity._checks("sand", bad)] == [False, False]


def test_physics_learns_best():
    """On grains, which are not made by the theory that it has inside."""
    findings = learning.perform(QUICK)
    assert findings.metrics["origin"] == "our DEM"
    assert findings.metrics["five_fold"]["physics"] < findings.metrics["five_fold"]["RBF"]


def test_drop_upright_on_a_slope_and_tilted(tmp_path):
    findings = drop.perform(QUICK)
    assert failing(findings) == []
    write_report(tmp_path, drop.STUDY, findings, QUICK)
    assert (tmp_path / "drop.png").stat().st_size > 10_000
    assert (tmp_path / "tilted.nc").is_file()


def test_memory_lowers_the_error_on_the_curved_trajectory():
    findings = foot_curved.perform(QUICK)
    assert failing(findings) == []
    assert findings.metrics["improvement"] > 0.5


def test_drop_checks_can_fail():
    """A tilted object in the place of the upright one is noticed."""
    run = drop.simulate(*drop.CASES["tilted"], 0.5)
    names = [check.name for check in drop._checks({name: run for name in drop.CASES}) if not check.passed]
    assert any("stays erect" in name for name in names)


SLID = {"greatest_speed_m_s": 1.0, "stop_inclination_deg": 0.5, "final_speed_m_s": 0.0}
STOPS = {"sand": [1.0, 1.005], "pebbles": [3.0, 3.01]}


def test_slide_checks_compare_the_media():
    """Sand and pebbles exchanged: the two claims that compare them fail, the others do not."""
    sand = SLID | {"final_sinkage_mm": 60.0, "final_potential_energy_j": 700.0}
    pebbles = SLID | {"final_sinkage_mm": 40.0, "final_potential_energy_j": 720.0}
    assert all(check.passed for check in slide._checks({"sand": sand, "pebbles": pebbles}, STOPS))
    wrong = [check.name for check in slide._checks({"sand": pebbles, "pebbles": sand}, STOPS) if not check.passed]
    assert len(wrong) == 2
    assert all("pebbles" in name for name in wrong)
    moved = slide._checks({"sand": sand, "pebbles": pebbles}, STOPS | {"sand": [1.0, 1.1]})
    assert ["time step" in check.name for check in moved if not check.passed] == [True]


def test_a_slide_is_measured(monkeypatch):
    """The first half second on pebbles: it goes down, is braked by less than its weight pulls, and energies add up."""
    monkeypatch.setattr(slide, "SECONDS", 0.5)
    one = slide.simulate("pebbles", 0.01)
    row = slide.metrics_of(one)
    assert -3.0 < row["stop_x_m"] < -2.5
    assert 0.1 < row["drag_over_load"] < np.tan(slide.SLOPE)
    feet = one.foot_poses()[0][-1]
    assert row["ground_at_feet_mm"] == pytest.approx(1e3 * (feet[:, 2].mean() + one["depth"].values[-1].mean()), abs=10)
    deeper = row | {"final_sinkage_mm": row["final_sinkage_mm"] + 10.0}
    deeper["final_potential_energy_j"] -= 0.01 * row["weight_n"]
    why = slide.energy_by_cause(deeper, row)
    assert why["it sinks less"] == pytest.approx(why["all"])
    assert why["it leans"] == pytest.approx(0.0, abs=1e-9)


def test_growth_of_depth_is_counted_by_stretches():
    depth = np.array([0, 0, 1, 2, 3, 4, 4, 4, 1, 2, 3, 4, 5, 5.0])[:, None]
    phase = np.array([0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0], dtype=bool)
    assert trot._growth(depth, phase) == [3.0, 4.0]


def test_resistive_force_theory_nearly_obeys_maximum_dissipation():
    """It is not built on the principle, but comes near it; shuffled wrenches do not."""
    sand = resistive_database("sand")
    near = dissipation_errors(sand)
    shuffled = replace(sand, wrench=sand.wrench[np.random.default_rng(0).permutation(len(sand))])
    far = dissipation_errors(shuffled)
    assert near["power"] > 0.95
    assert far["power"] < 0.5
    assert far["wrench"] > 2 * near["wrench"]


def test_records_survive_a_file(tmp_path):
    wrench = np.random.default_rng(1).normal(size=(5, 6)) * [1, 0, 1, 0, 1, 0]
    path = write_record(tmp_path / "r.csv", Recording(np.arange(5.0), wrench), {"seed": 1})
    back = read_record(path)
    np.testing.assert_allclose(back.time, np.arange(5.0))
    np.testing.assert_allclose(back.wrench, wrench, atol=1e-4)


@pytest.mark.parametrize("name", ["straight", "curved"])
def test_beds_that_had_no_part_in_learning_are_judged(name):
    """What is that bed's own wrench errs by nothing there; beds differ by a sixth, as grains a fifth of the foot do."""
    trajectory, record = TRAJECTORIES[name](), shipped(name, 13)
    assert record is not None
    time = np.linspace(0.0, trajectory.duration, 200)
    track = Track(time, trajectory.at(time), recorded(record, trajectory, time)[1], True)
    (row,) = foot_study.in_unseen_beds(name, {"itself": track})
    assert row["bed"] == 13
    assert row["itself"] == pytest.approx(0.0, abs=1e-12)
    assert 0.05 < row["grains of bed 1"] < 0.3


def test_errors_are_normalised():
    measured = np.array([[3.0, 4.0, 0.1], [3.0, 4.0, 0.1]])
    assert errors(measured, measured)["together"] == 0
    off = errors(1.2 * measured, measured)
    for name in ("fx", "fz", "ty", "together"):
        assert off[name] == pytest.approx(0.2)


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_trajectorys_start_above_ground_and_stay_in_the_box(name):
    trajectory = TRAJECTORIES[name]()
    assert trajectory.depth[0] < -0.02
    assert 0.1 <= trajectory.depth.max() <= 0.16
    assert np.abs(trajectory.x).max() <= 0.12
    np.testing.assert_allclose(trajectory.at(trajectory.time), trajectory.corners())


def test_a_trajectory_must_go_forward_in_time():
    from softground.errors import ExperimentError

    with pytest.raises(ExperimentError, match="increase"):
        FootTrajectory([0.0, 1.0, 1.0], [0, 0, 0], [0, 0, 0], [0, 0, 0])
