"""The next velocity is a continuous function of where the feet are: at touch-down, at lift-off, deep in the ground.

A step minimises 1/2 |v - v_free|_M^2 + dt Phi(J v), strongly convex with modulus one in the norm of M. Two grounds
whose wrenches differ by dw at one twist therefore give velocities with |dv|_M <= dt |J' dw| in the norm of M^-1. A foot
that is moved by h meets a wrench that differs by at most S h, S being the steepness of its ground in N/m, so

    |dv|_M <= L h,      L = dt S sqrt(1/m + r^2/I)      (forces act within r of the centre of mass).

The step after that one begins with |dv|_M and with another depth, h + dt |dv|_M sqrt(1/m + r^2/I), and its bound on
friction is another by less than the force: |dv|_M <= 3 L h (1 + dt L sqrt(1/m + r^2/I)). It shows jumps of what the
ground remembers. A jump is as large however small h is; here h is 10 pm.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.contact import Newton
from softground.simulation import Ground, Simulator, State
from softground.surfaces import HeightField

from .physics_cases import BLOCK, LIGHT_FOOT, inline

DT = 2e-3
EXACT = Newton(tolerance=1e-26)  # differences of a picometre need the solution to rounding
MEDIA = {
    "foam": media.foam,
    "firm": media.firm,
    "sand": media.sand,
    "pebbles": media.pebbles,
    "elements": media.grains,
    "beads": media.beads,
    "wedge": media.Wedge,
    "remembering": lambda: media.Remembering(media.sand()),
}
MASS, INERTIA, REACH = 0.2, 4e-4, 0.06  # kg, kg m2, m: of the light foot and its sole
#: m/s, rad/s; rising feet have been pushed along before, so that springs are stretched and grains disturbed.
MOTIONS = {"falling": (0.0, -0.5, 0.0), "ploughing": (0.3, -0.2, 1.0), "rising": (0.2, 0.3, 0.0)}


def steepness(medium: media.Medium, area: float) -> float:
    """Greatest rate of a foot's force with its depth, N/m.

    Springs: at touch-down c / dt per area, and friction times that sideways. Grains: a cylinder of 5 cm radius pushed
    straight down into pebbles meets 6.2 kN/m, and the greatest of all directions not five times that.
    """
    if isinstance(medium, media.ViscoElastic):
        slope = float(medium.damping) / DT + float(medium.stiffness)
        return slope * area * (1 + float(medium.friction))
    return 5 * 6.2e3


@eqx.filter_jit
def velocities(sim: Simulator, state: State, places, steps: int):
    """After each of the steps (n, steps, nv) from configurations (n, nq)."""

    def body(state, _):
        after, _ = sim.step(state)
        return after, after.v

    def one(q):
        return jax.lax.scan(body, eqx.tree_at(lambda s: s.q, state, q), None, length=steps)[1]

    return jax.lax.map(one, places)


COUNT, KEPT = 128, 8  # pieces of a range that is searched, and how many of them are searched on


def velocities_at(sim: Simulator, state: State, places: np.ndarray, steps: int) -> np.ndarray:
    """The same for any number of places that a search asks for, by one program."""
    most = COUNT + KEPT
    filled = np.concatenate([places, np.repeat(places[-1:], most - len(places), axis=0)])
    return np.asarray(velocities(sim, state, jnp.asarray(filled), steps))[: len(places)]


step = eqx.filter_jit(lambda sim, state: sim.step(state)[0])


def steepest(function, length: float, count: int = COUNT, rounds: int = 6, keep: int = KEPT):
    """Greatest change of a vector function (n -> n values) over about 10 pm of [0, length], by refining where it
    changes most; and over how much."""
    edges = np.linspace(0, length, count + 1)
    values = function(edges)
    low, high, change = edges[:-1], edges[1:], np.abs(np.diff(values, axis=0))
    for _ in range(rounds):
        top = np.argsort(-change.reshape(count, -1).max(1))[:keep]
        finer = np.linspace(low[top], high[top], count // keep + 1, axis=1)
        values = function(finer.ravel()).reshape(*finer.shape, -1)
        low, high = finer[:, :-1].ravel(), finer[:, 1:].ravel()
        change = np.abs(np.diff(values, axis=1)).reshape(count, -1)
    return change.max(0), float((high - low).max())


def prepared(sim: Simulator, motion: str) -> State:
    """A foot 2 cm deep, tilted by 0.1 rad, with the memory of how it came there."""
    start = np.array([0.0, 0.0, 0.1])
    if motion != "rising":
        return sim.initial_state(start, np.array(MOTIONS[motion]), height=-0.02)
    first = sim.initial_state(start, np.array([0.5, -0.3, 0.0]), height=-0.02)
    state = step(sim, step(sim, first))
    place = first.q.at[0].set(state.q[0])
    return eqx.tree_at(lambda s: (s.q, s.v), state, (place, jnp.array(MOTIONS[motion])))


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("name", MEDIA)
def test_next_velocities_do_not_jump_with_depth(name, motion):
    """From 2 cm below the surface to 1 cm above it."""
    sim = Simulator(inline(LIGHT_FOOT), MEDIA[name](), DT, solver=EXACT)
    state = prepared(sim, motion)

    def after(lift):
        places = np.asarray(state.q) + np.outer(lift, [0.0, 1.0, 0.0])
        return velocities_at(sim, state, places, 2).reshape(len(lift), -1)

    assert np.abs(np.diff(after(np.array([0.0, 0.03])), axis=0)).max() > 0.1  # m/s: the ground is felt
    change, h = steepest(after, 0.03)
    size = np.sqrt([MASS, MASS, INERTIA])
    first, second = np.linalg.norm(change.reshape(2, 3) * size, axis=1) / h
    lever = np.sqrt(1 / MASS + REACH**2 / INERTIA)
    lipschitz = DT * steepness(sim.ground.medium, np.pi * 0.05**2) * lever
    print(f"\n{name}, {motion}: {first:.3g}, {second:.3g} of {lipschitz:.3g} per metre of depth")
    assert h < 5e-11
    # Newton's method leaves 1e-13 m/s.
    assert first <= lipschitz + 1e-13 / h
    assert second <= 3 * lipschitz * (1 + DT * lipschitz * lever) + 1e-13 / h


@pytest.mark.parametrize("name", ["foam", "firm"])
@pytest.mark.parametrize("speed", [0.5, 0.0])
def test_box_at_the_surface_is_stopped_the_same_from_above_and_below(name, speed):
    """5 kg on 0.2 m x 0.1 m, 1 nm above and below the surface. In closed form m v1 = m (v0 - g dt) - dt A c v1."""
    sim = Simulator(inline(BLOCK.replace('mass="0.5"', 'mass="5"')), MEDIA[name](), DT, solver=EXACT)
    k, b = float(sim.ground.medium.stiffness), float(sim.ground.medium.damping)
    places = np.zeros((2, 7))
    places[:, 2], places[:, 3] = [1e-9, -1e-9], 1.0
    state = sim.initial_state(places[0], np.array([0.0, 0.0, -speed, 0.0, 0.0, 0.0]))
    above, below = np.asarray(velocities(sim, state, jnp.asarray(places), 1))[:, 0, 2]
    print(f"\n{name}: {above:.6f} m/s from 1 nm above, {below:.6f} from 1 nm below")
    slope = 0.02 * max(b, DT * k / 2)
    exact = -5 * (speed + 9.81 * DT) / (5 + DT * slope)
    assert abs(above - below) <= 2e-9 * slope / 5
    np.testing.assert_allclose([above, below], exact, atol=1e-9 * slope / 5)


def test_next_velocity_does_not_jump_at_the_edge_of_a_height_field():
    """Dragged 1 cm deep along hills that end, from inside the grid to beyond its rim (two spacings of 0.1 m)."""
    x = 0.1 * np.arange(6)
    hills = HeightField(0.02 * np.sin(7 * x)[:, None] * np.ones(6), 0.1, origin=(-0.3, -0.25))
    sim = Simulator(inline(LIGHT_FOOT), Ground(media.foam(), hills), DT, solver=EXACT)
    state = sim.initial_state(np.zeros(3), np.array([0.2, -0.2, 0.0]))

    def after(way):
        places = np.stack([way, np.full_like(way, hill(0.0) - 0.01), np.zeros_like(way)], axis=1)
        return velocities_at(sim, state, places, 1)[:, 0]

    hill = lambda x: float(hills.jet(jnp.array([x, 0.0]))[0])  # noqa: E731
    change, h = steepest(after, 0.6)
    size = np.sqrt([MASS, MASS, INERTIA])
    lever = np.sqrt(1 / MASS + REACH**2 / INERTIA)
    # The ground rises by 0.14 at most, twice that towards the rim; its frame turns with its curvature, 1/m, and the
    # wrench, below steepness times 5 cm, with it.
    lipschitz = DT * steepness(sim.ground.medium, np.pi * 0.05**2) * lever * (0.3 + 0.05 * 4.0)
    assert np.linalg.norm(change * size) / h <= lipschitz + 1e-13 / h
