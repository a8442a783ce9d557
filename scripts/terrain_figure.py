"""Figure of docs/terrain.md: sand over a floor beside its two limits, and ANYmal walking from firm ground into sand."""

from __future__ import annotations

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import softground as sg
from softground.media import FootInGround, Medium
from softground.robots import Cylinder

THICKNESS = 0.03  # m
EDGE = 0.6  # m, from where on there is sand
STRENGTH = 5.0  # of the sand that ANYmal walks into


def force(medium: Medium, depth: float) -> float:
    """Upward force (N) on an upright foot of 5 cm radius that goes down at 1 mm/s."""
    bound = medium.for_foot(Cylinder(0.05, 0.15), planar=True)
    foot = FootInGround(jnp.asarray(depth), jnp.zeros(3), jnp.eye(3), jnp.eye(3))
    law = bound.law(foot, bound.initial_memory(foot), 0.002)
    return float(law.wrench(jnp.array([0.0, -1e-3, 0.0]))[1])


def over_a_floor(axes) -> None:
    depths = np.linspace(0, 0.05, 501)
    media = {
        "3 cm of sand over a floor": (sg.terrain.OverFloor(sg.sand(), THICKNESS), "C0-"),
        "sand": (sg.sand(), "k--"),
        "floor alone": (sg.terrain.OverFloor(sg.sand(1e-9), THICKNESS), "k:"),
    }
    for label, (medium, style) in media.items():
        axes.plot(1e3 * depths, [force(medium, d) for d in depths], style, label=label)
    axes.set(xlabel="depth (mm)", ylabel="force (N)", ylim=(0, 400), title="a foot of 5 cm radius pushed down")
    axes.legend()


def into_sand(axes) -> None:
    robot = sg.Robot.load("anymal")
    ground = sg.terrain.Mixed(sg.firm(), (sg.sand(STRENGTH), sg.terrain.Between("x", EDGE)))
    simulator = sg.Simulator(robot, ground)
    gait = sg.trot(robot, period=0.6, step_length=0.2, lift=0.12)
    _, record = jax.jit(lambda s: simulator.rollout(s, gait, 2500))(simulator.initial_state(height=0.01))
    feet = np.asarray(jax.vmap(lambda q: robot.foot_poses(q)[0])(record.q))
    for number, foot in enumerate(robot.feet):
        axes.plot(feet[:, number, 0], -1e3 * np.asarray(record.depth)[:, number], lw=0.8, label=foot.name)
    axes.axvspan(EDGE, feet[..., 0].max(), color="C1", alpha=0.2, label="sand")
    axes.set(
        xlabel="x (m)", ylabel="lowest point above the surface (mm)", title="feet of ANYmal, trotting", ylim=(-60, 60)
    )
    axes.legend(fontsize=7)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images/terrain.png"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    over_a_floor(left)
    into_sand(right)
    figure.savefig(parser.parse_args().out, dpi=110)
