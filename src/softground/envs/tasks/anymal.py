"""ANYmal B follows a velocity command."""

from dataclasses import replace

from softground.envs.task import Commands
from softground.envs.tasks.go1 import GO1

ANYMAL = replace(
    GO1,
    name="anymal",
    robot="anymal",
    description="ANYmal B follows a velocity command",
    action_scale=0.5,
    kp=100.0,
    kd=2.0,
    commands=Commands(forward=(-0.6, 1.0), left=(-0.4, 0.4), turn=(-0.8, 0.8), seconds=5.0, still=0.1),
    rewards={**GO1.rewards, "torque": -2e-5},
    endings={"lower_than": 0.2, "inclined_beyond": 1.0},
    vary={"strength": (1.5, 8.0)},
)
