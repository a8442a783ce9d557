"""The account of chen2026's claims: what decides a row, and reports that it reads instead of performing studies."""

import json
from dataclasses import replace

import pytest

from softground.errors import FileFormatError
from softground.papers.chen2026 import STUDIES
from softground.papers.chen2026.account import CLAIMS, Claim, _told, account
from softground.papers.report import write_report
from softground.papers.study import Check, Findings, Options

CHECKS = [Check("F_x at 0.1 m/s: better", True, 1.0, "< 2"), Check("F_z at 0.1 m/s: better", False, 3.0, "< 2")]


def test_every_claim_asks_a_study_that_is_there():
    assert {claim.study for claim in CLAIMS} <= {study.name for study in STUDIES}
    assert STUDIES[-1].name == "account"


@pytest.mark.parametrize(
    ("pattern", "passed", "ours"), [("^F_x", True, 1.0), ("^F_", False, "1 of 2"), ("^q", False, "nothing was checked")]
)
def test_a_claim_holds_if_all_that_was_asked_holds(pattern, passed, ours):
    row, check = _told(Claim("Fig 5b", "forces", "velocities", pattern), CHECKS, quick=False)
    assert check is not None
    assert (check.passed, check.value) == (passed, ours)
    assert row[""] == ("holds" if passed else "fails")


def test_a_quick_run_says_what_it_did_not_ask():
    row, check = _told(Claim("Fig 6d", "a U", "cost-of-transport", "^U by"), CHECKS, quick=True)
    assert check is None
    assert "not asked" in row["ours"]


def _performing(studies, asked):
    """The same studies, which find nothing but that their number is not finite, and note that they were asked."""

    def study(one):
        def perform(options):
            asked.append(one.name)
            return Findings([Check(f"^{one.name}", False, float("nan"), "> 1")], {})

        return replace(one, perform=perform)

    return [study(one) for one in studies[:-1]]


def test_studies_with_a_report_are_not_performed_again(tmp_path):
    asked: list[str] = []
    studies = _performing(STUDIES, asked)
    needed = {claim.study for claim in CLAIMS}
    for study in studies:
        if study.name in needed - {"stance"}:
            quick = Options(quick=study.name == "law")
            write_report(tmp_path / study.paper / study.name, study, Findings(CHECKS, {}), quick)
    findings = account(studies).perform(Options(reports=tmp_path))
    assert asked == ["law", "stance"]  # the report of a quick run is none, where the whole study is asked for
    assert "Performed: law, stance" in findings.notes[-1]
    (row,) = [one for one in findings.tables[0].rows if one["paper"] == "x_s better at every speed"]
    assert row["ours"].startswith("nothing was checked")
    (row,) = [one for one in findings.tables[0].rows if one["paper"] == "reaction forces better at every speed"]
    assert row["ours"] == "1 of 2 (all)"


def test_a_report_that_is_none_says_what_to_do(tmp_path):
    studies = _performing(STUDIES, [])
    path = tmp_path / "chen2026" / "law" / "result.json"
    path.parent.mkdir(parents=True)
    for text in ("{", json.dumps({"study": "chen2026/turning", "quick": False, "checks": []})):
        path.write_text(text)
        with pytest.raises(FileFormatError, match="remove it"):
            account(studies).perform(Options(reports=tmp_path))
