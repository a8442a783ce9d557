"""Studies of romualdi2021 in their quick form, which share one robot and its compiled controllers."""

import numpy as np
import pytest
import xarray as xr

from softground.control.walking import gait_for
from softground.papers.report import write_report
from softground.papers.romualdi2021 import (
    adaptation,
    controllers,
    estimation,
    experiments,
    noise,
    second_robot,
    turning,
)
from softground.papers.romualdi2021.estimation import CASES, EDGES, NEAR, changes_of
from softground.papers.romualdi2021.walks import Place, icub, momentum_error, sigma_over_step, stances, wrench_rate
from softground.papers.study import Options
from softground.robots import Robot
from softground.runs import Run

QUICK = Options(quick=True)


def failing(findings) -> list[str]:
    return [check.name for check in findings.checks if not check.passed]


def test_table_i_writes_a_report(tmp_path):
    findings = controllers.perform(QUICK)
    assert failing(findings) == []
    folder = write_report(tmp_path, controllers.STUDY, findings, QUICK).parent
    assert (folder / "table_i.png").stat().st_size > 10_000
    assert "as in the paper" in (folder / "report.md").read_text()
    assert (folder / "table_i.csv").read_text().startswith("controller,ground,paper,ours")


def test_both_controllers_in_experiment_1():
    findings = experiments.perform(QUICK)
    assert failing(findings) == []
    assert set(findings.figures) == {"experiment_1"}


def test_noise():
    assert failing(noise.perform(QUICK)) == []


def test_estimation_on_changing_ground():
    findings = estimation.perform(QUICK)
    assert failing(findings) == []
    assert {row["quantity"] for row in findings.metrics["both"]["changes"]} == {"stiffness", "damping"}


def test_turning():
    findings = turning.perform(QUICK)
    assert failing(findings) == []
    assert 0 < findings.metrics["planned_turn_deg"] < 20


def test_learns_from_a_wrong_guess():
    findings = adaptation.perform(QUICK)
    assert [name for name in failing(findings) if "learns" in name] == []
    learned = findings.metrics["too stiff, learns, sigma 0"]
    assert learned["stiffness_error_at_end_percent"] < 5


@pytest.mark.parametrize("name", ["g1", "talos"])
def test_similar_ground_keeps_rolling_in_proportion_to_toppling(name):
    """k A w2 / (12 m g h) by hand, for boxes."""
    robot, place = Robot.load(name), Place(8e5, 1e4)
    similar = second_robot.similar(place, robot)

    def ratio(robot, k):
        box, height = robot.feet[0].shape, gait_for(robot).com_height
        return k * box.length * box.width**3 / 12 / (float(robot.total_mass) * 9.81 * height)

    assert ratio(robot, similar.k) == pytest.approx(ratio(icub(), place.k))
    assert second_robot.similar(place, icub()) == place


def made_up(believed):
    """A run in which the left foot comes down on the second stretch at sample 10, with these beliefs of its k."""
    samples = np.arange(10 + len(believed))
    beliefs = np.concatenate([np.full(10, 8e5), believed])
    contact = np.stack([(samples < 5) | (samples >= 10), samples >= 0], axis=1)
    q = np.tile(np.asarray(icub().posture), (len(samples), 1))
    q[10:, 0] += EDGES[0] + 0.02  # the robot is carried along: only where the left foot lands counts
    return Run(
        xr.Dataset(
            {
                "configuration": (("time", "q"), q),
                "planned_contact": (("time", "foot"), contact),
                "believed_stiffness": (("time", "foot"), np.stack([beliefs, np.full(len(samples), 8e5)], axis=1)),
                "believed_damping": (("time", "foot"), np.full((len(samples), 2), 1e4)),
            },
            coords={"time": 0.1 * samples, "foot": ["left", "right"]},
            attrs={"dt_s": 0.1},
        )
    )


def test_settling_is_counted_from_touch_down_to_the_last_bad_sample():
    to = CASES["stiffness"].stiffness[1]
    believed = to * (1 + NEAR * np.array([5.0, 2.0, 0.5, 1.5, 0.9, 0.1, 0.0]))
    (row,) = changes_of("stiffness", CASES["stiffness"], made_up(believed))
    assert (row["foot"], row["from"], row["to"]) == ("left", 8e5, to)
    assert row["settled_after_s"] == pytest.approx(0.4)
    (never,) = changes_of("stiffness", CASES["stiffness"], made_up(to * np.full(7, 2.0)))
    assert never["settled_after_s"] == np.inf


def test_measures_of_a_run():
    time = 0.01 * np.arange(100)
    force = np.zeros((100, 2, 6))
    force[:, :, 2] = 50 * time[:, None]  # 50 N/s under both feet
    run = Run(
        xr.Dataset(
            {
                "wrench_world": (("time", "foot", "wrench_axis"), force),
                "planned_contact": (("time", "foot"), np.ones((100, 2))),
                "center_of_mass": (("time", "xyz"), time[:, None] * [0.1, 0.0, 0.0]),
                "com_velocity_reference": (("time", "xyz"), np.zeros((100, 3))),
            },
            coords={"time": time, "foot": ["left", "right"]},
            attrs={"dt_s": 0.01, "mass_kg": 30.0},
        )
    )
    assert wrench_rate(run, 0.5) == pytest.approx(50.0)
    np.testing.assert_allclose(momentum_error(run), np.tile([3.0, 0.0, 0.0], (100, 1)), atol=1e-9)
    assert stances(run, 0) == [(0, 99)]
    assert sigma_over_step(5.0) == pytest.approx(0.5)
