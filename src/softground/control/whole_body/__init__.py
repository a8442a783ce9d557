"""Whole-body control: tasks and constraints as small objects that write rows of one quadratic program."""

from softground.control.whole_body.base import Bounds, Constraint, Hard, Task, TaskRows
from softground.control.whole_body.controller import Command, WholeBodyController
from softground.control.whole_body.presets import (
    ICUB_COMPLIANT,
    ICUB_RIGID,
    CompliantGains,
    JointGains,
    RigidGains,
    tsid_compliant,
    tsid_rigid,
)
from softground.control.whole_body.problem import Problem, Status, kkt_residual
from softground.control.whole_body.references import (
    AngularMomentum,
    FrameMotion,
    GroundUnderFeet,
    PointMotion,
    References,
    supporting_wrenches,
)
from softground.control.whole_body.snapshot import Snapshot

__all__ = [
    "ICUB_COMPLIANT",
    "ICUB_RIGID",
    "AngularMomentum",
    "Bounds",
    "Command",
    "CompliantGains",
    "Constraint",
    "FrameMotion",
    "GroundUnderFeet",
    "Hard",
    "JointGains",
    "PointMotion",
    "Problem",
    "References",
    "RigidGains",
    "Snapshot",
    "Status",
    "Task",
    "TaskRows",
    "WholeBodyController",
    "kkt_residual",
    "supporting_wrenches",
    "tsid_compliant",
    "tsid_rigid",
]
