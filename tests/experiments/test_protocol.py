"""The acquisition protocol: paths, filter and reading, against what can be worked out by hand."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softground.errors import ExperimentError
from softground.experiments.protocol import Motion, Pose, Recording, low_pass, moved, wrench_at_target


def test_the_path_passes_the_target_at_four_fifths():
    motion = Motion(Pose(0.05, tilt=0.3), (0.1, 0.0, -0.2, 0.0, 0.5, 0.0), duration=2.0)
    assert motion.target_time == pytest.approx(1.6)
    np.testing.assert_allclose(motion.position(1.6), [0, 0, -0.05], atol=1e-15)
    np.testing.assert_allclose(motion.position(0.0), [-0.16, 0, -0.05 + 0.32], atol=1e-15)
    np.testing.assert_allclose(motion.position([0.0, 2.0])[1], [0.04, 0, -0.05 - 0.08], atol=1e-15)
    for time, pitch in ((0.0, 0.3 - 0.8), (1.6, 0.3), (2.0, 0.5)):
        expected = Rotation.from_rotvec([0, pitch, 0]).as_matrix()
        np.testing.assert_allclose(motion.rotation(time), expected, atol=1e-15)


def test_a_lean_goes_to_its_heading():
    axis = Pose(0.0, tilt=0.4, heading=np.pi / 2).rotation[:, 2]
    np.testing.assert_allclose(axis, [0, np.sin(0.4), np.cos(0.4)], atol=1e-15)


def test_the_filter_keeps_ramps_in_place_and_removes_fast_noise():
    time = np.linspace(0, 1, 501)
    noise = 5 * np.sin(2 * np.pi * 60 * time)
    smooth = low_pass(time, 100 * time + noise, cutoff=6.0)
    inner = (time > 0.1) & (time < 0.9)
    np.testing.assert_allclose(smooth[inner], 100 * time[inner], atol=0.05)


def test_the_wrench_is_read_at_the_target_and_moved_up_the_leaning_axis():
    motion = Motion(Pose(0.05, tilt=0.3), (0.0, 0.0, -0.1, 0.0, 0.0, 0.0), duration=1.0)
    time = np.linspace(0, 1, 201)
    wrench = np.outer(time, [10.0, 0, 100.0, 0, 2.0, 0])
    read = wrench_at_target(Recording(time, wrench), motion, reference_height=0.2)
    np.testing.assert_allclose(read[:3], [8, 0, 80], atol=1e-3)  # what is left of the ends of the record
    # arm (0.2 sin 0.3, 0, 0.2 cos 0.3): the y part of arm x force is arm_z fx - arm_x fz
    expected = 1.6 - (0.2 * np.cos(0.3) * 8 - 0.2 * np.sin(0.3) * 80)
    assert read[4] == pytest.approx(expected, abs=1e-3)


def test_moving_a_wrench_there_and_back_changes_nothing():
    random = np.random.default_rng(0)
    wrench, arm = random.normal(size=(5, 6)), random.normal(size=3)
    np.testing.assert_allclose(moved(moved(wrench, arm), -arm), wrench, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Motion(Pose(0.1), (0, 0, 1), 1.0), "six finite"),
        (lambda: Motion(Pose(0.1), (0,) * 6, 0.0), "duration must be positive"),
        (lambda: Recording(np.arange(3.0), np.zeros((2, 6))), "needs times"),
        (lambda: Recording(np.arange(2.0), np.full((2, 6), np.nan)), "finite"),
        (lambda: Recording(np.array([0.0, 0.0]), np.zeros((2, 6))), "increase"),
        (lambda: low_pass(np.array([0, 0.1, 0.5, 0.6]), np.zeros(4), 1.0), "evenly spaced"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(ExperimentError, match=message):
        make()


def test_a_record_that_ends_before_the_target_is_refused():
    motion = Motion(Pose(0.05), (0.0, 0.0, -0.1, 0.0, 0.0, 0.0), duration=1.0)
    with pytest.raises(ExperimentError, match="cut short"):
        wrench_at_target(Recording(np.linspace(0, 0.5, 50), np.zeros((50, 6))), motion)
