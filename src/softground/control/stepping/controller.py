"""The whole-body controller of a biped on round feet: trunk upright, height kept, the other foot on its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.control.stepping.relief import Relief
from softground.control.whole_body.base import Constraint, Task
from softground.control.whole_body.constraints.floating_base import FloatingBase
from softground.control.whole_body.constraints.rolling_contact import RollingContact, rolling_contact
from softground.control.whole_body.presets import alike, critical
from softground.control.whole_body.problem import assemble
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot, Unknowns, frames_in_order, snapshot
from softground.control.whole_body.solvers import solve_equalities
from softground.control.whole_body.tasks.motions import CentreOfMass, FrameOrientation, FramePose
from softground.errors import OptionError
from softground.robots import Robot

REGULARISATION = 1e-6


@dataclass(frozen=True)
class SteppingGains:
    """Gains of the tasks, which hardly compete: every one has actuators of its own.

    Derivative gains damp critically, but that of height if it is told otherwise.
    """

    height_kp: float = 100.0  # 1/s2
    height_damping: float = 1.0  # ratio: 1 is critical, less bounces
    height_of: Literal["com", "trunk"] = "com"
    """Whose height is kept: of the centre of mass of all bodies, or of the trunk, whatever the legs do."""
    trunk_kp: float = 400.0  # 1/s2, roll and pitch
    yaw_weight: float = 0.0
    swing_kp: float = 2500.0  # 1/s2
    foot_damper: float = 100.0  # N s/m, between the foot that carries and the world


class SteppingController(eqx.Module):
    """Torques of six actuators: three keep the trunk level and high over the foot that carries, three swing the other.

    Nothing is left for the way of the centre of mass over the ground: that is up to where the feet are put. The
    controller takes the ground for rigid, and counts on a force through the middle of the sole, not on torques of the
    ground, which on sand are small and unknown. It knows no inequalities: friction and the strength of the sand are
    what they are, and the simulator clips the torques.
    """

    robot: Robot
    tasks: tuple[Task, ...]
    constraints: tuple[Constraint, ...]
    foot_damper: Float[Array, ""]  # N s/m
    period: float = eqx.field(static=True)  # s

    def __init__(self, robot: Robot, gains: SteppingGains | None = None, *, period: float = 2e-3):
        gains = gains or SteppingGains()
        if gains.height_of not in ("com", "trunk"):
            raise OptionError(f"height_of must be 'com' or 'trunk', got {gains.height_of!r}")
        trunk = robot.body_names[0]
        upright, up = np.array([1.0, 1.0, gains.yaw_weight]), np.array([0.0, 0.0, 1.0])
        zero = np.zeros(())
        height = alike(gains.height_kp), gains.height_damping * critical(alike(gains.height_kp))
        self.robot, self.period = robot, period
        self.tasks = (
            CentreOfMass(*height, up)
            if gains.height_of == "com"
            else FramePose(trunk, *height, zero, zero, zero, np.append(up, np.zeros(3))),
            FrameOrientation(trunk, zero, critical(alike(gains.trunk_kp))[0], np.asarray(gains.trunk_kp), upright),
            *(
                FramePose(
                    foot.name,
                    alike(gains.swing_kp),
                    critical(alike(gains.swing_kp)),
                    *(zero, zero, zero),  # how it is turned follows from its leg
                    np.repeat([1.0, 0.0], 3),
                )
                for foot in robot.feet
            ),
        )
        self.constraints = (FloatingBase(), *rolling_contact(robot), Relief())
        self.foot_damper = np.asarray(gains.foot_damper, float)

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames that the references must have."""
        parts = (*self.tasks, *self.constraints)
        return frames_in_order(self.robot, [frame for part in parts for frame in part.frames])

    def torque(
        self,
        q: Float[Array, " nq"],
        v: Float[Array, " nv"],
        references: References,
        over_ground: Float[Array, " nv"] | None = None,
    ) -> Float[Array, " nu"]:
        """Torques of the actuators (N m), from where the robot believes to be (q, v).

        over_ground: velocity over the ground, which the damper feels; by default v.
        """
        robot = self.robot
        unknowns = Unknowns(robot.nv, len(robot.feet), "value")
        wrenches = np.zeros((len(robot.feet), 6))  # not measured
        now = snapshot(robot, unknowns, self.frames, self.period, q, v, wrenches, references.in_contact)
        memory = ((),) * (len(self.tasks) + len(self.constraints))
        assembled = assemble(self.tasks, self.constraints, 0.0, REGULARISATION, now, references, memory)
        desired = assembled.torque_matrix @ solve_equalities(assembled) + assembled.torque_offset
        return desired - self._against_yielding(now, v if over_ground is None else over_ground)

    def _against_yielding(self, now: Snapshot, v: Float[Array, " nv"]) -> Float[Array, " nu"]:
        """Torques of a damper between the lowest point of the foot that carries and the world.

        The quadratic program believes that the ground holds the foot. Where it does not, or not yet, the foot would be
        shot into the ground with the weight of the robot, and aside with the force that keeps the robot swaying.
        """
        (contact,) = (part for part in self.constraints if isinstance(part, RollingContact))
        jacobian, _ = contact.slip(now)
        force = self.foot_damper * (jacobian @ v) * now.in_contact[:, None]
        return jnp.tensordot(force, jacobian, 2)[np.array(self.robot.actuated)]
