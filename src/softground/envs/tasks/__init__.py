"""Tasks, one file each."""

from softground.envs.tasks.go1 import GO1

TASKS = {task.name: task for task in (GO1,)}
"""By name."""
