"""The command `softground learn`: from a database to a medium that a robot stands on."""

import json

import pytest
from typer.testing import CliRunner

from softground.cli import app
from softground.experiments.database_file import write_database
from softground.media import load_medium

from .synthetic_grounds import FOOT, database


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learn")
    source = write_database(folder / "db.csv", database(noise=0.1))
    result = CliRunner().invoke(app, ["learn", str(source), "--out", str(folder / "medium.json"), "--json"])
    assert result.exit_code == 0, result.output
    return folder, json.loads(result.stdout)


def test_learn_prints_one_document_and_writes_the_medium(learned):
    folder, document = learned
    best = min(
        (label for label in document["errors"] if "zhu2019" not in label),
        key=lambda label: document["errors"][label]["leave_one_out"],
    )
    assert document["method"] == best
    assert document["out"] == str(folder / "medium.json")
    medium = load_medium(folder / "medium.json")
    assert medium.foot == FOOT
    assert medium.coefficients.shape == (document["features"], 26, 3)


def test_simulate_takes_the_learned_medium(learned):
    folder, _ = learned
    ground, out = str(folder / "medium.json"), str(folder / "run.nc")
    command = ["simulate", "robosimian", "--ground", ground, "--strength", "2", "--seconds", "0.02", "--height", "0"]
    result = CliRunner().invoke(app, [*command, "--out", out, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["steps_not_converged"] == 0


def test_a_database_that_cannot_be_learned_from_ends_with_one_line(tmp_path):
    source = write_database(tmp_path / "db.csv", database(depths=(0.03,), tilts=(0.0,)))
    result = CliRunner().invoke(app, ["learn", str(source), "--out", str(tmp_path / "m.json")])
    assert result.exit_code == 2
    assert not (tmp_path / "m.json").exists()
