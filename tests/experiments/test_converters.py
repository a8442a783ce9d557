"""Databases from tables of others and from force logs."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softground.errors import ExperimentError, FileFormatError
from softground.experiments.database_file import from_zhu2019, read_any, write_database
from softground.experiments.force_log import COLUMNS, LoggedRun, from_logs, read_log, twist_in_log
from softground.experiments.protocol import Motion, Pose, moved
from softground.media.resistive.directions import directions

from .synthetic_grounds import FOOT, HEIGHT, database

HEADING = "depth_m,tilt_rad,direction,fx_n,fz_n,ty_nm"


def plain_table(path, rows):
    path.write_text("\n".join([HEADING, *(",".join(map(repr, row)) for row in rows)]) + "\n")
    return path


def rows_of(data):
    return [
        (-float(d), float(t), int(k), *map(float, w))
        for d, t, k, w in zip(data.depth, data.tilt, data.direction, data.wrench, strict=True)
    ]


def test_a_plain_table_becomes_a_database(tmp_path):
    data = database()
    again = from_zhu2019(plain_table(tmp_path / "plain.csv", rows_of(data)), foot=FOOT, reference_height=HEIGHT)
    np.testing.assert_array_equal(again.wrench, data.wrench)
    np.testing.assert_array_equal(again.depth, data.depth)
    np.testing.assert_allclose(again.twist, data.twist)
    assert again.medium == "plain"


def test_either_file_is_recognised(tmp_path):
    data = database()
    plain = read_any(plain_table(tmp_path / "plain.csv", rows_of(data)))
    ours = read_any(write_database(tmp_path / "ours.csv", data))
    np.testing.assert_array_equal(plain.wrench, ours.wrench)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ((0.02, 0.0, 0, 1.0, 2.0, 0.1), r"line 236: depth_m is 0.02.*negative below"),
        ((-0.02, 0.0, 60, 1.0, 2.0, 0.1), r"line 236: direction 60 is not one of 0 to 57"),
        ((-0.02, 0.0, 3, 1.0, 2.0, 0.1), r"line 236 .*lacks directions 0, 1, 2, 4"),
        ((-0.02, 0.0, 3, 1.0, float("nan"), 0.1), r"line 236: wrench is NaN"),
    ],
)
def test_bad_rows_of_a_plain_table_are_named(tmp_path, row, says):
    with pytest.raises(ExperimentError, match=says):
        from_zhu2019(plain_table(tmp_path / "plain.csv", [*rows_of(database()), row]))


def test_other_columns_are_refused(tmp_path):
    (tmp_path / "other.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(FileFormatError, match="columns must be depth_m,tilt_rad"):
        read_any(tmp_path / "other.csv")


def test_the_measured_sand_is_read(shared_data):
    sand = from_zhu2019(shared_data)
    assert sand.table().shape == (19, 26, 3)
    upright = (sand.depth == 0.05) & (sand.tilt == 0) & (sand.direction == 9)
    assert sand.wrench[upright, 1] == pytest.approx(231, abs=1)  # straight down: REFERENCE figures


# -- force logs --------------------------------------------------------------------------------------------

SENSOR = 0.2


def logged_wrench(depth, pitch):
    """A made-up ground: about the sole's centre, smooth in the pose."""
    zero = 0 * depth
    return np.stack([300 * depth, zero, 4000 * depth, zero, 2 * pitch + 50 * depth, zero], axis=-1)


def write_log(path, motion: Motion, shift=0.0, ripple=0.0):
    """A planar log of a motion, its wrenches at the sensor, with a ripple that the filter must remove."""
    time = np.linspace(0, motion.duration, 2001)
    position, rotation = motion.position(time), motion.rotation(time)
    pitch = Rotation.from_matrix(rotation).as_rotvec()[:, 1]
    sole = logged_wrench(-position[:, 2], pitch)
    sole[:, 2] += ripple * np.sin(2 * np.pi * 200 * time / motion.duration)
    wrench = moved(sole, SENSOR * rotation[:, :, 2])
    table = np.column_stack([time, position[:, 0], position[:, 2] + shift, pitch, wrench[:, [0, 2, 4]]])
    np.savetxt(path, table, delimiter=",", header=",".join(COLUMNS["planar"]), comments="", fmt="%.9g")
    return path


def run_of(path, direction=10, target=None):
    target = target or Pose(0.04, 0.3)
    twist = directions(26)[direction]
    motion = Motion(target, (twist[0], 0, twist[1], 0, twist[2], 0), 1.0)
    return motion, LoggedRun(path, target, direction, tuple(twist))


@pytest.mark.parametrize("ripple", [0.0, 20.0])
def test_a_log_is_cut_at_its_target(tmp_path, ripple):
    motion, run = run_of(tmp_path / "run_7.csv")
    write_log(run.path, motion, ripple=ripple)
    data = from_logs([run], medium="sand", foot=FOOT, sensor_height=SENSOR, reference_height=HEIGHT)
    expected = moved(logged_wrench(np.array(0.04), np.array(0.3)), HEIGHT * run.target.rotation[:, 2])[[0, 2, 4]]
    # The end of the record is near in units of the filter's memory: 0.05 % of a ramp is left there.
    np.testing.assert_allclose(data.wrench[0], expected, rtol=1e-3)
    assert data.source == ("run_7",)
    assert (data.depth[0], data.tilt[0], data.direction[0]) == (0.04, 0.3, 10)


def test_the_twist_of_a_log_is_that_of_its_motion(tmp_path):
    motion, run = run_of(tmp_path / "run.csv", direction=2)
    log = read_log(write_log(run.path, motion))
    np.testing.assert_allclose(twist_in_log(log, run.target), motion.twist, atol=1e-6)


def test_a_log_of_another_direction_or_pose_is_refused(tmp_path):
    motion, run = run_of(tmp_path / "run.csv", direction=10)
    options = {"medium": "sand", "foot": FOOT, "sensor_height": SENSOR, "reference_height": HEIGHT}
    write_log(run.path, motion)
    other = LoggedRun(run.path, run.target, 14, tuple(directions(26)[14]))
    with pytest.raises(ExperimentError, match=r"run.csv: at the target the log moves with"):
        from_logs([other], **options)
    write_log(run.path, motion, shift=0.1)
    with pytest.raises(ExperimentError, match=r"run.csv: the log passes the target .* at .* mm"):
        from_logs([run], **options)


def test_a_log_with_holes_is_refused(tmp_path):
    motion, run = run_of(tmp_path / "run.csv")
    lines = write_log(run.path, motion).read_text().splitlines()
    run.path.write_text("\n".join([*lines[:5], lines[5].replace(lines[5].split(",")[4], "nan"), *lines[6:]]))
    with pytest.raises(ExperimentError, match="must be finite"):
        read_log(run.path)
    run.path.write_text("\n".join([*lines[:5], *lines[900:]]))
    with pytest.raises(ExperimentError, match="evenly spaced"):
        from_logs([run], medium="sand", foot=FOOT, sensor_height=SENSOR, reference_height=HEIGHT)
