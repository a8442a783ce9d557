"""Record what DEM measures along the trajectories of zhu2019's foot studies: the tables that the package ships.

.venv/bin/python scripts/record_courses.py straight curved        (minutes each, on one core; needs LAMMPS)
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

from softground.experiments.rigs.dem import DemRig
from softground.papers.zhu2019.dem_records import FOLDER, SEED, record_again, write_record
from softground.papers.zhu2019.trajectories import TRAJECTORIES


def main(names: list[str]) -> None:
    for name in names or list(TRAJECTORIES):
        rig = DemRig()
        record = record_again(name, lambda done, total, name=name: print(f"{name}: line {done} of {total}", flush=True))
        settings = {"trajectory": name, "seed": SEED, "grains": asdict(rig.grains), "container": asdict(rig.container)}
        print(write_record(Path(str(FOLDER)) / f"dem_{name}.csv", record, settings))


if __name__ == "__main__":
    main(sys.argv[1:])
