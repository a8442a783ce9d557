"""Task: what a robot is to do, as data. What its words mean is in `observations`, `rewards` and `endings`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from softground.envs.endings import ENDINGS
from softground.envs.observations import OBSERVATIONS
from softground.envs.rewards import REWARDS
from softground.errors import OptionError, unknown_name

Range = tuple[float, float]
NOTHING: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class Commands:
    """Velocities that a robot is told in its own frame, each drawn between two numbers, anew after a while.

    >>> import softground as sg
    >>> sg.envs.Commands(forward=(-0.5, 1.0)).forward  # m/s
    (-0.5, 1.0)
    """

    forward: Range = (0.0, 0.0)  # m/s
    left: Range = (0.0, 0.0)  # m/s
    turn: Range = (0.0, 0.0)  # rad/s, about the vertical
    seconds: float = 5.0  # s, between two draws
    still: float = 0.0  # share of draws that say: stand

    @property
    def ranges(self) -> tuple[Range, Range, Range]:
        """Of all three, in order."""
        return self.forward, self.left, self.turn


@dataclass(frozen=True)
class Start:
    """How episodes begin: in the posture, a little above the ground, with what is drawn uniformly within +-."""

    height: float = 0.005  # m, of the lowest foot above the ground
    joints: float = 0.0  # rad
    velocity: float = 0.0  # m/s and rad/s, of the base


@dataclass(frozen=True)
class Task:
    """What a robot is to do: how it is driven, what it sees, what is rewarded, what ends an episode.

    An action is an offset of the joints from the posture, in units of `action_scale` and at most `action_bound` of
    them, tracked by PD control until the next. Observations are names of `observations.OBSERVATIONS` with the noise
    (+-, uniform) on each; those of the critic have none. Rewards are names of `rewards.REWARDS` with weights; the sum
    is multiplied by `reward_scale` and is at least `least_reward`. Endings are names of `endings.ENDINGS` with limits.

    >>> import softground as sg
    >>> sg.envs.TASKS["go1"].period  # s, between two actions
    0.02
    """

    name: str
    robot: str  # of the catalogue
    description: str
    dt: float  # s, of a step of the simulator
    period: float  # s, between two actions
    seconds: float  # s, of an episode
    action_scale: float  # rad, of an action of 1
    observations: Mapping[str, float]
    privileged: tuple[str, ...]
    rewards: Mapping[str, float]
    endings: Mapping[str, float]
    reward_scale: float
    least_reward: float | None = None
    action_bound: float = 4.0  # actions beyond are cut
    commands: Commands = Commands()
    start: Start = Start()
    kp: float | None = None  # N m/rad; None: from the robot's inertia (`control.posture.pd_gains`)
    kd: float | None = None  # N m s/rad
    lock: tuple[str, ...] = ()  # joints that are welded, * allowed
    posture: str | None = None  # a keyframe of the model; None: the robot's own posture
    push: float = 0.0  # m/s, +-: sudden change of the base's horizontal velocity as a command is drawn
    vary: Mapping[str, Range] = field(default_factory=dict)  # parameters of `ground` and their ranges, for training
    ground: str = "sand"

    def __post_init__(self):
        for kind, given, known in (
            ("observation", (*self.observations, *self.privileged), OBSERVATIONS),
            ("reward", self.rewards, REWARDS),
            ("ending", self.endings, ENDINGS),
        ):
            for name in given:
                if name not in known:
                    raise OptionError(f"task {self.name}: {unknown_name(kind, name, known)}")
        if self.period < self.dt or self.seconds < self.period:
            raise OptionError(
                f"task {self.name}: a step ({self.dt} s) must be no longer than the time between actions "
                f"({self.period} s), and that no longer than an episode ({self.seconds} s)"
            )

    @property
    def actions(self) -> int:
        """In an episode, at most."""
        return round(self.seconds / self.period)

    def ranges_on(self, ground: object = None) -> dict[str, Range]:
        """Parameters that vary on a ground for which nobody says what does: the task's own on the one that it names.

        Ranges hold for a robot on one kind of ground: what carries it on sand says nothing about foam. Another ground
        is taken as it is.

        >>> import softground as sg
        >>> sg.envs.TASKS["go1"].ranges_on("sand"), sg.envs.TASKS["go1"].ranges_on("foam")
        ({'strength': (1.5, 8.0)}, {})
        """
        own = ground is None or (isinstance(ground, str) and ground == self.ground)
        return dict(self.vary) if own else {}
