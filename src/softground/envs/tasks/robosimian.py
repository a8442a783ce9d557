"""Planar RoboSimian walks over sand at 0.4 m/s: the task that zhu2021 gave PPO and TRPO.

Reward and endings are the paper's (its baselines on flat ground): -10 (v - 0.4)^2 - 0.2 pitch^2 - 0.001 |a|^2
- 1e-5 |u|^2 + 1, with a the angles of the four feet and u the torques; -10 when the torso is lower than 0.25 m or
higher than 1.5 m, inclined by more than 1.1 rad, or when |a| sums to more than 1.2 rad. Actions are joint positions of
a PD controller, a step is 0.005 s; the policy sees the state of the robot, the poses of its ankles and the torques. The
gains and the range of an action are not in the paper: ours follow from the robot's inertia (`pd_gains`) and from the
postures of its gaits. The sand is twice as strong as measured, as in the authors' planning (docs/zhu2021.md): in the
measured one no foot can be lifted.
"""

from softground.envs.task import Commands, Start, Task

ROBOSIMIAN = Task(
    name="robosimian",
    robot="robosimian",
    description="planar RoboSimian walks at 0.4 m/s, with the reward and endings of zhu2021",
    dt=0.005,
    period=0.005,
    seconds=9.0,  # the horizon of the paper's planner
    action_scale=0.5,
    action_bound=1.0,
    commands=Commands(forward=(0.4, 0.4), seconds=9.0),
    start=Start(height=0.0, joints=0.01),
    observations={"planar_base": 0.0, "joints": 0.0, "speeds": 0.0, "feet": 0.0, "torque": 0.0},
    privileged=("planar_base", "joints", "speeds", "feet", "torque", "load", "depth", "ground"),
    rewards={
        "speed_error": -10.0,
        "pitch": -0.2,
        "foot_angles": -0.001,
        "torque": -1e-5,
        "alive": 1.0,
        "ended": -10.0,
    },
    reward_scale=1.0,
    endings={"lower_than": 0.25, "higher_than": 1.5, "pitch_beyond": 1.1, "foot_angles_beyond": 1.2},
    ground="sand",
    vary={"strength": (2.0, 2.0)},
)
