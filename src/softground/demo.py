"""The demonstration: RoboSimian dropped on a slope of sand, and trotting on flat sand."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import numpy as np
from rich.console import Console
from rich.table import Table

from softground.bridges.animation import NO_RENDERER, animate
from softground.bridges.graphics import find_backend
from softground.control.posture import hold_posture
from softground.control.trot import trot
from softground.media.named import sand
from softground.robots import Robot
from softground.runs import Run, run
from softground.runs.figures import run_figure, save_figure
from softground.simulation import Ground, Simulator
from softground.surfaces import Plane

SLOPE = np.deg2rad(10.0)
STRENGTH = 2.0
"""Strength of the sand. At 1 RoboSimian (980 N) falls 16 cm deep, beyond all data, at 2 9 cm. zhu2021 doubles the
measured sand, which carries at most 920 N on four vertical feet, for planning."""


def run_demo(folder: Path, quick: bool = False, console: Console | None = None) -> dict[str, dict]:
    """Run both scenes; write the run, a figure and a video of each into `folder`. Returns their summaries."""
    console = Console(stderr=True) if console is None else console
    began = time.perf_counter()
    Thread(target=find_backend).start()  # tries to draw in a process of its own, meanwhile
    scenes = {"drop": drop_on_slope, "trot": trot_on_flat}
    titles = {
        "drop": f"RoboSimian falls on a {np.rad2deg(SLOPE):.0f} deg slope, strength {STRENGTH:g}, half speed",
        "trot": f"RoboSimian trots on flat sand, strength {STRENGTH:g}",
    }
    speeds = {"drop": 0.5, "trot": 1.0}

    def draw(name: str, made: Run) -> None:
        save_figure(run_figure(made, titles[name]), folder / f"{name}.png")
        rate = {"fps": 10 if quick else 20, "speed": speeds[name]}
        animate(made, folder / f"{name}.mp4", title=titles[name], progress=False, **rate)

    summaries = {}
    with ThreadPoolExecutor(1) as beside:  # one scene is drawn while the next is simulated
        drawings = []
        for name, simulate in scenes.items():
            made = simulate(quick)
            made.save(folder / f"{name}.nc")
            summaries[name] = made.summary()
            drawings.append(beside.submit(draw, name, made))
        with console.status("drawing figures and videos"):
            for drawing in drawings:
                drawing.result()
    if find_backend() is None:
        console.print(NO_RENDERER, soft_wrap=True)
    console.print(summary_table(summaries))
    console.print(f"The sand has strength {STRENGTH:g}, twice that of `media.sand()`, which hardly carries RoboSimian.")
    console.print(f"Runs, figures and videos are in {folder} ({time.perf_counter() - began:.0f} s)")
    return summaries


def drop_on_slope(quick: bool = False) -> Run:
    """RoboSimian, parallel to the slope and 5 cm above it, falls on sand and holds its posture."""
    robot = Robot.load("robosimian")
    simulator = Simulator(robot, Ground(sand(STRENGTH), Plane(slope=SLOPE)))
    q = robot.posture.copy()
    q[robot.joint_names.index("base_pitch")] = -SLOPE  # nose up
    state = simulator.initial_state(q, height=0.05)
    return run(simulator, state, hold_posture(robot), 0.4 if quick else 2.0, every=5, label="drop on a slope")


def trot_on_flat(quick: bool = False) -> Run:
    """RoboSimian trots, open loop, on sand of strength 2."""
    robot = Robot.load("robosimian", posture="crouched")
    simulator = Simulator(robot, Ground(sand(STRENGTH)))
    gait = trot(robot, period=1.0, duty=0.65, step_length=0.25, lift=0.15)
    state = simulator.initial_state(height=0.005)
    return run(simulator, state, gait, 1.0 if quick else 6.0, every=5, label="trot on the flat")


def summary_table(summaries: dict[str, dict]) -> Table:
    """One column per run."""
    table = Table(title="softground demo", title_justify="left")
    table.add_column("")
    for name in summaries:
        table.add_column(name, justify="right")
    rows = {
        "distance (m)": lambda s: f"{s['distance_m']:.2f}",
        "mean sinkage (mm)": lambda s: f"{1000 * s['mean_sinkage_m']:.0f}",
        "greatest sinkage (mm)": lambda s: f"{1000 * s['greatest_sinkage_m']:.0f}",
        "mean vertical force (N)": lambda s: f"{s['mean_vertical_force_n']:.0f}",
        "weight (N)": lambda s: f"{s['weight_n']:.0f}",
        "actuator work (J)": lambda s: f"{s['actuator_work_j']:.0f}",
        "steps": lambda s: f"{s['steps']:,}",
        "steps/s": lambda s: f"{s['steps_per_second']:,.0f}",
        "compilation (s)": lambda s: f"{s['compile_seconds']:.1f}",
        "steps not converged": lambda s: f"{s['steps_not_converged']:,}",
        "steps outside data": lambda s: f"{s['steps_outside_data']:,}",
        "ended": lambda s: s["ended"],
    }
    for label, show in rows.items():
        table.add_row(label, *(show(summary) for summary in summaries.values()))
    return table
