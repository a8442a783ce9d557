"""Where a gait that was not found breaks its problem: rows that are violated most, and bounds that hold them there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from softground.planning.bounds import bounds
from softground.planning.layout import Layout
from softground.planning.transcription import Transcription
from softground.robots import Robot
from softground.runs.dataset import coordinate_names

AT_BOUND = 1e-4
"""Share of a bound within which an unknown counts as held there; units of torques are 100 N m."""
SHOWN = 3


def clashes(transcription: Transcription, z: np.ndarray, eps: float, feasibility: float) -> list[str]:
    """The rows that are violated most at unknowns z on ground of eps (W), each where it is worst, in words; and the
    bounds that unknowns are at there."""
    worst: dict[str, tuple[float, int]] = {}
    for name, knot, excess in _violated(transcription, z, eps, feasibility):
        if excess > worst.get(name, (0.0, 0))[0]:
            worst[name] = (excess, knot)
    lines = []
    for name, (excess, knot) in sorted(worst.items(), key=lambda item: -item[1][0])[:SHOWN]:
        held = _held(transcription, z, knot)
        also = f"; there at their bounds: {', '.join(held)}" if held else ""
        lines.append(f"{name} is off by {excess:.2g}, most at knot {knot}{also}")
    return lines


def _violated(transcription: Transcription, z, eps: float, feasibility: float) -> Iterator[tuple[str, int, float]]:
    robot, layout = transcription.problem.robot, transcription.layout
    values = transcription.nlp(eps).constraints(z)  # by the program of the solve: block by block JAX would compile anew
    ends = np.cumsum([len(part.block.columns) * len(part.lower) for part in transcription.constraints])
    for part, rows in zip(transcription.constraints, np.split(values, ends[:-1]), strict=True):
        rows = rows.reshape(-1, len(part.lower))
        excess = np.maximum(np.maximum(part.lower - rows, rows - part.upper), 0.0)
        names = row_names(part.block.label, rows.shape[1], robot, layout)
        for place, row in zip(*np.nonzero(excess > feasibility), strict=True):
            yield names[row], int(place), float(excess[place, row])


def row_names(label: str, count: int, robot: Robot, layout: Layout) -> list[str]:
    """What the rows of a block are, with their units."""
    feet = [foot.name for foot in robot.feet]
    if label == "step" and count == layout.nq + layout.nv + layout.lifted:
        each = layout.lifted // max(len(feet), 1)
        return [
            *(f"motion of {name} (m/s, rad/s)" for name in coordinate_names(robot)[0]),
            *(f"balance of {name} (100 N, 100 N m)" for name in robot.dof_names),
            *(f"twist of foot {foot} (0.1 m/s)" for foot in feet for _ in range(each)),
        ]
    if label == "feet" and count in (len(feet), 2 * len(feet)):
        return [*(f"depth of foot {foot} (dm)" for foot in feet), *(f"tilt of foot {foot} (rad)" for foot in feet)][
            :count
        ]
    return [f"{label}, row {row}" for row in range(count)]


def _held(transcription: Transcription, z: np.ndarray, knot: int) -> list[str]:
    """Unknowns of a knot that are at their bounds, by name."""
    problem, layout = transcription.problem, transcription.layout
    robot, (lower, upper) = problem.robot, bounds(problem, layout)
    q_names, v_names = coordinate_names(robot)[0], robot.dof_names
    places = [
        *zip(layout.q_at(knot), q_names, strict=True),
        *((at, f"rate of {name}") for at, name in zip(layout.v_at(knot), v_names, strict=True)),
    ]
    if knot < layout.knots - 1:
        names = [robot.dof_names[dof] for dof in robot.actuated]
        places += [(at, f"torque of {name}") for at, name in zip(layout.torque_at(knot), names, strict=True)]
    near = lambda at, bound: abs(z[at] - bound) <= AT_BOUND * max(abs(bound), 1.0)  # noqa: E731
    free = lambda at: lower[at] < upper[at]  # noqa: E731
    return [name for at, name in places if free(at) and (near(at, lower[at]) or near(at, upper[at]))]
