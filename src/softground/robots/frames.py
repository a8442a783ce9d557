"""Named frames of a robot: where they are and how they move."""

import equinox as eqx
from jaxtyping import Float

from softground.arrays import Array
from softground.errors import RobotError, unknown_name


class Frames(eqx.Module):
    """Frames fixed to bodies, at one state of the robot. World axes; twists at the frames' origins."""

    names: tuple[str, ...] = eqx.field(static=True)
    position: Float[Array, "*k 3"]
    """Origin (m)."""
    rotation: Float[Array, "*k 3 3"]
    jacobian: Float[Array, "*k 6 nv"]
    """Twist (linear, angular) = J v."""
    twist: Float[Array, "*k 6"]
    """(m/s, rad/s)."""
    bias_acceleration: Float[Array, "*k 6"]
    """dJ/dt v (m/s2, rad/s2): the acceleration is J a + this."""

    def __getitem__(self, name: str) -> "Frames":
        """One frame, without the leading axis."""
        if name not in self.names:
            raise RobotError(unknown_name("frame", name, self.names))
        k = self.names.index(name)
        parts = (self.position, self.rotation, self.jacobian, self.twist, self.bias_acceleration)
        return Frames((name,), *(part[k] for part in parts))
