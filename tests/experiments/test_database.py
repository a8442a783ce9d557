"""The wrench database: round trip, what it refuses and what it says, symmetry, a full disk."""

import errno
from pathlib import Path

import numpy as np
import pytest

from softground.errors import ExperimentError, FileFormatError, OutputError
from softground.experiments.database_file import read_database, write_database
from softground.experiments.learning.grid import grid_of
from softground.experiments.symmetry import completed, mirrored_directions, mirrored_poses, with_zero_depth
from softground.media.resistive.directions import directions, mirror_images, planar_twists, spatial_twists

from .synthetic_grounds import database, true_wrenches


@pytest.fixture(scope="module")
def small():
    return database()


@pytest.fixture
def written(small, tmp_path) -> Path:
    return write_database(tmp_path / "db.csv", small)


def edited(path: Path, change) -> Path:
    """The file with its lines changed in place by a function."""
    lines = path.read_text().splitlines()
    change(lines)
    path.write_text("\n".join(lines) + "\n")
    return path


def with_value(line: str, column: int, value) -> str:
    cells = line.split(",")
    cells[column] = str(value)
    return ",".join(cells)


def test_a_database_comes_back_as_it_was_written(small, written):
    again = read_database(written)
    for name in ("depth", "tilt", "direction", "twist", "wrench"):
        np.testing.assert_array_equal(getattr(again, name), getattr(small, name))
    assert (again.medium, again.foot, again.kind, again.source) == (small.medium, small.foot, "planar", small.source)
    assert again.reference_height == small.reference_height
    assert written.read_text().startswith("# softground wrench database, version 1\n# medium: synthetic sand\n")


def test_a_spatial_database_comes_back(tmp_path):
    twists = spatial_twists()
    count = len(twists)
    rows = {
        "kind": "spatial",
        "depth": np.full(count, 0.05),
        "tilt": np.full(count, 0.3),
        "heading": np.full(count, 0.5),
        "direction": np.arange(count),
        "twist": twists,
        "wrench": -twists * np.repeat([5000.0, 50.0], 3),
        "source": ("run 1",) * count,
    }
    there = database(**rows)
    again = read_database(write_database(tmp_path / "spatial.csv", there))
    np.testing.assert_array_equal(again.wrench, there.wrench)
    np.testing.assert_array_equal(again.heading, there.heading)
    both = completed(again)
    assert sorted({tuple(pose) for pose in both.configurations().round(3).tolist()}) == [
        (0.05, 0.3, -2.642),
        (0.05, 0.3, -0.5),
        (0.05, 0.3, 0.5),
        (0.05, 0.3, 2.642),
    ]
    both.table()


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        (0, "nan", r"line 10.*depth is NaN"),
        (6, "inf", r"line 10.*wrench is NaN or infinite"),
        (6, "abc", r"line 10.*fx_n must be a number, got 'abc'"),
        (2, "1.5", r"line 10.*direction must be a whole number"),
        (0, "-0.01", r"line 10.*negative.*zhu2019"),
        (0, "10.0", r"line 10.*exceeds 1 m.*mm must be divided by 1000"),
        (1, "17.0", r"line 10.*exceeds pi.*degrees"),
        (3, "20.0", r"line 10.*speed exceeds.*mm/s"),
        (3, "0.011", r"line \d+.*direction 2 has another twist"),
        (7, "99000.0", r"line 10.*more than any ground exerts.*mN"),
        (8, "900.0", r"line 10.*torque is more than.*N mm"),
        (2, "3", r"line \d+.*the same configuration and direction as line"),
    ],
)
def test_a_bad_value_is_refused_with_its_line(written, column, value, says):
    """The tenth line of the file is the third row, direction 2 of the first configuration."""

    def change(lines):
        lines[9] = with_value(lines[9], column, value)

    with pytest.raises((ExperimentError, FileFormatError, OutputError), match=says):
        read_database(edited(written, change))


@pytest.mark.parametrize(("factor", "says"), [(1e3, "more than any ground"), (1e-3, "buoyancy of the foot")])
def test_forces_in_the_wrong_unit_are_refused(small, factor, says):
    with pytest.raises(ExperimentError, match=says):
        database(wrench=factor * small.wrench)


def test_a_repeated_row_is_refused_with_both_lines(written):
    def change(lines):
        lines.append(lines[20])

    with pytest.raises(ExperimentError, match=r"line 242: the same configuration and direction as line 21"):
        read_database(edited(written, change))


def test_missing_directions_are_named_unless_allowed(written):
    def change(lines):
        del lines[12:14]

    path = edited(written, change)
    with pytest.raises(ExperimentError, match=r"line 8 .*lacks directions 5, 6; measure them"):
        read_database(path)
    assert len(read_database(path, partial=True)) == 232


def test_one_configuration_is_not_enough_to_learn_from():
    with pytest.raises(ExperimentError, match=r"only one configuration.*at least two"):
        grid_of(database(depths=(0.03,), tilts=(0.0,)))


@pytest.mark.parametrize(
    ("number", "line", "says"),
    [
        (0, "depth_m,tilt_rad", "not a wrench database"),
        (0, "# softground wrench database, version 9", "version 9.*upgrade"),
        (2, "# feet: none", "header lacks `# foot"),
        (2, "# foot: cone radius_m=0.05", "must read like `cylinder"),
        (2, "# foot: cylinder radius_m=wide length_m=0.1", "must read like `cylinder"),
        (3, "# reference_height_m: high", "must be a number"),
        (4, "# kind: flat", "must be planar or spatial"),
        (6, "depth,tilt", "line 7: columns must be depth_m,tilt_rad"),
        (7, "0.01,0.0", r"line 8: 2 values in 10 columns"),
    ],
)
def test_a_damaged_file_is_refused(written, number, line, says):
    def change(lines):
        lines[number] = line

    with pytest.raises(FileFormatError, match=says):
        read_database(edited(written, change))


def test_a_missing_empty_or_cut_file_is_refused(written, tmp_path):
    with pytest.raises(FileFormatError, match="no file at"):
        read_database(tmp_path / "absent.csv")
    written.write_text("\n".join(written.read_text().splitlines()[:7]) + "\n")
    with pytest.raises(FileFormatError, match="no rows"):
        read_database(written)
    written.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match="not text"):
        read_database(written)


def test_a_full_disk_leaves_the_old_file(small, written, monkeypatch):
    before = written.read_text()
    ordinary = Path.write_text

    def no_room(self, text, *args, **kwargs):
        ordinary(self, text[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", no_room)
    with pytest.raises(OutputError, match=r"No space left on device.*is kept"):
        write_database(written, small.select(small.depth > 0.02))
    monkeypatch.undo()
    assert written.read_text() == before
    assert list(written.parent.iterdir()) == [written]


def test_symmetry_fills_negative_tilt_with_what_the_law_gives(small):
    """Resistive force theory is symmetric, so the images must be its wrenches at negative tilt."""
    whole = completed(small)
    assert len(whole) == len(small) + 26 * 6
    rows = (whole.depth == 0.03) & (whole.tilt == -0.4)
    order = np.argsort(whole.direction[rows])
    np.testing.assert_allclose(whole.wrench[rows][order], true_wrenches(0.03, -0.4), atol=1e-9)
    assert set(np.array(whole.source)[rows]) == {"mirrored"}
    assert len(completed(whole)) == len(whole)


def test_symmetry_fills_a_direction_that_an_upright_foot_lacks(small):
    lacking = small.select(~((small.tilt == 0) & (small.direction == 10)))
    whole = completed(lacking)
    whole.table()
    row = (whole.depth == 0.05) & (whole.tilt == 0) & (whole.direction == 10)
    np.testing.assert_allclose(whole.wrench[row][0], true_wrenches(0.05, 0.0)[10], atol=1e-9)


def test_mirrored_directions_are_those_of_the_resistive_medium():
    np.testing.assert_array_equal(mirrored_directions("planar", directions(26), 0), mirror_images(planar_twists(26), 0))
    with pytest.raises(ExperimentError, match="mirror image of direction number 2"):
        mirrored_directions("planar", np.delete(directions(26), 24, axis=0), 0)


def test_zero_rows_are_added_once(small):
    whole = with_zero_depth(small)
    assert len(whole) == len(small) + 3 * 26
    assert not whole.wrench[whole.depth == 0].any()
    assert len(with_zero_depth(whole)) == len(whole)


@pytest.mark.parametrize("heading", [np.pi / 2, -np.pi / 2, np.pi, -np.pi])
def test_a_lean_across_or_along_the_mirror_is_its_own_image(heading):
    """Headings are rounded, and pi/2 rounds down while pi minus it rounds up: they must still be one pose."""
    pose = np.array([[0.05, 0.3, round(heading, 6)]])
    axis = 0 if abs(heading) < 2 else 1
    np.testing.assert_array_equal(mirrored_poses("spatial", pose, axis), pose)
