#!/usr/bin/env python
"""Walks of the biped over a grid of what chen2026 leaves open, and over random gaits: one JSON line a walk.

    python scripts/walker_grid.py grid --ground sand --height-of trunk --part 0/4 --out sand_trunk_0.jsonl
    python scripts/walker_grid.py gaits --ground sand --height-of trunk --part 0/4 --out gaits_sand_0.jsonl

Lines are written as walks end, so a run that is cut short has done what it has done.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from softground.control.stepping import SteppingGains  # noqa: E402
from softground.papers.chen2026.experiment import GAIT, SPEEDS  # noqa: E402
from softground.papers.chen2026.rolling_feet import rates_of  # noqa: E402
from softground.papers.chen2026.walker import ON, Steps, Walker, stepped  # noqa: E402

HEIGHT = ((100.0, 1.0), (150.0, 0.1))  # 1/s2 and damping ratio
SUPPORT = ((0.0, 0.0), (0.1, 0.2))  # double support, push-off
DAMPERS = (40.0, 60.0, 100.0, 140.0, 200.0)
LANDINGS = (0.0, 0.25, 0.5, 0.75, 1.0)
RANGES = {"stance": (0.14, 0.4), "swing_height": (0.04, 0.12), "width": (0.06, 0.2), "landing": (0.0, 1.0)}
FASTEST = 0.6  # m/s
GAITS = 400

Job = tuple[Walker, float, int]
"""Walker, speed (m/s), seed."""


def grid(ground: str, height_of: str) -> Iterator[Job]:
    """On rigid ground feet land at the surface: there is no depth."""
    landings = LANDINGS if ground == "sand" else (0.0,)
    placed = [(landing, 0.0) for landing in landings] + [(0.0, 1.0)]
    for seed, speed, (kp, ratio), (support, push), damper, (landing, odometry) in itertools.product(
        (0, 1), SPEEDS, HEIGHT, SUPPORT, DAMPERS, placed
    ):
        gains = SteppingGains(height_kp=kp, height_of=height_of, height_damping=ratio, foot_damper=damper)  # type: ignore[arg-type]
        gait = replace(GAIT, landing=landing, odometry=odometry, double_support=support, push_off=push)
        yield Walker(gains, gait, ""), speed, seed


def gaits(ground: str, height_of: str) -> Iterator[Job]:
    """Gaits drawn evenly from `RANGES`, the same on every ground."""
    rng = np.random.default_rng(2026)
    for _ in range(GAITS):
        drawn = {name: float(rng.uniform(*span)) for name, span in RANGES.items()}
        drawn["stance"] = round(drawn["stance"], 2)  # whole samples
        speed = float(rng.uniform(0.1, FASTEST))
        yield Walker(SteppingGains(height_of=height_of), replace(GAIT, **drawn), ""), speed, 0  # type: ignore[arg-type]


def row(ground: str, walker: Walker, speed: float, seed: int, steps: Steps | str) -> dict:
    told = {"ground": ground, "speed": speed, "seed": seed, **asdict(walker.gains), **asdict(walker.gait)}
    if isinstance(steps, str):
        return told | {"fell": steps}
    early, middle, late = rates_of(steps.angle)
    return told | {
        **{"fell": "", "had": steps.speed, "cost": steps.cost, "early": early, "middle": middle, "late": late},
        **{"rest": steps.rest, "radius": steps.radius / steps.height, "sunk": float(steps.sinkage.max())},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("grid", "gaits"))
    parser.add_argument("--ground", choices=tuple(ON), required=True)
    parser.add_argument("--height-of", choices=("com", "trunk"), default="trunk")
    parser.add_argument("--part", default="0/1", help="which part of how many")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    jobs = {"grid": grid, "gaits": gaits}[given.what](given.ground, given.height_of)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with given.out.open("a") as lines:
        for walker, speed, seed in itertools.islice(jobs, part, None, parts):
            steps = stepped(given.ground, walker, speed, seed)
            print(json.dumps(row(given.ground, walker, speed, seed, steps)), file=lines, flush=True)


if __name__ == "__main__":
    main()
