"""Compiled programs of these tests are kept in a folder of their own."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def programs_of_the_tests(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOFTGROUND_CACHE", str(tmp_path_factory.mktemp("native")))
        yield
