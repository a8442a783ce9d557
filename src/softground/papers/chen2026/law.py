"""II.C: the wedge under a sole and the forces on it, (8), (9) and shear, beside resistive force theory without one."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from matplotlib.patches import Wedge as Sector

from softground.bridges.side_pictures import EDGE, OUTLINE, SAND, WITHOUT_GRID, blank
from softground.media import FootInGround, FootMedium, Wedge
from softground.media.resistive import surface_of, wrenches
from softground.media.wedge import lateral_force, sagittal_force, shear_force
from softground.media.wedge.calibration import solids
from softground.media.wedge.geometry import Solid
from softground.media.wedge.medium import FRICTION_ANGLE, Memory
from softground.media.wedge.resistance import wall_stress
from softground.papers.study import Findings, Options, Row, Study, Table, below
from softground.robots.shapes import Box, HalfCylinder, Panels, Shape
from softground.runs.figures import COLOURS, STYLE

FEET: dict[str, Shape] = {"flat": Box(0.08, 0.08, 0.02), "round": HalfCylinder(0.04, 0.08)}
GROUND = Wedge()
DEPTHS = np.linspace(0.0, 0.05, 51)  # m
SHOWN = (0.004, 0.025)  # m, depths at which the wedge is drawn
DIRECTIONS = np.deg2rad(np.arange(-180.0, 180.0, 2.0) + 1.0)
"""Directions of motion in the x-z plane, from +x; -90 degrees is straight down."""
GOING_DOWN = DIRECTIONS[DIRECTIONS < 0]
PROBE = 0.025  # m, depth at which forces are compared over directions
RFT = "RFT on the bare sole"


def perform(options: Options) -> Findings:
    turned = {name: over_directions(shape) for name, shape in FEET.items()}
    sunk = {name: over_depths(shape) for name, shape in FEET.items()}
    excess = {name: _excess(*forces) for name, forces in turned.items()}
    both = max(float(one[_both_lead()].max()) for one in excess.values())
    summed = {name: summed_over_wedge(shape) for name, shape in FEET.items()}
    off = {name: np.abs(turned[name][0] - summed[name]).max() / np.abs(summed[name]).max() for name in FEET}
    rubbed = {name: (shear_over_directions(shape), sheared_over_wedge(shape)) for name, shape in FEET.items()}
    shear_off = max(np.abs(closed - total).max() / np.abs(total).max() for closed, total in rubbed.values())
    return Findings(
        checks=[
            below("closed forms (8) against RFT summed over the wedge, relative", float(max(off.values())), 1e-8),
            below("(9) against RFT summed over the wall that it pushes, relative", bulldozing_off(), 1e-8),
            below("shear against RFT summed over the wedge, relative", float(shear_off), 1e-8),
            below("power of the convex law over (8), both flanks leading, share of the greatest", both, 0.08),
            below("the same over all directions", max(float(one.max()) for one in excess.values()), 0.25),
        ],
        metrics={"excess_power": {name: float(one.max()) for name, one in excess.items()}},
        tables=[Table("depth", "Force straight down (N)", _rows(sunk))],
        figures={"wedge": figure(sunk, turned)},
        notes=[
            "I_z of (8) and g_z of (9) are not printed: docs/chen2026.md derives them. alpha is the plane law of Li et "
            f"al. 2013 with zeta = {float(GROUND.zeta):g}; phi_s = {np.rad2deg(FRICTION_ANGLE):g} degrees.",
            "The convex law has steps because its sets of forces have corners, one per direction sampled; the "
            "temperature rounds them, here almost not.",
        ],
    )


def _both_lead() -> np.ndarray:
    """Directions in which both flanks of the wedge lead."""
    return -np.sin(DIRECTIONS) > np.sin(FRICTION_ANGLE)


def _excess(closed: np.ndarray, convex: np.ndarray) -> np.ndarray:
    """How much more the convex law dissipates than (8), as a share of the greatest of (8)."""
    along = np.stack([np.cos(DIRECTIONS), np.sin(DIRECTIONS)], axis=-1)
    power = [-(force * along).sum(-1) for force in (convex, closed)]
    return (power[0] - power[1]) / power[1].max()


def over_depths(shape: Shape) -> dict[str, np.ndarray]:
    """Force (N) straight down over `DEPTHS`: on the wedge (8), and on the bare sole."""
    down = np.array([0.0, 0.0, -1.0])
    scale = float(GROUND.zeta)
    on_wedge = [
        sagittal_force(one.faces, down, FRICTION_ANGLE, scale, shape.extent[1])[2] for one in solids(shape, DEPTHS)
    ]
    twist = np.concatenate([down, np.zeros(3)])[None]
    bare = scale * wrenches(surface_of(shape), "plane", np.eye(3)[None], DEPTHS, twist, shape.clearance)[0, :, 0, 2]
    return {"wedge": np.array(on_wedge), RFT: bare}


def over_directions(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Force (fx, fz), N, at `PROBE` over `DIRECTIONS`: closed form, and of the convex law (without added mass)."""
    faces, scale = solids(shape, np.array([PROBE]))[0].faces, float(GROUND.zeta)
    along = np.stack([np.cos(DIRECTIONS), np.zeros_like(DIRECTIONS), np.sin(DIRECTIONS)], axis=-1)
    closed = np.array([sagittal_force(faces, one, FRICTION_ANGLE, scale, shape.extent[1]) for one in along])
    twists = np.stack([along[:, 0], along[:, 2], np.zeros(len(along))], axis=-1)
    return closed[:, [0, 2]], _convex(Wedge(density=0.0, eps=1e-6).for_foot(shape, planar=True), twists)[:, :2]


def _convex(medium: FootMedium, twists: np.ndarray) -> np.ndarray:
    """Wrenches of the convex law on a level foot at `PROBE`."""

    @jax.jit
    def wrenches_along(twists):
        foot = FootInGround(jnp.asarray(PROBE), jnp.zeros(3), jnp.eye(3), jnp.eye(3))
        memory = Memory(jnp.zeros(3), jnp.zeros(()), jnp.zeros(()))
        return jax.vmap(medium.law(foot, memory, jnp.asarray(1e-3)).wrench)(twists)

    return np.asarray(wrenches_along(twists))


def summed_over_wedge(shape: Shape) -> np.ndarray:
    """Force (fx, fz), N, at `PROBE` over `DIRECTIONS`: resistive force theory over elements of the wedge's surface."""
    twists = np.zeros((len(DIRECTIONS), 6))
    twists[:, 0], twists[:, 2] = np.cos(DIRECTIONS), np.sin(DIRECTIONS)
    total = wrenches(_surface_of_wedge(shape), "plane", np.eye(3)[None], np.zeros(1), twists)[0, 0]
    return float(GROUND.zeta) * total[:, [0, 2]]


def bulldozing_off() -> float:
    """Greatest error of (9), relative, of walls as deep and as long as feet that have slipped push together.

    An upright wall that goes level, in elements whose middles have their mean depth.
    """
    scale, saturation = float(GROUND.zeta), GROUND.saturation_length
    slips = np.array([0.002, 0.02, 0.2])
    length = np.asarray(saturation) * -np.expm1(-slips / np.asarray(saturation))
    wall = [_strip(np.zeros(2), np.array([0.0, -PROBE]), one) for one in length]
    ahead = np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    total = [scale * wrenches(one, "plane", np.eye(3)[None], np.zeros(1), ahead)[0, 0, 0, 0] for one in wall]
    closed = scale * np.asarray(lateral_force(jnp.asarray(PROBE), jnp.asarray(slips), saturation, wall_stress()))
    return float(np.abs(np.abs(total) / closed - 1).max())


def _surface_of_wedge(shape: Shape) -> Panels:
    """Elements of the lower side of the wedge under a level foot at `PROBE`; z = 0 at the surface of the sand."""
    corners = outline(shape, solids(shape, np.array([PROBE]))[0])
    strips = [_strip(a, b, shape.extent[1]) for a, b in pairwise(corners) if np.hypot(*(b - a)) > 1e-12]
    return Panels(*(np.concatenate(field) for field in zip(*strips, strict=True)))


def sheared_over_wedge(shape: Shape) -> np.ndarray:
    """Force sideways, N, at `PROBE` over the lower `DIRECTIONS` of the frontal plane: RFT over the wedge's surface.

    The wedge is turned by a right angle, so that the plane law's slices, which are parallel to x, cut it sideways.
    """
    twists = np.zeros((len(GOING_DOWN), 6))
    twists[:, 0], twists[:, 2] = np.cos(GOING_DOWN), np.sin(GOING_DOWN)
    turn = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    total = wrenches(_surface_of_wedge(shape), "plane", turn[None], np.zeros(1), twists)[0, 0]
    return float(GROUND.zeta) * total[:, 0]


def shear_over_directions(shape: Shape) -> np.ndarray:
    """The same in closed form."""
    faces, scale = solids(shape, np.array([PROBE]))[0].faces, float(GROUND.zeta)
    along = np.stack([np.zeros_like(GOING_DOWN), np.cos(GOING_DOWN), np.sin(GOING_DOWN)], axis=-1)
    return np.array([shear_force(faces, one, FRICTION_ANGLE, scale, shape.extent[1]) for one in along])


def convex_shear_over_directions(shape: Shape) -> np.ndarray:
    """The same of the convex law."""
    return _convex(Wedge(density=0.0, eps=1e-6, shear=1.0).for_foot(shape, planar=False), _frontal_twists())[:, 1]


def _frontal_twists() -> np.ndarray:
    twists = np.zeros((len(GOING_DOWN), 6))
    twists[:, 1], twists[:, 2] = np.cos(GOING_DOWN), np.sin(GOING_DOWN)
    return twists


def sideways_in_space(shape: Shape) -> np.ndarray:
    """The same on the bare sole in 3D-RFT."""
    twists = _frontal_twists()
    total = wrenches(surface_of(shape), "3d", np.eye(3)[None], np.array([PROBE]), twists, shape.clearance)[0, 0]
    return float(GROUND.zeta) * total[:, 1]


def _strip(start: np.ndarray, end: np.ndarray, width: float, count: int = 20) -> Panels:
    """A face of the wedge from one corner (x, z) to the next, front to rear, in elements across the whole width."""
    along = (end - start) / count
    length = np.hypot(*along)
    middle = start + (np.arange(count) + 0.5)[:, None] * along
    zero = np.zeros(count)
    normal = np.array([-along[1], 0.0, along[0]]) / length
    edges = np.array([[along[0] / 2, 0.0, along[1] / 2], [0.0, width / 2, 0.0]])
    return Panels(
        centre=np.stack([middle[:, 0], zero, middle[:, 1]], axis=-1),
        normal=np.tile(normal, (count, 1)),
        area=np.full(count, length * width),
        edges=np.tile(edges, (count, 1, 1)),
    )


def outline(shape: Shape, found: Solid) -> np.ndarray:
    """Corners (x, z), m, of a level wedge below its chord, from front to rear; z = 0 at the surface.

    By its geometry alone, not by the loads that are to be compared with sums over it.
    """
    chord = found.chord
    height = (chord.front - chord.rear) / 2 * np.tan(FRICTION_ANGLE)
    grown = 1.0 if shape.rolls else 1 - np.exp(-float(GROUND.growth) * chord.front_depth / height)
    bottom = chord.front_depth + grown * height
    inwards = (bottom - chord.front_depth) / np.tan(FRICTION_ANGLE)
    return np.array(
        [
            [chord.front, -chord.front_depth],
            [chord.front - inwards, -bottom],
            [chord.rear + inwards, -bottom],
            [chord.rear, -chord.rear_depth],
        ]
    )


def _rows(sunk: dict[str, dict[str, np.ndarray]]) -> list[Row]:
    return [
        {"depth (mm)": 1e3 * DEPTHS[i]}
        | {f"{name}, {label}": float(force[i]) for name, curves in sunk.items() for label, force in curves.items()}
        for i in range(0, len(DEPTHS), 5)
    ]


# -- the figure ---------------------------------------------------------------------------------------------------


def figure(sunk, turned) -> Figure:
    """Wedges at two depths; force over depth; force over direction, closed form and convex law; bulldozing; shear."""
    with matplotlib.rc_context(WITHOUT_GRID):
        result = blank(10.4, 4.8)
        panels = result.subplot_mosaic(
            [["flat 0", "flat 1", "round 0", "round 1"], ["depth", "direction", "slip", "shear"]],
            height_ratios=(1, 1.5),
        )
        for name, shape in FEET.items():
            for i, (depth, found) in enumerate(zip(SHOWN, solids(shape, np.array(SHOWN)), strict=True)):
                _draw_wedge(panels[f"{name} {i}"], shape, depth, found)
        with matplotlib.rc_context(STYLE):
            _draw_depths(panels["depth"], sunk)
            _draw_directions(panels["direction"], *turned["round"])
            _draw_slip(panels["slip"])
            _draw_shear(panels["shear"], FEET["round"])
        result.align_ylabels()
    return result


def _draw_wedge(axes: Axes, shape: Shape, depth: float, found: Solid) -> None:
    """A slice of the foot in the ground and the solid grains under it, mm."""
    axes.axhspan(-80, 0, color=SAND, lw=0)
    axes.axhline(0, color=EDGE, lw=1)
    axes.add_patch(Polygon(1e3 * outline(shape, found), facecolor="#b58a3c", edgecolor=EDGE, lw=1))
    if shape.rolls:
        radius = 1e3 * shape.clearance
        axes.add_patch(Sector((0, radius - 1e3 * depth), radius, 180, 360, fc="#9fb3c8", ec=OUTLINE))
    else:
        half, height = 1e3 * shape.extent[0] / 2, 18.0
        box = [[-half, -1e3 * depth], [half, -1e3 * depth], [half, height], [-half, height]]
        axes.add_patch(Polygon(box, facecolor="#9fb3c8", edgecolor=OUTLINE))
    axes.set(xlim=(-55, 55), ylim=(-62, 22), aspect="equal", xticks=[], yticks=[])
    axes.set_title(f"{1e3 * depth:.0f} mm deep", fontsize=8)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_depths(axes: Axes, sunk: dict[str, dict[str, np.ndarray]]) -> None:
    for (name, curves), colour in zip(sunk.items(), COLOURS, strict=False):
        axes.plot(1e3 * DEPTHS, curves["wedge"], color=colour, label=f"{name} sole, on its wedge (8)")
        axes.plot(1e3 * DEPTHS, curves[RFT], color=colour, ls=(0, (4, 3)), label=f"{name}, {RFT}")
    axes.set(xlabel="depth (mm)", ylabel="force straight down (N)", xlim=(0, 50))
    axes.legend(fontsize=7, loc="upper left")
    axes.set_ylim(0, 1.5 * max(curve.max() for curves in sunk.values() for curve in curves.values()))


def _draw_directions(axes: Axes, closed: np.ndarray, convex: np.ndarray) -> None:
    for i, (label, colour) in enumerate((("$F_x$", COLOURS[0]), ("$F_z$", COLOURS[1]))):
        axes.plot(np.rad2deg(DIRECTIONS), closed[:, i], color=colour, label=f"{label}, (8)")
        axes.plot(np.rad2deg(DIRECTIONS), convex[:, i], color=colour, ls=(0, (4, 3)), label=f"{label}, convex law")
    axes.set(xlabel="direction (deg; -90 is down)", ylabel="force, round sole, 25 mm (N)", xlim=(-180, 180))
    axes.set_xticks([-180, -90, 0, 90, 180])
    axes.legend(fontsize=7, loc="upper right")
    axes.set_ylim(top=1.45 * closed.max())


def _draw_slip(axes: Axes) -> None:
    slip = np.linspace(0.0, 0.2, 101)
    for depth, colour in zip((0.02, 0.03, 0.04), COLOURS, strict=False):
        force = lateral_force(jnp.asarray(depth), jnp.asarray(slip), GROUND.saturation_length, wall_stress())
        axes.plot(1e3 * slip, float(GROUND.zeta) * np.asarray(force), color=colour, label=f"{1e3 * depth:.0f} mm deep")
    axes.set(xlabel="slip (mm)", ylabel="bulldozing force (9) (N)", xlim=(0, 200), ylim=(0, None))
    axes.legend(fontsize=7)


def _draw_shear(axes: Axes, shape: Shape) -> None:
    angle = np.rad2deg(GOING_DOWN)
    axes.plot(angle, shear_over_directions(shape), color=COLOURS[0], label="shear below the wedge")
    axes.plot(
        angle, convex_shear_over_directions(shape), color=COLOURS[0], ls=(0, (4, 3)), label="the same, convex law"
    )
    axes.plot(angle, sideways_in_space(shape), color=COLOURS[1], ls=(0, (4, 3)), label="3D-RFT, all of the sole")
    axes.set(xlabel="frontal direction (deg)", ylabel="$F_y$, round sole, 25 mm (N)", xlim=(-180, 0))
    axes.set_xticks([-180, -90, 0])
    axes.legend(fontsize=7, loc="upper right")
    axes.set_ylim(top=1.6 * sideways_in_space(shape).max())


STUDY = Study(
    "chen2026",
    "law",
    "the foot-ground law (eqs 8 and 9)",
    "grains under the sole turn solid; the forces on that zone are given in closed form, for flat and round soles.",
    perform,
)
