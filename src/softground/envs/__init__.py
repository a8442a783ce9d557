"""Environments: tasks for reinforcement learning on ground that yields, as pure functions; policies and their files."""

from softground.envs.auto_reset import AutoReset
from softground.envs.environment import Environment, State
from softground.envs.grounds import Grounds
from softground.envs.making import make
from softground.envs.playing import Episodes, controller_of, evaluate
from softground.envs.policy import Policy
from softground.envs.task import Commands, Start, Task
from softground.envs.tasks import TASKS

__all__ = [
    "TASKS",
    "AutoReset",
    "Commands",
    "Environment",
    "Episodes",
    "Grounds",
    "Policy",
    "Start",
    "State",
    "Task",
    "controller_of",
    "evaluate",
    "make",
]
