"""What single choices of the campaigns of grains change, and whether what was learned from 26 directions knows 58.

    python scripts/grains_choices.py                       from what is shipped
    python scripts/grains_choices.py --campaigns DIR       from DIR/convergence.csv, DIR/beads and DIR/gravel

Every run of a variant has a twin in the campaign: the same pose, direction and bed. A table row gives the size of the
variant's wrenches over that of their twins (least squares), and the difference left beside the difference of beds. The
wrenches of directions between the 26 are set beside those of the shipped medium, bed by bed and as their mean.
"""

import argparse
import csv
import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
from grains_campaign import FEW_POSES, GRID, MATERIALS, direction_jobs

from softground.experiments.campaign import beds_in
from softground.experiments.campaign.packing import FILE, read_packed
from softground.experiments.learning import Physics
from softground.experiments.learning.ensemble import beds_of, mean_bed
from softground.experiments.learning.grid import component_weights
from softground.media.named import DATA
from softground.tables import print_rows

CHOICES = DATA / "grains_choices.csv"
DIRECTIONS = "58 directions"
PLANAR = [0, 2, 4]  # of a wrench's six components
WEIGHTS = component_weights("planar")

Wrenches = dict[str, np.ndarray]  # by name of the run, (3,) as forces: N


def read_choices(path: Path) -> dict[tuple[str, str], Wrenches]:
    """Wrenches of each material and variant."""
    found: dict[tuple[str, str], Wrenches] = defaultdict(dict)
    with path.open() as file:
        for material, variant, run, *values in list(csv.reader(file))[1:]:
            found[material, variant][run] = np.array(values[:6], float)[PLANAR] * WEIGHTS
    return dict(found)


def relative(values: np.ndarray, truth: np.ndarray) -> float:
    return float(np.linalg.norm(values - truth) / np.linalg.norm(truth))


def choice_rows(choices: dict[tuple[str, str], Wrenches], campaigns: dict[str, Wrenches]) -> dict[str, dict]:
    """Size beside the twins', and difference from them beside that of the twins of other beds."""
    rows = {}
    for (material, variant), runs in choices.items():
        twins = campaigns[material]
        shared = sorted(runs.keys() & twins.keys())
        if variant == DIRECTIONS or not shared:
            continue
        here, there = (np.array([wrenches[run] for run in shared]) for wrenches in (runs, twins))
        other = np.array([_of_other_beds(run, twins) for run in shared])
        rows[f"{material}, {variant}"] = {
            "runs": len(shared),
            "size": f"{(here * there).sum() / (there**2).sum():.3f}",
            "difference": f"{relative(here, there):.3f}",
            "of beds": f"{relative(other, there):.3f}",
        }
    return rows


def _of_other_beds(run: str, twins: Wrenches) -> np.ndarray:
    """Mean wrench of the same motion in the beds but this one."""
    motion = run.rsplit("seed", 1)[0]
    names = [f"{motion}seed{seed}" for seed in GRID.seeds]
    return np.mean([twins[name] for name in names if name != run and name in twins], axis=0)


def direction_rows(material: str, runs: Wrenches, folder: Path) -> dict[str, dict]:
    """Of each pose, in directions between the 26: normalised errors of what was learned from 26 ones.

    law: the wrench of maximum dissipation among the learned ones; nearest: that of the nearest learned direction;
    power: what maximum dissipation says is dissipated.
    """
    mean = mean_bed(beds_of(beds_in(folder)))
    fit = Physics().fit(mean)
    motions = {job.run.name: job.run for job in direction_jobs() if job.material == material}
    rows = {}
    for pose in FEW_POSES:
        measured: dict[tuple, list[np.ndarray]] = defaultdict(list)
        for name in sorted(runs):
            if motions[name].pose == pose:
                measured[motions[name].motion.twist].append(runs[name])
        if not measured:
            continue
        twists = np.array(list(measured))[:, PLANAR] / WEIGHTS  # so that powers are products with wrenches as forces
        truth = np.array([np.mean(wrenches, axis=0) for wrenches in measured.values()])
        known = fit.predict(np.array([[pose.depth, pose.tilt, 0.0]]))[0] * WEIGHTS
        likest = mean.twists / WEIGHTS
        nearest = np.argmax(twists @ likest.T / np.linalg.norm(likest, axis=1), axis=1)
        rows[f"{material}, {pose.depth:g} m, {pose.tilt:g} rad"] = {
            "count": len(truth),
            "beds": f"{np.mean([len(wrenches) for wrenches in measured.values()]):.1f}",
            "law": f"{relative(known[np.argmax(-twists @ known.T, axis=1)], truth):.3f}",
            "nearest": f"{relative(known[nearest], truth):.3f}",
            "power": f"{relative(np.max(-twists @ known.T, axis=1), -(twists * truth).sum(1)):.3f}",
        }
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=Path, help="where they are made; what is shipped unless given")
    parser.add_argument("--ship", action="store_true", help=f"copy the wrenches to {CHOICES.name} in the package")
    options = parser.parse_args()
    folder = options.campaigns or DATA
    source = folder / "convergence.csv" if options.campaigns else CHOICES
    choices = read_choices(source)
    campaigns = {
        name: {run: one.wrench[PLANAR] * WEIGHTS for run, one in read_packed(folder / name / FILE).items()}
        for name in MATERIALS
    }
    print_rows("single choices", choice_rows(choices, campaigns))
    for material in MATERIALS:
        if runs := choices.get((material, DIRECTIONS)):
            print_rows(f"directions between the 26, {material}", direction_rows(material, runs, folder / material))
    if options.ship and options.campaigns:
        shutil.copy(source, CHOICES)


if __name__ == "__main__":
    main()
