"""One protocol of controllers: the same one in every loop, with its memory, at a period of its own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.errors import OptionError
from softground.media import firm
from softground.robots import Robot
from softground.runs import Run, register, run_closed_loop
from softground.runs import run as run_compiled
from softground.simulation import Control, Simulator
from softground.simulation.batch import rollout_batch
from softground.simulation.controllers import Held, as_controller

DT, STEPS = 0.002, 24
TARGET = np.array([0.1, 0.5, 0.2])  # m, m, rad


@register("test-integrator")
class Integrator(eqx.Module):
    """A controller as a user would write it: it sums the error of the foot's pose, and counts its calls."""

    gain: float = 4000.0  # N/(m s)

    def init(self, state):
        return jnp.zeros(3), 0

    def __call__(self, memory, state):
        integral, calls = memory
        integral = integral + DT * (TARGET - state.q)
        return (integral, calls + 1), Control(self.gain * integral + calls)


class OnHost:
    """The same in NumPy."""

    on_host = True

    def init(self, seen):
        return np.zeros(3), 0

    def __call__(self, memory, seen):
        integral = memory[0] + DT * (TARGET - seen.q)
        return (integral, memory[1] + 1), 4000.0 * integral + memory[1]


@pytest.fixture(scope="module")
def simulator():
    return Simulator(Robot.load("foot"), firm(), DT)


@pytest.fixture(scope="module")
def start(simulator):
    return simulator.initial_state(height=0.01)


@pytest.fixture(scope="module")
def expected(simulator, start):
    """Configurations (STEPS + 1, nq) and torques, step by step, in plain Python."""
    step, controller = jax.jit(lambda state, control: simulator.step(state, control)), Integrator()
    state, memory, q, torques = start, controller.init(start), [], []
    for _ in range(STEPS):
        q.append(np.asarray(state.q))
        memory, control = controller(memory, state)
        torques.append(np.asarray(control.torque))
        state, _ = step(state, control)
    return np.array([*q, state.q]), np.array(torques)


@pytest.mark.parametrize("period", [None, 3 * DT])
def test_all_loops_give_the_same(simulator, start, expected, period, tmp_path):
    final, record = jax.jit(lambda s: simulator.rollout(s, Integrator(), STEPS, period=period))(start)
    ran = simulator.run(Integrator(), STEPS * DT, state=start, period=period)
    hosted = simulator.run(OnHost(), STEPS * DT, state=start, period=period)
    np.testing.assert_allclose(ran["torque"], record.torque, rtol=1e-9)
    np.testing.assert_allclose(hosted["torque"], record.torque[:: 1 if period is None else 3], rtol=1e-9)
    again = Run.load(ran.save(tmp_path / "run.nc")).repeat()
    np.testing.assert_array_equal(again["torque"], ran["torque"])
    if period is None:
        np.testing.assert_allclose(record.q, expected[0][:-1], atol=1e-12)
        np.testing.assert_allclose(record.torque, expected[1], rtol=1e-9)
        batch = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), start)
        both = jax.jit(lambda states: rollout_batch(simulator, states, Integrator(), STEPS))(batch)
        np.testing.assert_allclose(both.q, np.stack([final.q, final.q]), atol=1e-12)
    else:
        assert (np.asarray(record.torque).reshape(-1, 3, 3) == np.asarray(record.torque)[::3, None]).all()


def test_a_batch_that_advances_together_remembers_per_robot(simulator, start, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    apart = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), start)
    apart = eqx.tree_at(lambda s: s.q, apart, apart.q.at[1, 0].add(0.05))
    simulator = simulator.with_backend("xla")  # native code looks for the GPU itself
    together = jax.jit(lambda states: rollout_batch(simulator, states, Integrator(), STEPS))(apart)
    for k in range(2):
        one = jax.tree.map(lambda leaf, k=k: leaf[k], apart)
        alone = jax.jit(lambda state: simulator.rollout(state, Integrator(), STEPS)[0])(one)
        np.testing.assert_allclose(together.q[k], alone.q, atol=1e-12)


def test_torques_with_a_period_are_held(simulator, start):
    torques = np.random.default_rng(0).normal(size=(4, 3))
    run = simulator.run(torques, state=start, period=5 * DT)
    np.testing.assert_allclose(run["torque"], np.repeat(torques, 5, axis=0), rtol=1e-12)
    _, record = jax.jit(lambda state: simulator.rollout(state, torques, 20, period=5 * DT))(start)
    np.testing.assert_allclose(record.torque, run["torque"], rtol=1e-12)


def test_derivatives_go_through_the_memory(simulator, start):
    """By the gain, against differences: the integral is part of what is differentiated."""
    end = jax.jit(lambda gain: simulator.rollout(start, Integrator(gain), STEPS)[0].q[0])
    slope = float(jax.jit(jax.jacfwd(end))(4000.0))
    assert slope == pytest.approx(float(end(4001.0) - end(3999.0)) / 2, rel=1e-5)


def test_what_stands_for_a_controller():
    control = Control(np.ones(3))
    assert isinstance(as_controller(None), Held)
    assert as_controller(control)(None, None) == (None, control)
    assert as_controller(lambda state: control)(None, None) == (None, control)
    integrator = Integrator()
    assert as_controller(integrator) is integrator
    with pytest.raises(OptionError, match="controls nothing"):
        as_controller("trot")


def test_periods_are_whole_numbers_of_steps(simulator, start):
    with pytest.raises(OptionError, match="whole number"):
        simulator.run(Integrator(), STEPS * DT, state=start, period=2.5 * DT)
    with pytest.raises(OptionError, match="lives on the host"):
        run_compiled(simulator, start, OnHost(), 0.1)
    with pytest.raises(OptionError, match="leave every out"):
        simulator.run(OnHost(), 0.1, state=start, every=2)


def test_a_function_on_the_host(simulator, start):
    run = run_closed_loop(simulator, start, lambda seen: -10.0 * seen.v, 5 * DT, progress=False)
    np.testing.assert_allclose(run["torque"], -10.0 * run["velocity"], rtol=1e-12)
