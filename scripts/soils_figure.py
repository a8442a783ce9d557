"""The picture of soil, mud and bodies (docs/images/soils.png): a plate on SCM ground, one in mud, shapes in pieces."""

from itertools import pairwise
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from softground import media
from softground.media import FootInGround, Medium, Scm
from softground.media.elements.placement import gathered
from softground.robots import Robot
from softground.robots.shapes import Box, Capsule, Compound, Part

PLATE = Box(0.2, 0.1, 0.05)
STEP, SPEED = 2.5e-4, 0.05  # m, m/s


def pushed(medium: Medium, depth: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Forces (n, 2), forwards and upwards, on the plate that goes through these depths and places, m."""
    bound = medium.for_foot(PLATE, True)
    dt = STEP / SPEED
    twists = np.c_[np.diff(along, append=along[-1]), -np.diff(depth, append=depth[-1]), 0 * depth] / dt
    return np.asarray(_through(bound, jnp.asarray(depth), jnp.asarray(along), jnp.asarray(twists), dt))[:, :2]


@eqx.filter_jit
def _through(bound, depth, along, twists, dt):
    def foot_at(z, x) -> FootInGround:
        return FootInGround(z, jnp.stack([x, 0 * x, -z]), jnp.eye(3), jnp.eye(3))

    def step(memory, now):
        foot, twist = foot_at(*now[:2]), now[2]
        law = bound.law(foot, memory, dt)
        return bound.remember(foot, memory, law, twist, dt), law.wrench(twist)

    return jax.lax.scan(step, bound.initial_memory(foot_at(depth[0], along[0])), (depth, along, twists))[1]


def way(*depths: float) -> np.ndarray:
    """From depth to depth, m, in steps."""
    parts = [np.arange(0, abs(b - a), STEP) * np.sign(b - a) + a for a, b in pairwise(depths)]
    return np.concatenate(parts)


def pressed(axes) -> None:
    """Pressed, lifted a little and pressed again, beside Bekker's pressure."""
    soil, depth = Scm(), way(-0.002, 0.03, 0.027, 0.04)
    axes.plot(1e3 * depth, pushed(soil, depth, 0 * depth)[:, 1] / 1e3, label="pressed, lifted by 3 mm, pressed")
    deep = np.linspace(0, 0.04, 50)
    yields = (
        PLATE.length * PLATE.width * (float(soil.k_c) / PLATE.width + float(soil.k_phi)) * deep ** float(soil.power)
    )
    axes.plot(1e3 * deep, yields / 1e3, "k:", label="Bekker")
    axes.set(xlabel="depth (mm)", ylabel="force upwards (kN)", title="SCM: pressed")
    axes.legend(frameon=False)


def sheared(axes) -> None:
    """Dragged along, 2 cm deep, beside Janosi's law."""
    soil = Scm()
    down = way(0.0, 0.02)
    along = np.r_[0 * down, np.arange(0, 0.04, STEP)]
    force = pushed(soil, np.r_[down, np.full(len(along) - len(down), 0.02)], along)[len(down) :]
    x = along[len(down) :]
    strength = PLATE.length * PLATE.width * float(soil.cohesion) + force[:, 1] * np.tan(float(soil.friction_angle))
    axes.plot(1e3 * x, -force[:, 0], label="dragged, 2 cm deep")
    axes.plot(1e3 * x, strength * (1 - np.exp(-x / float(soil.shear_length))), "k:", label="Janosi")
    axes.set(xlabel="way along (mm)", ylabel="force against it (N)", title="SCM: sheared")
    axes.legend(frameon=False)


def stuck(axes) -> None:
    """Into mud and out again, and into the same grains dry."""
    depth = way(-0.005, 0.04, -0.005)
    dry = media.Elements(float(media.mud().scale))
    for medium, label in ((media.mud(), "mud"), (dry, "the same grains, dry")):
        axes.plot(1e3 * depth, pushed(medium, depth, 0 * depth)[:, 1], label=label)
    axes.axhline(0, color="k", lw=0.5)
    axes.set(xlabel="depth (mm)", ylabel="force upwards (N)", title="Cohesion: pushed in and pulled out")
    axes.legend(frameon=False)


def shapes(axes) -> None:
    """Bodies as grains meet them (elements, by their area and normal) and as springs do (rolling points)."""
    capsule = Compound((Part.at(Capsule(0.03, 0.12), [0.0, 0.0, 0.0], np.eye(3)),))
    shank = Robot.load("anymal", contacts="all").bodies[3].shape
    for number, (shape, name) in enumerate(((capsule, "capsule"), (shank, "ANYmal's shank"))):
        shift = np.array([0.28 * number, -shape.panels().centre[:, 2].mean()])
        panels, elements, points = shape.panels(), gathered(shape, 20), shape.rolling_points()
        axes.plot(*(panels.centre[:, [0, 2]] + shift).T, ".", color="0.85", ms=1)
        place = elements.centre[:, [0, 2]] + shift
        axes.scatter(*place.T, s=2e4 * elements.area, color="C0", alpha=0.5, label=None if number else "elements")
        axes.quiver(*place.T, *elements.normal[:, [0, 2]].T, color="C0", width=3e-3, scale=25)
        axes.plot(*(points.centre[:, [0, 2]] + shift).T, "x", color="C3", label=None if number else "rolling points")
        axes.text(place[:, 0].mean(), 0.22, name, ha="center")
    axes.set(
        aspect="equal",
        xlabel="m",
        ylabel="m",
        title="Bodies in pieces, from the side",
        ylim=(-0.3, 0.27),
        xlim=(-0.15, 0.5),
    )
    axes.legend(frameon=False, loc="lower left")


def main() -> None:
    figure, axes = plt.subplots(1, 4, figsize=(18, 4), layout="constrained")
    for draw, one in zip((pressed, sheared, stuck, shapes), axes, strict=True):
        draw(one)
    figure.savefig(Path(__file__).parents[1] / "docs" / "images" / "soils.png", dpi=80)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main()
