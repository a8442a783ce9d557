"""Wrenches in six components from beads simulated one by one: a round and a rectangular foot, moved in space.

    python scripts/spatial_campaign.py --out spatial --workers 8 --seconds 600

Two campaigns, `cylinder` and `box`, of 61 directions of three velocities and three spins; runs that mirror symmetry
gives are left out. Each foot upright at three depths and leant at others in one bed, then a coarser part of the same in
a second bed: 452 runs of some 8 s of one core. Only wrenches are kept (packed.csv). Stop it at any moment and give it
again, here or on another machine: it goes on. `softground learn` takes what is finished:

    softground acquire status spatial/cylinder
"""

from dataclasses import replace

from grains_campaign import APPROACH, Job, make, options_of

from softground.experiments.campaign.manifest import Manifest
from softground.experiments.campaign.plan import Grid
from softground.experiments.protocol import Pose
from softground.experiments.rigs.dem import Container, DemRig
from softground.robots.shapes import Box, Cylinder

CONTAINER = Container(0.46, 0.46, 0.26)
FEET = {"cylinder": Cylinder(0.05, 0.2), "box": Box(0.12, 0.08, 0.2)}
DEPTHS, TILT, ACROSS = (0.04, 0.08, 0.12), 0.35, 1.570796  # m, rad, rad
# A spin of 2 rad/s is 0.2 m/s on an arm of 10 cm, the length by which torques are divided: the two weigh alike.
GRIDS = {
    foot: Grid(DEPTHS, (0.0, TILT), headings, "spatial61", speed=0.2, spin=2.0, duration=0.25, seeds=(1, 2))
    for foot, headings in {"cylinder": (0.0,), "box": (0.0, ACROSS)}.items()
}
UPRIGHT = [Pose(depth) for depth in reversed(DEPTHS)]
POSES = {
    ("cylinder", 1): [*UPRIGHT, Pose(0.12, TILT), Pose(0.08, TILT)],
    ("box", 1): [*UPRIGHT, Pose(0.12, TILT), Pose(0.12, TILT, ACROSS)],
    ("cylinder", 2): [*UPRIGHT[:2], Pose(0.12, TILT)],
    ("box", 2): [*UPRIGHT[:2], Pose(0.12, TILT)],
}


def rig_of(foot: str) -> DemRig:
    return replace(DemRig(), foot=FEET[foot], container=CONTAINER, approach_speed=APPROACH)


def jobs() -> list[Job]:
    """The first bed, and then the second; in each the two feet in turn."""
    found = []
    for seed in (1, 2):
        feet = [
            [
                Job(foot, "", rig_of(foot), run)
                for pose in POSES[foot, seed]
                for run in GRIDS[foot].runs()
                if (run.pose, run.seed) == (pose, seed)
            ]
            for foot in FEET
        ]
        found += [job for pair in zip(*feet, strict=True) for job in pair]
    return found


def main() -> None:
    campaigns = {foot: Manifest.of(rig_of(foot), GRIDS[foot], "beads") for foot in FEET}
    make(jobs(), campaigns, options_of(__doc__).parse_args())


if __name__ == "__main__":
    main()
