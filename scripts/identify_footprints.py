"""Identify what `terrain.Footprints` needs from grains: a foot pushed in, lifted out and pushed in again.

    python scripts/identify_footprints.py --out FOLDER [--measure] [--figure docs/images/footprints.png]

With --measure (some 25 minutes on a core) LAMMPS pushes a foot of 5 cm radius into beds of beads as they are poured and
into packed ones: 3 or 5 cm deep, and then 8 cm in the same place, or 6 or 12 cm beside it. Seeds 1 and 2 identify, 3
and 4 judge. The rim's share and the angle of repose are read off the surface between the pushes; width of the rim,
walls, length and firmness are those with the least squared error of the second push in place (both depths); pushes
beside have no part in it.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np

from softground.experiments.rigs.dem import Container, DemRig
from softground.experiments.rigs.dem.second_step import SecondStep, push_again
from softground.robots import Cylinder
from softground.terrain import Footprints
from softground.validation.second_steps import SecondSteps, second_push

PUSHES = ((0.05, 0.0), (0.03, 0.0), (0.05, 0.06), (0.05, 0.12))  # m: depth of the first, distance of the second
DEEP = 0.08  # m
IDENTIFY, JUDGE = (1, 2), (3, 4)
FOOT = Cylinder(0.05, 0.25)
NEAR = 0.07  # m from the middle: where the print is and the rim is not
Beds = dict[tuple[float, float, int], SecondStep]


def measure(folder: Path, packed: bool) -> None:
    rig = DemRig(container=Container(0.5, 0.36, 0.2))
    for seed in (*IDENTIFY, *JUDGE):
        for first, beside in PUSHES:
            step = push_again(rig, first, DEEP, beside, seed, packed)
            np.savez(folder / f"{'packed' if packed else 'poured'}_{seed}_{first}_{beside}.npz", **vars(step))
            print(f"measured packed={packed} seed={seed} first={first} beside={beside}", flush=True)


def load(folder: Path, bed: str) -> Beds:
    found = {}
    for seed in (*IDENTIFY, *JUDGE):
        for first, beside in PUSHES:
            with np.load(folder / f"{bed}_{seed}_{first}_{beside}.npz") as file:
                values = dict(file.items())
            numbers = {name: float(values.pop(name)) for name in ("first_depth", "beside")}
            found[first, beside, seed] = SecondStep(**numbers, **values)
    return found


def virgin(beds: Beds, seeds) -> np.ndarray:
    """Force (N) at the depths of the records in fresh ground: a line through all first pushes of these beds."""
    steps = [step for (_, _, seed), step in beds.items() if seed in seeds]
    depth = np.concatenate([step.depth for step in steps])
    force = np.concatenate([step.first for step in steps])
    here = np.isfinite(force)
    return np.polyfit(depth[here], force[here], 1)


def surface_numbers(beds: Beds, seeds) -> dict[str, np.ndarray]:
    """Share of the volume pushed away that is above the ground again, and slope of the print's wall, of every push."""
    shares, slopes = [], []
    for (first, _, seed), step in beds.items():
        if seed not in seeds:
            continue
        change = step.after - step.before
        cell = (step.x[1] - step.x[0]) * (step.y[1] - step.y[0])
        pushed = np.pi * FOOT.radius**2 * first
        shares.append(1 + change.sum() * cell / pushed)
        radius = np.hypot(*np.meshgrid(step.x, step.y, indexing="ij"))
        wall = (radius > 0.03) & (radius < NEAR)
        slopes.append(np.polyfit(radius[wall], change[wall], 1)[0])
    return {"rim": np.array(shares), "slope": np.array(slopes)}


def model(footprints: Footprints, step: SecondStep, line: np.ndarray) -> np.ndarray:
    """Force (N) of the second push by the model."""
    force = step.second[None]
    return second_push(
        footprints, SecondSteps(FOOT, step.first_depth, step.beside, step.depth, step.first[None], force), line
    )


def mean_second(beds: Beds, first: float, beside: float, seeds) -> np.ndarray:
    return np.mean([beds[first, beside, seed].second for seed in seeds], axis=0)


def identified(beds: Beds, seeds) -> Footprints:
    line, numbers = virgin(beds, seeds), surface_numbers(beds, seeds)
    fixed = {"rim": numbers["rim"].mean(), "repose": np.arctan(numbers["slope"].mean()), "cell": 0.01, "every": 1}
    best, least = None, np.inf
    grid = (1.2, 2.4), (0.6, 0.8, 1.0), (0.005, 0.01, 0.015, 0.02), (0.8, 0.9, 1.0, 1.1, 1.2)
    for rim_width, walls, length, firm in product(*grid):
        tried = Footprints(rim_width=rim_width, walls=walls, length=length, firm=firm, **fixed)
        error = sum(
            ((model(tried, beds[first, 0.0, seeds[0]], line) - mean_second(beds, first, 0.0, seeds)) ** 2).sum()
            for first in (0.05, 0.03)
        )
        best, least = (tried, error) if error < least else (best, least)
    assert best is not None
    return best


def report(bed: str, beds: Beds, axes) -> None:
    every = {seed: identified(beds, (seed,)) for seed in (*IDENTIFY, *JUDGE)}
    found = identified(beds, IDENTIFY)
    print(f"\n{bed}: identified on seeds {IDENTIFY}, in brackets from each of the four beds alone")
    for name in ("rim", "repose", "rim_width", "walls", "length", "firm"):
        spread = ", ".join(f"{float(getattr(one, name)):.3g}" for one in every.values())
        print(f"  {name:8s} {float(getattr(found, name)):.3g}  ({spread})")
    line = virgin(beds, IDENTIFY)
    print(
        "  rms error of the second push on beds not used, N: model, no memory, bed to bed; mean force of fresh ground"
    )
    for (first, beside), ax in zip(PUSHES, axes, strict=True):
        step = beds[first, beside, JUDGE[0]]
        forces, truth = model(found, step, line), mean_second(beds, first, beside, JUDGE)
        fresh = np.polyval(line, step.depth)
        apart = np.abs(beds[first, beside, JUDGE[0]].second - beds[first, beside, JUDGE[1]].second)
        rms = [np.sqrt((error**2).mean()) for error in (forces - truth, fresh - truth, apart / np.sqrt(2))]
        early = step.depth <= first
        rms_early = [np.sqrt((error[early] ** 2).mean()) for error in (forces - truth, fresh - truth)]
        print(
            f"  first {1e3 * first:.0f} mm, beside {1e3 * beside:3.0f} mm: {rms[0]:5.1f} {rms[1]:5.1f} {rms[2]:5.1f}"
            f"  {fresh.mean():5.1f}   (down to the first push's depth: {rms_early[0]:.1f}, {rms_early[1]:.1f})"
        )
        for seed in JUDGE:
            ax.plot(1e3 * step.depth, beds[first, beside, seed].second, ".", color="k", ms=4)
        ax.plot(1e3 * step.depth, forces, "C0-", label="prints")
        ax.plot(1e3 * step.depth, fresh, "k--", lw=0.8, label="fresh ground")
        ax.set_title(f"{bed}: {1e3 * first:.0f} mm, then {1e3 * beside:.0f} mm beside", fontsize=8)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the records")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.measure:
        for packed in (False, True):
            measure(options.out, packed)
    figure, axes = plt.subplots(2, 4, figsize=(12, 5), sharex=True, layout="constrained")
    for bed, row in zip(("poured", "packed"), axes, strict=True):
        report(bed, load(options.out, bed), row)
        row[0].set_ylabel("force (N)")
    axes[0, 0].legend(fontsize=7)
    for ax in axes[1]:
        ax.set_xlabel("depth (mm)")
    if options.figure:
        figure.savefig(options.figure, dpi=110)


if __name__ == "__main__":
    main()
