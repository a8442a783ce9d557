"""What the grounds of MuJoCo and of MJX are both asked for, and what of it is refused."""

from __future__ import annotations

from softground.bridges.mujoco.carrying import Carrier
from softground.errors import OptionError, unknown_name
from softground.media.base import Medium
from softground.simulation.ground import Ground
from softground.simulation.groups import Group, groups_of_bodies, groups_under_feet

BACKENDS = ("native", "xla")


def check_options(tolerance: float, rounds: int, backend: str) -> None:
    """OptionError for what cannot be."""
    if backend not in BACKENDS:
        raise OptionError(unknown_name("backend", backend, BACKENDS))
    if not tolerance > 0 or rounds < 1:
        raise OptionError(f"tolerance must be positive and rounds at least 1, got {tolerance} and {rounds}")


def soft_ground(ground: Ground | Medium, where: str) -> Ground:
    """A medium lies below a level surface; OptionError for what is no ground, and for footprints, which are not kept
    there."""
    if not isinstance(ground, Ground | Medium):
        raise OptionError(f"ground must be a medium, sg.sand(), or sg.Ground(medium, surface), got {ground!r}")
    soft = ground if isinstance(ground, Ground) else Ground(ground)
    if soft.footprints is not None:
        raise OptionError(f"footprints are not kept in {where}: leave them out, or use sg.Simulator")
    return soft


def groups_on(ground: Ground, carrier: Carrier) -> tuple[Group, ...]:
    """Feet and bodies on this ground, in groups of those that it makes the same of."""
    return (
        *groups_under_feet(ground.medium, carrier),
        *groups_of_bodies(ground.bodies or ground.medium, carrier),
    )
