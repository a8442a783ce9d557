"""What docs/architecture.md shows an outsider who adds a medium, a shape or a controller: it runs as printed."""

import re
from unittest.mock import patch

import pytest

from softground.robots.shapes.base import SHAPES

from .conftest import REPOSITORY

PROGRAMS = re.findall(r"```python\n(.*?)```", (REPOSITORY / "docs" / "architecture.md").read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("added", ["Mud", "Hexagon", "Integrator"])
def test_the_printed_program_runs(added):
    (program,) = (text for text in PROGRAMS if f"class {added}" in text)
    with patch.dict(SHAPES):  # what it registers is forgotten
        SHAPES.pop("hexagon", None)
        exec(compile(program, f"docs/architecture.md, {added}", "exec"), {"__name__": added})


def test_every_program_is_tried():
    assert len(PROGRAMS) == 3
