"""The command that repeats papers: what it lists, prints, writes, and how it fails."""

import json

import pytest
from typer.testing import CliRunner

from softground.cli import app
from softground.papers import catalogue
from softground.papers.study import Check, Findings, Options, Study, Table, above, below, between, document

STUDIES = (
    "concavity",
    "learning",
    "foot-straight",
    "foot-curved",
    "drop",
    "push",
    "trot",
    "learned-ground",
    "slide",
    "speed",
)


def call(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def made_up(name: str, passed: bool) -> Study:
    def perform(options):
        return Findings(
            checks=[Check("a claim", passed, 1.5, "> 1")],
            metrics={"quick": options.quick},
            tables=[Table("numbers", "Numbers", [{"paper": 0.1, "ours": 0.2}, {"paper": 0.3, "extra": "x"}])],
            notes=["made up"],
        )

    return Study("fiction", name, "nothing", "nothing at all.", perform)


@pytest.fixture
def fiction(monkeypatch):
    """A paper whose second study's claim fails."""
    monkeypatch.setitem(catalogue.PAPERS, "fiction", (made_up("holds", True), made_up("fails", False)))


def test_list_names_every_study():
    result = call("--list", "--json")
    assert result.exit_code == 0, result.output
    listed = [one["study"] for one in json.loads(result.stdout)]
    assert [one for one in listed if one.startswith("zhu2019/")] == [f"zhu2019/{name}" for name in STUDIES]
    assert "zhu2019/foot-curved" in call("--list").stdout


def test_one_study_is_one_document(fiction, tmp_path):
    result = call("fiction/holds", "--out", tmp_path, "--json", "--quick")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document == {
        "study": "fiction/holds",
        "quick": True,
        "checks": [{"name": "a claim", "passed": True, "value": 1.5, "expected": "> 1"}],
        "metrics": {"quick": True},
    }
    folder = tmp_path / "fiction" / "holds"
    assert json.loads((folder / "result.json").read_text()) == document
    assert (folder / "numbers.csv").read_text().splitlines() == ["paper,ours,extra", "0.1,0.2,", "0.3,,x"]
    report = (folder / "report.md").read_text()
    assert "| a claim | 1.5 | > 1 | holds |" in report
    assert "made up" in report


def test_a_paper_is_a_list_of_documents_and_only_strict_minds_a_failed_check(fiction, tmp_path):
    result = call("fiction", "--out", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    assert [one["study"] for one in json.loads(result.stdout)] == ["fiction/holds", "fiction/fails"]
    assert call("fiction", "--out", tmp_path, "--strict").exit_code == 1
    assert call("fiction/holds", "--out", tmp_path, "--strict").exit_code == 0
    assert "**fails**" in (tmp_path / "fiction" / "fails" / "report.md").read_text()


@pytest.mark.parametrize("name", ["zhu2019/dorp", "zhu2091"])
def test_an_unknown_study_names_those_there_are(name):
    result = call(name)
    assert result.exit_code == 2
    assert f"unknown study '{name}'" in result.output
    assert "zhu2019/drop" in result.output


def test_nothing_to_do_is_an_error():
    result = call()
    assert result.exit_code == 2
    assert "--list" in result.output


def test_missing_sand_is_an_error(tmp_path):
    result = call("zhu2019/concavity", "--sand", tmp_path / "none.csv", "--out", tmp_path)
    assert result.exit_code == 2
    assert "no such file" in result.output


def test_documents_are_json_also_where_numbers_are_not_finite():
    """A study may find that something never settled (inf) or had no value (nan)."""
    findings = Findings([below("x", float("nan"), 2.0)], {"settled": [float("inf"), 1.0], "of": {"y": -float("inf")}})
    found = json.loads(json.dumps(document(made_up("one", True), findings, Options()), allow_nan=False))
    assert found["checks"][0]["value"] is None
    assert found["metrics"] == {"settled": [None, 1.0], "of": {"y": None}}


def test_checks_decide_on_the_right_side():
    assert below("x", 1.0, 2.0).passed
    assert not below("x", 2.0, 2.0).passed
    assert above("x", 3.0, 2.0).passed
    assert not above("x", 2.0, 2.0).passed
    assert between("x", 1.5, 1.0, 2.0).passed
    assert not between("x", 2.5, 1.0, 2.0).passed
    assert not below("x", float("nan"), 2.0).passed
