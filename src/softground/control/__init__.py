"""Control: what the motors are told."""

from softground.control.estimation import Estimate, Estimator
from softground.control.inverse_kinematics import joints_for_feet
from softground.control.posture import hold_posture, servo_gains
from softground.control.trot import Trot, trot

__all__ = ["Estimate", "Estimator", "Trot", "hold_posture", "joints_for_feet", "servo_gains", "trot"]
