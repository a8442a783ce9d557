"""Fits of wrench spaces that are kept in the cache."""

import numpy as np
import pytest

from softground.media.resistive.kept_fit import kept_fit
from softground.media.resistive.medium import coefficients_of, generic_space, sample
from softground.robots import Box, Cylinder, Sphere

FEET = [(Cylinder(0.05, 0.1), True, "plane"), (Sphere(0.03), False, "3d"), (Box(0.2, 0.1, 0.05), True, "3d")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache; fits that this process holds are forgotten."""
    monkeypatch.setenv("SOFTGROUND_CACHE", str(tmp_path))
    generic_space.cache_clear()
    yield tmp_path
    generic_space.cache_clear()


def again(*foot):
    generic_space.cache_clear()
    return np.asarray(generic_space(*foot).coefficients)


@pytest.mark.parametrize("foot", FEET)
def test_a_kept_fit_is_the_fresh_one_bit_for_bit(folder, foot):
    fresh = coefficients_of(sample(*foot))
    first = np.asarray(generic_space(*foot).coefficients)
    assert len(list(folder.glob("fit-*.npz"))) == 1
    kept = again(*foot)
    assert fresh.tobytes() == first.tobytes() == kept.tobytes()
    assert fresh.shape == kept.shape
    assert fresh.dtype == kept.dtype


def test_every_foot_and_law_has_its_own(folder):
    for foot in [*FEET, (Cylinder(0.05, 0.1), True, "3d"), (Cylinder(0.051, 0.1), True, "plane")]:
        generic_space(*foot)
    assert len(list(folder.glob("fit-*.npz"))) == 5


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "text"])
def test_a_damaged_file_is_made_anew(folder, damage):
    first = np.asarray(generic_space(*FEET[0]).coefficients)
    (path,) = folder.glob("fit-*.npz")
    whole = path.read_bytes()
    middle = len(whole) // 2
    damaged = {
        "cut": whole[:middle],
        "empty": b"",
        "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "text": b"not a fit",
    }
    path.write_bytes(damaged[damage])
    assert again(*FEET[0]).tobytes() == first.tobytes()
    assert path.read_bytes() != damaged[damage]
    with np.load(path, allow_pickle=False) as stored:
        assert stored["coefficients"].tobytes() == first.tobytes()


def test_a_fit_is_made_once_and_where_nothing_can_be_written_every_time(folder, monkeypatch):
    calls = []

    def fit():
        calls.append(1)
        return np.arange(3.0)

    for _ in range(2):
        np.testing.assert_array_equal(kept_fit("a", [np.ones(2)], fit), np.arange(3.0))
    assert len(calls) == 1
    blocked = folder / "file"
    blocked.write_text("")
    monkeypatch.setenv("SOFTGROUND_CACHE", str(blocked))
    for _ in range(2):
        np.testing.assert_array_equal(kept_fit("a", [np.ones(2)], fit), np.arange(3.0))
    assert len(calls) == 3
