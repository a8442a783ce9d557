"""A library of strides: where a search has been, and need not be repeated.

A stride is a small thing, half of one smaller still: a few kilobytes. A library file holds those of one robot on one
kind of ground, at several speeds, slopes and strengths; a plan starts from the nearest (`near`), carried to its own
ground and speed, and only searches where that does not lead to a gait. `build` makes one: searched for once, then from
entry to entry, resumable. Those of several robots are shipped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from softground.errors import FileFormatError
from softground.planning.problem import GaitProblem
from softground.planning.trajectory import Trajectory, desired_speed
from softground.robots import Robot
from softground.simulation import Ground
from softground.whole_file import write_whole

SHIPPED = Path(__file__).parent / "data"
FORMAT = "softground-strides 1"
SPEED_APART, SLOPE_APART, STRENGTH_APART = 0.1, np.deg2rad(5.0), np.log(1.5)
"""Differences that count alike, m/s, rad and of a logarithm: how far entries are from what is asked for."""
FARTHEST = 4.0
"""In those: what is further off is no start."""


class Command(NamedTuple):
    """What a stride is for."""

    speed: float  # m/s
    slope: float  # rad, uphill positive
    strength: float  # of the medium

    def in_words(self) -> str:
        """For a line of progress."""
        return f"{self.speed:g} m/s, {np.rad2deg(self.slope):g} degrees, strength {self.strength:g}"

    def apart(self, other: Command) -> float:
        """How far two are from each other."""
        return float(
            np.hypot(
                np.hypot((self.speed - other.speed) / SPEED_APART, (self.slope - other.slope) / SLOPE_APART),
                np.log(self.strength / other.strength) / STRENGTH_APART,
            )
        )


@dataclass(frozen=True)
class Library:
    """Strides of a robot on a medium, as their problems have them: half of one where that is enough."""

    robot: str  # fingerprint of its model
    medium: str  # its class
    entries: tuple[tuple[Command, float, Trajectory], ...] = ()  # with the cost of each

    @classmethod
    def empty(cls, robot: Robot, ground: Ground) -> Library:
        """One without entries."""
        return cls(fingerprint(robot), type(ground.medium).__name__)

    @classmethod
    def load(cls, path: Path) -> Library:
        """Read a file; FileFormatError where it is not one of ours."""
        try:
            with np.load(path, allow_pickle=False) as file:
                if str(file["format"]) != FORMAT:
                    raise FileFormatError(f"{path} is a library of another version ({file['format']}): build it again")
                parts = [file[name].astype(float) for name in ("q", "v", "torque")]
                entries = [
                    (Command(*map(float, command)), float(cost), Trajectory(q, v, torque, float(file["dt"])))
                    for command, cost, q, v, torque in zip(file["commands"], file["costs"], *parts, strict=True)
                ]
                return cls(str(file["robot"]), str(file["medium"]), tuple(entries))
        except FileFormatError:
            raise
        except (OSError, KeyError, ValueError) as error:
            raise FileFormatError(f"{path} is no library of strides: {error}") from error

    def save(self, path: Path) -> Path:
        """Write it whole (npz), in single precision: a plan only starts from them."""
        found = [trajectory for _, _, trajectory in self.entries]
        parts: Any = {
            name: np.stack([getattr(one, name) for one in found]).astype(np.float32) for name in ("q", "v", "torque")
        }
        parts |= {"format": FORMAT, "robot": self.robot, "medium": self.medium, "dt": found[0].dt}
        parts |= {name: [entry[k] for entry in self.entries] for k, name in enumerate(("commands", "costs"))}

        def write(where: Path) -> None:
            with where.open("wb") as file:
                np.savez_compressed(file, **parts)

        write_whole(path, write)
        return path

    def serves(self, problem: GaitProblem) -> bool:
        """Whether its strides are of a problem's robot, on its kind of medium, in its time step."""
        return self.fits(problem) and self.medium == type(problem.ground.medium).__name__

    def fits(self, problem: GaitProblem) -> bool:
        """Whether its strides are of a problem's robot, in its time step, whatever the medium."""
        alike = self.robot == fingerprint(problem.robot)
        return alike and all(np.isclose(trajectory.dt, problem.dt) for _, _, trajectory in self.entries[:1])

    @property
    def usual_strength(self) -> float:
        """That of most entries."""
        values, counts = np.unique([command.strength for command, _, _ in self.entries], return_counts=True)
        return float(values[counts.argmax()])

    def nearest(self, asked: Command) -> tuple[Command, Trajectory] | None:
        """The entry that is nearest, if one is near."""
        return next(iter(self.near(asked)), None)

    def near(self, asked: Command) -> list[tuple[Command, Trajectory]]:
        """The entries that are near, the nearest first."""
        ranked = sorted(self.entries, key=lambda entry: entry[0].apart(asked))
        return [(command, stride) for command, _, stride in ranked if command.apart(asked) <= FARTHEST]

    def holds(self, asked: Command) -> bool:
        """Whether there is an entry for just this."""
        return any(command.apart(asked) < 1e-6 for command, _, _ in self.entries)

    def grown(self, command: Command, cost: float, stride: Trajectory) -> Library:
        """With one more entry."""
        return replace(self, entries=(*self.entries, (command, cost, stride)))


def fingerprint(robot: Robot) -> str:
    """Of a robot's model, and of what was locked or ignored in it."""
    return f"{robot.name} {robot.sha256} {robot.nq} {robot.nu}"


def command_of(problem: GaitProblem, slope: float) -> Command:
    """What a problem asks for, on a slope (rad)."""
    strength = getattr(problem.ground.medium, "strength", 1.0)
    return Command(desired_speed(problem), slope, float(np.asarray(strength)))


@cache
def shipped() -> tuple[Library, ...]:
    """The libraries that come with softground."""
    return tuple(Library.load(path) for path in sorted(SHIPPED.glob("*.npz")))


def near(problem: GaitProblem, slope: float) -> list[tuple[Command, Trajectory]]:
    """Entries of all shipped libraries near what a problem asks for on a slope (rad), the nearest first.

    Strides of another medium are starts too, where there are none of the problem's: those of the usual strength.
    """
    asked = command_of(problem, slope)
    fitting = [one for one in shipped() if one.fits(problem) and one.entries]
    own = [entry for one in fitting if one.serves(problem) for entry in one.near(asked)]
    if own:
        return sorted(own, key=lambda entry: entry[0].apart(asked))
    elsewhere = (one.near(asked._replace(strength=one.usual_strength)) for one in fitting if not one.serves(problem))
    return next((found for found in elsewhere if found), [])


Solved = tuple[float, Trajectory] | None
"""The cost of a stride and the stride; None where none was found."""
StrideFor = Callable[[Command, tuple[Command, Trajectory] | None], Solved]
"""What finds a stride for a command, from the nearest that is known, if one is."""


def build(
    path: Path,
    empty: Library,
    commands: Iterable[Command],
    stride_for: StrideFor,
    say: Callable[[str], None] = lambda line: None,
    processes: int = 1,
) -> Library:
    """Fill a library file: strides for all commands, each from the nearest that is there when its turn comes.

    Entries that the file has are kept, so that what was interrupted goes on. stride_for: from a command and the nearest
    entry to a stride; it must be one that can be sent to another process where there are several.
    """
    library = Library.load(path) if path.exists() else empty
    waiting = deque(command for command in _from_the_middle(list(commands)) if not library.holds(command))
    running: dict[Future[Solved], Command] = {}
    with _pool(processes) as pool:
        while waiting or running:
            while waiting and len(running) < processes and (library.entries or not running):
                command = waiting.popleft()
                running[pool.submit(stride_for, command, library.nearest(command))] = command
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                command, found = running.pop(done), done.result()
                if found is not None:
                    library = library.grown(command, *found)
                    library.save(path)
                say(f"{command.in_words()}: {'no stride found' if found is None else f'cost {found[0]:.4g}'}")
    return library


def _pool(processes: int) -> Executor:
    """Where strides are solved: a thread, or processes that start anew, since compiled code does not fork."""
    if processes == 1:
        return ThreadPoolExecutor(1)
    return ProcessPoolExecutor(processes, get_context("spawn"), _in_double)


def _in_double() -> None:
    jax.config.update("jax_enable_x64", True)


def _from_the_middle(commands: Sequence[Command]) -> list[Command]:
    """Commands in an order in which each is near one before: level ground and middle speeds first."""
    middle = Command(*np.median(np.array(commands), axis=0)) if commands else Command(0.0, 0.0, 1.0)
    return sorted(commands, key=lambda command: command.apart(middle._replace(slope=0.0)))
