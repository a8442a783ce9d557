"""Tests of steps that are marked `by_both_backends` run twice: with steps by XLA, and with native ones.

SOFTGROUND_BACKEND=native pytest tests/simulation     runs the others with native steps, too
"""

import pytest

from softground.native.parts import say_why_not
from softground.simulation.simulator import BACKEND_VARIABLE


def pytest_generate_tests(metafunc):
    if metafunc.definition.get_closest_marker("by_both_backends"):
        metafunc.parametrize("backend_of_steps", ["xla", "native"], indirect=True)


@pytest.fixture(autouse=True)
def backend_of_steps(request, monkeypatch):
    """The backend of simulators that are made in the test. Steps that are not native after all warn, and fail it."""
    backend = getattr(request, "param", None)
    if backend == "native":
        pytest.importorskip("llvmlite")
        say_why_not.cache_clear()  # it warns once
    if backend is not None:
        monkeypatch.setenv(BACKEND_VARIABLE, backend)
