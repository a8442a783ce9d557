"""Measurements and calibration on synthetic data of known grains, and on measured ones where they are at hand."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from softground.cli import app
from softground.errors import ExperimentError, FileFormatError, MediumError
from softground.media import Elements, sand
from softground.robots.shapes import Cylinder, HalfCylinder
from softground.validation import Plates, SandWrenches, Wheel, calibrate, read_measurements
from softground.validation.report import FILES, _plain, grains_of_wheel

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
TRUE = Elements(0.9, length=0.007, level=0.5, vertical=0.3)
NOISE = np.random.default_rng(0)


@pytest.fixture(scope="module")
def wheel() -> Wheel:
    """Six conditions under 20 N, in which the wheel does what known grains make it do."""
    angle, rim = (one.ravel() for one in np.meshgrid([0.0, 0.5, 1.0], [0.002, 0.012]))
    force = np.tile([0.0, 0.0, 20.0], (6, 1))
    empty = Wheel(angle, rim, np.full(6, 0.01), np.zeros(6), force, np.full((6, 4), 0.1))
    found = empty.predict(TRUE)
    return replace(empty, sinkage=1e-3 * found[:, 0], force=np.c_[found[:, 1:], force[:, 2]])


def test_the_load_is_carried_at_the_sinkage_that_is_found(wheel):
    """Interpolated between depths 0.5 mm apart where force grows as the square of depth or so: a percent."""
    at_sinkage = replace(wheel, given_load=False)
    np.testing.assert_allclose(at_sinkage.predict(TRUE)[:, 2], 20.0, rtol=0.03)
    assert (np.abs(wheel.residuals(TRUE)) < 1e-9).all()


def test_calibration_finds_the_grains_that_measurements_were_made_with(wheel):
    start = replace(TRUE, scale=0.6, level=0.8, vertical=0.6)
    found = calibrate(start, wheel, ["scale", "level", "vertical"])
    assert found.residual < 0.02
    for name, value in found.fitted.items():
        assert value == pytest.approx(float(getattr(TRUE, name)), rel=0.03)


def test_a_parameter_that_begins_at_one_moves(wheel):
    """Its logarithm is zero there: steps of differences must not be relative to that."""
    found = calibrate(replace(TRUE, scale=0.45), wheel)
    assert found.fitted["strength"] == pytest.approx(2.0, rel=1e-3)


def test_fit_and_test_never_overlap(wheel):
    half, rest = wheel.halves()
    conditions = {(a, r) for one in (half, rest) for a, r in zip(one.slip_angle, one.rim_speed, strict=True)}
    assert len(half) + len(rest) == len(wheel) == len(conditions)


def test_what_cannot_be_fitted_is_refused(wheel):
    with pytest.raises(MediumError, match="added_mass of Elements cannot be fitted"):
        calibrate(TRUE, wheel, ["added_mass"])
    with pytest.raises(MediumError, match="colour of Resistive cannot be fitted"):
        calibrate(sand(), wheel, ["colour"])


def write(path: Path, columns: list[str], rows) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def test_trials_become_conditions_with_the_spread_of_their_repeats(tmp_path):
    columns = ["slip_angle_rad", "rim_speed_command_m_s", "travel_speed_m_s", "sinkage_m"]
    columns += ["force_forward_n", "force_lateral_n", "force_vertical_n"]
    rows = [[0.5, 0.01, 0.01, 0.02 + d, -3 + d, 4, 20] for d in (-0.001, 0.001)] + [[0, 0.02, 0.01, 0.01, 1, 0, 21]]
    path = write(tmp_path / FILES["wheel"], columns, rows)
    found = Wheel.read(path)
    assert len(found) == 2
    np.testing.assert_allclose(found.measured[1], [20.0, -3.0, 4.0])
    assert found.spread()[0] == pytest.approx(np.sqrt(2) / np.sqrt(2))  # mm: sqrt(2) in one of two conditions
    assert list(read_measurements(tmp_path)) == ["wheel"]
    with pytest.raises(FileFormatError, match="lacks sinkage_m"):
        Wheel.read(write(tmp_path / "other.csv", [one for one in columns if one != "sinkage_m"], rows[:1]))
    with pytest.raises(FileFormatError, match="force_lateral_n must be numbers"):
        Wheel.read(write(tmp_path / "words.csv", columns, [[*rows[0][:5], "four", 20]]))


def test_plates_count_depth_from_one_newton(tmp_path):
    """A plate in ground whose force is k z: past 1 N it reads 1 N + k times depth."""
    k, depth = 3000.0, np.linspace(0, 0.035, 60)
    rows = [[f"p{i}", "plate", 0.06, z, 1 + k * z * (1 + 0.05 * i)] for i in (-1, 1) for z in depth]
    columns = ["trial", "shape", "diameter_m", "depth_past_1n_corrected_m", "force_n"]
    plates = Plates.read(write(tmp_path / FILES["plates"], columns, rows))
    np.testing.assert_allclose(plates.force, 1 + k * plates.depth, rtol=1e-3)
    assert plates.spread()[0] == pytest.approx(0.05 * np.sqrt(2), rel=0.05)
    scale = k / (np.pi * 0.03**2) / 1e6  # N/cm3
    assert plates.errors(Elements(scale))[0] < 0.15  # walls are rubbed, and the first half millimetre is rounded


def test_a_folder_without_measurements_says_what_to_give(tmp_path):
    with pytest.raises(ExperimentError, match=r"wheel_in_sand_smooth\.csv"):
        read_measurements(tmp_path)
    result = CliRunner().invoke(app, ["validate"])
    assert result.exit_code != 0
    assert "--data must name a folder" in result.stderr + str(result.exception)


def measured(name: str) -> Path:
    path = DATA / FILES[name]
    if not path.exists():
        pytest.skip(f"the measurements are absent: ../shared/data/{FILES[name]}")
    return path


def test_published_rows_of_plain_theory_are_reproduced():
    """Mean errors published for 3D-RFT without fit, small wheel, to 60 degrees: 2.1, 1.6, 7.3 N; 7.2 mm, 4.4, 3.4 N.
    Integrals over different meshes differ by some 2 % of forces of 20 N."""
    wheel = Wheel.read(measured("wheel")).up_to(60)
    at_sinkage = replace(wheel, given_load=False)
    for data, published in ((at_sinkage, (2.1, 1.6, 7.3)), (wheel, (7.2, 4.4, 3.4))):
        np.testing.assert_allclose(np.abs(_plain(data) - data.measured).mean(0), published, atol=0.2)


def test_grains_that_follow_meet_the_wheel_as_plain_theory_does():
    """Without fit, inside the convex step: within the 5 % of forces that elements may be off."""
    wheel = replace(Wheel.read(measured("wheel")).up_to(60), given_load=False)
    np.testing.assert_allclose(wheel.predict(grains_of_wheel(length=0.007)), _plain(wheel), atol=1.5)


def test_measured_sand_prefers_grains_that_follow():
    data = SandWrenches.read(measured("sand"))
    half, rest = data.halves()
    errors = [rest.errors(calibrate(medium, half).medium) for medium in (Elements(0.5, length=0.007), sand())]
    assert (errors[0] < 0.7 * errors[1]).all()


def test_report_is_json(tmp_path, monkeypatch):
    """The command on a folder with plates only."""
    columns = ["trial", "shape", "diameter_m", "depth_past_1n_corrected_m", "force_n"]
    depth = np.linspace(0, 0.035, 40)
    rows = [
        [f"p{i}{d}", "plate", d, z, 1 + 1e6 * np.pi * d**2 / 4 * z * i]
        for i in (0.9, 1.1)
        for d in (0.06, 0.1)
        for z in depth
    ]
    write(tmp_path / FILES["plates"], columns, rows)
    result = CliRunner().invoke(app, ["validate", "--data", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    (table,) = json.loads(result.stdout).values()
    assert {row["model"] for row in table} >= {"spread between repeats", "elements, plates"}
    assert table[-1]["fitted"] == 2
    assert Plates.read(tmp_path / FILES["plates"]).shapes == (Cylinder(0.03, 0.05), Cylinder(0.05, 0.05))
    assert HalfCylinder not in {type(one) for one in Plates.read(tmp_path / FILES["plates"]).shapes}
