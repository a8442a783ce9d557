"""Resistive force theory as a medium: the fitted wrench space, the named media, the measured sand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.errors import MediumError
from softground.media.base import FootInGround, Medium
from softground.media.named import NAMED, REFERENCE_FOOT, describe, named_medium, pebbles, sand
from softground.media.resistive.directions import SPEED, SPIN, ball_rims, directions, mirror_images, planar_twists
from softground.media.resistive.medium import (
    Resistive,
    fit_error,
    generic_space,
    sample,
    tilt_rotation,
)
from softground.media.resistive.wrench import surface_of, wrenches
from softground.media.round_space import HEADINGS
from softground.media.turn import turn_about_normal
from softground.robots.shapes import Box, Cylinder, Sphere

SHAPES = [REFERENCE_FOOT, Box(0.2, 0.1, 0.02), Sphere(0.02)]
CASES = [(shape, planar) for shape in SHAPES for planar in (True, False)]
PURE_DOWN = 9  # number of the planar direction -z


def foot(depth, tilt=0.0, heading=0.0, turn=0.0):
    c, s = np.cos(turn), np.sin(turn)
    spin = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    tilted = tilt_rotation(np.sin(tilt) * np.cos(heading), np.sin(tilt) * np.sin(heading), np.cos(tilt))
    return FootInGround(
        depth=jnp.asarray(depth, float),
        position=jnp.zeros(3),
        rotation=jnp.asarray(spin @ tilted),
        surface=jnp.eye(3),
    )


@pytest.fixture(scope="module")
def spaces():
    return {case: Resistive().for_foot(*case) for case in CASES}


def vertices(space, *pose, **named):
    return np.asarray(space.vertices(foot(*pose, **named)))


@pytest.mark.parametrize("case", [case for case in CASES if case != (REFERENCE_FOOT, False)], ids=str)
def test_fit_is_close_to_its_samples(case):
    """Within 5 % for the vertices and 2.5 % for the support function, of the set's size at each depth."""
    for law in ("plane", "3d") if case[1] else ("3d",):
        error = np.array(list(fit_error(*case, law).values()))
        assert error[:, 0].max() < 0.05
        assert error[:, 1].max() < 0.025


def test_cylinder_in_space_is_close_to_theory_in_every_direction(spaces):
    """Support function of the ellipses at poses that were not sampled, beside theory moved in random directions.

    The theory has directions between those of the fit, curves that are not ellipses, leans and depths between those
    sampled. Within 5 % (rms, of the greatest), 3 % on average; with 85 vertices it was 5.1 % and 3.1 %.
    """
    random, unit = np.random.default_rng(1), np.repeat([SPEED, SPIN], 3)
    moves, asked = random.normal(size=(3000, 6)), random.normal(size=(400, 6)) / unit
    tilt, heading = np.deg2rad([0.0, 5.0, 12.0, 25.0, 37.0, 50.0, 60.0]), random.uniform(-3, 3, 7)
    turns = tilt_rotation(np.sin(tilt) * np.cos(heading), np.sin(tilt) * np.sin(heading), np.cos(tilt))
    depths = np.array([0.007, 0.055, 0.09])
    theory = wrenches(surface_of(REFERENCE_FOOT), "3d", turns, depths, moves * unit)
    asked *= unit**2 / np.linalg.norm(asked * unit, axis=1, keepdims=True)
    off = []
    for i, j in np.ndindex(len(turns), len(depths)):
        rims = spaces[REFERENCE_FOOT, False].rims(foot(depths[j], tilt[i], heading[i]))
        powers = [np.asarray(part) @ asked.T for part in (rims.centre, rims.cosine, rims.sine)]
        found = np.maximum((np.hypot(*powers[1:]) - powers[0]).max(0), 0)
        expected = np.maximum((-theory[i, j] @ asked.T).max(0), 0)
        off.append(np.sqrt(np.mean((found - expected) ** 2)) / expected.max())
    assert max(off) < 0.05
    assert np.mean(off) < 0.03


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_above_the_surface(spaces, case):
    for depth in (-0.05, -1e-6, 0.0):
        assert np.abs(vertices(spaces[case], depth, 0.4)).max() == 0


@pytest.mark.parametrize("case", CASES, ids=str)
def test_resistance_to_sinking_grows_beyond_the_data(spaces, case):
    down = np.zeros(spaces[case].coefficients.shape[-1])
    down[1 if case[1] else 2] = -1.0
    for tilt in (0.0, 0.3, 0.8):
        depth = np.array([0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8])
        support = [(-vertices(spaces[case], d, tilt) @ down).max() for d in depth]
        assert (np.diff(support) > 0).all()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_vertices_are_twice_differentiable_at_the_surface(spaces, case):
    """One-sided second derivatives at depth 0 and at the end of the onset agree with those a hair away."""
    second = jax.jit(jax.jacfwd(jax.jacfwd(lambda depth: spaces[case].vertices(_at(depth)))))
    for knot in (0.0, 1e-3, 5e-3):
        jump = second(knot + 1e-9) - second(knot - 1e-9)
        assert np.abs(jump).max() < 1e-3 * max(np.abs(second(2e-3)).max(), 1.0)


def _at(depth):
    pose = foot(0.0, 0.3)
    return FootInGround(depth=depth, position=pose.position, rotation=pose.rotation, surface=pose.surface)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_mirrored_tilt_mirrors_the_planar_vertices(spaces, shape):
    space, image = spaces[shape, True], mirror_images(planar_twists(), axis=0)
    for tilt in (0.2, 0.9):
        right, left = (vertices(space, 0.03, sign * tilt)[:-1] for sign in (1, -1))
        np.testing.assert_allclose(left[image], right * [-1, 1, -1], atol=1e-6 * np.abs(right).max())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_hull_holds_the_origin_and_every_sample_dissipates(spaces, case):
    shape, planar = case
    samples = sample(shape, planar, "plane" if planar else "3d")
    twists = {True: directions(), False: ball_rims(HEADINGS).reshape(-1, 6)[:, :3]}
    if planar or isinstance(shape, Sphere):
        power = (samples.wrenches * twists[planar]).sum(-1)
        assert power.max() <= 1e-9 * np.abs(power).max()
    assert (vertices(spaces[case], 0.04, 0.2)[-1] == 0).all()
    # The origin is in the hull: whatever the twist, the potential is not negative.
    law = spaces[case].law(foot(0.04, 0.2), (), 1e-3)
    for twist in np.random.default_rng(0).normal(size=(20, samples.wrenches.shape[-1])):
        assert law.potential(jnp.asarray(twist)) >= 0


def test_a_box_turns_its_wrenches_with_it(spaces):
    """Turning the foot about the normal turns every vertex; the upright box is the exact example."""
    space, angle = spaces[SHAPES[1], False], 0.8
    turn = np.asarray(turn_about_normal(foot(0.0, turn=angle).rotation))
    for tilt in (0.0, 0.5):
        straight = vertices(space, 0.03, tilt, 0.3).reshape(-1, 2, 3)
        turned = vertices(space, 0.03, tilt, 0.3, turn=angle).reshape(-1, 2, 3)
        np.testing.assert_allclose(turned, straight @ turn.T, atol=1e-9 * np.abs(straight).max())


def test_turn_about_normal_leaves_a_pure_tilt():
    pose = foot(0.0, 0.7, 1.1, turn=2.0)
    turn = np.asarray(turn_about_normal(pose.rotation))
    np.testing.assert_allclose(turn[:2, 0], [np.cos(2.0), np.sin(2.0)], atol=1e-12)
    np.testing.assert_allclose(turn.T @ np.asarray(pose.rotation), foot(0.0, 0.7, 1.1).rotation, atol=1e-12)


def test_kinds_follow_the_foot_and_the_robot(spaces):
    kinds = {case: space.kind for case, space in spaces.items()}
    assert {kinds[shape, True] for shape in SHAPES} == {"planar"}
    assert [kinds[shape, False] for shape in SHAPES] == ["spatial", "spatial", "point"]


def test_scale_and_strength_multiply_all_wrenches(spaces):
    twice = Resistive(2.0, strength=1.5).for_foot(REFERENCE_FOOT, True)
    expected = 3 * vertices(spaces[REFERENCE_FOOT, True], 0.02, 0.1)
    np.testing.assert_allclose(vertices(twice, 0.02, 0.1), expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_single_precision_stays_single(spaces, case):
    single = jax.tree.map(lambda x: x.astype(jnp.float32), foot(0.03, 0.2, turn=0.4))
    found = spaces[case].vertices(single)
    assert found.dtype == jnp.float32
    exact = vertices(spaces[case], 0.03, 0.2, turn=0.4)
    np.testing.assert_allclose(found, exact, atol=1e-4 * np.abs(exact).max())


def test_scale_is_differentiable():
    medium = Resistive(0.5)

    def greatest(scale):
        bound = eqx.tree_at(lambda m: m.scale, medium, scale).for_foot(REFERENCE_FOOT, True)
        return bound.vertices(foot(0.03))[PURE_DOWN, 1]

    value, slope = jax.value_and_grad(greatest)(jnp.asarray(0.5))
    assert slope == pytest.approx(value / 0.5)


@pytest.mark.parametrize(("make", "force", "depth"), [(sand, 200.0, 0.05), (pebbles, 280.0, 0.045)])
def test_named_media_meet_their_calibration(make, force, depth):
    """Exactly in the theory; within 5 % once fitted with smooth features, in the plane and in space."""
    medium = make()
    down = np.array([[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]])
    for law in ("plane", "3d"):
        raw = wrenches(surface_of(REFERENCE_FOOT), law, np.eye(3)[None], np.array([depth]), down)[0, 0, 0, 2]
        assert medium.scale * raw == pytest.approx(force, rel=1e-9)
    for planar, vertical in ((True, 1), (False, 2)):
        bound = medium.for_foot(REFERENCE_FOOT, planar)
        assert vertices(bound, depth)[:, vertical].max() == pytest.approx(force, rel=0.05)


def test_registry_describes_every_medium():
    for name in NAMED:
        assert isinstance(named_medium(name, strength=2.0), Medium)
        assert len(describe(name)) > 10
    assert named_medium("sand", strength=2.0).strength == 2.0
    foam = named_medium("foam", strength=2.0)
    assert (foam.stiffness, foam.damping) == (1.6e6, 2e4)  # twice the ground of romualdi2021
    with pytest.raises(MediumError, match="sand"):
        named_medium("sandd")
    with pytest.raises(MediumError, match="its options are strength"):
        named_medium("firm", eps=1e-3)


@pytest.mark.parametrize("options", [{"scale": 0.0}, {"scale": -1.0}, {"scale": np.nan}, {"law": "4d"}, {"eps": 0.0}])
def test_bad_parameters_are_named(options):
    with pytest.raises(MediumError, match="must be"):
        Resistive(**options)


def test_bad_shapes_and_uses_are_named():
    with pytest.raises(MediumError, match="Cylinder"):
        Resistive().for_foot("boot", True)
    with pytest.raises(MediumError, match="3d"):
        Resistive(law="plane").for_foot(REFERENCE_FOOT, False)


def test_shapes_are_fitted_once():
    first, second = (generic_space(Cylinder(0.05, 0.15), True, "plane") for _ in range(2))
    assert first is second


# --- against the measured sand of zhu2019 -------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured(shared_data):
    """(depth, tilt) -> wrenches (26, 3), N and N m, torque about the point 0.1572 m up the foot's axis."""
    rows = np.genfromtxt(shared_data, delimiter=",", names=True)
    table = {}
    for row in rows[rows["depth_m"] < 0]:
        wrench = table.setdefault((-float(row["depth_m"]), float(row["tilt_rad"])), np.zeros((26, 3)))
        wrench[int(row["direction"])] = row["fx_n"], row["fz_n"], row["ty_nm"]
    return table


def predicted(poses, law):
    """Resistive force theory in the generic medium, with the reference point of the measurements."""
    result = []
    for depth, tilt in poses:
        turn = tilt_rotation(np.sin(tilt), 0 * np.sin(tilt), np.cos(tilt))[None]
        args = (surface_of(REFERENCE_FOOT), law, turn, np.array([depth]), planar_twists())
        wrench = wrenches(*args)[0, 0]
        torque = wrench[:, 3:] - np.cross(0.1572 * turn[0, :, 2], wrench[:, :3])
        result.append(np.stack([wrench[:, 0], wrench[:, 2], torque[:, 1]], -1))
    return np.array(result)


@pytest.mark.parametrize("law", ["plane", "3d"])
def test_pattern_of_the_measured_sand(measured, law):
    """Over 15 poses x 26 directions the theory, with one scale, has the pattern of the measured wrenches.

    Found: correlation of forces 0.95 (plane) and 0.96 (3d), of torques 0.93 and 0.96. Rotation read with the
    wrong sign gives 0.89 for the forces, about the wrong point 0.7, a wrong sign of tilt -0.2 for the
    torques.
    """
    theory, data = predicted(measured, law), np.array(list(measured.values()))
    forces = np.corrcoef(theory[..., :2].ravel(), data[..., :2].ravel())[0, 1]
    torques = np.corrcoef(theory[..., 2].ravel(), data[..., 2].ravel())[0, 1]
    assert forces > 0.93
    assert torques > 0.9


def test_strength_of_the_measured_sand(measured):
    """Pushed straight down, `sand` is within 25 % of the measurement at 1, 3 and 5 cm (upright).

    At 7 cm the measured upright foot meets less than at 5 cm (178 N against 231 N), which no theory linear in
    depth follows: there the mean over the three tilts is compared.
    """
    force = {pose: value[PURE_DOWN, 1] for pose, value in measured.items()}
    theory = dict(zip(force, float(sand().scale) * predicted(force, "plane")[:, PURE_DOWN, 1], strict=True))
    for depth in (0.01, 0.03, 0.05):
        assert theory[depth, 0.0] == pytest.approx(force[depth, 0.0], rel=0.25)
    deep = [pose for pose in force if pose[0] == 0.07]
    assert sum(theory[p] for p in deep) == pytest.approx(sum(force[p] for p in deep), rel=0.25)
