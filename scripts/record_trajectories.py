"""Record what DEM measures along the trajectories of zhu2019's foot studies: the tables that the package ships.

    .venv/bin/python scripts/record_trajectories.py straight curved --seed 13

Minutes each, on one core; needs LAMMPS. Records that are there already are left as they are.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from softground.experiments.rigs.dem import DemRig
from softground.papers.zhu2019.dem_records import SEED, path_of, record_again, write_record
from softground.papers.zhu2019.trajectories import TRAJECTORIES


def main(names: list[str], seed: int) -> None:
    for name in names or list(TRAJECTORIES):
        path, rig = path_of(name, seed), DemRig()
        if path.exists():
            print(f"{path} is there")
            continue
        say = lambda done, total, name=name: print(f"{name}: line {done} of {total}", flush=True)  # noqa: E731
        record = record_again(name, say, seed)
        settings = {"trajectory": name, "seed": seed, "grains": asdict(rig.grains), "container": asdict(rig.container)}
        print(write_record(path, record, settings), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *TRAJECTORIES], help="trajectories; all without names")
    parser.add_argument("--seed", type=int, default=SEED, help="of the bed")
    main(**vars(parser.parse_args()))
