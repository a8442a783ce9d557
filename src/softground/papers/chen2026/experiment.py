"""III: the "experiments". The paper's robot and its measurements are not public; ours are walks of the 3D biped.

Its sand is 3D resistive force theory, a law that differs from the one under test in every formula; its rigid ground
gives way by 2 mm, as a rubber sole does. The controller takes all ground for rigid, as the paper's did.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from softground.control.stepping import Stepper, SteppingController, SteppingGait, Walks, starting_state
from softground.media import Firm, Medium, Wedge
from softground.media.wedge.calibration import SAND, calibrated
from softground.robots import Robot
from softground.runs import Fall, Run
from softground.simulation import Simulator

DT = 0.002  # s
GAIT = SteppingGait()
SPEEDS = (0.1, 0.2, 0.3, 0.4, 0.5)  # m/s
SECONDS, STEADY = 8.0, 4.0  # s: of a walk, and from when on it is looked at: 20 steps
RIGID = Firm(stiffness=2e7, damping=2e5)
GROUNDS: dict[str, tuple[Medium, float]] = {"sand": (SAND, 0.02), "rigid": (RIGID, 0.0015)}
"""Medium, and the depth at which the robot stands in it at the start (m)."""


@cache
def robot() -> Robot:
    return Robot.load("biped")


@cache
def biped_law() -> Wedge:
    """The law of the paper under the biped's foot, calibrated on our sand."""
    return calibrated(robot().feet[0].shape)


@cache
def walks(ground: str) -> Walks:
    """Walks on "sand" or "rigid" ground."""
    medium, depth = GROUNDS[ground]
    return walks_on(medium, depth)


def walks_on(medium: Medium, depth: float, seconds: float = SECONDS) -> Walks:
    simulator = Simulator(robot(), medium, DT)
    stepper = Stepper(SteppingController(robot(), period=DT), GAIT)
    return Walks(simulator, stepper, starting_state(simulator, stepper, depth), seconds)


@cache
def walk(ground: str, speed: float) -> Run:
    """A walk at a speed (m/s); see `fall_of` before using it."""
    return walks(ground)(speed, title=f"biped on {ground} at {speed:g} m/s")


def fall_of(ground: str, speed: float) -> Fall | None:
    return walk(ground, speed).fall()


@dataclass(frozen=True)
class StanceOfWalk:
    """One stance of a walk: which foot carries (0 left, 1 right), and its samples."""

    foot: int
    samples: Run


def stances(dataset: Run, count: int | None = None) -> list[StanceOfWalk]:
    """Stances of the steady part, by the gait's clock."""
    per = round(float(GAIT.stance) / DT)
    first, last = round(STEADY / DT) // per, dataset.sizes["time"] // per
    chosen = range(first, last)[:count]
    return [StanceOfWalk(k % 2, dataset.isel(time=slice(k * per, (k + 1) * per))) for k in chosen]
