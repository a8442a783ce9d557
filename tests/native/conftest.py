"""Programs of these tests are optimised as users have them, and kept in a folder of their own."""

import pytest


@pytest.fixture(scope="session")
def folder_of_programs(tmp_path_factory):
    return tmp_path_factory.mktemp("native")


@pytest.fixture(scope="module", autouse=True)
def programs_of_the_tests(folder_of_programs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOFTGROUND_CACHE", str(folder_of_programs))
        patch.delenv("SOFTGROUND_LLVM_LEVEL")
        yield
