"""What the ground is: a convex potential of the foot's next twist.

Every medium answers one question: given a foot at rest in the ground *now* (its depth, its orientation, what
the ground remembers of it), what does it cost the foot to leave this instant with twist `u`? The answer is a
convex function `Phi(u)` in watts, and the wrench on the foot is `-dPhi/du`. A time step of any robot on any
medium is then one convex problem (see `softground.contact`).

Three types answer it, each from the one before:

- `Medium`: parameters, which one can differentiate, batch and replace. `for_foot` binds them to the shape of a foot;
- `FootMedium`: what one foot meets, at any depth and orientation. It is made inside the step, from the parameters;
- `Law`: the potential of one foot over one time step.

The twist is given in the *surface frame* (z along the outward normal) at the medium's reference point, with
the components named by `FootMedium.kind`. To add a medium, write a `Law` with a potential, a `FootMedium` that makes
it and, if it depends on the foot's shape, a `Medium` that makes that; wrench and Hessian follow by differentiation,
and may be overridden with closed forms for speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array
from softground.errors import MediumError
from softground.robots.shapes import Shape

#: Which of the six components (vx, vy, vz, wx, wy, wz) of a twist in the surface frame a medium works with.
COMPONENTS: dict[str, np.ndarray] = {
    "planar": np.array([0, 2, 4], np.int32),  # sagittal plane: x, z, pitch
    "point": np.array([0, 1, 2], np.int32),  # a force without torque at the reference point
    "spatial": np.arange(6, dtype=np.int32),
}


def kind_of(shape: Shape, planar: bool) -> str:
    """Components of the twist that a foot of this shape gives a medium: a ball in space turns for free."""
    return "planar" if planar else "point" if shape.is_ball else "spatial"


class FootInGround(eqx.Module):
    """One foot as the ground sees it, or several along leading axes."""

    depth: Float[Array, "*n"]  # m, positive below the surface, of the foot's deepest reference point
    position: Float[Array, "*n 3"]  # m, world, origin of the foot frame
    rotation: Float[Array, "*n 3 3"]  # foot frame expressed in the surface frame
    surface: Float[Array, "*n 3 3"]  # rotation: surface frame expressed in the world; third column: outward normal

    @property
    def axis(self) -> Float[Array, "*n 3"]:
        """The foot's axis (its z axis) in the surface frame."""
        return self.rotation[..., :, 2]

    @property
    def tilt(self) -> Float[Array, "*n"]:
        """Tilt of the foot's axis in the surface's x-z plane, rad, positive about +y (leaning towards +x)."""
        return jnp.arctan2(self.axis[..., 0], self.axis[..., 2])


class Law(eqx.Module):
    """The potential of one foot over one time step: all that does not depend on the twist is evaluated."""

    def potential(self, twist: Float[Array, " n"]) -> Float[Array, ""]:
        """Convex potential Phi(twist), W."""
        raise NotImplementedError

    def wrench(self, twist: Float[Array, " n"]) -> Float[Array, " n"]:
        """Wrench on the foot, -dPhi/du: N and N m, surface frame, at the reference point."""
        return -jax.grad(self.potential)(twist)

    def response(self, twist: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
        """Wrench and the Hessian d2Phi/du2 (positive semidefinite) together, because they share work."""
        return self.wrench(twist), -jax.jacfwd(self.wrench)(twist)

    def along(self, twist: Float[Array, " n"], direction: Float[Array, " n"]) -> LawAlongLine:
        """The potential on the line twist + t direction, for line searches."""
        return LawAlongLine(self, twist, direction)


Derivatives = tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]
"""A potential on a line of twists, and its first and second derivative there, W."""


class LawAlongLine(eqx.Module):
    """A potential restricted to a line of twists. Override where the restriction is cheaper than the law."""

    law: Law
    twist: Float[Array, " n"]
    direction: Float[Array, " n"]

    def derivatives(self, t: Float[Array, ""]) -> Derivatives:
        """The potential, up to a constant, and its first and second derivative with respect to t, W."""
        twist = self.twist + t * self.direction
        wrench, stiffness = self.law.response(twist)
        curvature = (self.direction[:, None] * stiffness * self.direction).sum()
        return self.law.potential(twist), -(wrench * self.direction).sum(), curvature


class Medium(eqx.Module):
    """Base class of all media: parameters that one can differentiate with respect to, not yet bound to feet."""

    #: name under which the medium is saved and found again
    name: ClassVar[str] = ""

    def for_foot(self, shape: Shape, planar: bool) -> FootMedium:
        """What a foot of this shape meets. Called in every step, so what only the shape decides is best cached."""
        raise NotImplementedError

    def under_feet(self, shapes: Sequence[Shape], planar: bool) -> Sequence[FootMedium]:
        """One for each foot of a robot. Override it where what the feet get must agree, or must differ."""
        return [self.for_foot(shape, planar) for shape in shapes]

    def for_body(self, shape: Shape, planar: bool) -> FootMedium:
        """What a body of this closed shape meets, in its own frame: the origin's depth is `FootInGround.depth`.

        Override it where the medium knows what to do with surfaces of any orientation.
        """
        raise MediumError(
            f"{type(self).__name__} knows feet only, not bodies: name a medium for these, "
            "Ground(medium, bodies=firm()), or load the robot with contacts='feet'"
        )

    def under_bodies(self, shapes: Sequence[Shape], planar: bool) -> Sequence[FootMedium]:
        """One for each body of a robot. Override it where they must agree."""
        return [self.for_body(shape, planar) for shape in shapes]

    def on_any_side(self) -> Medium:
        """The same ground, for robots that fall: feet meet it with all of their surface, as bodies do.

        Override it where feet are met by their soles otherwise.
        """
        return self


def check_is_medium(what: str, value: Any) -> None:
    """Raise MediumError unless a value is a medium."""
    if not isinstance(value, Medium):
        remedy = (
            f"media.medium_of({value!r}) makes one of a name" if isinstance(value, str) else "as media.sand() is one"
        )
        raise MediumError(f"{what} must be a medium, got {value!r}: {remedy}")


class FootMedium(Medium):
    """A medium bound to a foot: what the step evaluates. Itself a medium, which serves every foot as it is."""

    #: whether it pushes bodies where they stand on it, not all over their surface
    at_points: ClassVar[bool] = False

    kind: eqx.AbstractVar[str]  # which components of the twist it works with: a key of `COMPONENTS`

    def for_foot(self, shape: Shape, planar: bool) -> FootMedium:
        return self

    @property
    def overhang(self) -> Float[Array, "*b"]:
        """How far beyond the surface of a body it takes hold, at most, m."""
        return np.zeros(())

    def reference(self, foot: FootInGround) -> Float[Array, "3"] | None:
        """Reference point of twist and wrench from the foot's origin, m, surface frame; None: the origin."""
        return None

    def place(self, foot: FootInGround, memory: Any) -> Float[Array, "3"]:
        """Where the ground is that the foot stands in, m, world: what varies from place to place is taken there."""
        return foot.position

    def initial_memory(self, foot: FootInGround) -> Any:
        """What the ground remembers of a foot that has been here all along (a pytree, possibly empty)."""
        return ()

    def law(self, foot: FootInGround, memory: Any, dt: Float[Array, ""]) -> Law:
        """The potential that this foot meets over the next `dt` seconds."""
        raise NotImplementedError

    def remember(
        self, foot: FootInGround, memory: Any, law: Law, twist: Float[Array, " n"], dt: Float[Array, ""]
    ) -> Any:
        """Memory after the step in which the foot moved with `twist`."""
        return memory

    def untouched(self, memory: Any) -> Any:
        """Memory after a step in which a body was clear of the ground, so that `remember` was not asked."""
        return memory

    def stored_energy(self, foot: FootInGround, memory: Any) -> Float[Array, ""]:
        """Elastic energy in the ground under this foot, J."""
        return jnp.zeros_like(foot.depth)

    def outside_data(self, foot: FootInGround) -> Bool[Array, ""]:
        """Whether the foot is deeper or more tilted than what the medium was made from."""
        return jnp.zeros_like(foot.depth, dtype=bool)
