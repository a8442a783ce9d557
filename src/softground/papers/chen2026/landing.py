"""The ratio of costs over what the paper leaves open: how deep feet are set down, and how much the leg damps.

A foot set down at the surface is pushed into the sand by a leg that believes to stand; set down at the depth at which
the sand carries, it hardly does work. Between the two, and between a leg that follows the sand at once and one that
is damped, lies what a robot of unknown controller can be. So the ratio is given for a grid, not for one pick.
"""

from __future__ import annotations

from dataclasses import replace

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.papers.chen2026.experiment import SPEEDS
from softground.papers.chen2026.transport import KEPT, PAPER_RATIO
from softground.papers.chen2026.walker import WALKERS, Steps, stepped
from softground.papers.study import Findings, Options, Row, Study, Table, above
from softground.runs.figures import STYLE

WALKER = "level"
LANDINGS = (0.0, 0.25, 0.5, 0.75, 1.0)  # share of the depth that the last foot reached
DAMPERS = (50.0, 75.0, 100.0, 150.0, 200.0)  # N s/m
INSIDE = 0.5  # share of the grid that should lie in the paper's range, were its ratio not a matter of luck

Cell = tuple[float, float, float]
"""Landing, damper (N s/m), speed (m/s)."""


def ratios(
    landings: tuple[float, ...], dampers: tuple[float, ...], speeds: tuple[float, ...], seed: int = 0
) -> dict[Cell, tuple[float | str, float | str]]:
    """Cost of transport on sand and on rigid ground of every cell, or what became of the walk there.

    On rigid ground feet land at the surface: there is no depth.
    """
    rigid = {(damper, speed): _cost("rigid", 0.0, damper, speed, seed) for damper in dampers for speed in speeds}
    return {
        (landing, damper, speed): (_cost("sand", landing, damper, speed, seed), rigid[damper, speed])
        for landing in landings
        for damper in dampers
        for speed in speeds
    }


def _cost(ground: str, landing: float, damper: float, speed: float, seed: int) -> float | str:
    walker = WALKERS[WALKER]
    told = walker._replace(gains=replace(walker.gains, foot_damper=damper), gait=replace(walker.gait, landing=landing))
    steps = stepped(ground, told, speed, seed)
    if not isinstance(steps, Steps):
        return "falls"
    return steps.cost if steps.speed > KEPT * speed else "slow"


def perform(options: Options) -> Findings:
    grid = ((0.0, 1.0), (100.0,), (0.2,)) if options.quick else (LANDINGS, DAMPERS, SPEEDS)
    costs = ratios(*grid)
    found = {cell: sand / rigid for cell, (sand, rigid) in costs.items() if _both(sand, rigid)}  # type: ignore[operator]
    values = np.array([*found.values()])
    inside = (values >= PAPER_RATIO[0]) & (values <= PAPER_RATIO[1])
    share = float(inside.mean()) if found else float("nan")
    rows = [_row(landing, damper, grid[2], costs) for landing in grid[0] for damper in grid[1]]
    return Findings(
        checks=[above("share of the grid within the paper's 1.12 to 1.62", share, INSIDE)],
        metrics={
            "least": float(values.min(initial=np.inf)),
            "most": float(values.max(initial=-np.inf)),
            "inside": share,
            "walked": len(values) / len(costs),
            "ratio": rows,
        },
        tables=[Table("ratio", "Cost on sand over cost on rigid ground, by speed (m/s)", rows)],
        figures={"landing": figure(found, grid)} if len(grid[1]) > 1 else {},
        notes=[
            f"The walker '{WALKER}' of chen2026/walker. landing: where a swing ends, as a share of the depth that the "
            "last foot reached; 0 is the surface. damper: between the foot that carries and the world, N s/m.",
        ],
    )


def _both(sand: float | str, rigid: float | str) -> bool:
    return not isinstance(sand, str) and not isinstance(rigid, str)


def _row(landing: float, damper: float, speeds: tuple[float, ...], costs: dict) -> Row:
    row: Row = {"landing": landing, "damper (N s/m)": damper}
    for speed in speeds:
        sand, rigid = costs[landing, damper, speed]
        told = f"{sand} on sand" if isinstance(sand, str) else f"{rigid} on rigid ground"
        row[f"{speed:g}"] = sand / rigid if _both(sand, rigid) else told
    return row


def figure(found: dict[Cell, float], grid: tuple[tuple[float, ...], ...]) -> Figure:
    """Ratio over the depth of landing, a line for each damper: mean over speeds, and their range."""
    landings, dampers, speeds = grid
    with matplotlib.rc_context(STYLE):
        result = blank(5.0, 3.2)
        axes = result.subplots()
        axes.axhspan(*PAPER_RATIO, color="0.92", zorder=0, label="paper")
        for damper, colour in zip(
            dampers, matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(dampers))), strict=True
        ):
            of = {at: [found[cell] for s in speeds if (cell := (at, damper, s)) in found] for at in landings}
            of = {at: values for at, values in of.items() if values}
            axes.plot(of.keys(), [np.mean(values) for values in of.values()], color=colour, label=f"{damper:g} N s/m")
            low, high = ([pick(values) for values in of.values()] for pick in (min, max))
            axes.fill_between([*of], low, high, color=colour, alpha=0.15, lw=0)
        axes.set(xlabel="landing: share of the depth of the last foot", ylabel="cost on sand / on rigid ground")
        axes.legend(fontsize=6.5)
    return result


STUDY = Study(
    "chen2026",
    "landing",
    "the ratio of costs over how feet are set down and damped (Fig 6 d)",
    "1.12 to 1.62, without a word on either.",
    perform,
)
