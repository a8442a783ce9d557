"""A small task for tests: one foot on sand, pushed sideways and turned. What holds of it holds of all tasks."""

from softground.envs import Commands, Start, Task

FOOT = Task(
    name="foot",
    robot="foot",
    description="one foot",
    dt=0.005,
    period=0.01,
    seconds=0.2,
    action_scale=0.05,
    action_bound=2.0,
    kp=500.0,
    kd=20.0,
    commands=Commands(forward=(-0.1, 0.1), seconds=0.05),
    start=Start(height=0.01, joints=0.02, velocity=0.1),
    observations={"planar_base": 0.01, "joints": 0.0, "speeds": 0.1, "feet": 0.0, "torque": 0.0, "command": 0.0},
    privileged=("planar_base", "load", "depth", "contact", "air_time", "ground"),
    rewards={"speed_error": -10.0, "torque": -1e-5, "alive": 1.0, "ended": -5.0},
    reward_scale=0.5,
    endings={"pitch_beyond": 0.5},
    vary={"strength": (1.0, 4.0)},
)
#: The same without anything random.
STILL_FOOT = Task(
    **{
        **vars(FOOT),
        "start": Start(height=0.01),
        "observations": dict.fromkeys(FOOT.observations, 0.0),
        "commands": Commands(forward=(0.1, 0.1)),
    }
)
