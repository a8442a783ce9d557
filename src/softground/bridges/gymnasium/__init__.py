"""Environments of Gymnasium on soft ground, registered as softground/... when this is imported."""

import gymnasium

from softground.bridges.gymnasium.locomotion import AntOnGround, Walker2dOnGround
from softground.bridges.gymnasium.tasks import TaskEnv, TaskVectorEnv
from softground.envs.tasks import TASKS

__all__ = ["AntOnGround", "TaskEnv", "TaskVectorEnv", "Walker2dOnGround"]

_OWN: dict[str, str] = {"Go1": "go1", "ANYmal": "anymal", "G1": "g1", "RoboSimian": "robosimian"}

for _name, _made in {"Ant": AntOnGround, "Walker2d": Walker2dOnGround}.items():
    _id = f"softground/{_name}-v0"
    if _id not in gymnasium.registry:
        gymnasium.register(_id, entry_point=_made, max_episode_steps=1000)
for _name, _task in _OWN.items():
    _id = f"softground/{_name}-v0"
    if _id not in gymnasium.registry:
        gymnasium.register(
            _id,
            entry_point="softground.bridges.gymnasium.tasks:TaskEnv",
            vector_entry_point="softground.bridges.gymnasium.tasks:TaskVectorEnv",
            max_episode_steps=TASKS[_task].actions,
            kwargs={"task": _task},
        )
