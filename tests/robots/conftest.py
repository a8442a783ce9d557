"""Fixtures over the robots under test."""

import pytest

from .robot_cases import ROBOTS, Compiled, compiled


@pytest.fixture(params=ROBOTS)
def case(request) -> Compiled:
    """Each robot of the list in turn."""
    return compiled(request.param)
