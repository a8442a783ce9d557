"""Where the solve of a step starts: what the last steps say about it.

Twists are kept per foot and in the surface frame, because that is where the force law lives: a sticking foot keeps
its twist while the robot's velocity changes. Joints have their own laws (torque limits, end stops), whose forces depend
on *their* velocity: they are guessed where the robot moves now. Taken at rest instead, the servos of a walking robot,
which push against the speed of their reference, would seem to be at their limits, and a trot would take four times as
many iterations (docs/contact.md).
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.contact.problem import LocalModel, StepProblem

#: Least stiffness at an extrapolated twist, as a share of the mean stiffness on the way there.
LEAST_STIFFNESS = 0.5


class Guess(NamedTuple):
    """Velocity about which the forces of the joints are linear, twists about which those of the feet are."""

    velocity: Float[Array, " nv"]
    twists: Float[Array, "2 f n"]  # m/s, rad/s, surface frame: in the last step and in the one before

    def model(self, problem: StepProblem) -> tuple[Float[Array, "f n"], LocalModel]:
        """Twists of the feet and forces there, about which to make a linear model of the step's.

        A foot that sticks or slides steadily goes on as it did, and extrapolation saves most of the work. Where its
        motion has just changed (landing, sliding that begins) extrapolation leads past a corner of the potential to
        where the ground has hardly any stiffness, and a model made there lets the foot go. There the stiffness
        along the extrapolation is below its mean on the way, which is the change of the wrench: then the last twist
        stays.
        """
        last, before = self.twists
        step = last - before
        here, ahead = (problem.local_model(self.velocity, twists) for twists in (last, last + step))
        at_end = (step[:, :, None] * ahead.stiffness * step[:, None]).sum((1, 2))
        on_the_way = ((here.wrench - ahead.wrench) * step).sum(1)
        far = (at_end >= LEAST_STIFFNESS * on_the_way)[:, None]
        wrench = jnp.where(far, ahead.wrench, here.wrench)
        stiffness = jnp.where(far[:, None], ahead.stiffness, here.stiffness)
        return last + jnp.where(far, step, 0.0), here._replace(wrench=wrench, stiffness=stiffness)


def steady(velocity: Float[Array, " nv"], twists: Float[Array, "f n"]) -> Guess:
    """The guess that nothing changes."""
    return Guess(velocity, jnp.stack([twists, twists]))
