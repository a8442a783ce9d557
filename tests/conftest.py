"""Test configuration: double precision, a compilation cache kept between runs, and shared fixtures."""

import ctypes
import gc
import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

# XLA reads its flags once, when jax first starts a backend: set them before jax is imported.
_EIGEN_FLAG = "--xla_cpu_multi_thread_eigen=false"
if "xla_cpu_multi_thread_eigen" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{_EIGEN_FLAG} {os.environ.get('XLA_FLAGS', '')}".strip()
programs = os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(REPOSITORY / ".jax_cache"))
os.environ.setdefault("SOFTGROUND_CACHE", f"{programs}/softground")  # shared by the workers, apart from the user's
# Most tests run what they compile once. Those of tests/native, about the compiler, have it optimise as users do.
os.environ.setdefault("SOFTGROUND_LLVM_LEVEL", "0")

# What is imported and traced stays, so that looking through it for garbage finds little.
gc.set_threshold(50_000, 20, 50)

import jax  # noqa: E402
import pytest  # noqa: E402

from . import array_checks  # noqa: E402

array_checks.install()  # before softground is imported

jax.config.update("jax_enable_x64", True)
# Our functions are many and small: all are kept (the default is those of 1 s), so that the workers share them.
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


GREATEST_MEMORY = 3e9
"""B that a test process may hold before it forgets what it has compiled: all of it together takes 10 GB."""


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Between files, since tests of one file share what they compile."""
    if nextitem is not None and nextitem.path != item.path and _memory() > GREATEST_MEMORY:
        jax.clear_caches()
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc keeps what was freed otherwise
        if trim is not None:
            trim(0)


def _memory() -> float:
    """Bytes that this process holds; 0 where the system does not say."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.is_file() else 0.0


def pytest_sessionfinish() -> None:
    gc.freeze()  # pytest and Python look for garbage six times more before they end


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The measured sand wrenches of zhu2019 (CSV), which are not part of the product."""
    path = REPOSITORY.parent / "shared" / "data" / "sand_wrenches_measured.csv"
    if not path.is_file():
        pytest.skip("the measured sand is absent: ../shared/data/sand_wrenches_measured.csv")
    return path
