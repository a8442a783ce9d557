"""Learned media: smooth, growing, symmetric, kept in files, and at home in the simulator."""

import errno
import json
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.errors import FileFormatError, MediumError, OutputError
from softground.media import LearnedSpace, load_medium, save_medium
from softground.media.base import FootInGround
from softground.media.learned import KERNELS, Joined, Kernels, Polynomials
from softground.media.resistive.medium import Sinking
from softground.robots import Robot
from softground.robots.shapes import Box, Cylinder
from softground.runs import Run, run
from softground.simulation import Ground, Simulator

FOOT = Cylinder(radius=0.05, length=0.15)
DEEPEST, STEEPEST = 0.06, 0.8


def foot_at(depth, tilt, heading=0.0) -> FootInGround:
    """A foot that leans by `tilt` towards `heading`, traceable."""
    c, s = jnp.cos(tilt), jnp.sin(tilt)
    pitch = jnp.stack([jnp.stack([c, 0 * c, s]), jnp.stack([0 * c, 1 + 0 * c, 0 * c]), jnp.stack([-s, 0 * c, c])])
    turn = jnp.array([[jnp.cos(heading), -jnp.sin(heading), 0], [jnp.sin(heading), jnp.cos(heading), 0], [0, 0, 1.0]])
    return FootInGround(jnp.asarray(depth, float), jnp.zeros(3), turn @ pitch, jnp.eye(3))


def kernels(kernel="thin_plate", offset=None, spatial=False) -> Kernels:
    depth, lean = np.meshgrid([0.0, 0.02, 0.04, 0.06], [-0.8, -0.3, 0.0, 0.3, 0.8])
    inputs = [depth.ravel(), lean.ravel()] + ([0.5 * lean.ravel()] if spatial else [])
    weights = [20.0, 1.0, 1.0][: len(inputs)]
    limits = {"max_depth": DEEPEST, "max_tilt": STEEPEST, "onset": 5e-3}
    return Kernels(np.stack(inputs, axis=1), weights, kernel, degree=1, offset=offset, **limits)


def polynomials(spatial=False) -> Polynomials:
    return Polynomials(3, 4, spatial, max_depth=DEEPEST, max_tilt=STEEPEST, onset=5e-3)


#: Every kind of features that a learned medium may have.
FEATURES = {
    **{name: (lambda spatial, name=name: kernels(name, None, spatial)) for name in KERNELS},
    "proportional": lambda spatial: kernels("gaussian", 0.01, spatial),
    "polynomials": polynomials,
}


def medium(kernel="thin_plate", offset=None, **options) -> LearnedSpace:
    """Random coefficients over a vertical force that grows with depth, so that it can carry a robot."""
    random = np.random.default_rng(0)
    sinking = Sinking(powers=1, harmonics=1)
    count = 20 + 3
    physics = np.zeros((6, 8, 3))
    physics[3, :, 1] = 4000.0
    features = Joined((sinking, kernels(kernel, offset), polynomials()))
    coefficients = np.concatenate([physics, random.normal(size=(count, 8, 3)), random.normal(size=(12, 8, 3))])
    options = {"max_depth": DEEPEST, "max_tilt": STEEPEST, "reference_height": 0.1, **options}
    return LearnedSpace(coefficients, features, FOOT, **options)


@pytest.mark.parametrize("spatial", [False, True], ids=["planar", "spatial"])
@pytest.mark.parametrize("name", FEATURES)
def test_features_are_twice_differentiable(name, spatial):
    """First and second derivatives by finite differences, also at the surface, at a centre and at the clamps."""
    features = FEATURES[name](spatial)
    values = jax.jit(lambda x: features(foot_at(x[0] / 20, x[1], 0.4 if spatial else 0.0)))
    slopes = jax.jit(jax.jacfwd(values))
    curves = jax.jit(jax.jacfwd(slopes))
    step = 1e-7
    for depth, tilt in ((0.0, 0.1), (0.005, 0.2), (0.02, 0.3), (0.06, 0.8), (0.066, 0.88), (0.1, 1.2), (0.03, 0.01)):
        x = jnp.array([20 * depth, tilt])
        for i in range(2):
            ahead = step * jnp.eye(2)[i]
            slope = (values(x + ahead) - values(x - ahead)) / (2 * step)
            np.testing.assert_allclose(slopes(x)[:, i], slope, atol=1e-5 * (1 + np.abs(slope).max()))
            curve = (slopes(x + ahead) - slopes(x - ahead)) / (2 * step)
            # Corners of the clamps and of the rounded kernel bend within a step: continuity, not smoothness.
            np.testing.assert_allclose(curves(x)[:, :, i], curve, atol=5e-2 * (1 + np.abs(curve).max()))


@pytest.mark.parametrize("offset", [None, 0.01])
def test_features_are_the_same_in_numpy_and_jax(offset):
    features = kernels(offset=offset)
    depth, tilt = np.array([-0.01, 0.002, 0.03, 0.09]), np.array([0.1, -0.5, 0.3, 1.2])
    by_jax = jax.jit(lambda foot: features(foot))
    expected = np.stack([by_jax(foot_at(d, t)) for d, t in zip(depth, tilt, strict=True)])
    np.testing.assert_allclose(features.evaluate(depth, tilt[:, None]), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["thin_plate", "polynomials"])
def test_features_vanish_above_and_grow_with_depth_below_the_data(name):
    features = FEATURES[name](False)
    at = jax.jit(lambda depth, tilt: features(foot_at(depth, tilt)))
    assert not np.asarray(at(-1e-9, 0.2)).any()
    below = [np.asarray(at(depth, 0.2)) for depth in (0.1, 0.2, 0.4)]
    np.testing.assert_allclose(below[1], 2 * below[0], rtol=1e-9)
    np.testing.assert_allclose(below[2], 4 * below[0], rtol=1e-9)
    steep = [np.asarray(at(0.03, tilt)) for tilt in (0.9, 1.0, 1.5)]
    np.testing.assert_allclose(steep[1], steep[0], rtol=1e-9)
    np.testing.assert_allclose(steep[2], steep[0], rtol=1e-9)


def test_the_medium_flags_what_is_outside_its_data():
    there = medium()
    flags = [bool(there.outside_data(foot_at(*pose))) for pose in ((0.03, 0.2), (0.07, 0.2), (0.03, 0.9), (-0.1, 1.0))]
    assert flags == [False, True, True, False]


def test_only_feet_like_the_measured_one_are_taken():
    there = medium()
    assert there.for_foot(Cylinder(0.055, 0.3), planar=True) is there
    with pytest.raises(MediumError, match=r"learned with Cylinder.*the robot's foot is Box"):
        there.for_foot(Box(0.1, 0.1, 0.05), planar=True)
    with pytest.raises(MediumError, match="robot's foot is Cylinder"):
        there.for_foot(Cylinder(0.08, 0.15), planar=True)
    with pytest.raises(MediumError, match="learned for planar feet and the robot is 3D"):
        there.for_foot(FOOT, planar=False)


def test_a_medium_comes_back_from_its_file(tmp_path):
    there = medium(offset=0.01, strength=1.5)
    again = load_medium(save_medium(tmp_path / "m.json", there, {"provenance": "a test"}))
    foot = foot_at(0.03, 0.3)
    np.testing.assert_array_equal(again.vertices(foot), there.vertices(foot))
    assert (again.foot, again.kind, again.reference_height) == (FOOT, "planar", 0.1)
    twice = load_medium(tmp_path / "m.json", strength=3.0)
    np.testing.assert_allclose(twice.vertices(foot), 2 * again.vertices(foot), rtol=1e-12)
    with pytest.raises(MediumError, match="no law"):
        load_medium(tmp_path / "m.json", law=1.0)


def changed(document: dict, *path, value) -> str:
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("format",), "other", "not a learned medium"),
        (("version",), 9, "version 9"),
        (("foot", "type"), "cone", "unknown foot 'cone'"),
        (("space",), {}, "lacks 'coefficients'"),
        (("space", "coefficients"), [[1.0]], "must have shape"),
        (("space", "kind"), "flat", "unknown kind"),
        (("features", 0, "type"), "code", "unknown features"),
        (("features", 1, "kernel"), "sharp", "unknown kernel"),
        (("features", 1, "onset"), -1.0, "onset of kernel features must be positive"),
        (("features", 1, "extra"), 1.0, "damaged"),
    ],
)
def test_bad_files_are_refused(tmp_path, path, value, says):
    file = save_medium(tmp_path / "m.json", medium())
    file.write_text(changed(json.loads(file.read_text()), *path, value=value))
    with pytest.raises(FileFormatError, match=says):
        load_medium(file)


def test_missing_and_cut_files_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match="softground learn"):
        load_medium(tmp_path / "absent.json")
    file = save_medium(tmp_path / "m.json", medium())
    file.write_text(file.read_text()[:500])
    with pytest.raises(FileFormatError, match="truncated or not JSON"):
        load_medium(file)


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    file = save_medium(tmp_path / "m.json", medium())
    before = file.read_text()

    def no_room(self, text, *args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", no_room)
    with pytest.raises(OutputError, match="No space left on device"):
        save_medium(file, medium(strength=2.0))
    monkeypatch.undo()
    assert file.read_text() == before
    assert list(tmp_path.iterdir()) == [file]


def test_the_foot_settles_on_it_and_its_run_can_be_repeated(tmp_path):
    """The single foot (72 N) comes to rest where the ground carries it; the run file rebuilds the medium."""
    simulator = Simulator(Robot.load("foot"), Ground(medium()), 0.002)
    dataset = run(simulator, simulator.initial_state(height=0.01), None, 0.5, progress=False)
    assert np.isfinite(dataset["velocity"].values).all()
    assert bool(dataset["converged"].values.all())
    force = float(dataset["wrench_world"].values[-50:, 0, 2].mean())
    assert force == pytest.approx(float(simulator.robot.total_mass) * 9.81, rel=0.05)
    again = Run.load(dataset.save(tmp_path / "run.nc")).repeat()
    np.testing.assert_array_equal(again["velocity"].values, dataset["velocity"].values)


def test_single_precision_stays_single():
    there = eqx.tree_at(lambda m: m.strength, medium(), np.float32(1.0))
    foot = jax.tree.map(lambda x: x.astype(jnp.float32), foot_at(0.03, 0.2))
    assert jax.eval_shape(there.vertices, foot).dtype == jnp.float32
