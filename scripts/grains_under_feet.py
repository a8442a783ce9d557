"""What a law of the present cannot know of grains: a foot that is pushed into them, stopped, lifted a little, dragged.

    python scripts/grains_under_feet.py --out FOLDER [--beds 13 15] [--run RUN.nc --feet NAME... --judge 16 17]

RoboSimian's foot in beds of `softground replay --through dem`; some three minutes of a core for each bed, and one for
each stance of a run; needs LAMMPS. What was driven is a file of the folder, and is not repeated if the command is given
again. It prints what docs/validation.md says in "The feet of a gait, through grains": what each probe shows beside the
law; errors of the law on all probes and on stances of a run in other beds, as it is, with memory, at the strength that
slow pushes show, and with wrenches that follow it over some way of the foot.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from softground.experiments.database import TORQUE_LENGTH
from softground.experiments.protocol import low_pass
from softground.experiments.rigs.dem import GRAINS, DemRig
from softground.experiments.rigs.dem.engine import FootPath
from softground.media import Medium, Remembering, beads
from softground.media.base import COMPONENTS, FootInGround
from softground.robots.shapes import Cylinder
from softground.runs import Run
from softground.validation.loaded_in_grains import loaded
from softground.validation.through_grains import ABOVE, CUTOFF, HEADROOM, ROOM, SHANK, Step, judged, steps_of
from softground.whole_file import write_whole

FOOT = Cylinder(0.05, SHANK)
PIECE = 0.002
"""Between two wrenches of a probe, s."""
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
"""Velocities along x and up (m/s), each for a while (s), from the height `ABOVE` on."""
ONCE = ("stops",)
"""Probes for the first bed only: they take as long as all others."""
AT_LAST = 10
"""Samples at the end of a piece of a probe over which a wrench is averaged."""
DEEP = (0.1, 0.2)
"""Depths of the slow push at which the strength of the ground is measured, m."""
WAYS, SLOWINGS = (0.003, 0.006, 0.012), (8.0, 12.0, 20.0, np.inf)
"""Tried for `following`: m, and m/s2."""


@dataclass(frozen=True)
class Motion:
    """How a foot moved, evenly sampled, and the grains' wrench on it."""

    time: np.ndarray  # (n,) s
    pose: np.ndarray  # (n, 3) x (m), height of the sole's centre over the surface (m), pitch (rad)
    wrench: np.ndarray  # (n, 3) N, N, N m

    @property
    def dt(self) -> float:
        return float(self.time[1] - self.time[0])

    @property
    def twist(self) -> np.ndarray:
        """(n, 3) with which it came where it is."""
        steps = np.diff(self.pose, axis=0) / self.dt
        return np.vstack([steps[:1], steps])

    @property
    def speed(self) -> np.ndarray:
        """(n,) m/s of the sole, its edge if it pitches."""
        return np.hypot(*self.twist[:, :2].T) + FOOT.radius * np.abs(self.twist[:, 2])

    def squares(self, law: np.ndarray) -> tuple[float, float]:
        """Sums of squares in the ground: of what a law's wrenches (n, 3) are off, and of the grains'."""
        weight, mine = np.array([1.0, 1.0, 1 / TORQUE_LENGTH]), self.pose[:, 1] < 0
        off, size = (weight * one[mine] for one in (law - self.wrench, self.wrench))
        return float((off**2).sum()), float((size**2).sum())


def probes_of(seed: int, beds: Sequence[int]) -> list[str]:
    """Names of the probes that a bed has."""
    return [name for name in PROBES if seed == beds[0] or name not in ONCE]


def driven(folder: Path, name: str, seed: int) -> tuple[np.ndarray, Motion]:
    """A probe in a bed, read or driven now and written: the piece at each sample, and the motion."""
    path = folder / f"{name}_{seed}.npz"
    if not path.exists():
        rows = probed(seed, PROBES[name])
        write_whole(path, lambda temporary: np.savez(temporary, rows=rows))
    with np.load(path, allow_pickle=False) as stored:
        rows = stored["rows"]
    pose = np.c_[rows[:, 2], -rows[:, 3], 0 * rows[:, 0]]
    return rows[:, 1], Motion(PIECE * np.arange(1, len(rows) + 1), pose, rows[:, 4:])


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


def stances(folder: Path, run: Run, feet: Sequence[str], seeds: Sequence[int]) -> dict[tuple[str, int], Motion]:
    """Stances of a run in beds, by foot and bed, read or driven now and written; wrenches filtered."""
    found = {}
    for step in steps_of(run, feet):
        for seed in seeds:
            path = folder / f"{step.foot}_{seed}.npz"
            if not path.exists():
                one = judged(step, GRAINS["beads"], seed)
                write_whole(path, lambda temporary, wrench=one.grains: np.savez(temporary, wrench=wrench))
            with np.load(path, allow_pickle=False) as stored:
                found[step.foot, seed] = Motion(step.path.time, step.path.corners(), stored["wrench"])
    return found


def depths(folder: Path, step: Step, seed: int) -> np.ndarray:
    """Of the foot in a bed (n,), m, under the load of its stance, read or found now and written."""
    path = folder / f"loaded_{step.foot}_{seed}.npz"
    if not path.exists():
        one = loaded(step, GRAINS["beads"], seed)
        write_whole(path, lambda temporary: np.savez(temporary, depth=one.depth))
    with np.load(path, allow_pickle=False) as stored:
        return stored["depth"]


def _foot_at(pose) -> FootInGround:
    cos, sin = jnp.cos(pose[2]), jnp.sin(pose[2])
    rotation = jnp.array([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])
    return FootInGround(-pose[1], jnp.array([pose[0], 0.0, pose[1]]), rotation, jnp.eye(3))


def by_law(medium: Medium, motion: Motion) -> np.ndarray:
    """Wrenches (n, 3) of a medium: of all that it can, what dissipates most."""
    bound, dt = medium.for_foot(FOOT, True), jnp.asarray(motion.dt)

    def step(memory, now):
        foot, twist = _foot_at(now[0]), now[1]
        law = bound.law(foot, memory, dt)
        return bound.remember(foot, memory, law, twist, dt), law.wrench(twist)

    fresh = bound.initial_memory(_foot_at(jnp.array([0.0, ABOVE, 0.0])))
    return np.asarray(jax.lax.scan(step, fresh, (jnp.asarray(motion.pose), jnp.asarray(motion.twist)))[1])


def following(wrench: np.ndarray, motion: Motion, way: float, slowing: float, between: int = 4) -> np.ndarray:
    """Wrenches (n, 3) that come to those of a law over some way (m) of the foot, and go as grains run away from it.

        dw/ds = (w_law - w) / way,      s the way of the foot,

    and what went with the foot goes on where that slows down, slowed itself (m/s2): the way by which it runs ahead
    takes from the wrench what as much way of the foot towards no wrench would.
    """
    now, ahead, before = np.zeros(3), 0.0, motion.speed[0]
    found, dt = np.zeros_like(wrench), motion.dt / between
    for row, (law, speed) in enumerate(zip(wrench, motion.speed, strict=True)):
        for part in range(1, between + 1):
            here = before + (speed - before) * part / between
            ahead = max(ahead - slowing * dt, here)
            now = (law + (now - law) * np.exp(-here * dt / way)) * np.exp(-(ahead - here) * dt / way)
        before, found[row] = speed, now
    return found


def error(motions: Sequence[Motion], laws: Sequence[np.ndarray], cutoff: float | None) -> float:
    """Normalised, of all together; laws filtered (Hz) where the grains' wrenches are."""
    smooth = [low_pass(one.time, law, cutoff) if cutoff else law for one, law in zip(motions, laws, strict=True)]
    off, size = np.sum([one.squares(law) for one, law in zip(motions, smooth, strict=True)], axis=0)
    return float(np.sqrt(off / size))


def slow_strength(piece: np.ndarray, motion: Motion) -> float:
    """Upward force of the slow push, between `DEEP`, over that of the law."""
    depth = -motion.pose[:, 1]
    rows = (piece == piece[-1]) & (depth >= DEEP[0]) & (depth <= DEEP[1])
    return float(motion.wrench[rows, 1].mean() / by_law(beads(), motion)[rows, 1].mean())


def print_probes(folder: Path, seed: int, names: Sequence[str]) -> None:
    """What each probe shows in a bed."""
    for name in names:
        pieces = PROBES[name]
        piece, motion = driven(folder, name, seed)
        for speed, share in stops(piece, motion, pieces):
            print(f"  stopped from {speed} m/s: {share:.2f} of the upward force is left")
        depth, force, law = -1e3 * motion.pose[:, 1], motion.wrench, by_law(beads(), motion)
        remembering = by_law(Remembering(beads()), motion)
        for number, (along, up, _) in enumerate(pieces):
            mine = np.flatnonzero(piece == number)
            if name == "slow" or (name, number) == ("sweep", 0):
                deep = mine[depth[mine] > 50]
                share = force[deep, 1].mean() / law[deep, 1].mean()
                print(
                    f"  pushed at {-up} m/s, {depth[deep[0]]:.0f} to {depth[deep[-1]]:.0f} mm: {share:.2f} of the law"
                )
            elif name == "sweep" and number in (2, 3, 4):
                for some in np.array_split(mine, 5):
                    way = 1e3 * np.hypot(*(motion.pose[some, :2] - motion.pose[mine[0] - 1, :2]).T).mean()
                    means = {"grains": force, "law": law, "with memory": remembering}
                    words = [
                        f"{label} {one[some, 0].mean():.0f}, {one[some, 1].mean():.0f}" for label, one in means.items()
                    ]
                    print(f"  then at {along}, {up} m/s by {way:.1f} mm, fx and fz (N): {'; '.join(words)}")


def draw(path: Path, folder: Path, beds: Sequence[int], run: Run, feet: Sequence[str], judges: Sequence[int]) -> None:
    """Force by time in the probe "sweep"; share left after stops; depth of a stance under its load."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (force, left, stance) = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained", width_ratios=[3, 2, 2])
    piece, motion = driven(folder, "sweep", beds[0])
    for seed in beds:
        force.plot(motion.time, driven(folder, "sweep", seed)[1].wrench[:, 1], lw=0.8, label=f"grains, bed {seed}")
    moves = np.linalg.norm(motion.twist, axis=1) > 0  # of a foot at rest a law says what it can bear, not what it does
    for name, medium, line in (("the law", beads(), "k"), ("with memory", Remembering(beads()), "k:")):
        force.plot(motion.time, np.where(moves, by_law(medium, motion)[:, 1], np.nan), line, lw=1, label=name)
    for number, word in enumerate(("pushed", "held", "lifted\n3 mm", "pushed 10 mm", "dragged\n40 mm", "down")):
        mine = motion.time[piece == number]
        force.axvline(mine[0], color="0.8", lw=0.8)
        force.text(mine.mean(), 420, word, ha="center", va="top", fontsize=8)
    force.set(xlabel="time (s)", ylabel="upward force (N)", ylim=(-30, 430), xlim=(0, motion.time[-1]))
    force.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0.0, 0.94))
    for seed in beds:
        shares = [share for name in probes_of(seed, beds) for share in stops(*driven(folder, name, seed), PROBES[name])]
        left.semilogx(*zip(*sorted(shares), strict=True), "o-", ms=4, lw=0.8, label=f"bed {seed}")
    left.set(xlabel="speed before the stop (m/s)", ylabel="share of the force that is left", ylim=(0, 1.05))
    left.legend(fontsize=8)
    step = steps_of(run, feet)[0]
    stance.plot(step.path.time, -1e3 * step.path.depth, "k", lw=1, label="the run")
    for seed in judges:
        stance.plot(step.path.time, -1e3 * depths(folder, step, seed), lw=0.8, label=f"same load, bed {seed}")
    stance.axhline(0, color="0.8", lw=0.8)
    stance.set(xlabel="time (s)", ylabel=f"height of {step.foot} (mm)")
    stance.legend(fontsize=8)
    figure.savefig(path, dpi=110)


def stops(piece: np.ndarray, motion: Motion, pieces) -> list[tuple[float, float]]:
    """Of every stop of a probe: the speed before (m/s), and the share of the upward force that is left."""
    found = []
    for number, (along, up, _) in enumerate(pieces):
        if (along, up) == (0, 0):
            mine, force = np.flatnonzero(piece == number), motion.wrench[:, 1]
            moving, still = force[mine[0] - AT_LAST : mine[0]].mean(), force[mine[-AT_LAST:]].mean()
            found.append((-pieces[number - 1][1], float(still / moving)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--beds", type=int, nargs="+", default=[13, 15])
    parser.add_argument("--run", type=Path, help="a run file: its stances are driven")
    parser.add_argument("--feet", nargs="+")
    parser.add_argument("--judge", type=int, nargs="+", default=[16, 17], help="beds for the stances")
    parser.add_argument("--figure", type=Path, help="a picture of it all, which needs --run")
    asked = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    for seed in asked.beds:
        print(f"bed {seed}")
        print_probes(asked.out, seed, probes_of(seed, asked.beds))
    probes = [driven(asked.out, name, seed)[1] for seed in asked.beds for name in probes_of(seed, asked.beds)]
    strength = float(np.mean([slow_strength(*driven(asked.out, "slow", seed)) for seed in asked.beds]))
    print(f"strength of the ground under slow pushes: {strength:.3f} of the law")
    motions = {"probes": probes}
    if asked.run is not None:
        found = stances(asked.out, Run.load(asked.run), asked.feet, asked.judge)
        motions["stances"] = list(found.values())
    whole = {name: [by_law(beads(), motion) for motion in some] for name, some in motions.items()}
    weaker = {name: [strength * law for law in some] for name, some in whole.items()}
    memory = {name: [by_law(Remembering(beads()), motion) for motion in some] for name, some in motions.items()}
    laws = {"the law": whole, "with memory": memory, "of that strength": weaker}
    for way, slowing in product(WAYS, SLOWINGS):
        laws[f"of that strength, over {1e3 * way:.0f} mm, grains slowed by {slowing:g} m/s2"] = {
            name: [following(law, motion, way, slowing) for law, motion in zip(weaker[name], some, strict=True)]
            for name, some in motions.items()
        }
    for label, law in laws.items():
        errors = {name: error(some, law[name], CUTOFF if name == "stances" else None) for name, some in motions.items()}
        print(f"{label}: {', '.join(f'{name} {one:.3f}' for name, one in errors.items())}")
    if asked.run is None:
        return
    pairs = [
        (one, other)
        for (foot, seed), one in found.items()
        for (also, bed), other in found.items()
        if also == foot and bed != seed
    ]
    off = np.sum([one.squares(other.wrench) for one, other in pairs], axis=0)
    print(f"stances, one bed beside another: {np.sqrt(off[0] / off[1]):.3f}")
    if asked.figure:
        draw(asked.figure, asked.out, asked.beds, Run.load(asked.run), asked.feet, asked.judge)


if __name__ == "__main__":
    main()
