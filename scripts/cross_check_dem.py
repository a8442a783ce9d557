"""Check the DEM rig with a second engine: the same bed and the same push in LAMMPS and in YADE.

    python scripts/cross_check_dem.py --seeds 1 2 3 --out cross_check

needs YADE on the path (Debian and Ubuntu: apt-get install yade). A box is pushed down at constant speed; both
engines have exact contacts between a box and spheres, which they do not have for a cylinder (YADE makes it of
facets and counts grains twice where facets meet).
"""

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

from softground.experiments.protocol import low_pass
from softground.experiments.rigs.dem import Container, DemRig, Grains
from softground.experiments.rigs.dem.engine import FootPath
from softground.robots.feet import Box

FOOT = Box(length=0.09, width=0.09, height=0.25)
SPEED, DEPTH, SAMPLES = 0.2, 0.12, 300
CUTOFF = 12.0  # Hz, as for a run of the campaign
RESTITUTION = 0.35  # of YADE's contacts, about that of the rig's damping


def main() -> None:
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = [compare(seed, options.out) for seed in options.seeds]
    report = {"depth_m": DEPTH, "speed_m_s": SPEED, "seeds": rows, "mean_difference": _mean(rows)}
    (options.out / "cross_check.json").write_text(json.dumps(report, indent=2) + "\n")
    for row in rows:
        print("seed {seed}: LAMMPS {lammps_n:.1f} N, YADE {yade_n:.1f} N ({difference:+.1%})".format(**row))
    print(f"mean difference {report['mean_difference']:+.1%}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="beds to compare on")
    parser.add_argument("--out", type=Path, default=Path("cross_check"), help="folder for series and report")
    options = parser.parse_args()
    if not shutil.which("yade"):
        sys.exit("yade is not on the path: on Debian and Ubuntu, apt-get install yade")
    return options


def compare(seed: int, out: Path) -> dict:
    """Mean vertical force over the deeper half of the push, N, in both engines."""
    rig = DemRig(FOOT, Grains(), Container())
    bed = rig.bed(seed)
    start = np.array([0.0, 0.0, bed.top + rig.grains.radius])
    travel = start[2] - bed.surface + DEPTH
    path = FootPath(start, 0.0, np.array([0.0, 0.0, -SPEED]), 0.0, travel / SPEED)
    with bed.open() as box:
        time, wrench = box.drive(FOOT, path, SAMPLES)
    series = {"lammps": np.column_stack([time, wrench[:, :3]]), "yade": _yade(rig, bed, path, seed, out)}
    force = {}
    for engine, rows in series.items():
        depth = bed.surface - start[2] + SPEED * rows[:, 0]
        smooth = low_pass(rows[:, 0], rows[:, 3], CUTOFF)
        table = np.column_stack([depth, rows[:, 3], smooth])
        np.savetxt(
            out / f"{engine}_seed{seed}.csv", table, delimiter=",", header="depth_m,fz_n,fz_smooth_n", comments=""
        )
        force[engine] = float(smooth[depth > DEPTH / 2].mean())
    difference = force["yade"] / force["lammps"] - 1
    return {"seed": seed, "lammps_n": force["lammps"], "yade_n": force["yade"], "difference": difference}


def _yade(rig: DemRig, bed, path: FootPath, seed: int, out: Path) -> np.ndarray:
    """Times and forces (n, 4) of the same push in YADE."""
    np.savez(out / f"bed_seed{seed}.npz", positions=bed.positions, radii=bed.radii)
    every = max(1, round(path.duration / rig.grains.time_step / SAMPLES))
    job = {
        "bed": str(out / f"bed_seed{seed}.npz"),
        "grains": asdict(rig.grains),
        "container": asdict(rig.container),
        "foot": [FOOT.length, FOOT.width, FOOT.height],
        "start": path.start.tolist(),
        "velocity": path.velocity.tolist(),
        "restitution": RESTITUTION,
        "time_step": rig.grains.time_step,
        "every": every,
        "samples": SAMPLES,
        "out": str(out / f"yade_raw_seed{seed}.csv"),
    }
    job_file = out / f"job_seed{seed}.json"
    job_file.write_text(json.dumps(job))
    script = Path(__file__).with_name("yade_push.py")
    subprocess.run(["yade", "-n", "-x", "-j1", str(script), str(job_file)], check=True, stdout=subprocess.DEVNULL)
    return np.loadtxt(job["out"], delimiter=",", skiprows=1)


def _mean(rows: list[dict]) -> float:
    lammps, yade = (sum(row[f"{engine}_n"] for row in rows) for engine in ("lammps", "yade"))
    return yade / lammps - 1


if __name__ == "__main__":
    main()
