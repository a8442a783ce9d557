"""G1 that was dropped on sand and foam and lies there: docs/images/fallen.png."""

from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np

import softground as sg
from softground.bench.drops import limp_joints, random_start
from softground.bridges.animation import frames
from softground.bridges.playback import playback

jax.config.update("jax_enable_x64", True)

OUT = Path(__file__).parents[1] / "docs" / "images" / "fallen.png"
SECONDS, SIZE = 2.5, (640, 480)

robot = sg.Robot.load("g1", contacts="all")
figure, axes = plt.subplots(1, 2, figsize=(12.8, 2.6))
for one, (name, ground) in zip(axes, {"sand": sg.sand(), "foam": sg.foam()}.items(), strict=True):
    simulator = sg.Simulator(robot, ground.on_any_side())
    start = random_start(simulator, np.random.default_rng([0, 2]))
    run = simulator.run(limp_joints(robot), SECONDS, state=start, every=25)
    *_, last = frames(playback(run, fps=4, speed=1.0), SIZE)
    one.imshow(last[80:300])
    deepest = 1e3 * float(run["body_depth"][-1].max())
    one.set_title(f"on {name}: the deepest body is {deepest:.0f} mm deep")
    one.axis("off")
figure.tight_layout()
figure.savefig(OUT, dpi=100)
