"""Draw docs/images/grains.png: media before grains simulated one by one (`softground validate --grains`)."""

from __future__ import annotations

import sys
from dataclasses import replace

import jax
import matplotlib.pyplot as plt
import numpy as np

from softground.media import Elements
from softground.validation import calibrate
from softground.validation.grains import FAST, FIT, JUDGE, PRINTS, SECOND_JUDGE, SLOW, START, judged_law, laws
from softground.validation.pushes import Pushes, parallel
from softground.validation.second_steps import fresh_line, read_second_steps, second_push

SHOWN = {
    "sand (wrench space, plane law)": "C7",
    "sand (wrench space, 3d law)": "C1",
    "elements": "C0",
}
JUDGED = "elements that follow, plane law, and bear,\na grain's radius outside"


def grains(axes, data: Pushes, colour: str = "k") -> None:
    """Upward force: mean of the beds, and one standard deviation between them."""
    force = data.wrench[:, :, 1]
    spread = force.std(0, ddof=1)
    axes.fill_between(1e3 * data.depth, force.mean(0) - spread, force.mean(0) + spread, color=colour, alpha=0.15, lw=0)
    axes.plot(1e3 * data.depth, force.mean(0), ".", color=colour, ms=4)


def main(path: str) -> None:
    jax.config.update("jax_enable_x64", True)
    fit, judge = Pushes.read(beds=FIT), Pushes.read(beds=JUDGE)
    slow = fit.where(speed=SLOW)
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
    for ax, oblique in zip(axes, (False, True), strict=False):
        data = judge.where(tilted=True, oblique=oblique)
        grains(ax, data)
        for name, colour in SHOWN.items():
            medium = calibrate(laws()[name], slow, ["scale"]).medium
            ax.plot(1e3 * data.depth, data.predict(medium)[:, 1], color=colour, lw=1.2, label=name)
        judged = calibrate(judged_law(), parallel(slow), ["scale"]).medium
        ax.plot(1e3 * data.depth, parallel(data).predict(judged)[:, 1], color="C3", lw=1.8, label=JUDGED)
        ax.set_title("tilted by 20 degrees, " + ("45 degrees forwards" if oblique else "straight down"), fontsize=8)
        ax.set_ylim(-5, 200)
    axes[0].legend(fontsize=6.5)
    felt = slow.felt_surface()
    quick = [replace(one, surface=felt).below(0.01) for one in (fit, judge)]
    still = calibrate(Elements(START, density=fit.density, inertia=1.0), quick[0].where(speed=SLOW), ["scale"]).medium
    dragged = calibrate(still, quick[0].where(speed=FAST[-1]), ["inertia"]).medium
    for index, speed in enumerate((SLOW, *FAST)):
        data = quick[1].where(speed=speed)
        grains(axes[2], data, f"C{index}")
        axes[2].plot(1e3 * data.depth, data.predict(still)[:, 1], "--", color=f"C{index}", lw=1)
        axes[2].plot(1e3 * data.depth, data.predict(dragged)[:, 1], color=f"C{index}", lw=1.2, label=f"{speed:g} m/s")
    factor = float(np.asarray(dragged.inertia))  # pyright: ignore[reportAttributeAccessIssue]
    axes[2].set_title(f"upright; lines: inertia {factor:.1f}, dashed: 1", fontsize=8)
    axes[2].legend(fontsize=7, ncols=2)
    axes[2].set_ylim(0, 560)
    steps = read_second_steps(beds=SECOND_JUDGE)
    line = fresh_line(steps)
    for step, colour in zip([one for one in steps if one.beside == 0], ("C0", "C1"), strict=True):
        axes[3].plot(1e3 * step.depth, step.second.T, ".", color=colour, ms=3)
        label = f"after {1e3 * step.first_depth:.0f} mm"
        axes[3].plot(1e3 * step.depth, second_push(PRINTS, step, line), color=colour, label=label)
    axes[3].plot(1e3 * step.depth, np.polyval(line, step.depth), "k--", lw=0.8, label="fresh ground")
    axes[3].set_title("second push in the same place", fontsize=8)
    axes[3].legend(fontsize=7)
    for ax in axes:
        ax.set_xlabel("depth of the sole's centre (mm)")
    axes[0].set_ylabel("upward force (N)")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/images/grains.png")
