"""Dynamics in closed form: the wrench of the ground is an explicit, smooth function, so nothing is solved inside.

With p the vertices of a foot's wrench set at q (`media.wrench_space`), u = J(q) v+ the foot's next twist and eps the
temperature, one step says

    M(q) (v+ - v)/dt + h(q, v) + D v+ = B torque + sum over feet J' w,      w = sum_k softmax(-p_k . u / eps) p_k,
    q+ = q (+) dt v+,

q in the first line being the pose at which the step is balanced (`Dynamics`).

Written so, w changes from nothing to everything within u of the order eps/|p| (a millimetre a second), and Newton
steps in v+ jump across. Therefore the scaled twist s = u / eps is an unknown of its own (`lifted`): w is then a gentle
function of (q, s), and what is left is a row that is linear in s,

    J(q) v+ = eps s.

The torque enters linearly (inverse dynamics), and no mass matrix is inverted. Rows are in units in which a violation
of 1e-3 is small: m/s and rad/s for motion, `FORCE_UNIT` for forces.
"""

from __future__ import annotations

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.media.round_space import RoundSupport
from softground.media.wrench_space import SupportFunction
from softground.planning.blocks import Block
from softground.planning.dynamics.base import (
    FORCE_UNIT,
    LINEAR_WRENCH,
    TWIST_ROWS,
    Dynamics,
    Response,
    balance_derivatives,
    split_step,
    steps_of,
)
from softground.planning.dynamics.springs import SpringResponse
from softground.planning.layout import TORQUE_UNIT, Layout
from softground.robots.dynamics_derivatives import has_scalar_joints


class ClosedForm(Dynamics):
    """The step as inverse dynamics with lifted foot twists."""

    def block(self, layout: Layout) -> Block:
        return ClosedFormSteps(self, layout)

    def responding(self, eps) -> Response:
        """The wrench on a foot (surface frame, N and N m) by its law and its scaled twist s, at a temperature eps, W.

        Sand's depends on s alone, and is taken as at a temperature of one.
        """

        def respond(law: SupportFunction | RoundSupport | SpringResponse, scaled: Float[Array, " n"]):
            at = eps if isinstance(law, SpringResponse) else 1.0
            return replace(law, eps=jnp.asarray(at, dtype=scaled.dtype)).wrench(at * scaled / self.wrench_unit)

        return respond


class ClosedFormSteps(Block):
    """Rows of a step: motion (nq), forces (nv), foot twists (nl)."""

    dynamics: ClosedForm
    layout: Layout = eqx.field(static=True)

    def __init__(self, dynamics: ClosedForm, layout: Layout):
        self.label, self.columns, self.linear = "step", steps_of(layout), False
        self.dynamics, self.layout = dynamics, layout

    def rows(self, local, data, eps):
        dynamics, robot, dt = self.dynamics, self.dynamics.robot, self.dynamics.dt
        q, v, lifted, torque, q_next, v_next = split_step(self.layout, local)
        scaled = lifted.reshape(-1, dynamics.twist_size)
        met, respond = dynamics.met_pose(q, v_next), dynamics.responding(eps)
        force, twists = dynamics.balance(met, v, v_next, lambda laws, _: jax.vmap(respond)(laws, scaled))
        force = jnp.asarray(force).at[np.array(robot.actuated)].add(-TORQUE_UNIT * torque)
        unit = dynamics.wrench_unit / LINEAR_WRENCH
        twist = twists * unit - eps / LINEAR_WRENCH * scaled
        motion = (q_next - robot.integrate(q, v_next, dt)) / dt
        return jnp.concatenate([motion, force / FORCE_UNIT, TWIST_ROWS * twist.reshape(-1)])

    def jacobian(self, local, data, eps):
        """Closed forms where the robot's joints allow them: ten times faster than differentiating `rows`."""
        if not has_scalar_joints(self.dynamics.robot):
            return super().jacobian(local, data, eps)
        dynamics, robot, layout = self.dynamics, self.dynamics.robot, self.layout
        q, v, lifted, _, _, v_next = split_step(layout, local)
        met, scaled = dynamics.met_pose(q, v_next), lifted.reshape(-1, dynamics.twist_size)
        by = balance_derivatives(dynamics, met, v, v_next, scaled, dynamics.responding(eps))
        force = [
            rows.reshape(robot.nv, -1) / FORCE_UNIT for rows in (by.force_q, by.force_v, by.force_s, by.force_next)
        ]
        unit = (TWIST_ROWS * dynamics.wrench_unit / LINEAR_WRENCH)[:, None]
        twist_q, twist_next = ((unit * rows).reshape(-1, robot.nv) for rows in (by.twist_q, by.twist_next))
        twist_s = -TWIST_ROWS * eps / LINEAR_WRENCH * jnp.eye(layout.lifted)
        no_motion = jnp.zeros((layout.nq, layout.lifted + layout.nu))
        rate = np.eye(layout.nq) / self.dynamics.dt
        actuator = np.zeros((layout.nv, layout.nu))
        actuator[list(robot.actuated), np.arange(layout.nu)] = TORQUE_UNIT / FORCE_UNIT
        no_torque = jnp.zeros((layout.lifted, layout.nu))
        still = [jnp.zeros((size, layout.nq)) for size in (layout.nv, layout.lifted)]
        return jnp.concatenate(
            [
                jnp.concatenate([-rate, 0 * rate, no_motion, rate, -np.eye(layout.nq)], axis=1),
                jnp.concatenate(
                    [*force[:3], -actuator, still[0], force[3] + dynamics.until_collocation * force[0]], axis=1
                ),
                jnp.concatenate(
                    [
                        twist_q,
                        0 * still[1],
                        twist_s,
                        no_torque,
                        still[1],
                        twist_next + dynamics.until_collocation * twist_q,
                    ],
                    axis=1,
                ),
            ]
        )
