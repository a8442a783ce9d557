"""The diagonal that is added to the Hessian: how far a step may go where costs and constraints do not say.

What makes a step fail is a foot that is made to move, not a robot that is made to stand elsewhere: a change of all
configurations that is smooth in time is harmless. So velocities and scaled twists are damped, configurations hardly.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from softground.planning.layout import Layout


@dataclass(frozen=True)
class Damping:
    """Weights of the diagonal.

    A scaled twist s gets `lifted / (1 + s^2)`: a foot in the air moves at s in the hundreds and must be free to, while
    of a loaded one a change of one is a lot.
    """

    q: float = 1e-3
    v: float = 3e-2
    lifted: float = 3e-2
    torque: float = 1e-2

    def times(self, factor: float) -> Damping:
        """All of it, times a factor."""
        return Damping(**{name: factor * weight for name, weight in asdict(self).items()})

    def diagonal(self, layout: Layout, z: np.ndarray) -> np.ndarray:
        """The diagonal (n,) at z; control points of splines get that of configurations."""
        knots = np.arange(layout.knots)
        weight = np.full(layout.size, self.q)
        weight[layout.v_at(knots)] = self.v
        weight[layout.torque_at(knots[:-1])] = self.torque
        places = layout.lifted_at(knots[:-1])
        weight[places] = self.lifted / (1 + z[places] ** 2)
        return weight
