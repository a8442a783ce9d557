"""Lemma 1 of romualdi2021 as functions: against quadrature, finite differences and the paper's own formulas."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softground.errors import MediumError
from softground.media import ViscoElastic
from softground.media.base import FootInGround
from softground.media.visco_elastic import lemma, patch
from softground.media.visco_elastic.lemma import Corollary, Pose
from softground.media.visco_elastic.medium import Memory
from softground.robots.shapes import Box, Sphere

from .sole_cases import CONVEX, SOLES, integral

K, B = 8e5, 1e4
LENGTH, WIDTH = 0.19, 0.09
RECTANGLE = Box(LENGTH, WIDTH, 0.02)

WRENCH = jax.jit(lemma.wrench)
REGRESSOR = jax.jit(lemma.regressor)
RATE = jax.jit(lemma.wrench_rate)


def skew(a):
    return np.cross(np.eye(3), a)


def motion(random, tilt: float = 1.0) -> tuple[Pose, Pose, np.ndarray]:
    """A foot at rest, anywhere on level ground, and where it is now: 1 cm away, turned by up to `tilt`, moving."""
    rest = Pose(random.normal(size=3), Rotation.from_euler("z", random.uniform(-3, 3)).as_matrix())
    turn = Rotation.from_rotvec(tilt * random.uniform(-1, 1, 3)).as_matrix()
    foot = Pose(rest.position + 0.01 * random.normal(size=3), turn @ rest.rotation)
    return rest, foot, random.normal(size=6) * np.repeat([0.1, 1.0], 3)


def density(rest: Pose, foot: Pose, twist, x, y) -> np.ndarray:
    """Wrench per area at a place of the sole: eq. (8) and its moment, on the projected area."""
    arm = foot.rotation @ [x, y, 0.0]
    velocity = twist[:3] + np.cross(twist[3:], arm)
    rho = K * (rest.position + rest.rotation @ [x, y, 0.0] - foot.position - arm) - B * velocity
    return abs(foot.rotation[2, 2]) * np.concatenate([rho, np.cross(arm, rho)])


def close(found, expected, rtol):
    """Forces to the size of the force, torques to that of the torque."""
    for part in (slice(0, 3), slice(3, 6)):
        size = np.abs(expected[part]).max()
        np.testing.assert_allclose(np.asarray(found)[part], expected[part], rtol=0, atol=rtol * size)


# -- the wrench ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SOLES)
def test_wrench_is_the_integral_over_the_sole(name, seed):
    random = np.random.default_rng(seed)
    rest, foot, twist = motion(random)
    exact = integral(SOLES[name], lambda x, y: density(rest, foot, twist, x, y))
    for to_edge in (False, True):
        close(WRENCH(patch(SOLES[name], to_edge), K, B, rest, foot, twist), exact, 1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_wrench_is_the_papers_for_a_rectangle(seed):
    """Eqs (9) and (10) as printed."""
    rest, foot, twist = motion(np.random.default_rng(seed))
    (e1, e2), area = foot.rotation.T[:2], LENGTH * WIDTH
    along = skew(e1) @ (B * skew(e1) @ twist[3:] + K * rest.rotation[:, 0])
    across = skew(e2) @ (B * skew(e2) @ twist[3:] + K * rest.rotation[:, 1])
    force = area * (K * (rest.position - foot.position) - B * twist[:3])
    torque = area / 12 * (LENGTH**2 * along + WIDTH**2 * across)
    printed = abs(foot.rotation[2, 2]) * np.concatenate([force, torque])
    close(WRENCH(patch(RECTANGLE), K, B, rest, foot, twist), printed, 1e-12)


@pytest.mark.parametrize("name", SOLES)
def test_wrench_is_the_regressor_times_the_parameters(name):
    sole = patch(SOLES[name])
    for seed in range(3):
        rest, foot, twist = motion(np.random.default_rng(seed))
        by_regressor = REGRESSOR(sole, rest, foot, twist) @ np.array([K, B])
        close(by_regressor, np.asarray(WRENCH(sole, K, B, rest, foot, twist)), 1e-13)


def test_foot_at_rest_feels_nothing():
    rest = motion(np.random.default_rng(0))[0]
    np.testing.assert_allclose(WRENCH(patch(CONVEX), K, B, rest, rest, np.zeros(6)), 0.0, atol=1e-12)


# -- its rate --------------------------------------------------------------------------------------


def left_jacobian(rotation_vector) -> np.ndarray:
    """Angular velocity per rate of a rotation vector."""
    angle, turn = np.linalg.norm(rotation_vector), skew(rotation_vector)
    if angle == 0:
        return np.eye(3)
    return np.eye(3) + (1 - np.cos(angle)) / angle**2 * turn + (angle - np.sin(angle)) / angle**3 * turn @ turn


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["rectangle", "arched"])
def test_rate_is_that_of_finite_differences(name, seed):
    """Along p + v t + a t2/2 and exp(w t + alpha t2/2) R: at t = 0 the twist is (v, w), its rate (a, alpha)."""
    sole, random = patch(SOLES[name]), np.random.default_rng(seed)
    rest, foot, twist = motion(random)
    acceleration = random.normal(size=6) * np.repeat([1.0, 10.0], 3)

    def wrench_at(t):
        turned = twist[3:] * t + acceleration[3:] * t**2 / 2
        spin = left_jacobian(turned) @ (twist[3:] + acceleration[3:] * t)
        pose = Pose(
            foot.position + twist[:3] * t + acceleration[:3] * t**2 / 2,
            Rotation.from_rotvec(turned).as_matrix() @ foot.rotation,
        )
        return np.asarray(WRENCH(sole, K, B, rest, pose, np.r_[twist[:3] + acceleration[:3] * t, spin]))

    h = 1e-3  # error of fourth order, 1e-12 of the fifth derivative; rounding 1e-16 / h
    differences = (8 * (wrench_at(h) - wrench_at(-h)) - (wrench_at(2 * h) - wrench_at(-2 * h))) / (12 * h)
    free, by_acceleration = RATE(sole, K, B, rest, foot, twist)
    close(free + by_acceleration @ acceleration, differences, 1e-8)


@pytest.mark.parametrize("name", SOLES)
def test_rate_is_its_closed_form(name):
    """Differentiated by hand: d(R s)/dt = w x R s, dW/dt = [w]x W + W [w]x', d|R33|/dt = sign(R33) (w x R e3)_3."""
    sole = patch(SOLES[name])
    area, first, second = sole.area, sole.first_moment, sole.second_moment
    vee = lambda a: np.array([a[2, 1], a[0, 2], a[1, 0]])  # noqa: E731
    for seed in range(4):
        rest, foot, twist = motion(np.random.default_rng(seed), tilt=2.5)
        v, w, rotation = twist[:3], twist[3:], foot.rotation
        arm, spread = rotation @ first, rotation @ second @ rotation.T
        arm_rate, spread_rate = np.cross(w, arm), skew(w) @ spread + spread @ skew(w).T
        share = abs(rotation[2, 2])
        share_rate = np.sign(rotation[2, 2]) * np.cross(w, rotation[:, 2])[2]
        away = rest.position - foot.position
        twisted = rest.rotation @ second @ rotation.T
        twisted_rate = -twisted @ skew(w)
        springs = np.r_[
            area * away + (rest.rotation - rotation) @ first, np.cross(arm, away) + vee(twisted - twisted.T)
        ]
        springs_rate = np.r_[
            -area * v - arm_rate,
            np.cross(arm_rate, away) - np.cross(arm, v) + vee(twisted_rate - twisted_rate.T),
        ]
        plate = np.block([
            [area * np.eye(3), -skew(arm)],
            [skew(arm), np.trace(spread) * np.eye(3) - spread],
        ])  # fmt: skip
        plate_rate = np.block([
            [np.zeros((3, 3)), -skew(arm_rate)],
            [skew(arm_rate), np.trace(spread_rate) * np.eye(3) - spread_rate],
        ])  # fmt: skip
        h = K * (share_rate * springs + share * springs_rate) - B * (share_rate * plate + share * plate_rate) @ twist
        found, by_acceleration = RATE(sole, K, B, rest, foot, twist)
        close(found, h, 1e-12)
        np.testing.assert_allclose(by_acceleration, -B * share * plate, rtol=1e-12, atol=1e-12 * B * area)


@pytest.mark.parametrize("name", SOLES)
def test_acceleration_always_reaches_the_wrench(name):
    """g is regular (the paper's "full rank for each admissible state"): minus a positive definite matrix."""
    for seed in range(10):
        _, foot, _ = motion(np.random.default_rng(seed))
        plate = np.asarray(lemma.plate(patch(SOLES[name]), foot.rotation))
        np.testing.assert_allclose(plate, plate.T, atol=1e-15)
        assert np.linalg.eigvalsh(plate).min() > 0


# -- Corollary 1 -----------------------------------------------------------------------------------


def test_corollary_has_the_matrices_of_the_paper():
    linear = Corollary(patch(RECTANGLE), K, B)
    area, turning = LENGTH * WIDTH, np.diag([WIDTH**2, LENGTH**2, LENGTH**2 + WIDTH**2]) / 12
    np.testing.assert_allclose(linear.linear_stiffness, K * area * np.eye(3), rtol=1e-14)
    np.testing.assert_allclose(linear.angular_stiffness, K * area * turning, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(linear.linear_damping, B * area * np.eye(3), rtol=1e-14)
    np.testing.assert_allclose(linear.angular_damping, B * area * turning, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", SOLES)
def test_corollary_is_the_lemma_at_small_angles(name):
    """The difference falls with the square of displacement, angles and speed."""
    sole, random = patch(SOLES[name]), np.random.default_rng(1)
    displacement, rate = random.normal(size=(2, 6)) * np.repeat([0.05, 1.0], 3)
    linear, sizes, errors = Corollary(sole, K, B), 2.0 ** -np.arange(3, 11), []
    for size in sizes:
        roll, pitch, yaw = size * displacement[3:]
        turned = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
        foot = Pose(size * displacement[:3], turned)
        full = np.asarray(WRENCH(sole, K, B, Pose(np.zeros(3), np.eye(3)), foot, size * rate))
        error = full - np.asarray(linear.wrench(size * displacement, size * rate))
        errors.append(np.linalg.norm(error[3:]) / np.linalg.norm(full[3:]) * size)
    order = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert 1.9 < order < 2.2


# -- the medium ------------------------------------------------------------------------------------


@eqx.filter_jit
def short_step(medium: ViscoElastic, foot: FootInGround, memory: Memory, twist):
    """Wrench and least normal force of a point, in the limit of short steps."""
    law = medium.law(foot, memory, jnp.zeros(()))
    return law.wrench(twist), law.point_forces(twist)[:, 2].min()


@pytest.mark.parametrize("to_edge", [False, True], ids=["inner", "to_edge"])
@pytest.mark.parametrize("name", SOLES)
def test_medium_gives_the_lemma_while_all_points_stick_and_press(name, to_edge):
    """With the rest pose of its anchors, in the surface's axes; also where the points touched down one by one."""
    medium = ViscoElastic(K, B, friction=1e6, to_edge=to_edge).for_foot(SOLES[name], planar=False)
    sole, random = medium.sole, np.random.default_rng(2)
    surface = Rotation.from_euler("xyz", [0.3, -0.2, 0.5]).as_matrix()
    for scatter in (0.0, 2e-3):
        rotation = Rotation.from_euler("zyx", random.uniform(-1, 1, 3) * [3.0, 0.1, 0.1]).as_matrix()
        foot = FootInGround(np.float64(0.05), random.normal(size=3), rotation, surface)
        heading = Rotation.from_euler("z", 0.05 + np.arctan2(rotation[1, 0], rotation[0, 0])).as_matrix()
        origin = surface.T @ foot.position
        middle = origin + np.array([0.01, -0.02, 0.05])  # on the surface
        touched = middle + sole.points @ heading.T
        touched[:, :2] += scatter * random.normal(size=(len(touched), 2))
        memory = Memory(touched @ surface.T, np.ones(len(touched)))
        twist = 0.05 * random.normal(size=6)
        stepped, least = short_step(medium, foot, memory, twist)
        assert least > 0
        rest = lemma.rest_of(sole, touched)
        close(WRENCH(sole, K, B, rest, Pose(origin, rotation), twist), np.asarray(stepped), 1e-10)
        if scatter == 0.0:
            np.testing.assert_allclose(rest.rotation, heading, atol=1e-12)
            np.testing.assert_allclose(rest.position, middle, atol=1e-14)


def test_ball_has_no_sole():
    rest = Pose(np.zeros(3), np.eye(3))
    for call in (lemma.wrench, lemma.wrench_rate):
        with pytest.raises(MediumError, match="flat soles"):
            call(patch(Sphere(0.03)), K, B, rest, rest, np.zeros(6))
    with pytest.raises(MediumError, match="flat soles"):
        Corollary(patch(Sphere(0.03)), K, B)
