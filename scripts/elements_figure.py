"""The picture of ground in elements (docs/images/elements.png): sets of stresses, an edge, directions, speed."""

from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from softground.media import Elements, FootInGround, Resistive
from softground.media.elements import fit
from softground.media.elements.stress_sets import COEFFICIENTS, monomials
from softground.robots.shapes import Box
from softground.validation.steady import steady_wrenches

BOX = Box(0.2, 0.1, 0.05)
DOWN = np.array([0.0, 0.0, -0.1, 0.0, 0.0, 0.0])


def stresses(axes) -> None:
    """Plain stresses of plates in the x-z plane, and the rim of the ellipsoids."""
    angle = np.linspace(0, 2 * np.pi, 721)
    velocity = np.c_[np.cos(angle), 0 * angle, np.sin(angle)]
    for up, colour, label in ((-1.0, "C0", "sole"), (-0.7, "C1", "45 degrees"), (0.0, "C2", "wall")):
        plain = fit.plate(up, 0.4, velocity)
        _, rim = fit.rounded(COEFFICIENTS @ monomials(up, 0.4), plain.normal, velocity, 1e-3)
        leads = velocity @ plain.normal > 0
        axes.plot(plain.stress[leads, 0], plain.stress[leads, 2], ".", color=colour, ms=2)
        axes.plot(*np.asarray(rim)[:, [0, 2]].T, color=colour, label=label)
    axes.set(xlabel="stress along x / scale depth", ylabel="stress upwards", title="3D-RFT (dots) and its sets")
    axes.legend(frameon=False)


def edge(axes) -> None:
    """A box tilted by 20 degrees, pushed down: from the depth at which its edge touches."""
    depth = np.linspace(-0.04, 0.04, 81)
    rotation = np.broadcast_to(Rotation.from_euler("y", 20, degrees=True).as_matrix(), (81, 3, 3))
    twist = np.broadcast_to(DOWN, (81, 6))
    for medium, label in ((Elements(0.5), "elements"), (Resistive(0.5), "wrench space at the sole's centre")):
        axes.plot(1e3 * depth, steady_wrenches(medium, BOX, False, depth, rotation, twist)[:, 2], label=label)
    axes.set(xlabel="depth of the sole's centre (mm)", ylabel="force upwards (N)", title="An edge dips in first")
    axes.legend(frameon=False)


def directions(axes) -> None:
    """Force on a level box 3 cm deep that goes from straight down to straight along."""
    angle = np.linspace(0, np.pi / 2, 46)
    twist = np.zeros((46, 6))
    twist[:, 0], twist[:, 2] = 0.1 * np.sin(angle), -0.1 * np.cos(angle)
    level, depth = np.broadcast_to(np.eye(3), (46, 3, 3)), np.full(46, 0.03)
    cases = {"fresh sets": {}, "grains that follow": {"length": 0.007}}
    cases["and loosen"] = {"length": 0.007, "level": 0.31, "vertical": 0.16}
    for label, options in cases.items():
        lift = steady_wrenches(Elements(0.5, **options), BOX, False, depth, level, twist)[:, 2]
        axes.plot(np.rad2deg(angle), lift, label=label)
    axes.set(xlabel="direction from straight down (degrees)", ylabel="force upwards (N)", title="Direction of motion")
    axes.legend(frameon=False)


def speeds(axes) -> None:
    """A level box 3 cm deep pushed down at speeds."""
    speed = np.linspace(0, 2, 41)[1:]
    foot = FootInGround(jnp.asarray(0.03), jnp.zeros(3), jnp.eye(3), jnp.eye(3))
    for inertia, label in ((None, "without"), (1.0, "with inertia")):
        law = Elements(0.5, inertia=inertia).for_foot(BOX, False).law(foot, (), jnp.asarray(1e-3))
        axes.plot(speed, [float(law.wrench(10 * s * DOWN)[2]) for s in speed], label=label)
    axes.set(xlabel="speed (m/s)", ylabel="force upwards (N)", title="Speed", ylim=(0, None))
    axes.legend(frameon=False)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    figure, every = plt.subplots(1, 4, figsize=(16, 3.8), layout="constrained")
    for axes, draw in zip(every, (stresses, edge, directions, speeds), strict=True):
        draw(axes)
    figure.savefig(Path(__file__).parents[1] / "docs" / "images" / "elements.png", dpi=90)
