"""Fixtures over the robots under test."""

import pytest

from .robot_cases import ROBOTS, Compiled, compiled


@pytest.fixture(params=ROBOTS, scope="session")
def case(request) -> Compiled:
    """Each robot of the list in turn; for the session, so that the tests of one robot follow each other."""
    return compiled(request.param)
