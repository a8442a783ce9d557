"""Tests of steps that are marked `by_both_backends` run twice: with steps by XLA, and with native ones.

The others take native ones, which are made once for all programs that hold the same step; that they are those of XLA
is seen in `test_native_step.py`.

SOFTGROUND_BACKEND=xla pytest tests/simulation     runs the others with steps by XLA
"""

import os
from importlib.util import find_spec

import pytest

from softground.native.parts import say_why_not
from softground.simulation.simulator import BACKEND_VARIABLE


def pytest_generate_tests(metafunc):
    if metafunc.definition.get_closest_marker("by_both_backends"):
        metafunc.parametrize("backend_of_steps", ["xla", "native"], indirect=True)


@pytest.fixture(scope="module", autouse=True)
def native_steps():
    """The backend of simulators that nobody chooses one for."""
    with pytest.MonkeyPatch.context() as patch:
        if BACKEND_VARIABLE not in os.environ and find_spec("llvmlite") is not None:
            patch.setenv(BACKEND_VARIABLE, "native")
        yield


@pytest.fixture(autouse=True)
def backend_of_steps(request, monkeypatch):
    """The backend of simulators that are made in the test. Steps that are not native after all warn, and fail it."""
    backend = getattr(request, "param", None)
    if backend == "native":
        pytest.importorskip("llvmlite")
        say_why_not.cache_clear()  # it warns once
    if backend is not None:
        monkeypatch.setenv(BACKEND_VARIABLE, backend)
