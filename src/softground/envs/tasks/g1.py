"""Unitree G1 follows a velocity command; its wrists and waist are locked."""

from dataclasses import replace

from softground.envs.task import Commands, Start
from softground.envs.tasks.go1 import GO1

G1 = replace(
    GO1,
    name="g1",
    robot="g1",
    description="Unitree G1 follows a velocity command, waist and wrists locked",
    lock=("waist_*", "*_wrist_*"),
    action_scale=0.4,
    kp=None,
    kd=None,
    commands=Commands(forward=(-0.3, 0.8), left=(-0.2, 0.2), turn=(-0.5, 0.5), seconds=5.0, still=0.1),
    start=Start(height=0.002, joints=0.03, velocity=0.1),
    push=0.2,
    rewards={**GO1.rewards, "alive": 0.5, "torque": -5e-6, "rocking": -0.05, "near_posture": 0.25},
    endings={"lower_than": 0.45, "inclined_beyond": 0.9},
    vary={"strength": (1.0, 5.0)},
)
