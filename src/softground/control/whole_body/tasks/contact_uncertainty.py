"""Ground that is known only so well: a contact model with uncertainty in its parameters."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Float

from softground.arrays import Array
from softground.control.whole_body.base import Task, TaskRows
from softground.control.whole_body.references import References
from softground.control.whole_body.snapshot import Snapshot, WrenchUnknown
from softground.media.visco_elastic.lemma import Pose, plate, wrench_rate
from softground.media.visco_elastic.sole import Patch


class ContactUncertainty(Task):
    """Wrench rates near what is desired, on average over what the ground may be.

    The wrench rate of a foot is linear in pi = (k, b): f'(a, pi) = D(a) pi, and D is affine in the foot's acceleration
    a. With `ContactModel`'s lookahead T,

        D = (h_k - T P a,  h_b - P a),

    where h_k and h_b are the drifts of `wrench_rate` for unit stiffness and unit damping and P the sole's `plate`. A
    task that wants f' = w (`WrenchRates`) has the cost |w - f'|^2 in the metric of its weights. If pi is not known but
    estimated, with mean pi_0 and covariance C = L L', the mean of that square is

        E |w - D pi|^2 = |w - D pi_0|^2 + sum over j of |D L_j|^2,

    since the error of the estimate has mean zero. The first term is the task at the estimate; the columns L_j of the
    second are the rows here: motions are dear whose effect on the wrench depends on what is not known. Once the
    covariance has shrunk nothing is left of them.

    The momentum task has such a mean too. Its variance must stay out: the weight of momentum is 1e5 times that of
    wrenches, and errors of two feet do not cancel, so that an uncertainty of a few per cent would forbid to move the
    load from foot to foot (docs/romualdi2021.md).
    """

    needs: ClassVar[WrenchUnknown | None] = "rate"

    soles: Patch
    """Soles of all feet, stacked."""
    weight: Float[Array, "6"]
    """Weight of the task of the wrench rates, per foot."""
    lookahead: float = 0.0  # s, as in `ContactModel`

    @property
    def name(self) -> str:
        return "contact uncertainty"

    def rows(self, snapshot: Snapshot, references: References, memory: Any) -> TaskRows:
        feet, ground = snapshot.feet, references.ground
        root = square_root(ground.covariance)  # (F, 2, 2): columns L_j
        free, gain = jax.vmap(self._sensitivity)(self.soles, Pose(ground.rest_position, ground.rest_rotation), feet)
        # rows: foot, column j, component; what does not depend on the unknowns goes to the target
        matrix = jnp.einsum("fpiv,fpc->fciv", gain, root)
        target = -jnp.einsum("fpi,fpc->fci", free, root)
        counts = snapshot.in_contact[:, None, None] * jnp.broadcast_to(jnp.asarray(self.weight), target.shape)
        return TaskRows(
            matrix=snapshot.unknowns.matrix(acceleration=matrix.reshape(-1, snapshot.unknowns.dofs)),
            target=target.reshape(-1),
            weight=counts.reshape(-1),
            error=jnp.sqrt(jnp.diagonal(ground.covariance, axis1=1, axis2=2)).reshape(-1),
        )

    def _sensitivity(self, sole: Patch, rest: Pose, foot) -> tuple[Float[Array, "2 6"], Float[Array, "2 6 nv"]]:
        """d f'/d pi of one foot as offset + slope @ (generalised acceleration)."""
        pose = Pose(foot.position, foot.rotation)
        spring, _ = wrench_rate(sole, 1.0, 0.0, rest, pose, foot.twist)
        damper, _ = wrench_rate(sole, 0.0, 1.0, rest, pose, foot.twist)
        answer = -plate(sole, foot.rotation) @ jnp.concatenate([foot.jacobian, foot.bias_acceleration[:, None]], axis=1)
        shares = jnp.array([self.lookahead, 1.0])[:, None, None]
        moved = shares * answer
        return jnp.stack([spring, damper]) + moved[..., -1], moved[..., :-1]


def square_root(covariance: Float[Array, "... 2 2"]) -> Float[Array, "... 2 2"]:
    """Lower triangular L with L L' = covariance; also of a singular one, where Cholesky's algorithm divides by zero."""
    a, c, d = covariance[..., 0, 0], covariance[..., 1, 0], covariance[..., 1, 1]
    first = jnp.sqrt(jnp.maximum(a, 0.0))
    across = jnp.where(first > 0, c / jnp.where(first > 0, first, 1.0), 0.0)
    last = jnp.sqrt(jnp.maximum(d - across**2, 0.0))
    return jnp.stack([jnp.stack([first, jnp.zeros_like(first)], -1), jnp.stack([across, last], -1)], -2)
