"""Where the solve of a step starts: what the last steps say about it.

Twists are kept of every foot and body, in the surface frame, because that is where the force law lives: a sticking foot
keeps its twist while the robot's velocity changes. Joints have their own laws (torque limits, end stops), whose forces
depend on *their* velocity: they are guessed where the robot moves now. Taken at rest instead, the servos of a walking
robot, which push against the speed of their reference, would seem to be at their limits, and a trot would take four
times as many iterations (docs/contact.md).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.contact.problem import LocalModel, StepProblem, Vectors

#: Steps of which twists are kept.
KEPT = 3
#: Least stiffness at an extrapolated twist, as a share of the mean stiffness on the way there.
LEAST_STIFFNESS = 0.5
#: Share of its size by which the twist of what stands steadily may change from step to step.
STEADY = 0.1


class Guess(NamedTuple):
    """Velocity about which the forces of the joints are linear, twists about which those of the ground are."""

    velocity: Float[Array, " nv"]
    twists: tuple[Float[Array, "3 _ _"], ...]  # m/s, rad/s, surface frame: in the last steps, the latest first

    def model(self, problem: StepProblem, enough: float = 0.0) -> tuple[Vectors, LocalModel]:
        """Twists and forces there, about which to make a linear model of the step's.

        A foot that sticks or slides steadily goes on as it did, and extrapolation by the parabola through the last
        three twists saves most of the work. Where its motion has just changed (landing, sliding that begins) that leads
        past a corner of the potential to where the ground has hardly any stiffness, and a model made there lets the
        foot go. There the stiffness along the extrapolation is below its mean on the way, which is the change of the
        wrench: then the last twist stays. Where all stands so steadily that the ground would take up less than `enough`
        (J) over the change, all last twists stay, and forces are evaluated once instead of twice.
        """
        last = tuple(u[0] for u in self.twists)
        steps = tuple(2 * u[0] - 3 * u[1] + u[2] for u in self.twists)
        here = problem.local_model(self.velocity, last)

        def extrapolated() -> tuple[Vectors, LocalModel]:
            ahead = problem.local_model(self.velocity, tuple(u + step for u, step in zip(last, steps, strict=True)))
            forces = zip(here.wrench, here.stiffness, ahead.wrench, ahead.stiffness, strict=True)
            chosen = [_chosen(u, step, *force) for u, step, force in zip(last, steps, forces, strict=True)]
            twists, wrench, stiffness = (tuple(parts) for parts in zip(*chosen, strict=True))
            return twists, here._replace(wrench=wrench, stiffness=stiffness)

        stays = _stays(last, steps, here.stiffness, enough / problem.dt)
        return jax.lax.cond(stays, lambda: (last, here), extrapolated)


def _stays(last: Vectors, steps: Vectors, stiffness, power) -> Bool[Array, ""]:
    """Whether all twists change by a small share, for which the ground would take up less than a power (W)."""
    taken = sum((step[:, :, None] * rate * step[:, None]).sum() for step, rate in zip(steps, stiffness, strict=True))
    small = [((step**2).sum(1) <= STEADY**2 * (u**2).sum(1)).all() for u, step in zip(last, steps, strict=True)]
    return jnp.stack(small).all() & (taken < power)


def _chosen(last, step, wrench, stiffness, wrench_ahead, stiffness_ahead):
    """Twist, wrench and stiffness of each member of a group: those ahead where the ground allows it, else the last."""
    at_end = (step[:, :, None] * stiffness_ahead * step[:, None]).sum((1, 2))
    on_the_way = ((wrench - wrench_ahead) * step).sum(1)
    far = (at_end >= LEAST_STIFFNESS * on_the_way)[:, None]
    kept = jnp.where(far, wrench_ahead, wrench), jnp.where(far[:, None], stiffness_ahead, stiffness)
    return last + jnp.where(far, step, 0.0), *kept


def steady(velocity: Float[Array, " nv"], twists: Vectors) -> Guess:
    """The guess that nothing changes."""
    return Guess(velocity, tuple(jnp.stack([u] * KEPT) for u in twists))
