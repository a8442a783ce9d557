"""The augmented models of chen2026: the printed rows, the biped they are reduced from, and stances on both grounds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.errors import OptionError
from softground.media import Wedge
from softground.papers.chen2026 import printed_rows
from softground.papers.chen2026.models import (
    FRONTAL_ANGLES,
    SAGITTAL_ANGLES,
    frontal_model,
    sagittal_model,
)
from softground.papers.chen2026.printed_rows import B, G
from softground.papers.chen2026.rigid_ground import carried_along
from softground.papers.chen2026.stance import reaction, rigid_stance, sand_stance
from softground.robots import HalfCylinder, Robot
from softground.simulation import Control


@pytest.fixture(scope="module")
def sagittal():
    return sagittal_model()


@pytest.fixture(scope="module")
def frontal():
    return frontal_model()


def states(count, size):
    random = np.random.default_rng(0)
    return random.uniform(-1.5, 1.5, (count, size)), random.normal(size=(2, count, size))


@pytest.fixture(scope="module")
def rows():
    return printed_rows.errors()


@pytest.mark.parametrize(
    "told",
    ["(2), (3) as printed, stance leg", "(2), (3) with", "(7) as printed, trunk's centre between", "(7) with"],
)
def test_printed_rows_hold_where_they_leave_nothing_out(rows, told):
    (error,) = (one for name, one in rows.items() if name.startswith(told))
    assert error < printed_rows.EXACT


@pytest.mark.parametrize("told", ["(2), (3) as printed, any", "(7) as printed, trunk's centre higher"])
def test_and_nowhere_else(rows, told):
    (error,) = (one for name, one in rows.items() if name.startswith(told))
    assert error > 0.1


def test_masses_of_the_printed_rows_are_the_models(sagittal):
    total = printed_rows.M_B + 2 * (printed_rows.THIGH + printed_rows.CALF)
    assert total == pytest.approx(float(sagittal.total_mass))


def test_the_printed_contact_point_is_the_lowest_only_of_a_level_foot():
    assert printed_rows.contact_by_print(0.0) < 0.01
    assert printed_rows.contact_by_print(0.3) == pytest.approx(np.sin(0.3), rel=0.01)


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
