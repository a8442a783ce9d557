"""Every constraint against the physics it stands for."""

import jax
import numpy as np
import pytest

from softground.control.whole_body.base import Hard
from softground.control.whole_body.constraints.contact_model import ContactModel, stack_soles
from softground.control.whole_body.constraints.feasibility import feasible_wrenches, wrench_cone
from softground.control.whole_body.constraints.floating_base import FloatingBase
from softground.control.whole_body.constraints.limits import JointLimits, TorqueLimits
from softground.control.whole_body.constraints.rigid_contact import RigidContact
from softground.control.whole_body.tasks.motions import CentreOfMass
from softground.errors import RobotError
from softground.media.visco_elastic.lemma import Pose, wrench
from softground.media.visco_elastic.sole import patch
from softground.robots.shapes import Box, Cylinder, HalfCylinder, Polygon, Sphere

from . import motions
from .motions import DAMPING, STIFFNESS, TIME, around, following, look, random_motion, robot

SEEDS = (1, 2)
FRICTION, TORSION = 0.33, 0.0133


def excess(constraint, motion, references, wrench_unknown, x=None):
    """G x - upper: zero where an equality holds, negative where an inequality does."""
    bounds = constraint.bounds(look(motion, wrench_unknown), references, None)
    x = motion.unknowns(wrench_unknown) if x is None else x
    return np.asarray(bounds.matrix) @ x - np.asarray(bounds.upper)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("wrench_unknown", ["value", "rate"])
def test_floating_base_holds_for_motions_that_forces_cause(seed, wrench_unknown):
    """Forward dynamics under the wrenches and any torques of the actuators meets it, another acceleration does not."""
    machine, motion = robot(), random_motion(seed)

    def move(q, v, wrenches):
        force = jax.numpy.einsum("fiv,fi->v", machine.foot_jacobians(q), wrenches)
        torque = jax.numpy.pad(np.arange(machine.nu) - 5.0, (6, 0))
        return machine.forward_dynamics(q, v, force + torque + machine.passive_force(q, v))

    motion = motion._replace(a=np.asarray(jax.jit(move)(motion.q, motion.v, motion.wrenches)))
    weight = 9.81 * float(machine.total_mass)
    found = excess(FloatingBase(), motion, following(motion), wrench_unknown)
    np.testing.assert_allclose(found, 0, atol=1e-9 * weight)
    pushed = motion._replace(a=motion.a + np.eye(machine.nv)[2])
    assert abs(excess(FloatingBase(), pushed, following(motion), wrench_unknown)[2]) > 0.9 * float(machine.total_mass)


def test_looking_ahead_counts_the_wrenches_that_will_act():
    """f + T f' instead of f: what changes is T J' f'."""
    motion = random_motion(1)
    now, later = (excess(FloatingBase(time), motion, following(motion), "rate") for time in (0.0, 2e-3))
    jacobians = np.asarray(look(motion, "rate").feet.jacobian)
    expected = -2e-3 * np.einsum("fiv,fi->v", jacobians, motion.wrench_rates)[:6]
    np.testing.assert_allclose(later - now, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_standing_feet_accelerate_as_rigid_contact_says(seed):
    motion = random_motion(seed)
    places = around(motion)
    measured = [
        np.r_[
            motions.second_difference(*(place.position[foot.name] for place in places)),
            motions.angular_acceleration(*(place.rotation[foot.name] for place in places)),
        ]
        for foot in robot().feet
    ]
    twists = np.asarray(look(motion, "value").feet.twist)
    found = excess(RigidContact(damping=3.0), motion, following(motion), "value")
    np.testing.assert_allclose(found, (np.array(measured) + 3.0 * twists).ravel(), atol=1e-3)


def contact_model(lookahead=0.0):
    return ContactModel(stack_soles([patch(foot.shape) for foot in robot().feet]), lookahead)


jitted_wrench = jax.jit(wrench)


def ground_wrenches(motion, references, time):
    """Lemma 1 along the motion."""
    q = motions.integrate(motion.q, motion.v + motion.a * time / 2, time)
    feet = look(motion._replace(q=np.asarray(q), v=motion.v + motion.a * time), "rate").feet
    ground = references.ground
    return np.array([
        jitted_wrench(
            patch(foot.shape), STIFFNESS, DAMPING, Pose(ground.rest_position[k], ground.rest_rotation[k]),
            Pose(feet.position[k], feet.rotation[k]), feet.twist[k],
        )
        for k, foot in enumerate(robot().feet)
    ])  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_wrenches_change_as_the_contact_model_says(seed):
    motion = random_motion(seed)
    references = following(motion)
    rates = (ground_wrenches(motion, references, TIME) - ground_wrenches(motion, references, -TIME)) / (2 * TIME)
    found = excess(contact_model(), motion._replace(wrench_rates=rates), references, "rate")
    np.testing.assert_allclose(found, 0, atol=1e-5 * np.abs(rates).max())


def test_looking_ahead_the_contact_model_predicts_the_end_of_a_period():
    """Over T a foot gains the velocity T a and, semi-implicitly, moves by T (v + T a). From standing feet, to first
    order in the acceleration: what is left out is of order |a| T^2 (a / g), 1e-6 here."""
    calm = random_motion(1)
    motion = calm._replace(v=np.zeros_like(calm.v), a=0.01 * calm.a)
    period, references = 2e-3, following(motion)
    after = motion._replace(
        q=np.asarray(motions.integrate(motion.q, motion.a * period, period)), v=motion.a * period, a=0 * motion.a
    )
    rates = (ground_wrenches(after, references, 0.0) - ground_wrenches(motion, references, 0.0)) / period
    moved = motion._replace(wrench_rates=rates)
    ahead = np.abs(excess(contact_model(period), moved, references, "rate")).max()
    assert ahead < 0.02 * np.abs(rates).max()  # springs turn with the sole, which the factor b + T k leaves out
    assert ahead < 0.2 * np.abs(excess(contact_model(), moved, references, "rate")).max()


def point_forces(rng, corners, count=1):
    """Wrenches of pushing forces inside the friction cone that act inside the polygon of `corners`."""
    wrenches = []
    for _ in range(count):
        normal = rng.exponential(10.0, len(corners)) * (rng.random(len(corners)) < 0.6)
        angle, share = rng.uniform(0, 2 * np.pi, len(corners)), rng.uniform(0, 1, len(corners))
        pull = FRICTION / np.sqrt(2) * normal * share
        force = np.c_[pull * np.cos(angle), pull * np.sin(angle), normal]
        torque = np.cross(np.c_[corners, np.zeros(len(corners))], force)
        wrenches.append(np.r_[force.sum(0), torque.sum(0)])
    return np.array(wrenches)


L_SHAPE = Polygon([[0.1, -0.04], [0.1, 0.04], [0.0, 0.04], [0.0, 0.06], [-0.09, 0.05], [-0.09, -0.04]])
SOLES = {
    "box": (Box(0.19, 0.09, 0.02), [[0.095, 0.045], [0.095, -0.045], [-0.095, 0.045], [-0.095, -0.045]]),
    "disc": (Cylinder(0.05, 0.1), 0.05 * np.c_[np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)]),
    "polygon": (L_SHAPE, np.delete(L_SHAPE.outline, 2, axis=0)),  # without the corner that turns inwards
}


@pytest.mark.parametrize("name", SOLES)
def test_cones_hold_what_points_of_the_sole_can_push(name):
    """Sums of pushes from points of the sole are inside; torsional friction, a bound of its own, is left wide."""
    shape, corners = SOLES[name]
    rng = np.random.default_rng(0)
    corners = np.asarray(corners, dtype=float)
    if name == "disc":  # the octagon inside the circle has its corners half a step further round
        corners = corners @ np.array([[np.cos(np.pi / 8), np.sin(np.pi / 8)], [-np.sin(np.pi / 8), np.cos(np.pi / 8)]])
    wrenches = point_forces(rng, corners, 200)
    assert (wrench_cone(shape, FRICTION, torsion=1.0) @ wrenches.T).max() < 1e-9


@pytest.mark.parametrize("name", SOLES)
def test_cones_exclude_pulling_slipping_twisting_and_tipping(name):
    shape, corners = SOLES[name]
    cone = wrench_cone(shape, FRICTION, TORSION)
    centre = np.mean(corners, axis=0)

    def at(point, force=(0, 0, 100.0), twist=0.0):
        return np.r_[force, np.cross(np.r_[point, 0.0], force) + np.array([0, 0, twist])]

    assert (cone @ at(centre, twist=1.3) <= 0).all()
    for wrong in (
        at(centre, (0, 0, -1.0)),
        at(centre, (FRICTION * 100 * 1.01, 0, 100.0)),
        at(centre, (0, -FRICTION * 100 * 1.01, 100.0)),
        at(centre, twist=1.34),
        *(at(centre + 1.01 * (np.asarray(corner) - centre)) for corner in corners),
    ):
        assert (cone @ wrong > 0).any()


def test_a_margin_keeps_the_centre_of_pressure_inside():
    cone = wrench_cone(Box(0.2, 0.1, 0.02), FRICTION, TORSION, margin=0.01)
    inside, outside = (np.array([0, 0, 100.0, 0, -100.0 * x, 0]) for x in (0.0899, 0.0901))
    assert (cone @ inside <= 0).all()
    assert (cone @ outside > 0).any()


ROUND = {
    "ball": (Sphere(0.02), np.array([[0.0, 0.0, -0.02]])),
    "half-cylinder": (HalfCylinder(0.04, 0.08), np.array([[0.0, 0.04, -0.04], [0.0, -0.04, -0.04]])),
}


@pytest.mark.parametrize("name", ROUND)
def test_round_feet_are_pushed_below_their_origin(name):
    """Friction there turns the foot about its origin; a torque about the contact itself is more than they can get."""
    shape, points = ROUND[name]
    cone = wrench_cone(shape, FRICTION, 1.0)
    for point in points:
        force = np.array([10.0, -15.0, 100.0])
        pushed = np.r_[force, np.cross(point, force)]
        assert (cone @ pushed < 1e-9).all()
        outwards = np.array([np.sign(point[1] or 1), 0.0]), np.array([0.0, 1.0])
        assert all((cone @ (pushed + 0.1 * np.r_[0, 0, 0, axis, 0]) > 1e-3).any() for axis in outwards)


def test_shapes_without_a_sole_are_refused():
    with pytest.raises(RobotError, match="must be Box, Cylinder"):
        wrench_cone(None, FRICTION, TORSION)  # type: ignore[arg-type]


def test_feasibility_is_about_the_wrench_at_its_horizon_in_the_axes_of_the_ground():
    """Eq. 21: of f + T f' for wrench rates, of f itself for wrenches; turned with the foot's pose of rest."""
    motion = random_motion(2)
    references = following(motion)
    feasible = feasible_wrenches(robot(), FRICTION, TORSION, least=5.0, horizon=0.01)
    local = [
        np.r_[turn.T @ f[:3], turn.T @ f[3:]]
        for turn, f in zip(references.ground.rest_rotation, motion.wrenches + 0.01 * motion.wrench_rates, strict=True)
    ]
    cone = wrench_cone(robot().feet[0].shape, FRICTION, TORSION)
    expected = np.array([cone @ f for f in local])
    expected[:, 0] += 5.0
    np.testing.assert_allclose(excess(feasible, motion, references, "rate"), expected.ravel(), rtol=1e-9, atol=1e-9)
    later = motion._replace(wrenches=motion.wrenches + 0.01 * motion.wrench_rates)
    np.testing.assert_allclose(excess(feasible, later, references, "value"), expected.ravel(), rtol=1e-9, atol=1e-9)


def test_torque_limits_bound_the_torque_of_inverse_dynamics():
    """Joint dampers act at the end of the period: on v + T a."""
    machine, motion = robot(), random_motion(2)
    bounds = TorqueLimits().bounds(look(motion, "value"), following(motion), None)
    force = jax.jit(lambda q, v, a: machine.inverse_dynamics(q, v, a) - machine.passive_force(q, v))
    jacobians = np.asarray(look(motion, "value").feet.jacobian)
    needed = np.asarray(force(motion.q, motion.v, motion.a)) + motions.PERIOD * machine.damping * motion.a
    needed = needed - np.einsum("fiv,fi->v", jacobians, motion.wrenches)
    torque = np.asarray(bounds.matrix) @ motion.unknowns("value")
    np.testing.assert_allclose(torque - np.asarray(bounds.upper), needed[6:] - machine.torque_limit, rtol=1e-9)
    np.testing.assert_allclose(torque - np.asarray(bounds.lower), needed[6:] + machine.torque_limit, rtol=1e-9)


def test_joint_limits_are_met_at_their_horizon():
    """At the bound on the acceleration a joint stops exactly at its limit."""
    machine, motion = robot(), random_motion(2)
    bounds = JointLimits(0.1).bounds(look(motion, "value"), following(motion), None)
    for bound, limit in ((bounds.lower, machine.joint_range[6:, 0]), (bounds.upper, machine.joint_range[6:, 1])):
        acceleration = np.linalg.lstsq(np.asarray(bounds.matrix), np.asarray(bound))[0][6:29]
        reached = motion.q[7:] + 0.1 * motion.v[6:] + 0.005 * acceleration
        np.testing.assert_allclose(reached, limit, atol=1e-9)


def test_rows_of_feet_in_the_air_do_not_count():
    motion = random_motion(2)
    seen = look(motion, "rate", (True, False))
    for constraint in (contact_model(), RigidContact(), feasible_wrenches(robot(), FRICTION, TORSION)):
        active = np.asarray(constraint.bounds(seen, following(motion), None).active)
        half = len(active) // 2
        assert active[:half].all()
        assert not active[half:].any()


def test_a_hard_task_is_an_equality():
    motion = random_motion(1)
    three = np.ones(3)
    task = CentreOfMass(three, three, three)
    bounds = Hard(task).bounds(look(motion, "rate"), following(motion), None)
    rows = task.rows(look(motion, "rate"), following(motion), None)
    np.testing.assert_array_equal(bounds.lower, rows.target)
    np.testing.assert_array_equal(bounds.upper, rows.target)
    np.testing.assert_array_equal(bounds.matrix, rows.matrix)
