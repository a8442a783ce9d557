"""Every task against finite differences of what it claims to control, and its feedback against what it is written as.

A task writes rows A x - b. With references that the motion meets, and zero desired rates, A x - b is the rate that the
task controls, to be compared with differences along the motion.
"""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from softground.control.whole_body.tasks.motions import CentreOfMass, FrameOrientation, FramePose, Posture
from softground.control.whole_body.tasks.motions import angular_acceleration as desired_turn
from softground.control.whole_body.tasks.wrenches import MomentumRate, MomentumSecondRate, Wrenches, WrenchRates

from . import motions
from .motions import TIME, around, following, look, random_motion, robot

SEEDS = (1, 2)
ONE = np.asarray(1.0)
THREE, SIX = np.full(3, 2.0), np.full(6, 2.0)


def residual(task, motion, references, wrench="rate", in_contact=(True, True), memory=None):
    """A x - b at the unknowns that stand for the motion."""
    rows = task.rows(look(motion, wrench, in_contact), references, memory)
    return np.asarray(rows.matrix) @ motion.unknowns(wrench) - np.asarray(rows.target)


@pytest.mark.parametrize("seed", SEEDS)
def test_centre_of_mass_accelerates_as_the_rows_say(seed):
    motion = random_motion(seed)
    measured = motions.second_difference(*(place.com for place in around(motion)))
    np.testing.assert_allclose(
        residual(CentreOfMass(THREE, THREE, THREE), motion, following(motion)), measured, atol=1e-3
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("frame", ["chest", "l_elbow_1", "r_sole"])
def test_frames_accelerate_as_the_rows_say(seed, frame):
    motion = random_motion(seed)
    places = around(motion)
    linear = motions.second_difference(*(place.position[frame] for place in places))
    angular = motions.angular_acceleration(*(place.rotation[frame] for place in places))
    pose = FramePose(frame, THREE, THREE, ONE, ONE, ONE, SIX)
    found = residual(pose, motion, following(motion), in_contact=(True, False))
    np.testing.assert_allclose(found, np.r_[linear, angular], atol=1e-3)
    orientation = FrameOrientation(frame, ONE, ONE, ONE, THREE)
    np.testing.assert_allclose(residual(orientation, motion, following(motion)), angular, atol=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_second_rate_of_momentum_is_the_rate_of_what_moving_feet_push(seed):
    """Eq. 3 along the motion, with wrenches that change at the given rates, differenced once."""
    motion = random_motion(seed)

    def rate(place, time):
        force = motion.wrenches + time * motion.wrench_rates
        arms = np.stack([place.position[foot.name] for foot in robot().feet]) - place.com
        weight = float(robot().total_mass) * np.asarray(robot().gravity)
        return np.r_[force[:, :3].sum(0) + weight, (np.cross(arms, force[:, :3]) + force[:, 3:]).sum(0)]

    before, _, after = around(motion)
    measured = (rate(after, TIME) - rate(before, -TIME)) / (2 * TIME)
    task = MomentumSecondRate((), SIX, 0 * SIX, SIX, SIX)  # kd = 0: h' itself is not at its reference
    np.testing.assert_allclose(
        residual(task, motion, following(motion), memory=np.zeros(3)), measured, rtol=1e-5, atol=1e-3
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_rate_of_momentum_is_what_a_robot_under_those_wrenches_does(seed):
    """Accelerations by forward dynamics under the wrenches and any torques; momentum by its definition."""
    machine, motion = robot(), random_motion(seed)

    def move(q, v, wrenches):
        force = jax.numpy.einsum("fiv,fi->v", machine.foot_jacobians(q), wrenches)
        return machine.forward_dynamics(q, v, force + jax.numpy.pad(np.arange(machine.nu) - 5.0, (6, 0)))

    motion = motion._replace(a=np.asarray(jax.jit(move)(motion.q, motion.v, motion.wrenches)))
    momentum = jax.jit(lambda q, v: machine.centroidal_momentum(q, v))

    def at(time):
        q = motions.integrate(motion.q, motion.v + motion.a * time / 2, time)
        return np.asarray(momentum(q, motion.v + motion.a * time))

    measured = (at(TIME / 10) - at(-TIME / 10)) / (TIME / 5)  # light arms accelerate at 1e3 rad/s2
    task = MomentumRate((), SIX, SIX, SIX)
    found = residual(task, motion, following(motion), "value", memory=np.zeros(3))
    np.testing.assert_allclose(found, measured, rtol=1e-4, atol=1e-2)


def test_a_turned_trunk_stands_for_the_integral_of_angular_momentum():
    """The locked robot, turned bodily by a small angle, has had the angular momentum I angle / time."""
    motion = random_motion(3)
    references, turn = following(motion), np.array([1e-4, -2e-4, 3e-4])
    turned = Rotation.from_rotvec(turn).as_matrix()
    frames = {name: frame._replace(rotation=turned @ frame.rotation) for name, frame in references.frames.items()}
    references = references._replace(frames=references.frames | frames)
    seen = look(motion, "rate")
    whole = MomentumSecondRate(("root_link", "chest"), SIX, SIX, SIX, SIX).integral(seen, references, np.full(3, 7.0))
    inertia = np.asarray(seen.momentum_matrix)[3:, 3:6] @ np.asarray(seen.frames["root_link"].rotation).T
    np.testing.assert_allclose(whole[3:], inertia @ turn, rtol=1e-6)
    np.testing.assert_allclose(whole[:3], 0, atol=1e-12)


def test_summed_angular_momentum_is_kept_in_memory():
    motion = random_motion(3)
    references = following(motion)
    spin = references.angular_momentum._replace(value=references.angular_momentum.value + np.array([1.0, 2.0, 3.0]))
    task = MomentumSecondRate((), SIX, SIX, SIX, SIX)
    seen, references = look(motion, "rate"), references._replace(angular_momentum=spin)
    memory = task.remember(seen, references, task.initial_memory())
    np.testing.assert_allclose(memory, motions.PERIOD * np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(task.integral(seen, references, memory)[3:], memory)


def shifted(value, by):
    return value + np.asarray(by)


FEEDBACK = {
    "com position": (
        CentreOfMass(np.array([1.0, 2.0, 3.0]), THREE, THREE),
        lambda r: r._replace(com=r.com._replace(position=shifted(r.com.position, [0.1, 0.2, 0.3]))),
        [0.1, 0.4, 0.9],
    ),
    "com velocity": (
        CentreOfMass(THREE, np.array([1.0, 2.0, 3.0]), THREE),
        lambda r: r._replace(com=r.com._replace(velocity=shifted(r.com.velocity, [0.1, 0.2, 0.3]))),
        [0.1, 0.4, 0.9],
    ),
    "com acceleration": (
        CentreOfMass(THREE, THREE, THREE),
        lambda r: r._replace(com=r.com._replace(acceleration=np.array([0.1, 0.2, 0.3]))),
        [0.1, 0.2, 0.3],
    ),
    "linear momentum by its integral": (
        MomentumSecondRate((), SIX, 0 * SIX, 3 * SIX, SIX),
        lambda r: r._replace(com=r.com._replace(position=shifted(r.com.position, [0.1, 0.2, 0.3]))),
        [*(6 * 33.0616727 * np.array([0.1, 0.2, 0.3])), 0, 0, 0],
    ),
    "jerk": (
        MomentumSecondRate((), SIX, 0 * SIX, SIX, SIX),
        lambda r: r._replace(com=r.com._replace(jerk=np.array([0.1, 0.2, 0.3]))),
        [*(33.0616727 * np.array([0.1, 0.2, 0.3])), 0, 0, 0],
    ),
    "foot position": (
        FramePose("r_sole", np.array([1.0, 2.0, 3.0]), THREE, ONE, ONE, ONE, SIX),
        lambda r: moved_frame(r, "r_sole", position=[0.1, 0.2, 0.3]),
        [0.1, 0.4, 0.9, 0, 0, 0],
    ),
    "foot acceleration": (
        FramePose("r_sole", THREE, THREE, ONE, ONE, ONE, SIX),
        lambda r: moved_frame(r, "r_sole", acceleration=[1, 2, 3, 4, 5, 6]),
        [1, 2, 3, 4, 5, 6],
    ),
    "joint": (
        Posture(np.full(23, 4.0), np.zeros(23), np.ones(23)),
        lambda r: r._replace(posture=r.posture + 0.1),
        np.full(23, 0.4),
    ),
    "wrench": (
        WrenchRates(np.full(6, 5.0), SIX),
        lambda r: r._replace(wrenches=r.wrenches + 2.0, wrench_rates=r.wrench_rates + 3.0),
        np.full(12, 13.0),
    ),
}


def moved_frame(references, name, **changes):
    frame = references.frames[name]
    new = frame._replace(**{part: shifted(getattr(frame, part), by) for part, by in changes.items()})
    return references._replace(frames=references.frames | {name: new})


@pytest.mark.parametrize("case", FEEDBACK)
def test_a_shifted_reference_is_answered_by_its_gain(case):
    """Tasks are linear in their references: a shift changes b by gain times shift, and nothing else."""
    task, shift, expected = FEEDBACK[case]
    motion = random_motion(4)
    references, memory = following(motion), np.zeros(3)
    change = residual(task, motion, references, memory=memory) - residual(
        task, motion, shift(references), memory=memory
    )
    np.testing.assert_allclose(change, expected, rtol=1e-9, atol=1e-8)


def test_posture_brakes_joints_and_wrenches_follow_their_references():
    motion = random_motion(4)
    posture = Posture(np.full(23, 4.0), np.full(23, 3.0), np.ones(23))
    expected = motion.a[6:] + 3.0 * motion.v[6:]
    np.testing.assert_allclose(residual(posture, motion, following(motion)), expected, rtol=1e-12)
    references = following(motion)._replace(wrenches=np.zeros((2, 6)))
    np.testing.assert_allclose(residual(Wrenches(SIX), motion, references, "value"), motion.wrenches.ravel())


def test_swinging_feet_are_asked_for_their_pose_and_standing_ones_are_not():
    motion = random_motion(4)
    task = FramePose("r_sole", THREE, THREE, ONE, ONE, ONE, SIX)
    all_rows = [
        task.rows(look(motion, "rate", contact), following(motion), None) for contact in [(True, True), (True, False)]
    ]
    assert [bool(rows.active) for rows in all_rows] == [False, True]
    sharing = WrenchRates(SIX, SIX)
    all_rows = [
        sharing.rows(look(motion, "rate", contact), following(motion), None)
        for contact in [(True, True), (True, False)]
    ]
    assert [bool(rows.active) for rows in all_rows] == [True, False]


@pytest.mark.parametrize("angle", [0.3, 2.9])
def test_orientation_law_brings_any_orientation_to_a_turning_reference(angle):
    """Eq. 16 in closed loop, integrated by SciPy: also from nearly upside down. Its slowest pole is at -2.7 / s."""
    turn_rate = np.array([0.0, 0.0, 0.7])

    def reference(time):
        return Rotation.from_rotvec(turn_rate * time).as_matrix()

    law = jax.jit(lambda rotation, velocity, desired: desired_turn(
        rotation, velocity, desired, turn_rate, np.zeros(3), 2.0, 8.0, 25.0
    ))  # fmt: skip

    def rate(time, state):
        rotation, velocity = state[:9].reshape(3, 3), state[9:]
        turning = np.cross(velocity, rotation.T).T
        return np.r_[turning.ravel(), np.asarray(law(rotation, velocity, reference(time)))]

    start = Rotation.from_rotvec(angle * np.array([0.6, 0.0, 0.8])).as_matrix()
    end = solve_ivp(rate, (0.0, 6.0), np.r_[start.ravel(), np.zeros(3)], rtol=1e-8, atol=1e-10).y[:, -1]
    error = Rotation.from_matrix(end[:9].reshape(3, 3) @ reference(6.0).T).magnitude()
    assert error < 2 * angle * np.exp(-2.7 * 4.0)  # two of the six seconds for leaving the far side
    np.testing.assert_allclose(end[9:], turn_rate, atol=1e-4)


def test_tasks_are_data():
    """Gains are leaves: one compiled function serves any of them."""
    task = CentreOfMass(THREE, THREE, THREE)
    assert len(jax.tree.leaves(replace(task, kp=2 * THREE))) == 3
