"""Steps as native code: the same as those of XLA, in both precisions, with derivatives, batches and inputs."""

import sys
import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground import media
from softground.contact import Newton
from softground.errors import OptionError
from softground.media.base import Medium
from softground.native import compiling
from softground.native.parts import say_why_not
from softground.robots import Robot
from softground.robots.base import vertical_coordinate
from softground.runs import run
from softground.simulation import Control, Ground, Simulator
from softground.simulation import simulator as steps
from softground.simulation.batch import STEPS_A_CALL, _is_small, rollout_batch
from softground.simulation.controllers import as_controller
from softground.surfaces import HeightField, Plane, Wave

from .physics_cases import BALL, BLOCK, inline, robot

pytest.importorskip("llvmlite")
COUNT = 50


@pytest.fixture(autouse=True)
def no_excuses():
    """A step that is not native fails its test."""
    say_why_not.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def both(model: Robot, ground: Ground | Medium, **options) -> list[Simulator]:
    return [Simulator(model, ground, 2e-3, backend=backend, **options) for backend in ("native", "xla")]


def random_states(simulator: Simulator, count: int, dtype=jnp.float64, deepest: float = 0.05):
    """States near the posture, the lowest foot from above the surface to `deepest` below it."""
    random = np.random.default_rng(1)
    robot, level = simulator.robot, simulator.initial_state(height=0.0, dtype=dtype)
    moved = np.array([k for k in robot.dof_q if k >= 0], int)
    q = np.tile(level.q, (count, 1))
    q[:, moved] += 0.1 * random.normal(size=(count, len(moved)))
    q[:, vertical_coordinate(robot)] += random.uniform(-deepest, 0.01, count)
    v = random.normal(size=(count, robot.nv))
    place = jax.vmap(lambda q, v: eqx.tree_at(lambda s: (s.q, s.v), level, (q, v)))
    return place(jnp.asarray(q, dtype), jnp.asarray(v, dtype))


def greatest_difference(simulators: list[Simulator], states, control=None) -> float:
    """Of the next states and all that is recorded, relative to the greatest number of its kind."""
    after = [
        jax.jit(lambda s, sim=sim: jax.lax.map(lambda one: sim.step(one, control), s))(states) for sim in simulators
    ]
    assert after[0][1].converged.all()
    differences = []
    for found, wanted in zip(*map(jax.tree.leaves, after), strict=True):
        assert found.dtype == wanted.dtype
        if jnp.issubdtype(found.dtype, jnp.floating):
            differences.append(float(jnp.abs(found - wanted).max(initial=0.0) / jnp.abs(wanted).max(initial=1e-3)))
    return max(differences)


FEET = {"planar": lambda: robot("foot"), "box": lambda: inline(BLOCK), "ball": lambda: inline(BALL)}
GROUNDS = {
    "sand": media.sand,
    "foam": media.foam,
    "wedge": media.Wedge,
    "remembering": lambda: media.Remembering(media.sand()),
}


CASES = [*(("planar", ground) for ground in GROUNDS), ("box", "foam"), ("ball", "sand")]


@pytest.mark.parametrize(("foot", "ground"), CASES)
def test_native_steps_are_those_of_xla(foot, ground):
    simulators = both(FEET[foot](), GROUNDS[ground]())
    states = random_states(simulators[0], COUNT)
    assert greatest_difference(simulators, states) < 1e-9


SURFACES = [Wave(0.02, 0.5), HeightField(np.linspace(0, 0.02, 64).reshape(8, 8), 0.5)]


@pytest.mark.parametrize("surface", SURFACES, ids=lambda surface: type(surface).__name__)
def test_on_any_surface(surface):
    simulators = both(robot("foot"), Ground(media.sand(), surface))
    assert greatest_difference(simulators, random_states(simulators[0], COUNT)) < 1e-9


def test_a_whole_robot_with_servos_in_both_precisions():
    simulators = both(robot("anymal"), media.sand(), solver=Newton(tolerance=1e-10))
    target = Control(position=np.asarray(robot("anymal").posture)[7:], kp=np.full(12, 300.0), kd=np.full(12, 5.0))
    for dtype, bound in ((jnp.float64, 1e-9), (jnp.float32, 1e-3)):
        states = random_states(simulators[0], COUNT, dtype)
        difference = greatest_difference(simulators, states, target)
        print(f"\n{dtype.__name__}: {difference:.1e}")
        assert difference < bound


def test_derivatives_are_those_of_the_step_in_jax():
    simulators = both(robot("foot"), media.sand())
    start = simulators[0].initial_state(height=-0.01)

    def reached(simulator, v, strength):
        changed = eqx.tree_at(lambda s: s.ground.medium.strength, simulator, strength)
        return changed.rollout(eqx.tree_at(lambda s: s.v, start, v), None, 100)[0].q

    def derived(derivative, simulator):
        here = (jnp.array([0.3, -0.5, 0.4]), jnp.asarray(1.3))
        return jax.jit(derivative(lambda *a: reached(simulator, *a), (0, 1)))(*here)

    native, xla = simulators
    wanted = derived(jax.jacfwd, xla)
    for derivative in (jax.jacfwd, jax.jacrev):
        for one, other in zip(derived(derivative, native), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-12)


def test_second_derivatives():
    """Of native steps, forwards over backwards; of XLA's forwards over forwards."""
    native, xla = both(robot("foot"), media.sand())
    start = native.initial_state(height=-0.01)

    def derived(derivative, simulator):
        return jax.jit(derivative(lambda v: simulator.step(eqx.tree_at(lambda s: s.v, start, v))[0].v.sum()))(
            jnp.array([0.3, -0.5, 0.4])
        )

    found, wanted = derived(jax.hessian, native), derived(lambda f: jax.jacfwd(jax.jacfwd(f)), xla)
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)


def test_what_a_batch_varies_is_an_input_of_one_program(monkeypatch):
    """Strengths, slopes, time steps and masses: no program is made for another number."""
    made = []
    scalarise = compiling.scalarise_jaxpr
    monkeypatch.setattr(compiling, "scalarise_jaxpr", lambda *x, **how: made.append(x) or scalarise(*x, **how))
    simulators = both(robot("foot"), Ground(media.sand(), Plane(0.1)))
    state = simulators[0].initial_state(v=np.array([0.3, -0.5, 0.4]), height=-0.01)

    def where(sim):
        return sim.ground.medium.strength, sim.ground.surface.slope, sim.dt, sim.robot.parameters.mass

    def stepped(simulator, factors):
        numbers = [factor * number for factor, number in zip(factors, where(simulator), strict=True)]
        return eqx.tree_at(where, simulator, numbers).step(state)[0].v

    found, wanted = (jax.jit(jax.vmap(lambda f, sim=sim: stepped(sim, f))) for sim in simulators)
    for seed in range(3):
        factors = 1 + 0.2 * jax.random.uniform(jax.random.key(seed), (5 + seed, 4))
        np.testing.assert_allclose(found(factors), wanted(factors), rtol=1e-9, atol=1e-12)
    assert len(made) <= 1  # none if an earlier run of this test has left it on disk


class Leaning(eqx.Module):
    """Pushes ever harder: a controller that remembers."""

    rate: jax.Array  # N a step

    def init(self, state):
        return jnp.zeros(())

    def __call__(self, push, state):
        return push + self.rate, Control(jnp.array([1.0, 0.0, 0.0]) * push)


def test_batches_advance_natively_with_their_controller():
    """In calls of several steps, the last of them shorter, forwards and in derivatives."""
    simulators = both(robot("foot"), media.sand())
    states = random_states(simulators[0], 5)

    def reached(simulator, rate):
        return rollout_batch(simulator, states, Leaning(rate), STEPS_A_CALL + 20).q

    found, wanted = (
        jax.jit(lambda rate, sim=sim: (reached(sim, rate), jax.jacfwd(lambda r: reached(sim, r))(rate)))(0.1)
        for sim in simulators
    )
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-10)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-6, atol=1e-9)


def test_a_large_controller_stays_outside_of_native_code():
    simulator = both(robot("foot"), media.sand())[0]
    states = random_states(simulator, 2)
    weights = np.full((200, 200), 1e-6)

    def policy(state):
        return Control((weights @ jnp.full(200, state.q[0]))[:3])

    assert not _is_small(as_controller(policy), states, None)
    assert _is_small(as_controller(lambda state: Control(state.q[:3])), states, None)
    assert jnp.isfinite(jax.jit(lambda s: rollout_batch(simulator, s, policy, 3))(states).q).all()


def test_long_runs_are_native_and_short_ones_are_not(monkeypatch):
    monkeypatch.delenv(steps.BACKEND_VARIABLE, raising=False)
    simulator = Simulator(robot("foot"), media.sand())
    assert simulator.for_steps(1000).backend == "xla"
    assert simulator.for_steps(steps.PAYS_FROM).backend == "native"
    assert Simulator(robot("foot"), media.sand(), backend="native").for_steps(1).backend == "native"


def test_runs_repeat_from_their_files(tmp_path):
    simulator = Simulator(robot("foot"), media.sand(), backend="native")
    first = run(simulator, simulator.initial_state(height=0.01), None, 0.2)
    again = type(first).load(first.save(tmp_path / "run.nc")).repeat()
    np.testing.assert_array_equal(again["q"], first["q"])


def test_without_llvmlite_steps_stay_with_xla_and_say_so_once(monkeypatch):
    from softground.native import machine

    machine._machine.cache_clear()
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    simulator, plain = both(robot("foot"), media.sand())
    state = simulator.initial_state(height=-0.01)
    try:
        with pytest.warns(UserWarning, match="llvmlite"):
            after = jax.jit(lambda s: simulator.step(s))(state)[0]
        jax.jit(lambda s: simulator.step(s))(state)  # says nothing
    finally:
        machine._machine.cache_clear()
    np.testing.assert_array_equal(after.v, jax.jit(lambda s: plain.step(s))(state)[0].v)


def test_unknown_backends_are_refused():
    with pytest.raises(OptionError, match="native"):
        Simulator(robot("foot"), media.sand(), backend="nativ")
