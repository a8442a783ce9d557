"""Thresholds of the studies of zhu2019 and zhu2021 stand in one file, each with its reason."""

import ast
import copy
from pathlib import Path

import pytest

import softground.papers
from softground.papers import thresholds
from softground.papers.thresholds import Threshold

LIMITED = {"below", "above", "between", "at_most", "at_least"}
FOLDER = Path(softground.papers.__file__).parent
STUDIES = [path for paper in ("zhu2019", "zhu2021") for path in sorted((FOLDER / paper).glob("*.py"))]
KEPT = {name: value for name, value in vars(thresholds).items() if name.isupper()}


@pytest.mark.parametrize("name", KEPT)
def test_a_threshold_has_a_reason(name):
    assert isinstance(KEPT[name], Threshold)
    assert len(KEPT[name].reason.split()) > 3
    assert copy.deepcopy(KEPT[name]).reason == KEPT[name].reason


def bare_limits(source: str) -> list[int]:
    """Lines in which a check is given a number as it is for a limit."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    checks = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in LIMITED]
    return [call.lineno for call in checks if any(isinstance(limit, ast.Constant) for limit in call.args[2:])]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_study_has_a_threshold_of_its_own(path):
    assert bare_limits('above("speed", v, 0.5)') == [1]  # it would be seen
    assert bare_limits(path.read_text()) == []


def test_every_threshold_is_used():
    texts = "".join(path.read_text() for path in STUDIES)
    assert [name for name in KEPT if f"bar.{name}" not in texts] == []
