"""What campaigns of grains say, as tables and a figure for docs/beads.md; and the media that are learned from them.

    python scripts/grains_report.py                             from what is shipped
    python scripts/grains_report.py --campaigns DIR --ship      from DIR/beads, DIR/gravel, DIR/spatial/*, and ship it

For each campaign: runs and core-hours; for each bed the error of a fit of the others, and how far their mean is from
it; errors with all and with half of the configurations; how many left-out wrenches lie inside the ensemble's band; and
how far beds differ in each direction of motion.
"""

import argparse
import shutil
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import matplotlib
import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from softground.errors import ExperimentError
from softground.experiments.campaign import beds_in
from softground.experiments.campaign.packing import FILE, read_packed
from softground.experiments.database import WrenchDatabase
from softground.experiments.learning import Physics, learn, learning_curve
from softground.experiments.learning.ensemble import beds_of, mean_bed
from softground.experiments.learning.grid import Grid, grid_of
from softground.experiments.learning.physics import resistive_prior
from softground.experiments.learning.report import PUBLISHED, error_rows, trust_rows
from softground.experiments.learning.validation import normalised_error
from softground.media import save_medium
from softground.media.learned_file import rounded
from softground.media.named import DATA
from softground.runs.figures import COLOURS, STYLE, save_figure
from softground.tables import print_pairs, print_rows

CAMPAIGNS = {"beads": "beads", "gravel": "gravel", "beads_cylinder": "spatial/cylinder", "beads_box": "spatial/box"}
"""Shipped name of a campaign, and where it is made."""
BEDS = {"beads": (1, 2, 3), "gravel": (1, 2), "beads_cylinder": (1,), "beads_box": (1,)}
"""Beds that are learned from; others are too incomplete and judge what was learned."""
METHODS = {"gravel": "physics"}
"""Where not the best by cross-validation: at nine of gravel's twelve poses physics is nearer than thin plates, and
above the data (0.06 m from what lies below) errs by 0.22 where they do by 0.30. They are better where a foot that leans
by 1 rad goes under, which outweighs the rest, and where no robot stands."""
MATERIALS = ("beads", "gravel")
DIGITS = 8  # of the coefficients that are shipped
REPEATS = 10  # of random halves


def report(name: str, folder: Path, ship: bool) -> None:
    runs = read_packed(folder / FILE)
    hours = sum(run.seconds for run in runs.values()) / 3600
    known = beds_in(folder, seeds=BEDS[name])
    print_pairs(name, {"runs": len(runs), "core-hours": f"{hours:.2f}", "beds learned from": len(known)})
    learned = learn(known[0], METHODS.get(name, "auto"), further=known[1:])
    print_rows("normalised errors", error_rows(learned))
    print_pairs("trust", trust_rows(learned) | {"configurations": str(learned.configurations)})
    beds = beds_of(known)
    if len(beds) > 1:
        print_rows(
            "each bed, not used", {f"bed {seed}": row for seed, row in zip(BEDS[name], unseen(beds), strict=True)}
        )
        print_rows("spread between beds, of the mean wrench of the direction", spread_rows(beds))
    judged = {str(seed): judge(name, folder, seed, mean_bed(beds)) for seed in (1, 2, 3) if seed not in BEDS[name]}
    print_pairs("on poses of beds that were not used", judged)
    curve = learning_curve([PUBLISHED, Physics()], mean_bed(beds), [0.5, 1.0], REPEATS)
    print_rows(
        "half of the data, and all", {name: {str(k): f"{v:.3f}" for k, v in row.items()} for name, row in curve.items()}
    )
    if ship:
        notes = {"name": name, "provenance": known[0].provenance, "learning": learned.summary()}
        medium = eqx.tree_at(lambda one: one.coefficients, learned.medium, rounded(learned.medium.coefficients, DIGITS))
        assert learned.ensemble is not None
        save_medium(DATA / f"{name}.json", replace(learned.ensemble, medium=medium), notes)


def unseen(beds: list[Grid]) -> list[dict]:
    """Of each bed: error of fits of the others, and difference from their mean, below the surface."""
    rows = []
    for number, bed in enumerate(beds):
        others = mean_bed([one for k, one in enumerate(beds) if k != number])
        truth, weights = bed.wrenches[bed.under], bed.component_weights
        noise = normalised_error(others.wrenches[bed.under], truth, weights)
        fits = {one.label: one.fit(others).predict(bed.poses[bed.under]) for one in (Physics(), PUBLISHED)}
        errors = {label: normalised_error(fit, truth, weights) for label, fit in fits.items()}
        ratio = errors["physics"] / noise
        rows.append({k: f"{v:.3f}" for k, v in {**errors, "others' mean": noise, "physics / mean": ratio}.items()})
    return rows


def judge(name: str, folder: Path, seed: int, known: Grid) -> str:
    """Error of what was learned on the poses of a bed that was not used, and there the difference of the two beds."""
    try:
        (bed,) = map(grid_of, beds_in(folder, seeds=(seed,)))
    except ExperimentError as nothing:  # too few poses of this bed are finished
        return str(nothing)
    shared = [k for k, pose in enumerate(bed.poses) if pose[0] > 0 and (known.poses == pose).all(1).any()]
    measured = np.array([known.wrenches[(known.poses == bed.poses[k]).all(1)][0] for k in shared])
    truth, weights = bed.wrenches[shared], bed.component_weights
    error = normalised_error(Physics().fit(known).predict(bed.poses[shared]), truth, weights)
    noise = normalised_error(measured, truth, weights)
    return f"{len(shared)} poses: error {error:.3f}, difference of the beds {noise:.3f}, ratio {error / noise:.2f}"


def spread(beds: list[Grid]) -> np.ndarray:
    """Standard deviation over beds (k,) in each direction, of the mean wrench there, both rms over poses."""
    under, weights = beds[0].under, beds[0].component_weights
    wrenches = np.array([bed.wrenches[under] * weights for bed in beds])
    return np.sqrt(wrenches.var(0, ddof=1).mean((0, 2)) / (wrenches.mean(0) ** 2).mean((0, 2)))


def spread_rows(beds: list[Grid]) -> dict[str, dict]:
    """Of every direction its spread and the size of its wrench, N."""
    size = np.sqrt(((mean_bed(beds).wrenches[beds[0].under] * beds[0].component_weights) ** 2).sum(-1).mean(0))
    shares = beds[0].twists / np.abs(beds[0].twists).max(0)
    return {
        f"{k}: " + ", ".join(f"{part:+.2f}" for part in share): {"spread": f"{one:.2f}", "size (N)": f"{newtons:.0f}"}
        for k, (share, one, newtons) in enumerate(zip(shares, spread(beds), size, strict=True))
    }


def figure(folders: dict[str, Path], out: Path) -> None:
    """Pushes in every bed; wrenches beside theory; how far beds differ in each direction."""
    with matplotlib.rc_context(STYLE):
        result = Figure(figsize=(10.5, 3.6), layout="constrained")
        pushes, compared, between = result.subplots(1, 3)
        for material, marker, fill in zip(MATERIALS, "os", (True, False), strict=True):
            draw_pushes(pushes, material, beds_in(folders[material]), marker, fill)
        pushes.set(xlabel="depth (mm)", ylabel="vertical force (N)", xlim=(0, None), ylim=(0, None))
        pushes.legend()
        pushes.set_title("pushed down, upright", loc="left")
        beds = beds_of(beds_in(folders["beads"], seeds=BEDS["beads"]))
        draw_theory(compared, mean_bed(beds))
        draw_spread(between, beds)
        print(save_figure(result, out))


def draw_pushes(axes, material: str, beds: list[WrenchDatabase], marker: str, fill: bool) -> None:
    for bed, colour in zip(beds, COLOURS, strict=False):
        down = (bed.tilt == 0) & (bed.twist[:, 1] < -0.999 * np.abs(bed.twist[:, 1]).max()) & (bed.depth > 0)
        kind = dict(color=colour, mfc=colour if fill else "none", ls="none", marker=marker, ms=5)
        axes.plot(1000 * bed.depth[down], bed.wrench[down, 1], **kind)
    axes.plot([], [], color="black", mfc="black" if fill else "none", ls="none", marker=marker, label=material)


def draw_theory(axes, grid: Grid) -> None:
    """Every mean wrench component beside that of plane theory, one scale for all."""
    under = grid.subset(grid.under)
    theory = resistive_prior(under).at(under.poses)[0] * under.component_weights
    measured = under.wrenches * under.component_weights
    scale = (measured * theory).sum() / (theory**2).sum()
    error = np.sqrt(((measured - scale * theory) ** 2).sum() / (measured**2).sum())
    correlation = np.corrcoef(measured.ravel(), theory.ravel())[0, 1]
    for column, (label, colour) in enumerate(zip(("force x", "force z", "torque y / 0.1 m"), COLOURS, strict=False)):
        place = scale * theory[..., column].ravel(), measured[..., column].ravel()
        axes.plot(*place, ".", ms=3, color=colour, label=label)
    axes.axline((0, 0), slope=1, color="#777777", lw=0.8)
    axes.set(xlabel=f"plane theory, scale {scale:.3f} (N)", ylabel="beads (N)")
    axes.legend(markerscale=3)
    axes.set_title(f"correlation {correlation:.3f}, error {error:.2f}", loc="left")


def draw_spread(axes, beds: list[Grid]) -> None:
    """Against the direction of the velocity, for each share of pitching."""
    shares = beds[0].twists / np.abs(beds[0].twists).max(0)
    angle, found = np.degrees(np.arctan2(shares[:, 0], -shares[:, 1])), spread(beds)
    moving = np.hypot(shares[:, 0], shares[:, 1]) > 1e-6
    for pitch, colour in zip((1, 0, -1), COLOURS, strict=False):
        ring = np.flatnonzero(moving & (np.sign(np.round(shares[:, 2], 6)) == pitch))
        ring = ring[np.argsort(angle[ring])]
        label = {1: "pitching forwards", 0: "not pitching", -1: "pitching backwards"}[pitch]
        axes.plot(angle[ring], 100 * found[ring], ".-", color=colour, label=label)
    axes.set(xlabel="direction, from straight down forwards (deg)", ylabel="standard deviation over beds (%)")
    axes.set(xticks=range(-180, 181, 90), ylim=(0, None))
    axes.legend()
    axes.set_title("beads: difference of beds", loc="left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=Path, help="where they are made; what is shipped unless given")
    parser.add_argument("--ship", action="store_true", help="write wrenches and learned media into the package")
    parser.add_argument("--figure", type=Path, help="draw docs/images/beads.png there")
    parser.add_argument("--only", nargs="+", choices=CAMPAIGNS, default=list(CAMPAIGNS))
    options = parser.parse_args()
    folders = {name: options.campaigns / part if options.campaigns else DATA / name for name, part in CAMPAIGNS.items()}
    with threadpool_limits(1):
        for name in options.only:
            report(name, folders[name], options.ship)
            if options.ship and options.campaigns:
                (DATA / name).mkdir(exist_ok=True)
                for file in (FILE, "campaign.json"):
                    shutil.copy(folders[name] / file, DATA / name / file)
    if options.figure:
        figure(folders, options.figure)


if __name__ == "__main__":
    main()
