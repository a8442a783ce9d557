"""Feet dropped on every medium, against an adaptive solver of the differential equation (scipy).

A foot of mass m that falls straight down has depth d and speed w, d' = w. Its force F comes from closed forms (springs)
or from the medium's own law, tabulated over depth (grains, whose force does not depend on speed). A step is of first
order. How far it errs is not a snapshot: each kind of step has a *modified equation*, which it follows to second order
(Hairer, Lubich and Wanner, Geometric Numerical Integration, IX), so

    error(dt) = C dt + O(dt^2),      C = d/dh of what the modified equation with h in place of dt gives, at h = 0,

and the adaptive solver gives C as well. Touching down adds nothing to C: all errors of the one step that does are of
second order, if its force is continuous in depth (tests/simulation/test_continuous_steps.py).

    springs   w1 = w + dt a(d, w1),   d1 = d + dt w1:    d' = w + h a/2,  w' = a + h (a a_w - w a_d)/2
    grains    w1 = w + dt a(d),       d1 = d + dt w1:    d' = w + h a/2,  w' = a - h w a_d/2
    wedge     P1 = P + dt G(D1),      D1 = D + dt P/M:   D' = u - h (u u_D + G/M)/2,  P' = G + h u G_D/2

with a = g - F/m. The wedge carries the mass of its grains at the depth D of the step before: M = m + added mass(D),
P = M u its momentum, G = m g - F.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from softground import media
from softground.media import FootInGround, Medium
from softground.robots import Box, Cylinder, Robot, Sphere
from softground.robots.shapes import Shape
from softground.simulation import Simulator

GRAVITY, MASS, SPEED = 9.81, 5.0, 0.5  # m/s2, kg, m/s at the start, which is
HEIGHT = 3.3e-3  # m, above the ground: feet touch somewhere within a step
WATCHED = 0.016  # s, a multiple of every step: the foot is in the ground and not yet at rest
TIMES = (4e-3, 2e-3, 1e-3, 5e-4)  # s, steps
STEPS = 400
#: Firm ground stops a foot in m / (b area), 0.25 ms: height, time and steps are these shares of the others'.
SHARE = {"firm": 1 / 40}
UPRIGHT = """
<mujoco>
  <compiler inertiafromgeom="false"/>
  <worldbody>
    <body name="foot">
      <joint name="z" type="slide" axis="0 0 1"/>
      <inertial pos="0 0 0" mass="5" diaginertia="1 1 1"/>
      <site name="sole"/>
    </body>
  </worldbody>
</mujoco>
"""
FEET = {"box": Box(0.2, 0.1, 0.05), "ball": Sphere(0.06), "cylinder": Cylinder(0.05, 0.2)}


@cache
def robot(foot: str) -> Robot:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        path.write_text(UPRIGHT)
        return Robot.load(path, feet={"sole": FEET[foot]})


# -- the equation ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Motion:
    """What is compared of a fall: m, s, m/s."""

    deepest: float
    rest: float
    speed: float  # at WATCHED
    sinking: float = np.nan  # s, from touch-down to rest

    @property
    def array(self) -> np.ndarray:
        return np.array([self.deepest, self.rest, self.speed])


class Springs:
    """Springs and dampers under the whole sole (N/m, N s/m): unknowns (depth, speed)."""

    def __init__(self, stiffness: float, damping: float):
        self.k, self.b = stiffness / MASS, damping / MASS
        self.changes_in = min(1 / self.b, 1 / np.sqrt(self.k))  # s

    def start(self, height: float, h: float) -> list[float]:
        return [-height, SPEED]

    def flight(self, y: np.ndarray, h: float) -> np.ndarray:
        return np.array([y[1] + h * GRAVITY / 2, GRAVITY])

    def ground(self, y: np.ndarray, h: float) -> np.ndarray:
        a = GRAVITY - self.k * y[0] - self.b * y[1]
        return np.array([y[1] + h * a / 2, a - h * (a * self.b - y[1] * self.k) / 2])

    def speed(self, y: np.ndarray) -> float:
        return y[1]


class Grains(Springs):
    """A force (N) that depends on depth alone."""

    changes_in = np.inf

    def __init__(self, force: CubicSpline):
        self.force, self.slope = force, force.derivative()

    def ground(self, y: np.ndarray, h: float) -> np.ndarray:
        a = GRAVITY - self.force(y[0]) / MASS
        return np.array([y[1] + h * a / 2, a + h * y[1] * self.slope(y[0]) / MASS / 2])


class Jammed:
    """The same with a mass of grains (kg) that goes along: unknowns (depth in the step before, momentum)."""

    changes_in = np.inf

    def __init__(self, force: CubicSpline, added: CubicSpline):
        self.force, self.slope = force, force.derivative()
        self.added, self.growth = added, added.derivative()

    def start(self, height: float, h: float) -> list[float]:
        return [-height - h * SPEED, MASS * SPEED]

    def flight(self, y: np.ndarray, h: float) -> np.ndarray:
        return np.array([y[1] / MASS - h * GRAVITY / 2, MASS * GRAVITY])

    def ground(self, y: np.ndarray, h: float) -> np.ndarray:
        mass, u, push = MASS + self.added(y[0]), self.speed(y), MASS * GRAVITY - self.force(y[0])
        u_by_depth = -u * self.growth(y[0]) / mass
        return np.array([u - h * (u * u_by_depth + push / mass) / 2, push - h * u * self.slope(y[0]) / 2])

    def speed(self, y: np.ndarray) -> float:
        return y[1] / (MASS + self.added(y[0]))


Equation = Springs | Jammed


def fall(equation: Equation, share: float, h: float) -> Motion:
    """The modified equation with step h (0: the equation itself), from flight to rest, by an adaptive solver."""
    accurate = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-14, "max_step": share * 1e-3}
    touch, stop = (lambda t, y: y[0]), (lambda t, y: y[1])
    touch.terminal = stop.terminal = True
    start = equation.start(share * HEIGHT, h)
    air = solve_ivp(lambda t, y: equation.flight(y, h), (0.0, 1.0), start, events=touch, **accurate)
    ground = solve_ivp(
        lambda t, y: equation.ground(y, h), (air.t[-1], 1.0), air.y[:, -1], events=stop, dense_output=True, **accurate
    )
    assert air.t[-1] < share * WATCHED < ground.t[-1]
    return Motion(ground.y[0, -1], ground.t[-1], equation.speed(ground.sol(share * WATCHED)), ground.t[-1] - air.t[-1])


# -- forces of the media ---------------------------------------------------------------------------

DEPTHS = np.linspace(-2e-3, 0.08, 1641)
DOWN, DT = 0.3, 1e-3  # m/s, s: of the steps that are asked for their force


@eqx.filter_jit
def push(medium: Medium, clearance: float):
    """Vertical force on an upright foot that goes down, N, by depth: the wrench of greatest dissipation."""

    def one(depth):
        position = jnp.array([0.0, 0.0, 1.0]) * (clearance - depth)
        foot = FootInGround(depth, position, jnp.eye(3), jnp.eye(3))
        return medium.law(foot, medium.initial_memory(foot), DT).wrench(jnp.array([0.0, -DOWN, 0.0]))[1]

    return jax.vmap(one)(jnp.asarray(DEPTHS))


def force_by_depth(medium: Medium, shape: Shape) -> CubicSpline:
    return CubicSpline(DEPTHS, push(medium.for_foot(shape, planar=True), clearance(shape)))


def clearance(shape: Shape) -> float:
    """Of the foot's origin above its sole, m."""
    return shape.radius if isinstance(shape, Sphere) else 0.0


def area(shape: Shape) -> float:
    """Of a sole, or of a ball's great circle, m2."""
    return shape.length * shape.width if isinstance(shape, Box) else np.pi * shape.radius**2


def equation_of(medium: Medium, shape: Shape) -> Equation:
    if isinstance(medium, media.ViscoElastic):
        return Springs(float(medium.stiffness) * area(shape), float(medium.damping) * area(shape))
    if isinstance(medium, media.Wedge):
        force = force_by_depth(media.Wedge(density=0.0), shape)
        # Grains that were at rest ask for mass * speed / dt more.
        return Jammed(force, CubicSpline(DEPTHS, (force_by_depth(medium, shape)(DEPTHS) - force(DEPTHS)) * DT / DOWN))
    return Grains(force_by_depth(medium, shape))


# -- the steps -------------------------------------------------------------------------------------

MEDIA: dict[str, Callable[[], Medium]] = {
    "sand": media.sand,
    "pebbles": media.pebbles,
    "elements": media.grains,
    "beads": media.beads,
    "foam": media.foam,
    "firm": media.firm,
    "wedge": media.Wedge,
}
CASES = [(name, foot) for name in MEDIA for foot in FEET if name != "beads" or foot == "cylinder"]


@eqx.filter_jit
def heights(simulator: Simulator, state):
    def body(state, _):
        after, record = simulator.step(state)
        return after, (after.q[0], after.v[0], record.converged)

    return jax.lax.scan(body, state, None, length=STEPS)[1]


def stepped(medium: Medium, foot: str, share: float, dt: float) -> Motion:
    simulator = Simulator(robot(foot), medium, dt)
    start = simulator.initial_state(v=np.array([-SPEED]), height=share * HEIGHT)
    z, v, converged = map(np.asarray, heights(simulator, start))
    assert converged.all()
    depth, speed = float(start.q[0]) - share * HEIGHT - z, -v
    still = 0.0 if isinstance(medium, media.ViscoElastic) else 1e-3  # m/s: in grains a foot at rest creeps
    last = int(np.argmax(speed < still)) - 1  # moves on; from there it is slowed as in the step before
    slowing = (speed[last - 1] - speed[last]) / dt
    return Motion(depth.max(), (last + 1) * dt + speed[last] / slowing, speed[round(share * WATCHED / dt) - 1])


@pytest.mark.parametrize(("name", "foot"), CASES)
def test_steps_err_by_what_their_modified_equation_says(name, foot):
    """Greatest depth, time of rest and a speed on the way. What is left of the error after C dt is of second order, and
    at most (dt / T)^2 of the quantity. T is the time over which the motion changes, that in which the ground stops the
    foot, or m/b and sqrt(m/k) of dampers and springs: the steps of touch-down and of rest cut it off anywhere within
    them."""
    medium, share = MEDIA[name](), SHARE.get(name, 1.0)
    equation = equation_of(medium, FEET[foot])
    exact, h = fall(equation, share, 0.0), share * 1e-6
    constant = (fall(equation, share, h).array - exact.array) / h
    times = share * np.array(TIMES)
    errors = np.array([stepped(medium, foot, share, dt).array for dt in times]) - exact.array
    changes = min(exact.sinking, equation.changes_in)
    second = np.abs(errors - times[:, None] * constant) / exact.array / (times[:, None] / changes) ** 2
    orders = np.polyfit(np.log(times), np.log(np.abs(errors)), 1)[0]
    print(
        f"\n{name}, {foot}: {1e3 * exact.deepest:.3g} mm, {1e3 * exact.rest:.3g} ms, {exact.speed:.3g} m/s; "
        f"errors at {1e3 * times[1]:g} ms {errors[1] / exact.array}, orders {orders}, second order {second.max():.2f}"
    )
    assert second.max() < 1
    # The C of a speed on the way passes through zero somewhere; those of greatest depth and time of rest do not.
    np.testing.assert_allclose(orders[:2], 1.0, atol=0.1)


@pytest.mark.parametrize(("dt", "off"), [(0.5e-3, 0.001), (1e-3, 0.002), (2e-3, 0.004), (5e-3, 0.01), (2e-2, 0.05)])
def test_foam_is_pressed_as_deep_as_its_springs_say(dt, off):
    """7 kg on a sole of 5 cm radius, dropped from 5 cm, touching down anywhere within a step: 34.59 mm."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        path.write_text(UPRIGHT.replace('mass="5"', 'mass="7"'))
        foot = Robot.load(path, feet={"sole": FEET["cylinder"]})
    simulator, drop = Simulator(foot, media.foam(), dt), 0.05
    stiffness, damping = (np.pi * 0.05**2 * x / 7 for x in (8e5, 1e4))
    stop = lambda t, y: y[1]  # noqa: E731
    stop.terminal = True
    start = [0.0, np.sqrt(2 * GRAVITY * drop)]
    sinking = solve_ivp(
        lambda t, y: [y[1], GRAVITY - stiffness * y[0] - damping * y[1]], (0.0, 1.0), start, events=stop, rtol=1e-10
    )
    exact = sinking.y[0, -1]
    assert exact == pytest.approx(34.59e-3, abs=5e-6)
    errors = []
    for flown in dt * np.linspace(0.0, 1.0, 9):
        state = simulator.initial_state(v=np.array([-GRAVITY * flown]), height=drop - GRAVITY * flown**2 / 2)
        surface = float(state.q[0]) - (drop - GRAVITY * flown**2 / 2)
        z, _, converged = map(np.asarray, heights(simulator, state))
        assert converged.all()
        errors.append((surface - z[: round(0.3 / dt)].min()) / exact - 1)
    print(f"\n{1e3 * dt:g} ms: {100 * min(errors):.2f} to {100 * max(errors):.2f} %")
    assert max(np.abs(errors)) < off
