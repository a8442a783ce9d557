"""Every example runs and keeps its own promises."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path):
    runpy.run_path(str(path))["main"]()


def test_there_are_examples():
    assert len(EXAMPLES) >= 3
