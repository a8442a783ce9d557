"""The visco-elastic ground against romualdi2021 (their Lemma 1), quadrature, and the rules of friction."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.spatial.transform import Rotation

from softground.errors import MediumError
from softground.media import Firm, ViscoElastic
from softground.media.base import FootInGround
from softground.media.visco_elastic import bounded_force
from softground.media.visco_elastic.medium import Memory
from softground.robots.shapes import Box, Cylinder, Sphere

from .media_cases import random_foot, random_memory

LENGTH, WIDTH = 0.2, 0.1
SOLE = Box(LENGTH, WIDTH, 0.05)
STICKY = 1e6  # friction so high that no point slips
K, B = 8e5, 1e4


def skew(a):
    return np.cross(np.eye(3), a)


def pressed_foot(random) -> tuple[FootInGround, np.ndarray, np.ndarray]:
    """A foot with its whole sole under level ground, and where it touched down: flat, at the surface."""
    rotation = Rotation.from_euler("zyx", random.uniform(-1, 1, 3) * [3.0, 0.15, 0.15]).as_matrix()
    turn = Rotation.from_euler("z", 0.1 * random.normal()).as_matrix()
    flat = turn @ Rotation.from_euler("z", np.arctan2(rotation[1, 0], rotation[0, 0])).as_matrix()
    position = np.array([*random.normal(size=2), -0.05])
    touched = position + np.r_[0.01 * random.normal(size=2), 0.05]
    return FootInGround(np.float64(0.05), position, rotation, np.eye(3)), touched, flat


def lemma(foot, touched, flat, twist) -> np.ndarray:
    """Eqs (9) and (10) as printed."""
    rotation, area = foot.rotation, LENGTH * WIDTH
    e1, e2 = rotation[:, 0], rotation[:, 1]
    projected = abs(rotation[2, 2])
    force = area * projected * (K * (touched - foot.position) - B * twist[:3])
    along = skew(e1) @ (B * skew(e1) @ twist[3:] + K * flat[:, 0])
    across = skew(e2) @ (B * skew(e2) @ twist[3:] + K * flat[:, 1])
    return np.concatenate([force, area / 12 * projected * (LENGTH**2 * along + WIDTH**2 * across)])


def density(foot, touched, flat, twist, s, t) -> np.ndarray:
    """Wrench per area of the sole at (s, t): rho of eq. (8) and its moment, on the projected area."""
    arm = foot.rotation @ [s, t, 0.0]
    velocity = twist[:3] + np.cross(twist[3:], arm)
    rho = K * (touched + flat @ [s, t, 0.0] - foot.position - arm) - B * velocity
    return abs(foot.rotation[2, 2]) * np.concatenate([rho, np.cross(arm, rho)])


def ours(shape, foot, touched, flat, twist) -> np.ndarray:
    """The limit dt -> 0 of the step's wrench."""
    medium = ViscoElastic(K, B, STICKY).for_foot(shape, planar=False)
    memory = Memory(touched + medium.sole.points @ flat.T, np.ones(4))
    return np.asarray(medium.law(foot, memory, jnp.zeros(())).wrench(jnp.asarray(twist)))


@pytest.mark.parametrize("seed", range(20))
def test_wrench_is_that_of_lemma_1(seed):
    random = np.random.default_rng(seed)
    pressed = pressed_foot(random)
    twist = 0.05 * random.normal(size=6)
    printed = lemma(*pressed, twist)
    np.testing.assert_allclose(ours(SOLE, *pressed, twist), printed, rtol=1e-10, atol=1e-10 * np.abs(printed).max())


@pytest.mark.parametrize("seed", range(3))
def test_wrench_is_the_integral_over_a_rectangle(seed):
    random = np.random.default_rng(seed)
    pressed = pressed_foot(random)
    twist = 0.05 * random.normal(size=6)
    integral = [
        dblquad(
            lambda t, s, i=i: density(*pressed, twist, s, t)[i],
            -LENGTH / 2,
            LENGTH / 2,
            -WIDTH / 2,
            WIDTH / 2,
        )[0]
        for i in range(6)
    ]
    size = np.abs(integral).max()
    np.testing.assert_allclose(ours(SOLE, *pressed, twist), integral, rtol=1e-10, atol=1e-10 * size)
    np.testing.assert_allclose(lemma(*pressed, twist), integral, rtol=1e-10, atol=1e-10 * size)


@pytest.mark.parametrize("seed", range(3))
def test_wrench_is_the_integral_over_a_disc(seed):
    """In polar coordinates: Gauss points in the radius (exact to degree 9), even ones round the circle."""
    random, radius = np.random.default_rng(seed), 0.05
    pressed = pressed_foot(random)
    twist = 0.05 * random.normal(size=6)
    nodes, weights = np.polynomial.legendre.leggauss(5)
    r, weight = radius * (nodes + 1) / 2, radius * weights / 2
    angles = 2 * np.pi * np.arange(8) / 8
    integral = sum(
        w * rho * 2 * np.pi / 8 * density(*pressed, twist, rho * np.cos(angle), rho * np.sin(angle))
        for rho, w in zip(r, weight, strict=True)
        for angle in angles
    )
    found = ours(Cylinder(radius, 0.15), *pressed, twist)
    np.testing.assert_allclose(found, integral, rtol=1e-10, atol=1e-10 * np.abs(integral).max())


# -- friction --------------------------------------------------------------------------------------


# In steps of 1e-6 N: denormal numbers are flushed to zero by XLA.
forces = st.tuples(*[st.integers(-(10**9), 10**9)] * 3).map(lambda f: 1e-6 * np.array(f))


@settings(max_examples=200, deadline=None)
@given(forces, st.one_of(st.just(0.0), st.floats(1e-3, 1e3)))
def test_bounded_force_is_the_nearest_that_pushes_within_the_bound(force, bound):
    """The set is disc x half-line: each part is projected on its own, and the disc's rest points outwards."""
    found = np.asarray(BOUNDED(force, bound)[0])
    rest, size = force - found, 1e-12 * (1 + np.linalg.norm(force))
    assert found[2] == max(force[2], 0.0)
    assert np.linalg.norm(found[:2]) <= bound + size
    # Normal cone of the disc: the rest is a multiple >= 0 of the force, and none inside.
    assert np.linalg.norm(rest[:2]) * bound <= rest[:2] @ found[:2] + size * (1 + bound)
    if np.linalg.norm(force[:2]) <= bound:
        np.testing.assert_array_equal(found[:2], force[:2])


BOUNDED = jax.jit(bounded_force)


@pytest.mark.parametrize("bound", [0.0, 3.0, 30.0])
@pytest.mark.parametrize("normal", [-5.0, 5.0])
def test_rate_of_the_bounded_force_is_its_derivative(bound, normal):
    wanted = np.array([6.0, -8.0, normal])
    oracle = jax.jacfwd(lambda w: bounded_force(w, jnp.asarray(bound))[0])(wanted)
    rate = BOUNDED(wanted, bound)[1]
    np.testing.assert_allclose(rate, oracle, atol=1e-15)
    np.testing.assert_array_equal(rate, rate.T)
    assert (np.linalg.eigvalsh(rate) >= -1e-15).all()


@pytest.mark.parametrize("point", [np.zeros(3), np.array([0.0, 0.0, 2.0])])
def test_rate_is_finite_where_nothing_is_wanted(point):
    """At the centre of a disc of no size, where the direction of slip is undefined."""
    force, rate = BOUNDED(point, 0.0)
    assert np.isfinite(rate).all()
    np.testing.assert_array_equal(force, point)


def test_ground_without_friction_does_not_pull():
    np.testing.assert_array_equal(BOUNDED(np.array([0.0, 0.0, -1.0]), 0.0)[0], 0.0)
    foot = Drag(ViscoElastic(K, B, 0.0), SOLE, depth=0.01)
    foot.move([0.3, 0.1, 2.0], steps=3)  # torn out faster than its springs follow
    np.testing.assert_array_equal(foot.forces, 0.0)


@pytest.mark.parametrize("shape", [SOLE, Cylinder(0.05, 0.15), Sphere(0.03)], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("medium", [ViscoElastic(), Firm()], ids=lambda m: m.name)
def test_points_never_pull_and_friction_is_bounded(medium, shape):
    """By friction times the normal force that the ground remembers of each point."""
    medium, random = medium.for_foot(shape, planar=False), np.random.default_rng(3)
    size = 3 if isinstance(shape, Sphere) else 6

    @jax.jit
    @jax.vmap
    def point_forces(foot, memory, twist):
        return medium.law(foot, memory, jnp.asarray(1e-3)).point_forces(twist)

    feet = [random_foot(random, planar=False, deepest=0.02) for _ in range(300)]
    memories = [random_memory(random, medium, foot, 0.02) for foot in feet]
    twists = random.normal(size=(300, size)) * 10 ** random.uniform(-3, 1, (300, 1))
    stack = lambda trees: jax.tree.map(lambda *x: jnp.stack([jnp.asarray(a) for a in x]), *trees)  # noqa: E731
    found = np.asarray(point_forces(stack(feet), stack(memories), twists)).reshape(-1, 3)
    bound = float(medium.medium.friction) * np.array([memory.normal_force for memory in memories]).ravel()
    tangential, normal = np.linalg.norm(found[:, :2], axis=1), found[:, 2]
    assert (normal >= 0).all()
    assert (tangential <= bound * (1 + 1e-12)).all()
    slips = (bound > 0) & (tangential > 0.999 * bound)
    assert slips.any()  # the sample sees slip, stick, lift-off and points that were in the air
    assert ((bound > 0) & ~slips).any()
    assert (normal == 0).any()
    assert (bound == 0).any()


# -- anchors ---------------------------------------------------------------------------------------

DT = 1e-3


class Drag:
    """A flat foot led along a path, with the ground's memory of it."""

    def __init__(self, medium: ViscoElastic, shape, depth, position=(0.3, 0.0)):
        self.medium = medium.for_foot(shape, planar=False)
        self.position = np.array([*position, -depth])
        self.memory = self.medium.initial_memory(foot_at(self.position))

    @property
    def anchor(self) -> np.ndarray:
        return np.asarray(self.memory.anchor)

    @property
    def points(self) -> np.ndarray:
        """Where the points of the sole are, m."""
        return self.position + np.asarray(self.medium.sole.points)

    def move(self, velocity, steps: int = 1):
        """Go on with a velocity; `forces` are then those on the points in the last step."""
        for _ in range(steps):
            self.forces, self.memory = drag(self.medium, self.position, self.memory, np.asarray(velocity))
            self.position = self.position + DT * np.asarray(velocity)


def foot_at(position) -> FootInGround:
    """A flat foot on level ground."""
    return FootInGround(-position[2], position, jnp.eye(3), jnp.eye(3))


@eqx.filter_jit
def drag(medium, position, memory, velocity):
    foot = foot_at(position)
    law = medium.law(foot, memory, jnp.asarray(DT))
    twist = jnp.zeros(3 if medium.kind == "point" else 6).at[:3].set(velocity)
    return law.point_forces(twist), medium.remember(foot, memory, law, twist, jnp.asarray(DT))


def test_springs_start_relaxed_where_the_foot_is():
    """In the air nothing is remembered; below the surface the springs carry what their depth asks for."""
    above, below = (Drag(ViscoElastic(K, B, 0.6), SOLE, depth) for depth in (-0.01, 0.01))
    np.testing.assert_array_equal(above.anchor, above.points)
    np.testing.assert_array_equal(above.memory.normal_force, 0.0)
    np.testing.assert_array_equal(below.anchor, below.points)
    np.testing.assert_allclose(below.memory.normal_force, K * LENGTH * WIDTH / 4 * 0.01, rtol=1e-14)
    below.move([0.0, 0.0, 0.0])
    np.testing.assert_allclose(below.forces[:, :2], 0.0, atol=1e-12)
    np.testing.assert_allclose(below.forces[:, 2], below.memory.normal_force, rtol=1e-14)


def test_anchor_is_set_where_the_point_meets_the_surface():
    """A foot that comes down obliquely: until it touches its anchors go with it, from then on they stay.

    The step that touches is frictionless (there was no normal force before it): the anchors are set at its
    end. In the next the damper asks for more than friction times the first force, and they slip a little."""
    foot = Drag(ViscoElastic(K, B, 0.6), SOLE, depth=-0.0205)
    for _ in range(20):
        foot.move([0.2, 0.1, -1.0])
        np.testing.assert_allclose(foot.anchor[:, :2], foot.points[:, :2], atol=1e-15)
        np.testing.assert_array_equal(foot.forces, 0.0)
    foot.move([0.2, 0.1, -1.0])  # from 0.5 mm above the surface to 0.5 mm below it
    area = LENGTH * WIDTH / 4
    np.testing.assert_array_equal(foot.forces[:, :2], 0.0)
    # The damper over the half of the way that is in the ground; the spring is not yet stretched.
    np.testing.assert_allclose(foot.forces[:, 2], B * 0.5 * area, rtol=1e-9)
    np.testing.assert_allclose(foot.anchor, foot.points * [1, 1, 0], atol=1e-15)
    touched = foot.anchor.copy()
    foot.move([0.2, 0.1, -1.0])
    where = foot.anchor.copy()
    assert np.linalg.norm(where - touched, axis=1).max() < DT * np.hypot(0.2, 0.1)
    for _ in range(10):
        foot.move([0.2, 0.1, -1.0])
        assert (foot.forces[:, 2] > 0).all()
        assert (foot.forces[:, 0] < 0).all()
    np.testing.assert_allclose(foot.anchor, where, atol=1e-14)


@pytest.mark.parametrize("medium", [ViscoElastic(K, B, 0.6), Firm()], ids=lambda m: m.name)
def test_foot_above_the_surface_feels_nothing(medium):
    """A swing foot passing 0.5 mm above the ground at 2 m/s, and one that falls but does not arrive."""
    foot = Drag(medium, SOLE, depth=-5e-4)
    foot.move([2.0, 0.0, 0.0], steps=3)
    np.testing.assert_array_equal(foot.forces, 0.0)
    foot.move([2.0, 0.0, -0.499])
    np.testing.assert_array_equal(foot.forces, 0.0)


def test_anchor_is_constant_in_stick_and_dragged_by_slip():
    """10 mm deep, at 0.05 m/s: friction holds 0.5 x 8000 N/m2, of which the damper takes 500: slip after 4.4
    mm."""
    friction, speed = 0.5, 0.05
    foot = Drag(ViscoElastic(K, B, friction), SOLE, depth=0.01)
    before = foot.anchor[:, :2].copy()
    foot.move([speed, 0.0, 0.0], steps=80)
    np.testing.assert_allclose(foot.anchor[:, :2], before, atol=1e-13)
    assert (np.abs(foot.forces[:, 0]) < friction * foot.forces[:, 2]).all()
    foot.move([speed, 0.0, 0.0], steps=200)
    np.testing.assert_allclose(-foot.forces[:, 0], friction * foot.forces[:, 2], rtol=1e-12)
    # Steady slip: the spring alone holds what friction can, 0.5 x 10 mm behind.
    lag = foot.points[:, 0] - foot.anchor[:, 0]
    np.testing.assert_allclose(lag, friction * 0.01, rtol=1e-6)
    np.testing.assert_allclose(foot.anchor[:, 0] - before[:, 0], 280 * DT * speed - lag, rtol=1e-5)


@pytest.mark.parametrize("shape", [SOLE, Sphere(0.03)], ids=lambda s: type(s).__name__)
def test_friction_follows_the_normal_force_one_step_late(shape):
    """Pressed down while it slides: the tangential force is friction times the normal force of the step
    before, exactly, and opposes the motion."""
    foot = Drag(ViscoElastic(K, B, 0.4), shape, depth=0.005)
    foot.move([1.0, -0.5, 0.0], steps=20)
    for _ in range(10):
        before = np.asarray(foot.memory.normal_force)
        foot.move([1.0, -0.5, -0.1])
        assert (foot.forces[:, 2] > before).all()
        pull = -0.4 * before[:, None] * np.array([1.0, -0.5]) / np.hypot(1.0, 0.5)
        np.testing.assert_allclose(foot.forces[:, :2], pull, rtol=1e-9)


def test_ball_rolls_without_resistance():
    """The twist of a ball is that of its point of contact: rolling, it is zero, and so is friction, for
    ever."""
    foot = Drag(ViscoElastic(K, B, 0.6), Sphere(0.03), depth=0.002)
    for _ in range(50):
        foot.move([0.0, 0.0, 0.0])
        np.testing.assert_array_equal(foot.forces[:, :2], 0.0)
        foot.position[0] += 0.01  # the centre moves on
    assert (foot.forces[:, 2] > 0).all()
    foot.move([0.1, 0.0, 0.0])  # and slip is resisted
    assert (foot.forces[:, 0] < 0).all()


def test_stored_energy_is_the_work_done_slowly():
    """Pressing and shearing slowly in stick: the work against the ground is what `stored_energy` says."""
    foot = Drag(ViscoElastic(K, 1e-3, STICKY), SOLE, depth=0.0)
    work, steps = 0.0, 400
    for i in range(2 * steps):
        velocity = np.array([0.0, 0.0, -0.01 / steps] if i < steps else [0.005 / steps, 0.0, 0.0]) / DT
        foot.move(velocity)
        work -= DT * (foot.forces @ velocity).sum()
    stored = float(foot.medium.stored_energy(foot_at(foot.position), foot.memory))
    exact = K * LENGTH * WIDTH * (0.01**2 + 0.005**2) / 2
    np.testing.assert_allclose(stored, exact, rtol=1e-10)
    np.testing.assert_allclose(work, exact, rtol=1.5 / steps)  # forces at the end of steps: 1/steps high


@settings(max_examples=200, deadline=None)
@given(
    depth=st.floats(-2e-3, 0.02),
    velocity=st.tuples(*[st.floats(-3, 3)] * 3),
    stretch=st.tuples(*[st.floats(-0.02, 0.02)] * 2),
    remembered=st.floats(0, 100),
    damping=st.sampled_from([1e-3, 1e4, 1e7]),
    ball=st.booleans(),
)
def test_springs_never_return_more_than_they_hold(depth, velocity, stretch, remembered, damping, ball):
    """One step of a foot that does not turn, from any memory: work done by the ground + growth of its stored
    energy <= 0."""
    foot = Drag(ViscoElastic(K, damping, 0.6), Sphere(0.03) if ball else SOLE, depth)
    anchor = foot.anchor + np.array([*stretch, 0.0])
    foot.memory = Memory(jnp.asarray(anchor), jnp.full(4, remembered))
    before = float(STORED(foot.medium, foot.position, foot.memory))
    foot.move(velocity)
    after = float(STORED(foot.medium, foot.position, foot.memory))
    work = DT * float((foot.forces @ np.array(velocity)).sum())
    assert work + after - before <= 1e-12 * (1 + abs(work) + before)


STORED = eqx.filter_jit(lambda medium, position, memory: medium.stored_energy(foot_at(position), memory))


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"stiffness": -1.0}, "stiffness of the ground must be positive and finite, got -1"),
        ({"stiffness": np.nan}, "stiffness"),
        ({"damping": 0.0}, "damping of the ground must be positive"),
        ({"friction": -0.1}, "friction of the ground must be >= 0"),
        ({"friction": np.inf}, "friction"),
    ],
)
@pytest.mark.parametrize("kind", [ViscoElastic, Firm])
def test_bad_parameters_are_refused(kind, options, text):
    with pytest.raises(MediumError, match=text):
        kind(**options)


def test_a_foot_of_no_shape_is_refused():
    with pytest.raises(MediumError, match="foot shape must be Box"):
        ViscoElastic().for_foot("square", planar=False)
