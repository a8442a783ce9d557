"""Which runs a campaign makes, in which order, under which names."""

from dataclasses import replace

import numpy as np
import pytest

from softground.errors import ExperimentError, MediumError, OptionError
from softground.experiments.campaign import Grid
from softground.experiments.campaign.options import PRESETS, may_mirror, read_grid, read_rig
from softground.experiments.protocol import Pose
from softground.media.resistive.directions import mirror_images


def test_names_are_readable_and_unique():
    runs = Grid((0.06, 0.0075), (0.0, 0.5), seeds=(1, 2)).runs()
    names = [run.name for run in runs]
    assert "depth0.060_tilt0.50_dir07_seed1" in names
    assert "depth0.0075_tilt0.00_dir00_seed2" in names
    assert len(set(names)) == len(names) == 2 * 2 * (14 + 26)
    spatial = Grid((0.05,), (0.3,), headings=(0.0, np.pi / 4), directions="spatial")
    assert any("_heading0.785398_" in run.name for run in spatial.runs())


@pytest.mark.parametrize(("directions", "count"), [("26", 14), ("58", 30)])
def test_upright_feet_are_moved_in_one_of_each_mirrored_pair(directions, count):
    """A twist and its image turn opposite ways, so rings above the equator mirror onto those below.

    Of the ring at the equator, two directions (down, up) are their own images: 26 = 2 x 12 + 2, 58 = 2 x 28 + 2.
    """
    grid = Grid((0.05,), (0.0, 0.3), directions=directions)
    numbers = grid.measured_directions(Pose(0.05))
    image = mirror_images(grid.twists(), 0)
    assert len(numbers) == count
    assert {int(k) for n in numbers for k in (n, image[n])} == set(range(int(directions)))
    assert grid.measured_directions(Pose(0.05, 0.3)) == list(range(int(directions)))
    assert len(Grid((0.05,), mirror=False, directions=directions).runs()) == int(directions)


def test_mirrors_in_space():
    """Upright: both planes; leaning along x: only the plane of the lean; leaning elsewhere: none."""
    grid = Grid((0.05,), (0.0, 0.3), (0.0, np.pi / 4, np.pi / 2), "spatial")
    counts = [len(grid.measured_directions(Pose(0.05, *lean))) for lean in ((0, 0), (0.3, 0), (0.3, np.pi / 4))]
    assert counts[0] < counts[1] < counts[2] == 85
    assert grid.own_mirrors(Pose(0.05, 0.3, np.round(np.pi / 2, 6))) == [0]
    fewer = replace(grid, directions="spatial61")
    assert len(fewer.twists()) == 61
    assert all(np.any(np.all(np.isclose(twist, grid.twists()), axis=1)) for twist in fewer.twists())
    assert [len(fewer.measured_directions(Pose(0.05, *lean))) for lean in ((0, 0), (0.3, 0))] == [23, 37]


def test_runs_at_the_surface_are_not_made():
    assert {run.pose.depth for run in Grid((0.0, 0.01), (0.0,)).runs()} == {0.01}
    with pytest.raises(ExperimentError, match="only zero"):
        Grid((0.0,))


def test_coarse_coverage_comes_first():
    grid = Grid((0.01, 0.03, 0.05, 0.07), (0.0, 0.3, 0.6, 0.9))
    poses = grid.poses()
    assert poses[:2] == [Pose(0.07), Pose(0.07, 0.9)]  # the corners, then what lies between
    assert len(set(poses)) == 16
    # After a quarter of the campaign no pose is far from one that was measured, or from the surface.
    place = np.array([[pose.depth / 0.07, pose.tilt / 0.9] for pose in poses])
    nearest = np.linalg.norm(place[:, None] - place[:4], axis=-1).min(axis=1)
    assert np.minimum(nearest, place[:, 0]).max() < 0.45
    seeds = [run.seed for run in Grid((0.01, 0.03), seeds=(3, 5)).runs()]
    assert seeds == sorted(seeds)  # the whole grid with one seed before the next


def test_the_target_is_passed_at_the_pose():
    for run in Grid((0.05,), (0.3,), speed=0.2, spin=0.6, duration=0.25).runs()[:5]:
        assert run.motion.position(run.motion.target_time)[2] == pytest.approx(-0.05)
        np.testing.assert_allclose(run.motion.rotation(run.motion.target_time), run.pose.rotation)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depths": ()}, "depths"),
        ({"depths": (50.0,)}, "must lie in"),
        ({"depths": (-0.01,)}, "positive below"),
        ({"depths": (0.01, 0.01)}, "differ"),
        ({"depths": (np.nan,)}, "finite"),
        ({"depths": (0.01,), "tilts": (30.0,)}, "rad"),
        ({"depths": (0.01,), "duration": 0.0}, "duration"),
        ({"depths": (0.01,), "headings": (1.0,)}, "in space"),
        ({"depths": (0.01,), "seeds": ()}, "seeds"),
    ],
)
def test_bad_grids(settings, message):
    with pytest.raises(ExperimentError, match=message):
        Grid(**settings)


def test_unknown_directions():
    with pytest.raises(MediumError, match="27"):
        Grid((0.01,), directions="27")


def test_grids_survive_json():
    grid = Grid((0.01, 0.03), (0.0, 0.3), seeds=(1, 2))
    assert Grid.of_document(grid.document()) == grid


def test_grids_in_words():
    assert read_grid("0.01,0.03x0,0.3").tilts == (0.0, 0.3)
    assert read_grid(None, depths="0.02", tilts="0.1").depths == (0.02,)
    assert read_grid("sand", depths="0.02").tilts == PRESETS["sand"].tilts
    beads = read_grid("beads")  # Table I of zhu2019, and its speeds
    assert (len(beads.poses()), beads.speed, beads.spin, beads.duration) == (4 * 7, 0.2, 0.6, 0.25)
    assert len(read_grid("pebbles").poses()) == 3 * 4
    for bad in ({"grid": "gravel"}, {"grid": "1,ax0"}, {"grid": None}, {"grid": "sand", "directions": "many"}):
        with pytest.raises(OptionError):
            read_grid(**bad)
    with pytest.raises(OptionError, match="--seeds"):
        read_grid("sand", seeds="1.5")


def test_rigs_in_words():
    grid = read_grid("sand")
    rig = read_rig("rft", "sphere:0.03", "sand", grid, ["samples=33", "law=3d"])
    assert rig.settings() | {"samples": 33, "law": "3d"} == rig.settings()
    assert may_mirror("sphere:0.03")
    for setting, message in {"sample=3": "unknown setting", "samples": "NAME=VALUE", "foot=box": "holds"}.items():
        with pytest.raises(OptionError, match=message):
            read_rig("rft", None, "sand", grid, [setting])
    with pytest.raises(ExperimentError, match="unknown rig"):
        read_rig("shovel", None, "sand", grid)
