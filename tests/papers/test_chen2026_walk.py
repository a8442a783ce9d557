"""Calibration and predictions of chen2026, on a walk in sand."""

import numpy as np
import pytest

from softground.papers.chen2026 import comparison, rolling_feet, transport
from softground.papers.chen2026.calibration import DEPTHS, SAND, _forces, _push_on_wedge, calibrated
from softground.papers.chen2026.experiment import robot, stances, walk
from softground.papers.chen2026.prediction import QUANTITIES, measured
from softground.papers.study import Options
from softground.robots.feet import HalfCylinder


@pytest.fixture(scope="module")
def shape() -> HalfCylinder:
    found = robot().feet[0].shape
    assert isinstance(found, HalfCylinder)
    return found


def test_calibration_is_the_best_zeta(shape):
    law = calibrated(shape)
    sand = _forces(shape, SAND, [0.0, 0.0, -1.0])[:, 2]
    miss = lambda zeta: ((_push_on_wedge(shape, type(law)(zeta=zeta)) - sand) ** 2).sum()  # noqa: E731
    best = float(law.zeta)
    assert miss(best) < min(miss(0.99 * best), miss(1.01 * best))
    assert len(sand) == len(DEPTHS)


def test_measured_stances_are_in_the_models_terms():
    found = measured(stances(walk("sand", 0.2), 4))
    weight = float(robot().total_mass) * 9.81
    assert found.values["F_z"].mean() == pytest.approx(weight, rel=0.1)  # what carries a walk on average
    # The ground pushes a foot inwards, the same way for both after mirroring: the right foot's inside is +y.
    assert (found.values["F_y"].mean(axis=1) > 0).all()
    assert set(found.values) == set(QUANTITIES)
    for name in ("x_s", "y_s", "z_s"):
        np.testing.assert_array_equal(found.values[name][:, 0], 0.0)
    assert (found.values["z_s"][:, -1] < -0.002).all()  # it sinks
    assert (found.sagittal.q[:, 1] < 0).all()  # and was in the sand before


def test_velocities_quick():
    findings = comparison.perform_velocities(Options(quick=True))
    better = {check.name: check.passed for check in findings.checks}
    for name in ("swing thigh", "swing calf", "stance thigh", "stance calf", "F_z", "z_s"):
        for speed in ("0.2", "0.4"):
            assert better[f"{name} at {speed} m/s: RMSE below the rigid assumption's"], name


def test_cost_of_transport_quick():
    findings = transport.perform(Options(quick=True))
    passed = {check.name: check.passed for check in findings.checks}
    assert all(ok for name, ok in passed.items() if name.startswith("20 steps"))
    assert passed["slowest 3D walk, times real time on one core"]
    assert all(ratio > 1.0 for ratio in findings.metrics["ratio"].values())


def test_rolling_quick():
    findings = rolling_feet.perform(Options(quick=True))
    sand, rigid = findings.tables[0].rows
    assert (sand["ground"], rigid["ground"]) == ("sand", "rigid")
    assert sand["sinkage (mm)"] > 3 * rigid["sinkage (mm)"] > 0
    # On ground that hardly gives way the foot rolls: it goes ahead by its radius times the angle, give or take a slip.
    assert rigid["x_s (mm)"] == pytest.approx(40 * rigid["rolled (rad)"], rel=0.3)
    assert set(findings.figures) == {"rolling"}
