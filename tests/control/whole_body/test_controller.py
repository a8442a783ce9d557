"""The controller as a whole: what it decides, what it does when it cannot, and for which robots."""

import logging

import jax
import numpy as np
import pytest

from softground.control.whole_body import (
    Hard,
    Status,
    WholeBodyController,
    supporting_wrenches,
    tsid_compliant,
    tsid_rigid,
)
from softground.control.whole_body.constraints.floating_base import FloatingBase
from softground.control.whole_body.constraints.rigid_contact import RigidContact
from softground.control.whole_body.presets import upper_body
from softground.control.whole_body.tasks.motions import FrameOrientation, Posture
from softground.control.whole_body.tasks.wrenches import Wrenches, WrenchRates
from softground.errors import OptionError, RobotError
from softground.media import Firm, ViscoElastic
from softground.robots import Robot
from softground.simulation import Simulator

from .motions import robot

BUILDERS = {"compliant": tsid_compliant, "rigid": tsid_rigid}
SUPPORTS = ((True, True), (True, False), (False, True))


@pytest.fixture(scope="module")
def controllers():
    return {name: build(robot()) for name, build in BUILDERS.items()}


def at_rest(controller):
    """Memory, state, wrenches and references of a robot that stands."""
    q = np.asarray(controller.robot.posture)
    references = controller.hold(q)
    return controller.initial_memory(), q, np.zeros(controller.robot.nv), references.wrenches, references


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_standing_robot_is_left_standing(controllers, kind):
    """Nothing accelerates, and the torques are those of statics: gravity less what the ground pushes."""
    controller = controllers[kind]
    memory, q, v, wrenches, references = at_rest(controller)
    memory, command = controller.tick(memory, q, v, wrenches, references)
    assert command.status is Status.SOLVED
    np.testing.assert_allclose(command.acceleration, 0, atol=1e-6)
    machine = controller.robot
    statics = jax.jit(lambda q: (machine.bias_force(q, np.zeros(machine.nv)), machine.foot_jacobians(q)))
    gravity, jacobians = (np.asarray(part) for part in statics(q))
    force = gravity - np.einsum("fiv,fi->v", jacobians, wrenches)
    np.testing.assert_allclose(command.torque, force[6:], atol=1e-6)
    np.testing.assert_allclose(force[:6], 0, atol=1e-6)
    assert memory.failures == 0
    assert {name: error.shape for name, error in zip(controller.task_names, command.errors, strict=True)}


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_change_of_support_compiles_nothing(controllers, kind, caplog):
    controller = controllers[kind]
    memory, q, v, _, references = at_rest(controller)
    feet, com = references.ground.rest_position, references.com
    controller.tick(memory, q, v, references.wrenches, references)
    with jax.log_compiles(), caplog.at_level(logging.DEBUG):
        for support in SUPPORTS:
            wrenches = supporting_wrenches(controller.robot, com, feet, np.array(support))
            desired = references._replace(in_contact=np.array(support), wrenches=wrenches)
            _, command = controller.tick(memory, q, v, wrenches, desired)
            assert command.status is Status.SOLVED
            np.testing.assert_array_equal(command.wrenches[~np.array(support)], 0)
    assert not [record for record in caplog.records if "ompiling" in record.getMessage()]


def postures_that_disagree():
    """Two postures required at once, of the same joints: possible only where both want the same."""
    joints = np.ones(robot().nu)
    weak, strong = (Hard(Posture(kp * joints, joints, joints)) for kp in (1.0, 2.0))
    return WholeBodyController(robot(), [Wrenches(np.ones(6))], [FloatingBase(), weak, strong])


def test_conflicting_constraints_are_reported_and_the_last_safe_torque_is_held():
    controller = postures_that_disagree()
    memory, q, v, wrenches, references = at_rest(controller)
    memory, first = controller.tick(memory, q, v, wrenches, references)
    assert (first.status, memory.failures) == (Status.SOLVED, 0)
    conflict = references._replace(posture=references.posture + 0.1)
    for failures in (1, 2):
        memory, command = controller.tick(memory, q, v, wrenches, conflict)
        assert (command.status, memory.failures) == (Status.INFEASIBLE, failures)
        np.testing.assert_array_equal(command.torque, first.torque)
    memory, command = controller.tick(memory, q, v, wrenches, references)
    assert (command.status, memory.failures) == (Status.SOLVED, 2)


def test_measurements_that_are_not_numbers_are_a_failure(controllers):
    controller = controllers["compliant"]
    memory, q, v, wrenches, references = at_rest(controller)
    memory, first = controller.tick(memory, q, v, wrenches, references)
    memory, command = controller.tick(memory, q, v, wrenches * np.nan, references)
    assert command.status is Status.FAILED
    np.testing.assert_array_equal(command.torque, first.torque)


def test_unknown_frames_are_named_with_the_known_ones():
    one = np.asarray(1.0)
    with pytest.raises(RobotError, match=r"icub: unknown frame 'hed': must be one of .*chest.*l_sole"):
        WholeBodyController(robot(), [FrameOrientation("hed", one, one, one, np.ones(3))], [FloatingBase()])
    with pytest.raises(RobotError, match="unknown frame 'trunk'"):
        tsid_compliant(robot(), torso="trunk")


def test_tasks_for_rigid_and_for_yielding_ground_do_not_mix():
    six = np.ones(6)
    with pytest.raises(OptionError, match=r"'wrench rates' is written for wrench rates .* and 'wrenches' for wrenches"):
        WholeBodyController(robot(), [WrenchRates(six, six), Wrenches(six)], [RigidContact()])


def test_references_of_another_shape_are_refused(controllers):
    controller = controllers["compliant"]
    memory, q, v, wrenches, references = at_rest(controller)
    without_chest = {name: frame for name, frame in references.frames.items() if name != "chest"}
    with pytest.raises(OptionError, match=r"missing: \.references\.frames\['chest'\]\.position"):
        controller.tick(memory, q, v, wrenches, references._replace(frames=without_chest))
    with pytest.raises(OptionError, match=r"\.references\.posture must have shape \(23,\), got \(22,\)"):
        controller.tick(memory, q, v, wrenches, references._replace(posture=references.posture[1:]))


@pytest.mark.parametrize(("name", "torso"), [("icub", "chest"), ("talos", "torso_2_link"), ("g1", "torso_link")])
def test_the_torso_is_found_on_any_humanoid(name, torso):
    assert upper_body(Robot.load(name)) == torso


def test_a_second_robot_stands_with_the_same_code():
    machine = Robot.load("g1")
    controller = tsid_compliant(machine)
    memory, q, v, wrenches, references = at_rest(controller)
    _, command = controller.tick(memory, q, v, wrenches, references)
    assert command.status is Status.SOLVED
    np.testing.assert_allclose(command.acceleration, 0, atol=1e-6)


GROUNDS = {"compliant": ViscoElastic(8e5, 1e4), "rigid": Firm()}


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_robot_follows_its_centre_of_mass_aside(controllers, kind):
    """On foam, and on firm ground: 1 cm in 0.4 s, with the load moved from foot to foot. Error below a millimetre."""
    controller, machine = controllers[kind], robot()
    ground = GROUNDS[kind]
    simulator = Simulator(machine, ground, 1e-3)
    area = machine.feet[0].shape.length * machine.feet[0].shape.width
    sunk = 9.81 * float(machine.total_mass) / 2 / (float(ground.stiffness) * area)
    state = simulator.initial_state(height=-sunk)
    step = jax.jit(lambda state, torque: simulator.step(state, torque))
    references = controller.hold(state.q, stiffness=float(ground.stiffness), damping=float(ground.damping))
    references.ground.rest_position[:, 2] = 0.0
    start, memory, wrenches = references.com.position, controller.initial_memory(), references.wrenches
    path = np.polynomial.Polynomial([0, 0, 0, 0, 35, -84, 70, -20])
    for tick in range(400):
        y = [path.deriv(n)(tick / 400) / 0.4**n if n else path(tick / 400) for n in range(4)]
        com = references.com._replace(
            **{
                part: np.array([0.0, 0.01 * value, 0.0]) + (start if part == "position" else 0.0)
                for part, value in zip(references.com._fields, y, strict=True)
            }
        )
        desired = supporting_wrenches(machine, com, references.ground.rest_position)
        references = references._replace(com=com, wrenches=desired)
        memory, command = controller.tick(memory, np.asarray(state.q), np.asarray(state.v), wrenches, references)
        state, record = step(state, command.torque)
        wrenches = np.asarray(record.wrench_world)
    assert memory.failures == 0
    reached = np.asarray(jax.jit(lambda q: machine.center_of_mass(q))(state.q))
    np.testing.assert_allclose(reached, start + np.array([0.0, 0.01, 0.0]), atol=1e-3)
    assert wrenches[0, 2] > wrenches[1, 2]
