"""Gains of one robot for another of a different size.

Tasks of momentum and of wrenches weigh newtons, those of frames and joints radians and metres. A robot of mass m and
height l needs forces in proportion to m and torques in proportion to m l for the same motion: with the weights of their
squares divided by m^2 and (m l)^2 the tasks keep their balance, and every gain in 1/s stays what it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softground.control.whole_body.presets import (
    ICUB_COMPLIANT,
    ICUB_MASS,
    ICUB_RIGID,
    CompliantGains,
    RigidGains,
)
from softground.robots import Robot

ICUB_HEIGHT = 0.537
"""m, of the centre of mass over the soles, standing."""


def compliant_gains_for(robot: Robot, gains: CompliantGains = ICUB_COMPLIANT) -> CompliantGains:
    """iCub's gains of TSID-Compliant, scaled to a robot."""
    force, torque = _per_square(robot)
    angular, wrench = (np.asarray(weight) for weight in (gains.angular_weight, gains.wrench_weight))
    return replace(
        gains,
        linear_weight=force * gains.linear_weight,
        angular_weight=tuple(torque * angular),
        wrench_weight=tuple(np.repeat([force, torque], 3) * wrench),
    )


def rigid_gains_for(robot: Robot, gains: RigidGains = ICUB_RIGID) -> RigidGains:
    """iCub's gains of TSID-Rigid, scaled to a robot."""
    force, _ = _per_square(robot)
    return replace(gains, wrench_weight=force * gains.wrench_weight)


def _per_square(robot: Robot) -> tuple[float, float]:
    """Factors on weights of squared forces and of squared torques; 1 for iCub."""
    if robot.name == "icub":
        return 1.0, 1.0
    feet = np.asarray(robot.foot_poses(robot.posture)[0])
    height = float(robot.center_of_mass(robot.posture)[2]) - float(feet[:, 2].mean())
    mass, length = float(robot.total_mass) / ICUB_MASS, height / ICUB_HEIGHT
    return mass**-2, (mass * length) ** -2
