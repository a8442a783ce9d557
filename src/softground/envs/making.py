"""Environments by the names of their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softground.envs.environment import Environment
from softground.envs.task import Task
from softground.envs.tasks import TASKS
from softground.errors import OptionError, unknown_name
from softground.media.base import Medium
from softground.simulation import Ground
from softground.simulation.simulator import Backend


def make(
    task: str | Task,
    ground: str | Medium | Ground | None = None,
    vary: Mapping[str, Any] | None = None,
    backend: Backend = "auto",
) -> Environment:
    """The environment of a task, by name or as it is; other arguments as of `Environment`.

    >>> import softground as sg
    >>> env = sg.envs.make("go1", "sand", {"strength": (2.0, 6.0)})
    >>> env.action_size, env.dt  # s
    (12, 0.02)
    """
    if isinstance(task, str) and task not in TASKS:
        raise OptionError(unknown_name("task", task, TASKS))
    return Environment(TASKS[task] if isinstance(task, str) else task, ground, vary, backend)
