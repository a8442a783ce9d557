"""How the resistance of the DEM beads depends on what was chosen for them: modulus, container, speed, seed.

    python scripts/beads_convergence.py --out beads_convergence.json

Every variant changes one choice of the shipped campaign. Each run is kept as soon as it ends: start the script
again and it goes on where it was stopped. Some 40 minutes of one core.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.progress import track

from softground.experiments.protocol import Motion, Pose
from softground.experiments.rigs.dem import Container, DemRig, Grains

DEPTH = 0.12  # m, of the target
TRAVEL = 0.1  # m
BASE = DemRig()
SMALL = Container(length=0.4, width=0.4, fill=0.26)
DIRECTIONS = {"down": (0.0, -1.0), "aside": (1.0, 0.0)}


def variants() -> dict[str, tuple[DemRig, float, int]]:
    """Rig, speed (m/s) and seed of every variant."""
    runs = {f"seed {seed}": (BASE, 0.2, seed) for seed in (1, 2, 3)}
    runs |= {f"speed {speed:g} m/s": (BASE, speed, 1) for speed in (0.1, 0.4)}
    for modulus in (1e6, 1e7, 1e8, 3e8):
        runs[f"modulus {modulus:.0e} Pa, small container"] = (
            replace(BASE, container=SMALL, grains=Grains(modulus=modulus)),
            0.2,
            1,
        )
    runs["container 0.8 x 0.6 x 0.4 m"] = (replace(BASE, container=Container(0.8, 0.6, 0.4)), 0.2, 1)
    return runs


def resistance(rig: DemRig, direction: tuple[float, float], speed: float, seed: int) -> float:
    """Mean force against the motion over the second half of the path, per depth and area of the sole, N/cm3.

    The mean over some grain diameters: at one instant, single grains decide.
    """
    twist = (speed * direction[0], 0.0, speed * direction[1], 0.0, 0.0, 0.0)
    motion = Motion(Pose(DEPTH), twist, TRAVEL / speed)
    recording = rig.record(motion, seed)
    force = -recording.wrench[:, :3] @ np.array(twist[:3]) / speed
    depth = -motion.position(recording.time)[:, 2]
    half = recording.time > motion.duration / 2
    return float((force[half] / depth[half]).mean() / (np.pi * rig.foot.radius**2) / 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("beads_convergence.json"))
    out = parser.parse_args().out
    results = json.loads(out.read_text()) if out.exists() else {}
    jobs = [(name, direction) for name in variants() for direction in DIRECTIONS]
    for name, direction in track(jobs, "runs"):
        if direction in results.get(name, {}):
            continue
        rig, speed, seed = variants()[name]
        results.setdefault(name, {})[direction] = resistance(rig, DIRECTIONS[direction], speed, seed)
        out.with_suffix(".part").write_text(json.dumps(results, indent=1) + "\n")
        out.with_suffix(".part").replace(out)
    for name, row in results.items():
        print(f"{name:40s} down {row['down']:.3f}   aside {row['aside']:.3f} N/cm3")


if __name__ == "__main__":
    main()
