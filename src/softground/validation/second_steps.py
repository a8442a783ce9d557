"""A foot that comes back to where it was: the second of two pushes into grains simulated one by one, and footprints.

The model is `terrain.Footprints` over ground whose force in fresh grains is that of the first pushes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from softground.errors import FileFormatError
from softground.media.base import FootInGround
from softground.robots.shapes import Cylinder, Shape
from softground.terrain.footprints import HEIGHT, Felt, Footprints

SHIPPED = files("softground") / "validation" / "data" / "second_steps.csv"
COLUMNS = ("bed", "first_depth_m", "beside_m", "depth_m", "first_n", "second_n")
ABOVE, STEP, REST = 0.03, 1e-3, 50
"""Height from which the foot comes, way between two updates of the ground (m), and updates before it comes back."""


@dataclass(frozen=True)
class SecondSteps:
    """Two pushes into each of several beds, alike but for the grains: m, N. nan beyond the first push's depth."""

    foot: Shape
    first_depth: float  # m, to which the first push went
    beside: float  # m, from the first place to the second
    depth: np.ndarray  # (n,) m, below the surface as it was poured
    first: np.ndarray  # (beds, n) N, upward force
    second: np.ndarray  # (beds, n) N


def read_second_steps(path: str | Path = str(SHIPPED), beds: tuple[int, ...] = ()) -> list[SecondSteps]:
    """All kinds of second steps into some beds (all); of the table of the package unless another is given."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    if len(lines) < 3 or not lines[0].startswith("# {") or lines[1] != ",".join(COLUMNS):
        raise FileFormatError(f"{path} is no table of second steps: its second line must be {','.join(COLUMNS)}")
    foot = Cylinder(**json.loads(lines[0][2:])["foot"])
    rows = np.array([[float(word) for word in line.split(",")] for line in lines[2:]])
    rows, found = rows[np.isin(rows[:, 0], beds)] if beds else rows, []
    for first_depth, beside in sorted({(one, other) for one, other in rows[:, 1:3]}, key=lambda x: (x[1], -x[0])):
        mine = rows[(rows[:, 1] == first_depth) & (rows[:, 2] == beside)]
        each = [mine[mine[:, 0] == bed] for bed in np.unique(mine[:, 0])]
        first, second = (np.array([one[:, column] for one in each]) for column in (4, 5))
        found.append(SecondSteps(foot, float(first_depth), float(beside), each[0][:, 3], first, second))
    return found


def write_second_steps(path: Path, settings: dict[str, Any], steps: list[tuple[int, dict[str, np.ndarray]]]) -> None:
    """A table of second steps (bed, fields of `rigs.dem.second_step.SecondStep`)."""
    lines = [f"# {json.dumps(settings, sort_keys=True)}", ",".join(COLUMNS)]
    for bed, step in steps:
        kind = f"{bed},{float(step['first_depth']):g},{float(step['beside']):g}"
        rows = zip(step["depth"], step["first"], step["second"], strict=True)
        lines += [f"{kind},{depth:.4f},{first:.2f},{second:.2f}" for depth, first, second in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def fresh_line(steps: list[SecondSteps]) -> np.ndarray:
    """Slope (N/m) and force at no depth (N) of a line through all first pushes."""
    depth = np.concatenate([np.tile(one.depth, len(one.first)) for one in steps])
    force = np.concatenate([one.first.ravel() for one in steps])
    here = np.isfinite(force)
    return np.polyfit(depth[here], force[here], 1)


def second_push(footprints: Footprints, step: SecondSteps, line: np.ndarray) -> np.ndarray:
    """Force of the second push by the model at the depths of the record, N; line: of fresh ground."""
    there = [_way(-ABOVE, step.first_depth), _way(step.first_depth, -ABOVE), np.full(REST, -ABOVE)]
    back = _way(-ABOVE, float(step.depth.max()))
    depth = np.concatenate([*there, back])
    x = np.where(np.arange(len(depth)) < len(depth) - len(back), 0.0, step.beside)
    feet = _feet(x, depth)
    level, firmness = _walked(footprints, step.foot, feet)[1]
    felt = jax.vmap(lambda foot, b: footprints.felt_depth(foot, b).depth)(jax.tree.map(lambda v: v[:, 0], feet), level)
    force = np.where(felt > 0, firmness * np.polyval(line, felt), 0.0)[-len(back) :]
    return np.interp(step.depth, back, force)


def volume_lost(footprints: Footprints, foot: Shape, depth: float) -> float:
    """Share of the volume that a push displaces which is neither in the rim nor was compacted by what `rim` says."""
    path = np.concatenate([_way(-ABOVE, depth), _way(depth, -ABOVE), np.full(REST, -ABOVE)])
    down = _feet(np.zeros(len(path)), path)
    ground, _ = _walked(footprints, foot, down)
    none = eqx.tree_at(lambda one: one.rim, footprints, jnp.zeros(()))
    pushed = -float(_walked(none, foot, down)[0].cells[..., HEIGHT].sum())
    return abs(float(ground.cells[..., HEIGHT].sum()) - (float(footprints.rim) - 1) * pushed) / pushed


def _way(start: float, end: float) -> np.ndarray:
    return np.linspace(start, end, round(abs(end - start) / STEP) + 1)


def _feet(x: np.ndarray, depth: np.ndarray) -> FootInGround:
    place = np.stack([x, 0 * x, 0 * x], -1)
    eye = np.broadcast_to(np.eye(3), (len(x), 3, 3))
    return FootInGround(*(jnp.asarray(one)[:, None] for one in (depth, place, eye, eye)))


@eqx.filter_jit
def _walked(footprints: Footprints, foot: Shape, feet: FootInGround):
    """The ground after a foot's way through fresh ground, and height and firmness that it felt at every place."""
    start = footprints.fresh([foot], feet.depth.dtype).window, Felt.fresh(jax.tree.map(lambda x: x[0], feet))

    def step(carry, one):
        ground, felt = footprints.trodden(carry[0], carry[1], one, [foot])
        return (ground, felt), (felt.level[0], felt.firmness[0])

    (ground, _), felt = jax.lax.scan(step, start, feet)
    return ground, felt
