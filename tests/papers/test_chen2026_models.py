"""The augmented models of chen2026: the printed rows, the biped they are reduced from, and stances on both grounds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.errors import OptionError
from softground.media import Wedge
from softground.papers.chen2026.models import (
    FRONTAL_ANGLES,
    SAGITTAL_ANGLES,
    frontal_model,
    sagittal_model,
)
from softground.papers.chen2026.rigid_ground import carried_along
from softground.papers.chen2026.stance import reaction, rigid_stance, sand_stance
from softground.robots import HalfCylinder, Robot
from softground.simulation import Control

# From the header of robots/models/biped.xml. Hip links pitch with the trunk and roll with the legs.
TRUNK, HIP, THIGH, CALF, HEIGHT = 6.0, 0.8, 1.6, 0.6, 0.096
M_B, L_B = TRUNK + 2 * HIP, TRUNK * HEIGHT / (TRUNK + 2 * HIP)
L_T, A_1, L_C, A_2, B = 0.2, 0.08, 0.2, 0.09, 0.12
G = 9.81


@pytest.fixture(scope="module")
def sagittal():
    return sagittal_model()


@pytest.fixture(scope="module")
def frontal():
    return frontal_model()


def states(count, size):
    random = np.random.default_rng(0)
    return random.uniform(-1.5, 1.5, (count, size)), random.normal(size=(2, count, size))


def rows(robot, q, v, a):
    """M a + C v + G of the first two coordinates: slip and height."""
    return np.asarray(jax.jit(jax.vmap(lambda *state: robot.inverse_dynamics(*state)[:2]))(q, v, a))


def horizontal(angle, rate, acceleration):
    """Second time derivative of sin(angle)."""
    return np.cos(angle) * acceleration - np.sin(angle) * rate**2


def vertical(angle, rate, acceleration):
    """Second time derivative of -cos(angle)."""
    return np.sin(angle) * acceleration + np.cos(angle) * rate**2


def absolute(angles, matrix):
    """The paper's absolute angles (by name q1, q2, ... in rows) from the model's."""
    return (angles @ matrix.T).T


def printed_sagittal(q, v, a):
    """Left sides of (2) and (3) as printed."""
    q1, q2, _, _, q5 = zip(*(absolute(x[:, 2:], SAGITTAL_ANGLES) for x in (q, v, a)), strict=True)
    mass, swing, calf, trunk = M_B + THIGH + CALF, THIGH * A_1 + CALF * L_T, CALF * A_2, M_B * L_B
    g1 = swing * (-np.cos(q1[0]) * q1[2] + np.sin(q1[0]) * q1[1] ** 2)
    g2 = calf * (-np.cos(q2[0]) * q2[2] + np.sin(q2[0]) * q2[1] ** 2)
    g5 = trunk * np.cos(q5[0]) * q5[2] - trunk * np.sin(q5[0]) * q5[1] ** 2
    h1 = swing * (np.sin(q1[0]) * q1[2] + np.cos(q1[0]) * q1[1] ** 2)
    h2 = calf * (np.sin(q2[0]) * q2[2] + np.cos(q2[0]) * q2[1] ** 2)
    h5 = -trunk * np.sin(q5[0]) * q5[2] - trunk * np.cos(q5[0]) * q5[1] ** 2
    return np.stack([mass * a[:, 0] + g5 + g1 + g2, mass * a[:, 1] + h5 + h1 + h2], axis=-1), mass


def test_printed_sagittal_rows(sagittal):
    """(2) and (3) as printed hold where they leave nothing out: a stance leg without mass that does not turn."""
    q, (v, a) = states(50, 7)
    for x in (v, a):
        x[:, 2:4] = 0.0  # stance calf and thigh: no rate, no acceleration
    stance = [sagittal.body_names.index(name) for name in ("stance_calf", "stance_thigh")]
    parts = sagittal.parameters
    without_leg = eqx.tree_at(
        lambda robot: (robot.parameters.mass, robot.parameters.inertia),
        sagittal,
        tuple(np.where(np.isin(np.arange(5), stance).reshape(-1, *[1] * (x.ndim - 1)), 0.0, x)
              for x in (parts.mass, parts.inertia)),
    )  # fmt: skip
    left, mass = printed_sagittal(q, v, a)
    force = rows(without_leg, q, v, a)  # F_x, F_z that the motion asks for
    np.testing.assert_allclose(left, force - [0.0, mass * G], rtol=0, atol=1e-10 * np.abs(force).max())
    assert np.abs(left).max() > 1


def test_complete_sagittal_rows(sagittal):
    """With the stance leg's mass and its two functions, which the printed rows leave out, they hold in any motion."""
    q, (v, a) = states(50, 7)
    left, _ = printed_sagittal(q, v, a)
    _, _, q3, q4, _ = zip(*(absolute(x[:, 2:], SAGITTAL_ANGLES) for x in (q, v, a)), strict=True)
    above = M_B + THIGH + CALF
    thigh = THIGH * (L_T - A_1) + above * L_T
    calf = CALF * (L_C - A_2) + (THIGH + above) * L_C
    leg = THIGH + CALF
    complete = left + np.stack(
        [
            leg * a[:, 0] + thigh * horizontal(*q3) + calf * horizontal(*q4),
            leg * a[:, 1] - thigh * vertical(*q3) - calf * vertical(*q4),
        ],
        axis=-1,
    )
    force = rows(sagittal, q, v, a)
    total = float(sagittal.total_mass)
    assert total == pytest.approx(above + leg)
    np.testing.assert_allclose(complete, force - [0.0, total * G], rtol=0, atol=1e-10 * np.abs(force).max())


def printed_frontal(q, v, a, leg_height, leg_com):
    """Left side of (7) as printed; d1 from the foot up, d2 from the hip down."""
    q1, q2, q3 = zip(*(absolute(x[:, 2:], FRONTAL_ANGLES) for x in (q, v, a)), strict=True)
    q2 = (q2[0] + np.pi / 2, *q2[1:])
    m1 = m2 = HIP + THIGH + CALF
    d1, d2 = leg_com, leg_height - leg_com
    f1 = -(m1 * d1 + TRUNK * leg_height + m2 * leg_height) * horizontal(*q1)
    f2 = (TRUNK * B / 2 + m2 * B) * horizontal(*q2)
    f3 = m2 * d2 * horizontal(*q3)
    return (TRUNK + m1 + m2) * a[:, 0] + f1 + f2 + f3


def frontal_leg():
    """Height of the hip over the ground, and of the leg's centre of mass, as the biped stands (m)."""
    thigh, calf, radius = 0.44, -0.36, 0.04
    knee = radius + L_C * np.cos(calf)
    hip = knee + L_T * np.cos(thigh)
    moment = HIP * hip + THIGH * (hip - A_1 * np.cos(thigh)) + CALF * (knee - A_2 * np.cos(calf))
    return hip, moment / (HIP + THIGH + CALF)


@pytest.mark.parametrize("on_hip_line", [True, False])
def test_frontal_row(frontal, on_hip_line):
    """(7) as printed has the trunk's centre on the line between the hips; with its height one term joins."""
    q, (v, a) = states(50, 5)
    left = printed_frontal(q, v, a, *frontal_leg())
    robot, trunk = frontal, frontal.body_names.index("trunk")
    if on_hip_line:
        com = np.array(frontal.parameters.com)
        com[trunk, 2] = 0.0
        robot = eqx.tree_at(lambda robot: robot.parameters.com, frontal, com)
    else:
        _, roll, _ = zip(*(absolute(x[:, 2:], FRONTAL_ANGLES) for x in (q, v, a)), strict=True)
        left = left - TRUNK * HEIGHT * horizontal(*roll)
    force = rows(robot, q, v, a)[:, 0]
    np.testing.assert_allclose(left, force, rtol=0, atol=1e-10 * np.abs(force).max())


# -- the same robot as the biped --------------------------------------------------------------------------------


@jax.jit
def energies(robot, q, v):
    return robot.kinetic_energy(q, v), robot.potential_energy(q), robot.center_of_mass(q)


def test_sagittal_model_is_the_biped_in_other_coordinates(sagittal):
    """The floating base has as many coordinates as a pinned leg with slip and sinkage: energies agree at all states."""
    biped = Robot.load("biped", planar=True, lock={"left_hip": 0.0, "right_hip": 0.0})
    trunk = sagittal.body_names.index("trunk")

    def as_biped(q):
        pitch = q[2:] @ SAGITTAL_ANGLES[4]
        origin = sagittal.body_poses(q)[0][trunk]
        calf, thigh, swing_thigh, swing_calf = q[3:]
        return jnp.stack([origin[0], origin[2], pitch, thigh, calf, swing_thigh, swing_calf])

    assert biped.joint_names[3:] == ("left_thigh", "left_calf", "right_thigh", "right_calf")
    q, (v, _) = states(10, 7)
    for one, rate in zip(q, v, strict=True):
        image, image_rate = jax.jit(lambda x, dx: jax.jvp(as_biped, (x,), (dx,)))(one, rate)
        for ours, theirs in zip(energies(sagittal, one, rate), energies(biped, image, image_rate), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_frontal_model_is_the_biped_with_stiff_knees(frontal):
    biped = Robot.load("biped")
    stand = np.array(biped.posture)
    trunk = frontal.body_names.index("trunk")

    def as_biped(q):
        roll = q[2:] @ FRONTAL_ANGLES[1]
        origin = frontal.body_poses(q)[0][trunk] + B / 2 * jnp.stack([0 * roll, jnp.cos(roll), jnp.sin(roll)])
        turn = jnp.stack([jnp.cos(roll / 2), jnp.sin(roll / 2), 0 * roll, 0 * roll])
        legs = jnp.asarray(stand[7:]).at[0].set(q[4]).at[3].set(q[3])
        return jnp.concatenate([origin, turn, legs])

    def rates(q, dq):
        """v of a free joint is not the derivative of q."""
        image, image_rate = jax.jvp(as_biped, (q,), (dq,))
        spin = jnp.stack([dq[2:] @ FRONTAL_ANGLES[1], 0.0, 0.0])
        return image, jnp.concatenate([image_rate[:3], spin, image_rate[7:]])

    q, (v, _) = states(10, 5)
    for one, rate in zip(q, v, strict=True):
        image, image_rate = jax.jit(rates)(one, rate)
        for ours, theirs in zip(energies(frontal, one, rate), energies(biped, image, image_rate), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-9)  # biped.xml: its stance is rounded


def test_foot_is_the_bipeds(sagittal, frontal):
    biped = Robot.load("biped")
    for robot in (sagittal, frontal):
        (foot,) = robot.feet
        assert foot.shape == biped.feet[0].shape == HalfCylinder(0.04, 0.08)
        position, rotation = eqx.filter_jit(robot.foot_poses)(robot.posture)
        np.testing.assert_allclose(position[0], [0, 0, 0.04], atol=1e-12)
        np.testing.assert_allclose(rotation[0], np.eye(3), atol=1e-9)
    height = float(eqx.filter_jit(biped.center_of_mass)(biped.posture)[2])
    assert height == pytest.approx(0.41, abs=5e-4)  # v / sqrt(g h) = 0.1 at 0.2 m/s
    assert 10 < float(biped.total_mass) < 15


# -- one stance -------------------------------------------------------------------------------------------------

HOLD = Control(position=np.array([-0.8, 0.44, 0.44, -0.8]), kp=400.0, kd=10.0)  # type: ignore[arg-type]
STEPS = 50


@pytest.fixture(scope="module")
def touchdown(sagittal):
    q = np.array(sagittal.posture)
    v = np.zeros(7)
    v[2] = 0.5  # the leg tips over its foot
    return q, v


@pytest.fixture(scope="module")
def on_rigid(touchdown):
    stance = rigid_stance(sagittal_model())
    return stance, jax.jit(lambda start: stance.motion(start, HOLD, STEPS))(stance.start(*touchdown))


@pytest.fixture(scope="module")
def on_sand(touchdown):
    """A stance, and its motion on a medium under the foot: one program for all of them."""
    stance = sand_stance(sagittal_model(), Wedge())
    start = stance.start(*touchdown)

    @jax.jit
    def motion(medium):
        changed = eqx.tree_at(lambda one: one.simulator.ground.medium, stance, medium)
        return changed.motion(start, HOLD, STEPS)

    return stance, motion


def test_stance_on_sand_obeys_the_augmented_dynamics(on_sand):
    """Rows (2) and (3) of the motion that came out are the forces of the ground."""
    stance, motion_on = on_sand
    motion = motion_on(stance.simulator.ground.medium)
    assert bool(motion.converged.all())
    acceleration = np.diff(motion.v, axis=0) / float(stance.simulator.dt)
    force = np.asarray(
        jax.jit(jax.vmap(lambda *s: reaction(stance.robot, *s)))(motion.q[:-1], motion.v[:-1], acceleration)
    )
    np.testing.assert_allclose(motion.force[:-1], force, rtol=0, atol=1e-6 * np.abs(force).max())
    assert motion.sinkage[-1] > 0.01
    assert (np.diff(motion.sinkage) > -1e-6).all()  # the foot does not come out again
    assert np.abs(motion.slip).max() > 1e-4


def test_stance_on_rigid_ground(on_rigid):
    """It neither sinks nor slips: its axis goes ahead by R times its turn. Rows (2) and (3) are the reaction forces."""
    stance, motion = on_rigid
    assert motion.q.shape == (STEPS, 7)
    assert np.abs(motion.sinkage).max() < 1e-5
    turned = motion.q[:, 2] - motion.q[0, 2]
    assert np.abs(turned).max() > 0.02
    np.testing.assert_allclose(motion.slip, 0.04 * turned, atol=1e-5)
    robot = stance.robot
    acceleration = np.diff(motion.v, axis=0) / float(stance.simulator.dt)
    rows_of = jax.jit(jax.vmap(lambda *state: reaction(robot, *state)))
    force = np.asarray(rows_of(motion.q[:-1], motion.v[:-1], acceleration))
    np.testing.assert_allclose(motion.force[:-1], force, atol=1e-4 * np.abs(force).max())
    believed = jax.vmap(lambda v: carried_along(robot, v))(motion.v[1:])  # after the impact of the first step
    np.testing.assert_allclose(believed, motion.v[1:], atol=1e-5)
    assert motion.force[:, 1].mean() == pytest.approx(float(robot.total_mass) * G, rel=0.2)


def test_on_hard_sand_the_foot_rolls_without_slipping(on_sand):
    """The contact point of a foot of radius R then moves by R times its turn, and sinks the less the harder it is."""
    _, motion_on = on_sand
    radius, off, sunk = 0.04, [], []
    for zeta in (30.0, 3000.0):
        motion = motion_on(Wedge(zeta, density=0.0))
        slip, turned = (x[1:] - x[1] for x in (motion.slip, motion.q[:, 2]))  # the ground is met in the second step
        off.append(float(np.abs(slip - radius * turned).max() / (radius * np.abs(turned)).max()))
        sunk.append(float(motion.sinkage.max()))
    assert sunk[1] < 1e-4
    assert sunk[1] < sunk[0] / 10
    assert off[1] < 0.02
    assert off[1] < off[0]


def test_derivative_with_respect_to_the_sand(on_sand, touchdown):
    """What identification needs: how slip, sinkage and forces change with zeta, beside central differences."""
    stance, motion_on = on_sand
    start = stance.start(*touchdown)

    def outcome(motion):
        return jnp.concatenate([motion.q[-1, :2], motion.force[-1]])

    def program(zeta):
        changed = eqx.tree_at(lambda one: one.simulator.ground.medium.zeta, stance, zeta)
        return outcome(changed.motion(start, HOLD, STEPS))

    zeta, step = jnp.asarray(1.36), 1e-5
    _, exact = jax.jit(lambda z: jax.jvp(program, (z,), (jnp.ones(()),)))(zeta)
    beside = [outcome(motion_on(Wedge(zeta + s))) for s in (step, -step)]
    np.testing.assert_allclose(exact, (beside[0] - beside[1]) / (2 * step), rtol=1e-4)


def test_frontal_stances():
    """Standing on the right foot alone the robot falls to its left: the ground pushes it there, and up."""
    weight = float(frontal_model().total_mass) * G
    hold = Control(position=np.zeros(2), kp=400.0, kd=10.0)  # type: ignore[arg-type]
    for rigid, stance in enumerate((sand_stance(frontal_model(), Wedge()), rigid_stance(frontal_model()))):
        motion = jax.jit(lambda start, s=stance: s.motion(start, hold, STEPS))(stance.start())
        assert bool(motion.converged.all())
        assert motion.q.shape == (STEPS, 5)
        assert motion.q[-1, 2] < -1e-3  # rolls to +y
        if rigid:
            assert np.abs(np.asarray(motion.q[:, :2])).max() < 1e-5
            assert motion.force[-1, 0] > 0
            assert motion.force[-1, 1] == pytest.approx(weight, rel=0.2)
        else:
            assert motion.sinkage[-1] > 0.01
            assert motion.slip[-1] < 0  # the foot gives way to the other side


def test_start_wants_augmented_coordinates(on_rigid):
    stance, _ = on_rigid
    with pytest.raises(OptionError, match="must have 7 entries, slip and height first"):
        stance.start(np.zeros(5))
