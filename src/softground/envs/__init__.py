"""Environments: tasks for reinforcement learning on ground that yields, as pure functions."""
from softground.envs.auto_reset import AutoReset
from softground.envs.environment import Environment, State
from softground.envs.grounds import Grounds
from softground.envs.task import Commands, Start, Task
from softground.envs.tasks import TASKS
def make(task, ground=None, vary=None, backend="auto"):
    return Environment(TASKS[task] if isinstance(task, str) else task, ground, vary, backend)
