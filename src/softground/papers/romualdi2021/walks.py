"""The walks of all studies: one robot, one gait, one set of gains for each controller."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from softground.control.walking import gait_for
from softground.control.walking.figure import intervals
from softground.control.walking.walk import Belief, Command, steps_a_period, walk
from softground.control.walking.walker import walking_controller
from softground.control.whole_body.controller import WholeBodyController
from softground.media import Noisy, ViscoElastic
from softground.papers.study import Row
from softground.robots import Robot
from softground.runs import Run
from softground.simulation import Simulator

SPEED = 0.085
"""m/s, mean of full steps. The centre of mass then peaks at 0.15 m/s; the paper's greatest velocity is 0.17 m/s."""
SECONDS = 10.0  # of a walk
QUICK_SECONDS = 2.2  # of it that quick studies simulate: up to the first touch-down

WALK_NOTE = (
    f"iCub, 23 actuators, walks straight at {SPEED:g} m/s (mean of full steps) with steps of 1 s, "
    "0.4 s of it on both feet; controller at 1 kHz, simulator at a fifth of b / k or finer. "
    "One set of gains for each controller, all rows."
)
PAPER_STEP, STEP = 1e-5, 1e-3  # s, of the paper's simulations and of ours, which may be finer for the ground's sake
NOISE_NOTE = (
    "The paper perturbs the wrench at every step of its simulation, 10 us; the mean of 100 such draws over our step of "
    "1 ms has a tenth of their sigma, and that is what we add. A sigma of 5 N m that lasted a whole millisecond "
    "would turn a foot, whose rolling the ground damps with 0.1 N m s/rad, by rad/s at every step."
)
GROUND_NOTE = (
    "Our ground only pushes, point by point of the sole, and has friction (0.6); the paper's wrench also pulls, and "
    "never slips."
)


class Place(NamedTuple):
    """Ground of uniform stiffness and damping."""

    k: float  # N/m per m2
    b: float  # N s/m per m2

    @property
    def medium(self) -> ViscoElastic:
        return ViscoElastic(self.k, self.b)

    @property
    def belief(self) -> Belief:
        """Belief of a controller that knows it."""
        return Belief(self.k, self.b)

    def __str__(self) -> str:
        return f"k = {self.k:.0e}, b = {self.b:.0e}".replace("e+0", "e")


def noisy(medium: ViscoElastic, sigma: float, seed: int) -> Noisy:
    """Ground with the noise that white noise of sigma (N, N m) at the paper's steps has over one of ours."""
    return Noisy(medium, sigma_over_step(sigma), seed=seed)


def sigma_over_step(sigma: float) -> float:
    """Standard deviation of the mean over a step of ours."""
    return sigma * float(np.sqrt(PAPER_STEP / STEP))


@cache
def icub() -> Robot:
    """The robot of the paper."""
    return Robot.load("icub")


@cache
def controller(name: str) -> WholeBodyController:
    """A controller for it, compiled once for all walks."""
    return walking_controller(icub(), name)


def walk_icub(
    name: str, medium: ViscoElastic | Noisy, belief: Belief, until: float, *, turn_rate: float = 0.0, title: str = ""
) -> Run:
    """Walk iCub under the controller of this name, up to a time (s)."""
    simulator = Simulator(icub(), medium, STEP / steps_a_period(medium, STEP))
    command = Command(SPEED, turn_rate, SECONDS)
    return walk(
        simulator, controller(name), gait_for(icub()), command, belief, until=until, progress=False, title=title
    )


def wrench_rate(run: Run, until: float) -> float:
    """How fast forces on the feet change: rms over the planned contacts up to a time (s), N/s."""
    early = run["time"].values <= until
    force = run["wrench_world"].values[early, :, :3]
    rate = np.gradient(force, run["time"].values[early], axis=0)
    carrying = run["planned_contact"].values[early].astype(bool)
    return float(np.sqrt((rate[carrying] ** 2).sum(axis=1).mean()))


def momentum_error(run: Run) -> Float[np.ndarray, "n 3"]:
    """Linear momentum less its reference, kg m/s."""
    velocity = np.gradient(run["center_of_mass"].values, run["time"].values, axis=0)
    return run.attrs["mass_kg"] * (velocity - run["com_velocity_reference"].values)


def stances(run: Run, foot: int) -> list[tuple[int, int]]:
    """First and last sample of every planned contact of a foot."""
    planned: Bool[np.ndarray, " n"] = run["planned_contact"].values[:, foot].astype(bool)
    return intervals(planned)


def steps_taken(run: Run) -> int:
    """Touch-downs."""
    return sum(len(stances(run, foot)) - 1 for foot in range(run.sizes["foot"]))


def outcome(found: Row) -> str:
    """One word for a verdict, as Table I has it."""
    return "success" if found["success"] else "failure"
