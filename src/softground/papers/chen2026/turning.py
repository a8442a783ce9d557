"""Beyond the paper: a turning walk of the whole biped, on the same ground.

The paper's planes have no yaw, and its robot, like ours, no actuator about the vertical: a foot always points where the
trunk does. To turn it must twist the foot that carries, in the ground. It does so in every stance: swinging one leg
ahead turns the rest the other way, by a tenth of a radian or so, and the next stance turns back. A trunk that pitches
one way over the left foot and the other over the right one leaves something over (`control.stepping.stepper`); how
much it pitches is learned from stride to stride, from the turn that is missing (`SteppingGait.steering`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.control.stepping import SteppingGait, Walks
from softground.papers.chen2026.experiment import DT, GAIT, GROUNDS, biped_law, walks_on
from softground.papers.study import Check, Findings, Options, Row, Study, Table, below
from softground.runs import Run
from softground.runs.figures import COLOURS, STYLE
from softground.runs.measures import heading

SPEED, SLOW = 0.3, 0.1  # m/s: of all walks, and of some that pitch their trunks but are not steered
SECONDS, STEADY = 10.0, 6.0  # s: of a walk, and from when on it is looked at
TURNS = (-0.5, -0.25, 0.0, 0.25, 0.5)  # rad/s
PITCH_ACCELERATIONS = (-20.0, -10.0, -5.0, 0.0, 5.0, 10.0, 20.0)  # rad/s2
STEERING = {"wedge": GAIT.steering, "sand": GAIT.steering, "rigid": 15.0}
"""rad/s2 of trunk pitch per rad/s that a stride lacks. It takes more to twist a foot on firm ground; what learns that
in 6 s would upset faster walks, so it is not the default."""
GOOD = 0.05  # rad/s, error of the turning rate


class Turned(NamedTuple):
    """A walk that turns."""

    run: Run
    fallen: str  # empty where it did not

    @property
    def yaw(self) -> Float[np.ndarray, " t"]:
        """Heading, rad."""
        return heading(self.run)

    @property
    def rate(self) -> float:
        """Turning rate of the steady part, rad/s, over whole strides."""
        yaw = self.yaw[round(STEADY / DT) :: round(2 * float(GAIT.stance) / DT)]
        return float((yaw[-1] - yaw[0]) / (2 * float(GAIT.stance) * (len(yaw) - 1)))

    @property
    def twist(self) -> float:
        """How far a foot twists in the ground while it carries, rad: mean size over the steady stances."""
        starts = self.yaw[round(STEADY / DT) :: round(float(GAIT.stance) / DT)]
        return float(np.abs(np.diff(starts)).mean())

    @property
    def pitch(self) -> float:
        """Pitch of the trunk in the steady part, rad: greatest size."""
        w, x, y, z = self.run["configuration"].values[round(STEADY / DT) :, 3:7].T
        return float(np.abs(np.arcsin(2 * (w * y - z * x))).max())

    @property
    def speed(self) -> float:
        """Speed of the centre of mass along its way, m/s, from stride to stride."""
        way = self.run["center_of_mass"].values[round(STEADY / DT) :: round(2 * float(GAIT.stance) / DT), :2]
        return float(np.linalg.norm(np.diff(way, axis=0), axis=1).mean() / (2 * float(GAIT.stance)))


OpenLoop = dict[tuple[str, float], dict[float, Turned]]
"""Walks that pitch their trunks but are not steered: by ground, speed (m/s) and trunk pitch (rad/s2)."""


@cache
def _walks(ground: str) -> Walks:
    medium, depth = (biped_law(), 0.02) if ground == "wedge" else GROUNDS[ground]
    return walks_on(medium, depth, SECONDS)


def turned(ground: str, gait: SteppingGait, speed: float = SPEED) -> Turned:
    """A walk with this gait."""
    run = _walks(ground)(speed, gait=gait, title=f"biped turns on {ground}")
    fall = run.fall()
    return Turned(run, "" if fall is None else f"{fall.reason} at {fall.time:.2f} s")


def perform(options: Options) -> Findings:
    grounds, turns = (("wedge",), (0.25,)) if options.quick else (tuple(STEERING), TURNS)
    pitch_accelerations = (0.0, 10.0) if options.quick else PITCH_ACCELERATIONS
    desired = {
        (ground, turn): turned(ground, replace(GAIT, turn=turn, steering=STEERING[ground]))
        for ground in grounds
        for turn in turns
    }
    open_loop = {
        (ground, speed): {
            pitch_acceleration: turned(
                ground, replace(GAIT, pitch_acceleration=pitch_acceleration, steering=0.0), speed
            )
            for pitch_acceleration in pitch_accelerations
        }
        for ground in grounds
        for speed in ((SPEED,) if options.quick else (SPEED, SLOW))
    }
    checks = []
    for (ground, turn), one in desired.items():
        name = f"{turn:+.2f} rad/s on {ground}"
        checks.append(Check(f"it walks: {name}", not one.fallen, one.fallen or "none", "no fall"))
        if not one.fallen:
            checks.append(below(f"error of the turning rate: {name} (rad/s)", abs(one.rate - turn), GOOD))
    rows = [_row(ground, turn, one) for (ground, turn), one in desired.items() if not one.fallen]
    return Findings(
        checks=checks,
        metrics={"turning": rows, "pitch_acceleration": _rows(open_loop)},
        tables=[
            Table("turning", f"Turning walks at {SPEED:g} m/s", rows),
            Table("pitch_acceleration", "Turning rate (rad/s) by trunk pitch alone, not steered", _rows(open_loop)),
        ],
        figures={"turning": figure(desired, open_loop)},
        notes=[
            "The biped has no actuator about the vertical. It turns because its feet twist in the ground, by 'twist' "
            "while each carries, and what a left and a right stance leave over adds up.",
            "Pitching the trunk turns the robot to the same side on every ground. How much of it a turn takes differs "
            "between them; on rigid ground it is learned with a larger gain.",
        ],
    )


def _row(ground: str, turn: float, one: Turned) -> Row:
    return {
        "ground": ground,
        "desired (rad/s)": turn,
        "turned (rad/s)": one.rate,
        "twist of a foot in a stance (rad)": one.twist,
        "greatest pitch (rad)": one.pitch,
        "speed (m/s)": one.speed,
        "radius of the way (m)": one.speed / abs(one.rate) if turn else float("inf"),
    }


def _rows(open_loop: OpenLoop) -> list[Row]:
    return [
        {"ground": ground, "speed (m/s)": speed}
        | {
            f"{pitch_acceleration:g} rad/s2": "falls" if one.fallen else one.rate
            for pitch_acceleration, one in of.items()
        }
        for (ground, speed), of in open_loop.items()
    ]


def figure(desired: dict[tuple[str, float], Turned], open_loop: OpenLoop) -> Figure:
    """Ways seen from above on the first ground; turning rates, desired and achieved; and by trunk pitch alone (dashed:
    slow)."""
    grounds = dict.fromkeys(ground for ground, _ in open_loop)
    first = next(iter(grounds))
    with matplotlib.rc_context(STYLE):
        result = blank(9.0, 3.0)
        above, had, alone = result.subplots(1, 3)
        for (ground, turn), one in desired.items():
            if ground == first and not one.fallen:
                way = one.run["center_of_mass"].values
                above.plot(way[:, 0], way[:, 1], lw=0.9, label=f"{turn:+.2f} rad/s")
        for ground, colour, marker in zip(grounds, COLOURS, "os^", strict=False):
            sound = [(turn, one.rate) for (on, turn), one in desired.items() if on == ground and not one.fallen]
            had.plot(*zip(*sound, strict=True), marker, color=colour, ms=5, mfc="none", label=ground)
            for speed, dash in ((SPEED, "-"), (SLOW, "--")):
                of = open_loop.get((ground, speed), {})
                rates = [(pitch_acceleration, one.rate) for pitch_acceleration, one in of.items() if not one.fallen]
                style = {"color": colour, "ls": dash, "ms": 4, "mfc": "none"}
                if rates:
                    alone.plot(*zip(*rates, strict=True), marker, **style, label=ground if dash == "-" else None)
        had.plot([-0.5, 0.5], [-0.5, 0.5], color="0.6", lw=0.8, zorder=0)
        above.set(xlabel="x (m)", ylabel="y (m)", aspect="equal", xlim=(-1.5, None), title=f"seen from above, {first}")
        had.set(xlabel="desired (rad/s)", ylabel="turned (rad/s)", title="steered")
        alone.set(
            xlabel="trunk pitch (rad/s2)", ylabel="turned (rad/s)", title=f"trunk pitch alone; dashed: {SLOW:g} m/s"
        )
        above.legend(fontsize=6.5, loc="center left")
        had.legend(fontsize=7)
        alone.legend(fontsize=7)
    return result


STUDY = Study(
    "chen2026",
    "turning",
    "turning walks of the whole biped on sand",
    "it leaves out yaw, and names turning as future work.",
    perform,
)
