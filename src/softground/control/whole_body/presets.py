"""The two controllers of romualdi2021, built from tasks and constraints for any robot."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from softground.control.whole_body.base import Hard
from softground.control.whole_body.constraints.contact_model import ContactModel, stack_soles
from softground.control.whole_body.constraints.feasibility import feasible_wrenches
from softground.control.whole_body.constraints.floating_base import FloatingBase
from softground.control.whole_body.constraints.rigid_contact import RigidContact
from softground.control.whole_body.controller import WholeBodyController
from softground.control.whole_body.tasks.contact_uncertainty import ContactUncertainty
from softground.control.whole_body.tasks.motions import CentreOfMass, FrameOrientation, FramePose, Posture
from softground.control.whole_body.tasks.wrenches import MomentumSecondRate, Wrenches, WrenchRates
from softground.errors import RobotError
from softground.media.visco_elastic.sole import patch
from softground.robots import Robot

ICUB_MASS = 33.06  # kg
ICUB_HEIGHT = 0.537  # m, of the centre of mass over the soles, standing
Triple = tuple[float, float, float]
Wrench = tuple[float, ...]


@dataclass(frozen=True)
class JointGains:
    """Gains of the posture task: joints of the legs (those that carry a foot) and the others."""

    leg_kp: float  # 1/s2
    leg_weight: float
    other_kp: float  # 1/s2
    other_weight: float


@dataclass(frozen=True)
class CompliantGains:
    """TSID-Compliant. Derivative gains that are not here damp critically: 2 sqrt(kp)."""

    linear_kp: float  # 1/s2, of linear momentum
    linear_kd: float  # 1/s
    linear_ki: Triple  # 1/s3
    linear_weight: float
    angular_kp: float  # 1/s2, of angular momentum
    angular_kd: float  # 1/s
    angular_ki: float  # 1/s3
    angular_weight: Triple
    orientation_kp: float  # 1/s2, of root and torso
    orientation_c0: float  # 1/s
    root_weight: Triple
    torso_weight: Triple
    foot_kp: float  # 1/s2, of a swinging foot, which is a constraint
    foot_angular_kp: float  # 1/s2
    foot_c0: float  # 1/s
    wrench_kp: Wrench  # 1/s, of force and torque
    wrench_weight: Wrench
    joints: JointGains
    friction: float
    torsion: float  # m
    wrench_horizon: float
    """s, within which a wrench that is out of bounds must be back (T of eq. 21)."""


@dataclass(frozen=True)
class RigidGains:
    """TSID-Rigid. Derivative gains damp critically: 2 sqrt(kp)."""

    com_kp: float  # 1/s2
    torso_kp: float  # 1/s2
    torso_c0: float  # 1/s
    torso_weight: Triple
    foot_kp: float  # 1/s2
    foot_angular_kp: float  # 1/s2
    foot_c0: float  # 1/s
    contact_damping: float  # 1/s
    wrench_weight: float
    joints: JointGains
    friction: float
    torsion: float  # m


ROMUALDI_COMPLIANT = CompliantGains(
    linear_kp=200.0,
    linear_kd=5.0,
    linear_ki=(1000.0 / ICUB_MASS, 5000.0 / ICUB_MASS, 5000.0 / ICUB_MASS),
    linear_weight=1e5,
    angular_kp=119.0,
    angular_kd=22.0,
    angular_ki=158.0,
    angular_weight=(2e4, 2e3, 2e4),
    orientation_kp=300.0,
    orientation_c0=10.0,
    root_weight=(20.0, 20.0, 20.0),
    torso_weight=(20.0, 100.0, 20.0),
    foot_kp=300.0,
    foot_angular_kp=100.0,
    foot_c0=10.0,
    wrench_kp=(10.0 * 2 / 22,) * 6,  # the published weights 2 on kp (f_ref - f) - f' and 20 on f', in one square
    wrench_weight=(22.0,) * 6,
    joints=JointGains(leg_kp=10.0, leg_weight=5.0, other_kp=50.0, other_weight=50.0),
    friction=0.33,
    torsion=0.0133,
    wrench_horizon=1e-3,
)
"""As published, with what is not published chosen by us (posture, the kp of wrenches)."""
ICUB_COMPLIANT = replace(
    ROMUALDI_COMPLIANT,
    linear_kp=108.0,
    linear_kd=18.0,
    linear_ki=(216.0,) * 3,
    wrench_kp=6 * (10.0,),
    wrench_weight=(2.0, 2.0, 2.0, 2000.0, 200.0, 20.0),
    wrench_horizon=0.02,
)
"""For ground that only pushes. The error of linear momentum dies out with three poles at -6/s, where the published
gains leave a pair that rings at 14 rad/s with a seventh of critical damping; and torques of the feet are dear, so that
weight moves between them instead of rolling them (docs/whole_body_control.md)."""
ROMUALDI_RIGID = RigidGains(
    com_kp=1.0,
    torso_kp=30.0,
    torso_c0=0.01,
    torso_weight=(30.0, 30.0, 30.0),
    foot_kp=30.0,
    foot_angular_kp=100.0,
    foot_c0=1.0,
    contact_damping=0.0,
    wrench_weight=1e-3,
    joints=JointGains(leg_kp=10.0, leg_weight=4.0, other_kp=20.0, other_weight=10.0),
    friction=0.33,
    torsion=0.0133,
)
"""As published, with what is not published chosen by us."""
ICUB_RIGID = replace(ROMUALDI_RIGID, com_kp=10.0, contact_damping=10.0)
"""Feet that move in the ground are slowed: without it they rattle on any ground softer than 1e7 N/m3."""


def compliant_gains_for(robot: Robot, gains: CompliantGains = ICUB_COMPLIANT) -> CompliantGains:
    """iCub's gains of TSID-Compliant, scaled to a robot.

    Tasks of momentum and of wrenches weigh newtons, those of frames and joints radians and metres. A robot of mass m
    and height l needs forces in proportion to m and torques in proportion to m l for the same motion: with the weights
    of their squares divided by m^2 and (m l)^2 the tasks keep their balance, and every gain in 1/s stays what it is.
    """
    force, torque = _per_square(robot)
    angular, wrench = (np.asarray(weight) for weight in (gains.angular_weight, gains.wrench_weight))
    return replace(
        gains,
        linear_weight=force * gains.linear_weight,
        angular_weight=tuple(torque * angular),
        wrench_weight=tuple(np.repeat([force, torque], 3) * wrench),
    )


def rigid_gains_for(robot: Robot, gains: RigidGains = ICUB_RIGID) -> RigidGains:
    """iCub's gains of TSID-Rigid, scaled to a robot as `compliant_gains_for` scales."""
    force, _ = _per_square(robot)
    return replace(gains, wrench_weight=force * gains.wrench_weight)


def tsid_compliant(
    robot: Robot,
    gains: CompliantGains = ICUB_COMPLIANT,
    *,
    torso: str | None = None,
    period: float = 1e-3,
    lookahead: float | None = None,
    cautious: bool = False,
    **options,
) -> WholeBodyController:
    """Accelerations and wrench rates as unknowns: a controller that knows how the ground yields.

    period: between ticks, s. lookahead: time ahead at which wrenches are taken, s, by default a period. cautious: adds
    `ContactUncertainty`, so that the cost of the wrench task is its mean over what the ground may be.
    """
    lookahead = period if lookahead is None else lookahead
    root, torso = robot.body_names[0], torso or upper_body(robot)
    soles = stack_soles([patch(foot.shape) for foot in robot.feet])
    tasks = [
        MomentumSecondRate(
            upright=(root, torso),
            kp=np.repeat([gains.linear_kp, gains.angular_kp], 3),
            kd=np.repeat([gains.linear_kd, gains.angular_kd], 3),
            ki=np.array([*gains.linear_ki, *(3 * [gains.angular_ki])]),
            weight=np.array([*(3 * [gains.linear_weight]), *gains.angular_weight]),
        ),
        _orientation(root, gains.orientation_kp, gains.orientation_c0, gains.root_weight),
        _orientation(torso, gains.orientation_kp, gains.orientation_c0, gains.torso_weight),
        _posture(robot, gains.joints),
        WrenchRates(np.array(gains.wrench_kp), np.array(gains.wrench_weight)),
        *([ContactUncertainty(soles, np.array(gains.wrench_weight), lookahead)] if cautious else []),
    ]
    constraints = [
        FloatingBase(lookahead),
        ContactModel(soles, lookahead),
        *_swinging_feet(robot, gains.foot_kp, gains.foot_angular_kp, gains.foot_c0),
        feasible_wrenches(robot, gains.friction, gains.torsion, horizon=gains.wrench_horizon),
    ]
    return WholeBodyController(robot, tasks, constraints, period=period, lookahead=lookahead, **options)


def tsid_rigid(
    robot: Robot, gains: RigidGains = ICUB_RIGID, *, torso: str | None = None, period: float = 1e-3, **options
) -> WholeBodyController:
    """Accelerations and wrenches as unknowns, feet in contact without acceleration: the classical controller.

    period: between ticks, s.
    """
    tasks = [
        _orientation(torso or upper_body(robot), gains.torso_kp, gains.torso_c0, gains.torso_weight),
        _posture(robot, gains.joints),
        Wrenches(np.full(6, gains.wrench_weight)),
    ]
    constraints = [
        FloatingBase(),
        Hard(CentreOfMass(alike(gains.com_kp), critical(alike(gains.com_kp)), np.ones(3))),
        RigidContact(gains.contact_damping),
        *_swinging_feet(robot, gains.foot_kp, gains.foot_angular_kp, gains.foot_c0),
        feasible_wrenches(robot, gains.friction, gains.torsion),
    ]
    return WholeBodyController(robot, tasks, constraints, period=period, **options)


def alike(value: float) -> np.ndarray:
    """The same gain along x, y and z."""
    return np.full(3, float(value))


def critical(kp) -> np.ndarray:
    """Derivative gain of critical damping."""
    return 2 * np.sqrt(np.asarray(kp, dtype=float))


def upper_body(robot: Robot) -> str:
    """The heaviest body that is neither the base nor part of a leg: chest or torso, whatever the model calls it."""
    in_leg = _leg_dofs(robot)
    moved = robot.tree.body_support > 0
    candidates = [b for b in range(1, len(robot.body_names)) if not (moved[b] & in_leg).any()]
    if not candidates:
        raise RobotError(f"{robot.name} has no body above its legs: name the frame whose orientation to control")
    return robot.body_names[max(candidates, key=lambda b: float(robot.parameters.mass[b]))]


def _leg_dofs(robot: Robot) -> np.ndarray:
    """(nv,) whether an actuator moves a foot."""
    feet = robot.tree.body_support[[foot.body for foot in robot.feet]]
    return (feet > 0).any(axis=0) & np.isin(np.arange(robot.nv), robot.actuated)


def _orientation(frame: str, kp: float, c0: float, weight: Triple) -> FrameOrientation:
    return FrameOrientation(frame, np.asarray(c0), critical(kp), np.asarray(kp), np.array(weight))


def _swinging_feet(robot: Robot, kp: float, angular_kp: float, c0: float) -> list[Hard]:
    linear = (alike(kp), critical(alike(kp)))
    angular = (np.asarray(c0), critical(angular_kp), np.asarray(angular_kp))
    return [Hard(FramePose(foot.name, *linear, *angular, np.ones(6))) for foot in robot.feet]


def _posture(robot: Robot, gains: JointGains) -> Posture:
    in_leg = _leg_dofs(robot)[list(robot.actuated)]
    kp = np.where(in_leg, gains.leg_kp, gains.other_kp)
    return Posture(kp, critical(kp), np.where(in_leg, gains.leg_weight, gains.other_weight))


def _per_square(robot: Robot) -> tuple[float, float]:
    """Factors on weights of squared forces and of squared torques; 1 for iCub."""
    if robot.name == "icub":
        return 1.0, 1.0
    feet = np.asarray(robot.foot_poses(robot.posture)[0])
    height = float(robot.center_of_mass(robot.posture)[2]) - float(feet[:, 2].mean())
    mass, length = float(robot.total_mass) / ICUB_MASS, height / ICUB_HEIGHT
    return mass**-2, (mass * length) ** -2
