"""Studies of chen2026 whose claims do not depend on the clock."""

from softground.papers.chen2026 import law
from softground.papers.study import Options


def test_law():
    findings = law.perform(Options(quick=True))
    assert all(check.passed for check in findings.checks), findings.checks
    assert set(findings.figures) == {"wedge"}
    deepest = findings.tables[0].rows[-1]
    assert deepest["flat, wedge"] > deepest["round, wedge"] > 100  # N, 5 cm deep
