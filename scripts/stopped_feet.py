"""What a law of the present cannot know: a foot that is pushed into grains, stopped, lifted a little and dragged.

    python scripts/stopped_feet.py --out FOLDER [--beds 13 15]

RoboSimian's foot in beds of `softground replay --through dem`; some five minutes of a core for each bed, needs LAMMPS.
Every probe is a file of the folder, and is not repeated if the command is given again. The tables are those of
docs/validation.md; beds in which gaits are judged are others.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from softground.experiments.rigs.dem import GRAINS, DemRig
from softground.experiments.rigs.dem.engine import FootPath
from softground.media import Medium, Remembering, beads
from softground.media.base import COMPONENTS, FootInGround
from softground.robots.shapes import Cylinder
from softground.validation.through_grains import ABOVE, HEADROOM, ROOM, SHANK
from softground.whole_file import write_whole

FOOT = Cylinder(0.05, SHANK)
PIECE = 0.002
"""Between two wrenches, s."""
HOLD = (0.0, 0.0, 0.2)
PROBES = {
    "sweep": [(0, -0.2, 0.925), (0, 0, 0.4), (0, 0.01, 0.3), (0, -0.01, 1.0), (0.1, 0, 0.4), (0, -0.2, 0.2)],
    "slow": [(0, -0.2, 0.6), (0, -0.05, 2.3)],
    "stops": [
        *[(0, -0.2, 0.62), (0, -0.01, 2.0), HOLD, (0, -0.02, 0.8), HOLD, (0, -0.05, 0.4), HOLD],
        *[(0, -0.1, 0.25), HOLD, (0, -0.4, 0.075), HOLD],
    ],
    "fast": [(0, -2.0, 0.0925), (0, 0, 0.4)],
}
"""Velocities along x and up (m/s), each for a while (s), from the height `ABOVE` on; grains that fly do not matter."""
AT_LAST = 10
"""Samples at the end of a piece of a probe over which a wrench is averaged."""


def probed(seed: int, pieces) -> np.ndarray:
    """Rows of time (s), piece, x, depth (m), fx, fz (N), torque (N m)."""
    rig = DemRig(FOOT, GRAINS["beads"], ROOM, approach_speed=1.0)
    bed = rig.bed(seed)
    place, rows, now = np.array([0.0, 0.0, bed.surface + ABOVE]), [], 0.0
    start = FootPath(place, 0.0, np.zeros(3), 0.0, PIECE)
    with bed.open(HEADROOM) as box:
        box.run(rig.rest)
        rig._approach(box, start, bed.top)
        box.let_fly()
        with box.carry(rig.foot, start) as foot:
            for number, (along, up, seconds) in enumerate(pieces):
                count = round(seconds / PIECE)
                for _ in range(count):
                    place, now = place + np.array([along, 0.0, up]) * seconds / count, now + seconds / count
                    wrench = foot.to(place, 0.0, seconds / count)[COMPONENTS["planar"]]
                    rows.append([now, number, place[0], bed.surface - place[2], *wrench])
    return np.array(rows)


def kept(folder: Path, name: str, seed: int) -> np.ndarray:
    """A probe in a bed: read, or driven now and written."""
    path = folder / f"{name}_{seed}.npz"
    if not path.exists():
        rows = probed(seed, PROBES[name])
        write_whole(path, lambda temporary: np.savez(temporary, rows=rows))
    with np.load(path, allow_pickle=False) as stored:
        return stored["rows"]


def by_law(medium: Medium, rows: np.ndarray) -> np.ndarray:
    """Wrenches (n, 3) of a medium on a foot that moves as in a probe."""
    bound = medium.for_foot(FOOT, True)
    time, x, depth = rows[:, 0], rows[:, 2], rows[:, 3]
    steps = np.diff(np.c_[x, -depth], axis=0) / np.diff(time)[:, None]
    twists = np.c_[np.vstack([steps[:1], steps]), np.zeros(len(rows))]

    def placed(depth):
        return FootInGround(depth, jnp.array([0.0, 0.0, -depth]), jnp.eye(3), jnp.eye(3))

    def step(memory, now):
        depth, twist = now
        foot = placed(depth)
        law = bound.law(foot, memory, jnp.asarray(PIECE))
        return bound.remember(foot, memory, law, twist, jnp.asarray(PIECE)), law.wrench(twist)

    fresh = bound.initial_memory(placed(jnp.asarray(-ABOVE)))
    return np.asarray(jax.lax.scan(step, fresh, (jnp.asarray(depth), jnp.asarray(twists)))[1])


def pushes(probe: str, rows: np.ndarray) -> None:
    """Force of steady pushes straight down, over that of the law."""
    law = by_law(beads(), rows)[:, 1]
    speeds = {0.2: 0, 0.05: 1} if probe == "slow" else {0.2: 0}
    for speed, piece in speeds.items():
        mine = (rows[:, 1] == piece) & (rows[:, 3] > (0.05 if piece == 0 else 0.1))
        if mine.any():
            low, high = 1e3 * rows[mine, 3].min(), 1e3 * rows[mine, 3].max()
            share = rows[mine, 5].mean() / law[mine].mean()
            print(f"  {probe}: {speed} m/s, {low:.0f} to {high:.0f} mm: {share:.2f} of the law's upward force")


def stops(probe: str, rows: np.ndarray) -> None:
    """Share of the upward force that is left when the foot has been stopped for a while, by its speed before."""
    for piece, (along, up, _) in enumerate(PROBES[probe]):
        if (along, up) == (0, 0):
            before, after = (rows[rows[:, 1] == number] for number in (piece - 1, piece))
            moving, still = before[-AT_LAST:, 5].mean(), after[-AT_LAST:, 5].mean()
            place = f"stopped from {-PROBES[probe][piece - 1][1]} m/s at {1e3 * after[0, 3]:.0f} mm"
            print(f"  {place}: {moving:.0f} N, then {still:.0f} N, {still / moving:.2f} of it")


def sweep(rows: np.ndarray) -> None:
    """Lifted by 3 mm, pushed again, dragged level: forces by way, beside those of the law without and with memory."""
    laws = {"law": by_law(beads(), rows), "with memory": by_law(Remembering(beads()), rows)}
    for piece, name in {2: "lifted", 3: "pushed again", 4: "dragged"}.items():
        mine = np.flatnonzero(rows[:, 1] == piece)
        start = rows[mine[0] - 1]
        for some in np.array_split(mine, 5):
            way = 1e3 * np.hypot(*(rows[some, 2:4] - start[2:4]).T).mean()
            found = {"grains": rows[some, 4:6]} | {label: law[some, :2] for label, law in laws.items()}
            words = [f"{label} {one[:, 0].mean():.0f}, {one[:, 1].mean():.0f}" for label, one in found.items()]
            print(f"  {name} by {way:.1f} mm, fx and fz (N): {'; '.join(words)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--beds", type=int, nargs="+", default=[13, 15])
    asked = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    asked.out.mkdir(parents=True, exist_ok=True)
    for seed in asked.beds:
        print(f"bed {seed}")
        for probe in PROBES:
            rows = kept(asked.out, probe, seed)
            if probe in ("sweep", "slow"):
                pushes(probe, rows)
            stops(probe, rows)
            if probe == "sweep":
                sweep(rows)


if __name__ == "__main__":
    main()
