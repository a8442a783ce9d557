"""What the laws say of a round foot that goes down, slips, rolls or spins, and how far that is from grains.

wedge        (8) as it is stepped: the convex law of `Wedge`, without added mass
(8)          its closed form
..., grip    the same, the wedge taking part in a share of the foot's pitching only (`Wedge(grip=...)`)
plane RFT    Li et al. 2013 on the bare sole
3D-RFT       Agarwal et al. 2023 on the bare sole, the sand of the walks
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.experiments.rigs.dem.rolling import Rolled
from softground.media import FootInGround, Wedge
from softground.media.resistive import surface_of, wrenches
from softground.media.wedge import sagittal_force
from softground.media.wedge.calibration import solids
from softground.media.wedge.medium import FRICTION_ANGLE
from softground.papers.chen2026.rolled_grains import FOOT, ROLLS, Record

FITTED = (0.005, 0.03)  # m, depths over which zeta is fitted
STRAIGHT = "straight down"
LEVEL = tuple(name for name, roll in ROLLS.items() if roll.level)
GRIPS = np.linspace(0.0, 1.0, 11)
STEADY = 0.02  # m, of level way after which the force is taken: grains have begun to flow
SHALLOW, DEEP = 0.01, 0.0275  # m: how strong the first centimetre is, by what there is at the end
Along = Callable[[Float[np.ndarray, " n"], Float[np.ndarray, "n 3"]], Float[np.ndarray, "n 2"]]
"""(depths m, twists of the axis) -> (F_x, F_z), N, at zeta = 1."""


# -- the laws ------------------------------------------------------------------------------------------------------


def convex_wedge(grip: float) -> Along:
    """(8) as it is stepped."""
    return lambda depth, twist: np.asarray(_compiled_wedge()(grip, depth, _of_lowest_point(twist)))[:, :2]


@cache
def _compiled_wedge():
    def at(grip, depth, twist):
        medium = Wedge(zeta=1.0, density=0.0, eps=1e-6, grip=grip).for_foot(FOOT, planar=True)
        foot = FootInGround(depth, jnp.zeros(3), jnp.eye(3), jnp.eye(3))
        return medium.law(foot, medium.initial_memory(foot), jnp.asarray(1e-3)).wrench(twist)

    return jax.jit(jax.vmap(at, in_axes=(None, 0, 0)))


def closed_wedge(grip: float) -> Along:
    """(8) in closed form; nothing where its wedge rests."""

    def along(depth, twist):
        force = np.zeros((len(depth), 2))
        for i, (found, (x, z, _)) in enumerate(zip(solids(FOOT, depth), _of_lowest_point(twist, grip), strict=True)):
            if np.hypot(x, z) > 1e-9:
                force[i] = sagittal_force(found.faces, np.array([x, 0.0, z]), FRICTION_ANGLE, 1.0, FOOT.width)[[0, 2]]
        return force

    return along


def _of_lowest_point(twist: Float[np.ndarray, "n 3"], grip: float = 1.0) -> Float[np.ndarray, "n 3"]:
    """Twists there from those of the axis; with less grip, of a point that takes part in that much of the pitching."""
    return twist - np.outer(grip * twist[:, 2], [FOOT.radius, 0.0, 0.0])


def bare_sole(law: str) -> Along:
    """Resistive force theory without a wedge."""

    def along(depth, twist):
        every = np.zeros((len(twist), 6))
        every[:, [0, 2, 4]] = twist
        alike, which = np.unique(every, axis=0, return_inverse=True)
        table = wrenches(surface_of(FOOT), law, np.eye(3)[None], depth, alike, FOOT.clearance)[0]
        return table[np.arange(len(depth)), which.ravel()][:, [0, 2]]

    return along


def laws(grip: float) -> dict[str, Along]:
    """By name; grip: the one identified."""
    return {
        "wedge": convex_wedge(1.0),
        "wedge, grip": convex_wedge(grip),
        "(8)": closed_wedge(1.0),
        "(8), grip": closed_wedge(grip),
        "plane RFT": bare_sole("plane"),
        "3D-RFT": bare_sole("3d"),
    }


# -- laws beside grains --------------------------------------------------------------------------------------------


def twists_along(record: Record) -> Float[np.ndarray, "n 3"]:
    """Twists of the foot's axis (m/s, m/s, rad/s) along a roll: down, and then level."""
    roll = ROLLS[record.roll]
    going_down = record.met.ahead < 1e-4 if roll.level else np.full(len(record.met.depth), True)
    down = np.array([np.sin(roll.direction), -np.cos(roll.direction)])
    velocity = roll.speed * np.where(going_down[:, None], down, [1.0, 0.0]) if roll.level else roll.speed * down
    velocity = np.broadcast_to(velocity, (len(going_down), 2))
    return np.column_stack([velocity, roll.turning * velocity[:, 0] / FOOT.radius])


def straight_twists(count: int) -> Float[np.ndarray, "n 3"]:
    """Of a foot that is pushed straight down."""
    return np.tile([0.0, -ROLLS[STRAIGHT].speed, 0.0], (count, 1))


def zeta_of(law: Along, records: list[Record]) -> float:
    """The scale that meets straight pushes best: least squares of F_z over depths."""
    unit, met = zip(*(_pushed(law, record) for record in records), strict=True)
    unit, met = np.concatenate(unit), np.concatenate(met)
    return float(unit @ met / (unit @ unit))


def _pushed(law: Along, record: Record) -> tuple[np.ndarray, np.ndarray]:
    within = (record.met.depth > FITTED[0]) & (record.met.depth < FITTED[1])
    return law(record.met.depth, twists_along(record))[within, 1], record.met.wrench[within, 1]


def looked_at(record: Record) -> np.ndarray:
    """Samples that count: of a level roll those after `STEADY`, of others those from 5 mm of depth on."""
    if ROLLS[record.roll].level:
        return record.met.ahead > STEADY
    return record.met.depth > FITTED[0]


def mean_over_beds(records: list[Record]) -> Rolled:
    """Beds' records of one roll, which are sampled alike, averaged."""
    rows = min(len(record.met.depth) for record in records)
    parts = [[getattr(record.met, name)[:rows] for record in records] for name in ("ahead", "depth", "wrench")]
    return Rolled(*(np.mean(part, axis=0) for part in parts))


def miss(law: Along, zeta: float, records: list[Record]) -> tuple[float, float]:
    """Rms error of F_x and F_z over the rms of the force, of the mean over beds."""
    mean = mean_over_beds(records)
    one = Record(records[0].grain, 0, records[0].roll, mean)
    here = looked_at(one)
    met = mean.wrench[here, :2]
    off = zeta * law(mean.depth, twists_along(one))[here] - met
    size = np.sqrt((met**2).sum(axis=1).mean())
    return tuple(float(np.sqrt((off[:, i] ** 2).mean()) / size) for i in range(2))  # type: ignore[return-value]


def best_grip(zeta: float, rolls: dict[str, list[Record]]) -> float:
    """The grip with which the wedge comes closest to the grains, in all rolls but the straight one."""
    ahead = [records for name, records in rolls.items() if name != STRAIGHT]
    off = [sum(sum(miss(convex_wedge(grip), zeta, records)) for records in ahead) for grip in GRIPS]
    return float(GRIPS[int(np.argmin(off))])


def mean_force(records: list[Record], law: Along | None = None, zeta: float = 1.0) -> Float[np.ndarray, "2"]:
    """(F_x, F_z), N, over the samples that count, mean over beds: of the grains, or of a law there."""
    mean = mean_over_beds(records)
    one = Record(records[0].grain, 0, records[0].roll, mean)
    force = mean.wrench[:, :2] if law is None else zeta * law(mean.depth, twists_along(one))
    return force[looked_at(one)].mean(axis=0)


def kept(rolls: dict[str, list[Record]], name: str, law: Along | None = None) -> float:
    """F_z of a level roll over what a straight push meets at its depth."""
    down = mean_over_beds(rolls[STRAIGHT])
    straight = Record(0.0, 0, STRAIGHT, down)
    force = down.wrench[:, 1] if law is None else law(down.depth, twists_along(straight))[:, 1]
    at = np.abs(down.depth - ROLLS[name].depth) <= 1.6e-3
    return float(mean_force(rolls[name], law)[1] / force[at].mean())


def first_centimetre(depth: Float[np.ndarray, " n"], force: Float[np.ndarray, " n"]) -> float:
    """F_z at `SHALLOW` over that at `DEEP`, each over 2 mm."""
    at = [force[np.abs(depth - one) <= 1.1e-3].mean() for one in (SHALLOW, DEEP)]
    return float(at[0] / at[1])
