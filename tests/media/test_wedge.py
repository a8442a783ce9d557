"""Wedge as a medium: dissipation, limits, symmetry, added mass, memory, bad input."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softground.errors import MediumError
from softground.media import Wedge
from softground.media.base import COMPONENTS, FootInGround
from softground.media.wedge import sagittal_force, shear_force
from softground.media.wedge.medium import Memory
from softground.media.wedge.resistance import DIRECTIONS, stress_sets, wall_stress
from softground.robots.shapes import Cylinder, Polygon, Sphere

from .wedge_cases import DT, FLAT, GROWTH, PHI, POSES, ROUND, ZETA, directions, outline, shoelace, solid


def foot_at(depth, tilt=0.0, turn=0.0, lean=0.0):
    rotation = Rotation.from_euler("ZYX", [turn, tilt, lean]).as_matrix()
    return FootInGround(np.float64(depth), np.zeros(3), rotation, np.eye(3))


def fresh(slip=0.0, velocity=(0.0, 0.0, 0.0), mass=0.0):
    return Memory(np.array(velocity), np.float64(mass), np.float64(slip))


@jax.jit
def wrench_of(medium_and_foot, memory, twist):
    medium, foot = medium_and_foot
    law = medium.law(foot, memory, jnp.asarray(DT))
    return law.wrench(twist), law.mass


SHARP = Wedge(ZETA, eps=1e-9, growth=GROWTH)  # almost no smoothing
WEIGHTLESS = Wedge(ZETA, eps=1e-9, growth=GROWTH, density=0.0)


@pytest.mark.parametrize("shape", [FLAT, ROUND], ids=["flat", "round"])
def test_force_of_greatest_dissipation_is_close_to_the_closed_form(shape):
    """It dissipates at least as much as (8), but for the directions between those sampled; and not much more.

    Where both flanks lead (within 52 degrees of straight down) the difference is small. Beyond, (8) drops the flank
    that trails at once, which no convex potential can.
    """
    medium, depth = WEIGHTLESS.for_foot(shape, planar=True), 0.03
    found = solid(shape, depth, 0.0)
    closed, dissipated = [], []
    for direction in directions(48):
        twist = np.array([direction[0], direction[2], 0.0])
        wrench, _ = wrench_of((medium, foot_at(depth)), fresh(), twist)
        closed.append(-sagittal_force(found.faces, direction, PHI, ZETA, shape.width) @ direction)
        dissipated.append(-wrench @ twist)
    excess = (np.array(dissipated) - closed) / np.max(closed)
    both_lead = -directions(48)[:, 2] > np.sin(PHI)
    assert excess.min() > -0.005
    assert excess[both_lead].max() < 0.06
    assert excess.max() < 0.22
    assert np.sqrt(np.mean(excess**2)) < 0.07


def test_nine_directions_are_enough():
    velocity = directions(720)
    for flat in (True, False):
        fine, coarse = (stress_sets(PHI, flat, count) for count in (721, DIRECTIONS))
        support = [(-stresses @ velocity.T).max(axis=1) for stresses in (fine, coarse)]
        assert (support[0] - support[1]).max() < 0.015 * support[0].max()


@pytest.mark.parametrize("shape", [FLAT, ROUND, Sphere(0.04), Cylinder(0.03, 0.1)], ids=lambda s: type(s).__name__)
def test_limits(shape):
    medium = WEIGHTLESS.for_foot(shape, planar=False)
    kind = COMPONENTS[medium.kind]
    down, left, up = (np.eye(6)[i][kind] * s for i, s in ((2, -0.1), (1, 0.1), (2, 0.1)))

    def force(depth, twist, slip=0.0):
        return np.asarray(wrench_of((medium, foot_at(depth)), fresh(slip), twist)[0])

    assert np.abs(force(0.0, down)).max() < 1e-4  # N: the force of a sole that has just touched
    assert np.abs(force(-0.01, down)).max() < 1e-12
    assert np.abs(force(0.03, up)).max() < 1e-6  # nothing pulls
    straight = force(0.03, down)
    assert straight[2] > 1
    np.testing.assert_allclose(np.delete(straight, 2), 0, atol=1e-7 * straight[2])
    sideways = force(0.03, left, slip=1e3)
    if isinstance(shape, Sphere):  # has no sides: left is as good as ahead
        assert sideways[1] == pytest.approx(force(0.03, 0.1 * np.eye(3)[0])[0], rel=1e-12)
    else:
        saturated = ZETA * wall_stress() * float(SHARP.saturation_length) * 0.03**2 / 2
        assert sideways[1] == pytest.approx(-saturated, rel=1e-6)
        assert force(0.03, left, slip=0.0)[1] == 0
    # Far down stress is all but even: twice the depth, twice the force.
    deep = [force(depth, down)[2] for depth in (50.0, 100.0)]
    assert deep[1] == pytest.approx(2 * deep[0], rel=2e-3)


@pytest.mark.parametrize("shape", [FLAT, ROUND], ids=["flat", "round"])
def test_shear_has_the_power_of_the_closed_form(shape):
    """Steeper than 52 degrees below the horizontal; less steep it has its greatest size."""
    factor, depth = 1.5, 0.03
    mediums = (Wedge(ZETA, eps=1e-6, growth=GROWTH, density=0.0, shear=shear) for shear in (None, factor))
    printed, sheared = (medium.for_foot(shape, planar=False) for medium in mediums)
    faces = solid(shape, depth, 0.0).faces

    def force(medium, *velocity):
        return np.asarray(wrench_of((medium, foot_at(depth)), fresh(), np.array([*velocity, 0.0, 0.0, 0.0]))[0])[:3]

    def added(velocity):
        return force(sheared, *velocity) - force(printed, *velocity)

    greatest = -factor * shear_force(faces, np.array([0.0, 1.0, -1e-9]), PHI, ZETA, shape.width)
    assert greatest > 20  # N
    steep = np.arccos((np.sqrt(5) - 1) / 2)
    # Of seven shears, the first beside none at c = C / 3: half way to it none pays yet, and all of c^2 is missed.
    missed = 1.01 * (np.cos(steep) / 6) ** 2 * greatest
    for gamma in np.linspace(steep, np.pi / 2, 20):
        velocity = np.array([0.0, np.cos(gamma), -np.sin(gamma)])
        closed = -factor * shear_force(faces, velocity, PHI, ZETA, shape.width) * velocity[1]
        assert -added(velocity) @ velocity == pytest.approx(closed, abs=missed)
    for gamma in (0.05, np.pi / 4):  # less steep: the greatest shear
        sideways = added([0.0, np.cos(gamma), -np.sin(gamma)])
        assert -sideways[1] == pytest.approx(greatest, rel=1e-6)
        assert -sideways[2] == pytest.approx(greatest * np.cos(steep) ** 2 * np.sin(steep), rel=1e-6)
    ahead = (0.02, 0.0, -0.1)
    np.testing.assert_allclose(force(sheared, *ahead), force(printed, *ahead), atol=1e-6 * greatest)
    assert np.abs(force(sheared, 0.0, 0.0, 0.1)).max() < 1e-6  # lifted
    assert np.abs(wrench_of((sheared, foot_at(-0.01)), fresh(), np.array([0, 0.1, -0.1, 0, 0, 0]))[0]).max() < 1e-9


def test_grains_that_are_sheared_do_not_pull():
    random = np.random.default_rng(0)
    sand = Wedge(ZETA, eps=1e-6, density=0.0, shear=20.0)
    medium, unsheared = (one.for_foot(ROUND, planar=False) for one in (sand, replace(sand, shear=None)))
    for velocity in random.normal(size=(20, 3)):
        lift = wrench_of((medium, foot_at(0.03)), fresh(), np.array([*velocity, 0.0, 0.0, 0.0]))[0][2]
        bare = wrench_of((unsheared, foot_at(0.03)), fresh(), np.array([*velocity, 0.0, 0.0, 0.0]))
        assert lift >= min(float(bare[0][2]), 0.0) - 1e-6


@pytest.mark.parametrize("shear", [None, 1.5], ids=["printed", "sheared"])
@pytest.mark.parametrize("shape", [FLAT, ROUND], ids=["flat", "round"])
def test_left_and_right_are_mirror_images(shape, shear):
    random = np.random.default_rng(0)
    medium = Wedge(ZETA, eps=1.0, shear=shear).for_foot(shape, planar=False)
    mirror = np.array([1, -1, 1, -1, 1, -1.0])  # of a twist or wrench, in the plane y = 0
    for _ in range(20):
        depth, tilt, turn, lean = random.uniform([0.005, -0.3, -3, -0.3], [0.05, 0.3, 3, 0.3])
        slip, velocity, twist = random.normal() * 0.02, random.normal(size=3), random.normal(size=6)
        velocity[2] = -abs(velocity[2])
        wrench, mass = wrench_of((medium, foot_at(depth, tilt, turn, lean)), fresh(slip, velocity, 0.01), twist)
        image, _ = wrench_of(
            (medium, foot_at(depth, tilt, -turn, -lean)), fresh(-slip, mirror[:3] * velocity, 0.01), mirror * twist
        )
        np.testing.assert_allclose(image, mirror * wrench, rtol=0, atol=1e-9 * np.abs(wrench).max())
        assert mass > 0
        assert np.abs(np.asarray(wrench)[[1, 3, 5]]).min() > 0


def test_turning_the_foot_turns_the_wrench():
    medium = Wedge(ZETA, eps=1.0).for_foot(FLAT, planar=False)
    turn = Rotation.from_euler("z", 0.7).as_matrix()
    both = np.kron(np.eye(2), turn)
    twist, memory = np.array([0.1, -0.05, -0.2, 0.3, -0.2, 0.4]), fresh(0.01, (0.1, 0.0, -0.2), 0.02)
    straight, _ = wrench_of((medium, foot_at(0.03, 0.2)), memory, twist)
    turned_memory = fresh(0.01, turn @ memory.velocity, 0.02)
    turned, _ = wrench_of((medium, foot_at(0.03, 0.2, turn=0.7)), turned_memory, both @ twist)
    np.testing.assert_allclose(turned, both @ straight, rtol=1e-9, atol=1e-9)


def test_in_the_plane_space_and_plane_agree():
    """A foot that moves in its own plane, cut in two slices or one."""
    twist = np.array([0.05, -0.2, 0.7])
    full = np.zeros(6)
    full[[0, 2, 4]] = twist
    for shape in (FLAT, ROUND):
        plane, _ = wrench_of((SHARP.for_foot(shape, planar=True), foot_at(0.03, 0.1)), fresh(), twist)
        space, _ = wrench_of((SHARP.for_foot(shape, planar=False), foot_at(0.03, 0.1)), fresh(), full)
        # forces of 150 N: what is zero but for rounding is below 1e-12
        np.testing.assert_allclose(space[np.array([0, 2, 4])], plane, rtol=1e-9, atol=1e-12)


def test_flat_sole_resists_being_turned_and_round_one_rolls():
    pitching = np.array([0.0, 0.0, 0.5])
    flat, _ = wrench_of((SHARP.for_foot(FLAT, planar=True), foot_at(0.02)), fresh(), pitching)
    assert flat[2] < -0.5  # N m, against the turn
    leaning = np.array([0, 0, 0, 0.5, 0, 0.0])
    across, _ = wrench_of((SHARP.for_foot(ROUND, planar=False), foot_at(0.02)), fresh(), leaning)
    assert across[3] < -0.5
    # A round sole that rolls about its axis: the lowest point slips under it, as the same slip without a turn would.
    medium, radius, rate = WEIGHTLESS.for_foot(ROUND, planar=True), ROUND.radius, 0.5
    rolling, _ = wrench_of((medium, foot_at(0.02)), fresh(), np.array([-rate * radius, 0.0, rate]))
    slipping, _ = wrench_of((medium, foot_at(0.02)), fresh(), np.array([-rate * radius, 0.0, 0.0]))
    assert rolling[0] * slipping[0] > 0


def test_grip_is_how_much_of_the_pitching_the_wedge_takes_part_in():
    """All of it: as without. None: it goes with the axis, about which it then has no torque, however the foot turns."""
    at_axis = np.array([0.1, -0.2, 0.7])
    twist = at_axis - [ROUND.radius * at_axis[2], 0.0, 0.0]  # at the lowest point
    level = foot_at(0.02)

    def met(grip, twist, planar=True):
        return wrench_of((replace(SHARP, grip=grip).for_foot(ROUND, planar), level), fresh(), twist)[0]

    np.testing.assert_allclose(met(1.0, twist), wrench_of((SHARP.for_foot(ROUND, True), level), fresh(), twist)[0])
    smooth = met(0.0, twist)
    np.testing.assert_allclose(smooth[2], ROUND.radius * smooth[0], rtol=1e-9)  # N m, about the lowest point
    still = met(0.0, np.array([at_axis[0], at_axis[1], 0.0]))  # the same way of the axis, the foot not turning
    np.testing.assert_allclose(smooth, still, rtol=1e-9)
    space = met(0.3, np.array([twist[0], 0.0, twist[1], 0.0, twist[2], 0.0]), planar=False)
    np.testing.assert_allclose(space[np.array([0, 2, 4])], met(0.3, twist), rtol=1e-9, atol=1e-12)


# -- added mass -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "depth", "tilt"), POSES[:5] + POSES[8:])
def test_added_mass_is_the_wedge_times_its_density(shape, depth, tilt):
    density = 1660.0
    medium = Wedge(growth=GROWTH, density=density).for_foot(shape, planar=True)
    sole, wedge = outline(shape, depth, tilt)
    expected = density * shape.width * shoelace(np.concatenate([sole, wedge[1:-1]]))
    _, mass = wrench_of((medium, foot_at(depth, tilt)), fresh(), np.zeros(3))
    assert float(mass) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("planar", [True, False])
def test_foot_gives_the_wedge_its_momentum(planar):
    """Driven down at constant speed, the foot has given the wedge mass times speed: grains are caught up at rest."""
    heavy, light = (Wedge(growth=GROWTH, density=density).for_foot(FLAT, planar=planar) for density in (1660.0, 0.0))
    speed, steps = 0.5, 100
    size = 3 if planar else 6
    twist = np.zeros(size)
    twist[1 if planar else 2] = -speed

    @jax.jit
    def push(depth, memory):
        foot = FootInGround(depth, jnp.zeros(3), jnp.eye(3), jnp.eye(3))
        law = heavy.law(foot, memory, jnp.asarray(DT))
        without = light.law(foot, memory, jnp.asarray(DT)).wrench(twist)
        after = heavy.remember(foot, memory, law, jnp.asarray(twist), jnp.asarray(DT))
        return law.wrench(twist) - without, after

    memory, impulse = heavy.initial_memory(foot_at(0.0)), np.zeros(size)
    for step in range(steps):
        force, memory = push(jnp.asarray(speed * DT * step), memory)
        impulse += DT * np.asarray(force)
    assert impulse[1 if planar else 2] == pytest.approx(float(memory.mass) * speed, rel=1e-12)
    assert float(memory.mass) > 0.05
    assert heavy.stored_energy(foot_at(0.05), memory) == pytest.approx(float(memory.mass) * speed**2 / 2)


def test_wedge_lets_go_of_a_lifted_foot():
    medium = Wedge().for_foot(ROUND, planar=True)
    up = np.array([0.0, 0.2, 0.0])
    force, mass = wrench_of((medium, foot_at(0.03)), fresh(0.0, (0.0, 0.0, 0.1), 0.02), up)
    assert mass == 0
    assert np.abs(force).max() < 1e-6
    clinging, mass = wrench_of((medium, foot_at(0.03)), fresh(0.0, (0.0, 0.0, -0.1), 0.02), up)
    assert mass > 0
    assert clinging[1] < 0


def test_slip_is_remembered_while_in_the_ground():
    medium = Wedge().for_foot(ROUND, planar=False)
    turn = 0.6
    twist = np.array([-np.sin(turn), np.cos(turn), -0.5, 0, 0, 0]) * 0.1

    @jax.jit
    def slip_after(foot, memory):
        law = medium.law(foot, memory, jnp.asarray(DT))
        return medium.remember(foot, memory, law, jnp.asarray(twist), DT).slip

    for depth, expected in ((0.02, 0.03 + 0.1 * DT), (-0.01, 0.0)):
        assert float(slip_after(foot_at(depth, turn=turn), fresh(0.03))) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shape", [FLAT, ROUND, Sphere(0.04)], ids=lambda s: type(s).__name__)
def test_keeps_single_precision(shape):
    single = lambda tree: jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), tree)  # noqa: E731
    for planar in (True, False):
        medium = Wedge().for_foot(shape, planar)
        law = jax.eval_shape(lambda *args: args[0].law(*args[1:]), *single((medium, foot_at(0.02), fresh(), DT)))
        assert {leaf.dtype for leaf in jax.tree.leaves(law)} == {jnp.dtype("float32")}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"zeta": 0.0}, "zeta of a wedge medium must be positive"),
        ({"zeta": -1.36}, "zeta of a wedge medium must be positive"),
        ({"zeta": np.nan}, "zeta of a wedge medium must be positive"),
        ({"saturation_length": 0.0}, "saturation_length of a wedge medium must be positive"),
        ({"growth": -1.0}, "growth of a wedge medium must be positive"),
        ({"density": -1.0}, "density of a wedge medium must be >= 0"),
        ({"shear": -0.1}, "shear of a wedge medium must be >= 0"),
        ({"grip": -0.1}, "grip of a wedge medium must be >= 0"),
        ({"friction_angle": 38.0}, "friction_angle must lie between 0 and pi/2 rad"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(MediumError, match=message):
        Wedge(**options)


def test_needs_a_foot_of_a_known_shape():
    with pytest.raises(MediumError, match="got Polygon"):
        Wedge().for_foot(Polygon(((0, 0), (0.1, 0), (0, 0.1))), planar=True)
    with pytest.raises(MediumError, match="direction of motion"):
        sagittal_force(solid(FLAT, 0.02, 0.0).faces, np.zeros(3), PHI)
