"""Ground that remembers: prints, rims around them, slopes that slump, and how firm the ground is where it was trodden.

The state of the ground under a robot is a field of cells with two numbers: the height h of its surface over the
undisturbed one, and its firmness, a factor on the medium's strength, kept as its difference from 1 (`window`). Every
few steps, for each foot that has moved near the ground,

1. a sole takes the cells under it down to itself:  h <- min(h, height of the sole);
2. a share `rim` of the volume V that it pushed away is laid around it, out to `rim_width` half widths of the sole, most
   of it halfway; what is missing from V (or is more than V) is what the ground has been compacted (or loosened) by:
   the volume under the surface changes by (rim - 1) V, and by nothing else;
3. slopes steeper than the angle of repose slide, cell to cell, but not into a cell that a sole is in;
4. firmness goes to `firm` where the ground was pressed, to `loose` where grains were laid, over `length` of way.

**What a foot feels.** A foot at depth d below the undisturbed surface, over ground of height b (a mean of h under its
sole in which high ground counts most, and with a soft edge), is d + b deep in it. Its medium is asked for the force
at the depth

    d + b + walls max(-b, 0) S((d + b) / length),        S the smooth step from 0 to 1,

because the bottom of a print is not a surface: grains beside it lie as high as ever, and once the sole has taken hold,
over `length` of way, it meets (nearly, `walls`) what it would meet at this depth in fresh ground. DEM says so (docs).

**A foot in its own print** does not feel it. What zhu2019 measured, and what media are made from, is the force at a
depth below the *undisturbed* surface, whatever the sole has pushed away on its way. So b is held from the moment that
a foot touches the ground until it leaves its print: until it has risen from the bottom by `release`, over which what it
held goes over into what is there. The normal of the ground stays that of the undisturbed surface.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from softground.arrays import Array, as_float, is_known
from softground.errors import OptionError
from softground.media.base import FootInGround
from softground.media.smooth import smooth_step
from softground.robots.shapes import Shape
from softground.terrain.soles import Soles
from softground.terrain.window import Patch, Window

HEIGHT, FIRMNESS = 0, 1  # of the quantities of a cell; firmness only where it changes
#: Share of what exceeds the angle of repose that slides to each neighbour in a sweep: less than 1/4 is stable.
SLIDE = 0.2
SWEEPS = 2
#: A foot that is higher than this above the ground does nothing to it; one that moved less than that, nothing new, m.
NEAR, NOTICED = 0.03, 5e-4
#: One that is higher than this above the undisturbed surface does not look what is under it, m.
HIGH = 0.15
NOWHERE = 1e6  # m
#: A rigid sole rests on the highest of what is under it: the weight of ground falls by e for so much less height, m.
RESTS = 0.005


class Under(NamedTuple):
    """The ground under a foot."""

    level: Float[Array, ""]  # m
    firmness: Float[Array, ""]  # factor on the medium's strength
    gap: Float[Array, ""]  # m, by which the foot is above it


class Felt(eqx.Module):
    """What a foot feels of the ground's memory, or several feet along a leading axis."""

    level: Float[Array, "*f"]  # m, height of the ground
    firmness: Float[Array, "*f"]  # factor on the medium's strength
    held_level: Float[Array, "*f"]  # m, as it was when the foot last touched the ground
    held_firmness: Float[Array, "*f"]  # factor, likewise
    place: Float[Array, "*f 3"]  # m, world: of the foot when the ground was last brought up to date

    @staticmethod
    def fresh(foot: FootInGround) -> Felt:
        """What feet feel where nobody has been."""
        zero, one = jnp.zeros_like(foot.depth), jnp.ones_like(foot.depth)
        return Felt(zero, one, zero, one, jnp.full_like(foot.position, NOWHERE))

    def now(self, under: Under, release, place) -> Felt:
        """What a foot feels at a place (m, world) over this ground."""
        level, firmness, gap = under
        left = smooth_step(gap / release)
        held_level = jnp.where(left >= 1, level, self.held_level)
        held_firmness = jnp.where(left >= 1, firmness, self.held_firmness)
        return Felt(
            level=held_level + left * (level - held_level),
            firmness=held_firmness + left * (firmness - held_firmness),
            held_level=held_level,
            held_firmness=held_firmness,
            place=place,
        )


class Prints(eqx.Module):
    """What the ground remembers of the feet of a robot: part of the simulator's state."""

    window: Window  # heights (m) and firmness less 1 of the cells
    age: Float[Array, ""]  # dimensionless: steps since they were last brought up to date


class Footprints(eqx.Module):
    """How the ground takes prints; give it to a `Ground`. For grains: springs come back, and leave none.

    >>> import softground as sg
    >>> ground = sg.Ground(sg.sand(), footprints=sg.terrain.Footprints(cell=0.015, size=128))  # m, cells
    """

    cell: float = eqx.field(static=True, default=0.015)  # m
    size: int = eqx.field(static=True, default=128)  # cells along a side of the window; as many away, all is forgotten
    every: int = eqx.field(static=True, default=10)  # steps between two updates of the ground
    rim: Float[Array, ""] = eqx.field(converter=as_float, default=1.0)  # share of what is pushed away
    rim_width: float = eqx.field(
        static=True, default=1.2
    )  # dimensionless: from sole to rim's end, in half widths of it
    repose: Float[Array, ""] = eqx.field(converter=as_float, default=0.46)  # rad, angle of repose
    walls: Float[Array, ""] = eqx.field(converter=as_float, default=1.0)  # share of a print's depth that still counts
    length: Float[Array, ""] = eqx.field(converter=as_float, default=0.02)  # m, of way until a sole has taken hold
    firm: Float[Array, ""] = eqx.field(converter=as_float, default=1.0)  # factor on strength where it was pressed
    loose: Float[Array, ""] = eqx.field(converter=as_float, default=1.0)  # factor on strength where grains were laid
    release: Float[Array, ""] = eqx.field(
        converter=as_float, default=0.003
    )  # m, rise from the bottom that ends a print

    def __check_init__(self):
        for label in ("cell", "rim_width", "repose", "length", "firm", "loose", "release"):
            value = getattr(self, label)
            if is_known(value) and not (np.isfinite(value) and value > 0):
                raise OptionError(f"{label} of footprints must be positive, got {value}")
        if is_known(self.rim) and not np.isfinite(self.rim):
            raise OptionError(f"rim of footprints must be a finite share of what is pushed away, got {self.rim}")
        if self.every < 1 or self.size < 1:
            raise OptionError(
                f"footprints need a size and steps between updates from 1 on, got {self.size}, {self.every}"
            )
        if is_known(self.walls) and not 0 <= self.walls <= 1:
            raise OptionError(f"walls of footprints is a share from 0 to 1, got {self.walls}")

    def reach(self, shapes: Sequence[Shape]) -> float:
        """How far from its middle a foot changes the ground, m."""
        return max(shape.farthest + self.rim_width * shape.half_width for shape in shapes)

    def cells_within(self, distance: float) -> int:
        """Cells on either side of the one that a foot is in whose middles are up to so far from the foot (m)."""
        return int(np.floor(distance / self.cell + 0.5))

    def patch_side(self, shapes: Sequence[Shape]) -> int:
        """Cells along a side of the patch that a foot changes, with its rim."""
        reach = self.reach(shapes)
        side = 2 * self.cells_within(reach) + 1
        if side > self.size:
            raise OptionError(
                f"a foot that reaches {reach:.2f} m with its rim needs {side} cells of {self.cell:g} m across, "
                f"got size={self.size}: make the window larger, or its cells"
            )
        return side

    def fresh(self, shapes: Sequence[Shape], dtype) -> Prints:
        """Ground that nobody has been on."""
        self.patch_side(shapes)  # raises where the window is too small
        return Prints(Window.fresh(self.size, 1 + self.changes_firmness, dtype), jnp.zeros((), dtype))

    @property
    def changes_firmness(self) -> bool:
        """Whether ground may become firmer or looser than it was: if not, its firmness is not kept."""
        return not all(is_known(x) and float(x) == 1 for x in (self.firm, self.loose))

    def felt_depth(self, foot: FootInGround, level: Float[Array, "*f"]) -> FootInGround:
        """The foot at the depth that its medium is asked for, over ground of this height (m)."""
        into = foot.depth + level
        wall = self.walls * jnp.maximum(-level, 0.0) * smooth_step(into / self.length)
        return replace(foot, depth=into + wall)

    def acts(self, felt: Felt, feet: FootInGround) -> Bool[Array, " f"]:
        """Whether feet that are in the ground or close to it have moved by more than the ground would notice."""
        return (feet.depth + felt.level > -NEAR) & self._moved(felt, feet)

    def looks(self, felt: Felt, feet: FootInGround) -> Bool[Array, " f"]:
        """Whether feet are at another place than where they last felt the ground, and may come down soon."""
        return (feet.depth > -HIGH) & self._moved(felt, feet)

    def _moved(self, felt: Felt, feet: FootInGround) -> Bool[Array, " f"]:
        return ((feet.position - felt.place) ** 2).sum(-1) > NOTICED**2

    def trodden(
        self, window: Window, felt: Felt, feet: FootInGround, shapes: Sequence[Shape], all_feet: bool = True
    ) -> tuple[Window, Felt]:
        """The ground after feet (leading axis) were there one after the other, and what they feel of it.

        all_feet: else only those that act on the ground, and what others feel that are above it elsewhere.
        """
        soles = jax.tree.map(lambda x: jnp.asarray(x, feet.depth.dtype), Soles.of(shapes))
        farthest = max(shape.farthest for shape in shapes)
        around, under = self.cells_within(self.reach(shapes)), self.cells_within(farthest)

        def tread(window: Window, one: tuple[Felt, FootInGround, Soles]) -> tuple[Window, Felt]:
            return self._trodden_by_one(window, one, around, under)

        def tread_if(window: Window, one) -> tuple[Window, Felt]:
            foot, acts, looks = one

            def feel() -> tuple[Window, Felt]:
                return window, jax.lax.cond(looks, lambda: self._looked(window, foot, under), lambda: foot[0])

            return jax.lax.cond(acts, lambda: tread(window, foot), feel)

        if all_feet:
            return jax.lax.scan(tread, window, (felt, feet, soles))
        return jax.lax.scan(tread_if, window, ((felt, feet, soles), self.acts(felt, feet), self.looks(felt, feet)))

    def _trodden_by_one(
        self, window: Window, one_foot: tuple[Felt, FootInGround, Soles], around: int, under: int
    ) -> tuple[Window, Felt]:
        """around, under: how many cells to either side of its own the foot may change, and its sole may be in."""
        felt, foot, sole = one_foot
        patch, corner = self._patch(window, foot, around)
        height, *firmness = window.read(patch)
        if self.changes_firmness and not firmness:
            raise OptionError("this state keeps no firmness: begin with `initial_state` of ground with firm or loose")
        one = jax.tree.map(lambda x: jnp.asarray(x, height.dtype), self)
        core = slice(around - under, around + under + 1)

        def each_print(height, firmness, corner, foot, sole):
            return one._one_foot(height, firmness, corner, foot, sole, core)

        # A function for native code, which makes it once (rows of which there is one).
        alone = jax.tree.map(lambda x: x[None], (height, firmness, corner, foot, sole))
        found = jax.vmap(jax.jit(each_print))(*alone)
        height, firmness, under_foot = jax.tree.map(lambda x: x[0], found)
        return window.written(patch, [height, *firmness]), felt.now(under_foot, one.release, foot.position)

    def _looked(self, window: Window, one_foot: tuple[Felt, FootInGround, Soles], under: int) -> Felt:
        """What a foot feels that does nothing to the ground."""
        felt, foot, sole = one_foot
        patch, corner = self._patch(window, foot, under)
        height, *firmness = window.read(patch)
        outside, depth = self._sole_over(corner, foot, sole, len(height))
        under_foot = self._under(height, firmness, sole.felt(outside), -depth)
        return felt.now(under_foot, jnp.asarray(self.release, height.dtype), foot.position)

    def _patch(self, window: Window, foot: FootInGround, around: int) -> tuple[Patch, Float[Array, "2"]]:
        """Cells about a foot, and the middle of the first of them, m from the foot."""
        place = foot.position[:2] / self.cell
        middle = jnp.floor(place)
        return window.patch(middle, around), (middle - around - place + 0.5) * self.cell

    def _sole_over(self, corner: Float[Array, "2"], foot: FootInGround, sole: Soles, side: int):
        """For the cells of a patch how far outside the sole they are, and the depth of the sole there, m."""
        steps = np.arange(side).astype(corner.dtype) * self.cell
        x, y = (corner[0] + steps)[:, None], (corner[1] + steps)[None, :]
        turn = foot.surface[:2, :2]  # world to surface, for small slopes of the ground
        return sole.under(foot, turn[0, 0] * x + turn[1, 0] * y, turn[0, 1] * x + turn[1, 1] * y)

    def _one_foot(
        self,
        height: Float[Array, "p p"],
        firmness: list[Float[Array, "p p"]],
        corner: Float[Array, "2"],
        foot: FootInGround,
        sole: Soles,
        core: slice,
    ):
        """A patch after a foot: heights, firmness (or none), and what is under the foot.

        corner: middle of the first cell, m from the foot. core: cells, in both directions, in which the sole may be.
        """
        outside, depth = self._sole_over(corner, foot, sole, len(height))
        inside, bottom = outside[core, core] <= 0, -depth[core, core]
        before = height[core, core]
        pushed = jnp.where(inside, before - jnp.minimum(before, bottom), 0.0)
        pressed = jnp.asarray(height).at[core, core].add(-pushed)
        away = jnp.clip(outside / (self.rim_width * sole.half_width), 0.0, 1.0)
        around = away * (1 - away)
        settled = pressed + self.rim * pushed.sum() * around / jnp.maximum(around.sum(), 1e-9)
        held = jnp.full_like(height, jnp.inf).at[core, core].set(jnp.where(inside, bottom, jnp.inf))
        for _ in range(SWEEPS):
            settled = self._slid(settled, held)
        if firmness:
            way = jnp.zeros_like(height).at[core, core].set(pushed) / self.length
            firmer = _towards(firmness[0], self.firm - 1, way)
            firmness = [_towards(firmer, self.loose - 1, jnp.maximum(settled - pressed, 0.0) / self.length)]
        ground, *factors = (x[core, core] for x in (settled, *firmness))
        return settled, firmness, self._under(ground, factors, sole.felt(outside[core, core]), bottom)

    def _under(
        self,
        ground: Float[Array, "p p"],
        firmness: list[Float[Array, "p p"]],
        outside: Float[Array, "p p"],
        bottom: Float[Array, "p p"],
    ) -> Under:
        """Height and firmness of the ground under a foot, and how far the foot is above it.

        outside: distance of the cells from where the sole feels the ground; bottom: height of the sole there, m.
        """
        felt = smooth_step(0.5 - outside / self.cell)
        rests = felt * jnp.exp((ground - jnp.where(felt > 0, ground, -jnp.inf).max()) / RESTS)
        share = rests / rests.sum()
        gap = jnp.where(outside < 0, bottom - ground, jnp.inf).min()
        factor = 1 + (share * firmness[0]).sum() if firmness else jnp.ones_like(gap)
        return Under((share * ground).sum(), factor, gap)

    def _slid(self, height: Float[Array, "p p"], sole: Float[Array, "p p"]) -> Float[Array, "p p"]:
        """A sweep in which grains slide down slopes that are too steep, and not where a sole is in the way.

        sole: its height in the cells that it covers, else infinite. A leg above it holds what is beside it up.
        """
        steepest = jnp.tan(self.repose) * self.cell
        for axis in (0, 1):
            low, high = jax.lax.slice_in_dim(height, 0, -1, axis=axis), jax.lax.slice_in_dim(height, 1, None, axis=axis)
            below, above = jax.lax.slice_in_dim(sole, 0, -1, axis=axis), jax.lax.slice_in_dim(sole, 1, None, axis=axis)
            free = jnp.minimum(below, above) > jnp.maximum(low, high)
            rise = high - low
            slide = jnp.where(free, SLIDE * jnp.sign(rise) * jnp.maximum(jnp.abs(rise) - steepest, 0.0), 0.0)
            at_start, at_end = (
                [(before, after) if k == axis else (0, 0) for k in (0, 1)] for before, after in ((1, 0), (0, 1))
            )
            height = height + jnp.pad(slide, at_end) - jnp.pad(slide, at_start)
        return height


def _towards(now: Float[Array, "p p"], goal, way: Float[Array, "p p"]) -> Float[Array, "p p"]:
    return goal + (now - goal) * jnp.exp(-way)
