"""Tasks, one file each. To add one, write a file with a `Task` and list it here."""

from softground.envs.tasks.anymal import ANYMAL
from softground.envs.tasks.g1 import G1
from softground.envs.tasks.go1 import GO1
from softground.envs.tasks.robosimian import ROBOSIMIAN

__all__ = ["TASKS"]

TASKS = {task.name: task for task in (GO1, ANYMAL, G1, ROBOSIMIAN)}
"""By name."""
