"""The account of chen2026's claims: what decides a row."""

import pytest

from softground.papers.chen2026 import STUDIES
from softground.papers.chen2026.account import CLAIMS, Claim, _told
from softground.papers.study import Check

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
