"""A controller on the host: what it sees, what is kept, how a run ends."""

import numpy as np
import pytest

from softground.errors import OptionError
from softground.media import Firm, ViscoElastic
from softground.robots import Robot
from softground.runs import Run, Stop, compiled_loop, run_closed_loop
from softground.simulation import Simulator

SECONDS, DT = 0.05, 0.002


@pytest.fixture(scope="module")
def simulator():
    return Simulator(Robot.load("walker2d"), Firm(), DT)


@pytest.fixture(scope="module")
def state(simulator):
    return simulator.initial_state(height=0.0)


def damp(seen):
    """Torques against the joints' speeds."""
    return -2.0 * seen.v[3:]


def test_the_run_is_the_one_that_its_torques_give(simulator, state, tmp_path):
    loop = run_closed_loop(simulator, state, damp, SECONDS, progress=False)
    again = Run.load(loop.save(tmp_path / "run.nc")).repeat()
    assert loop.attrs["ended"] == "finished"
    assert loop.sizes["time"] == round(SECONDS / DT)
    # the same steps, in one compiled loop and one by one: XLA may order sums differently
    np.testing.assert_allclose(again["configuration"], loop["configuration"], atol=1e-9)


def test_the_controller_sees_the_state_before_the_step_and_the_wrench_of_the_last(simulator, state):
    seen = []

    def watch(measurement):
        seen.append(measurement)
        return damp(measurement)

    loop = run_closed_loop(simulator, state, watch, SECONDS, progress=False)
    np.testing.assert_array_equal([m.q for m in seen], loop["configuration"])
    np.testing.assert_array_equal([m.v for m in seen], loop["velocity"])
    np.testing.assert_array_equal([m.wrench_world for m in seen[1:]], loop["wrench_world"][:-1])
    np.testing.assert_allclose([m.time for m in seen], loop["time"], atol=1e-12)


def test_the_period_of_the_controller_is_its_own(simulator, state):
    """A controller asked every fourth step: its torques are held between, and played again they give the same run."""
    seen = []

    def watch(measurement):
        seen.append(measurement)
        return damp(measurement)

    loop = run_closed_loop(simulator, state, watch, SECONDS, period=4 * DT, progress=False)
    np.testing.assert_allclose([m.time for m in seen], 4 * DT * np.arange(len(seen)), atol=1e-12)
    assert (loop.attrs["every"], loop.attrs["steps"]) == (4, 4 * len(seen))
    again = loop.repeat()
    assert again.sizes["time"] == len(seen)
    np.testing.assert_allclose(again["configuration"], loop["configuration"], atol=1e-9)
    np.testing.assert_array_equal([m.q for m in seen], loop["configuration"])
    with pytest.raises(OptionError, match="whole number of steps"):
        run_closed_loop(simulator, state, watch, SECONDS, period=2.5 * DT, progress=False)


@pytest.mark.parametrize(
    ("error", "ended"), [(Stop("enough"), "enough"), (KeyboardInterrupt(), "interrupted")], ids=["stop", "ctrl-c"]
)
def test_what_was_simulated_is_kept_when_a_run_ends_early(simulator, state, error, ended):
    def give_up(measurement):
        if measurement.time > 0.02:
            raise error
        return damp(measurement)

    loop = run_closed_loop(simulator, state, give_up, SECONDS, progress=False)
    assert loop.attrs["ended"] == ended
    assert float(loop["time"][-1]) == pytest.approx(0.02, abs=DT)


def test_a_state_that_is_not_finite_ends_the_run(simulator, state):
    def wild(measurement):
        return np.full(6, np.nan if measurement.time > 0.02 else 0.0)

    assert run_closed_loop(simulator, state, wild, SECONDS, progress=False).attrs["ended"] == "non-finite"


def test_a_controller_that_never_starts_is_an_error_with_its_reason(simulator, state):
    def refuse(_):
        raise Stop("no feasible torques")

    with pytest.raises(OptionError, match="no feasible torques"):
        run_closed_loop(simulator, state, refuse, SECONDS, progress=False)


def test_one_program_serves_all_grounds_of_a_kind(simulator, state):
    """And each of them is itself: softer ground gives more."""
    compiled_loop._PROGRAMS.clear()
    grounds = [Simulator(simulator.robot, ViscoElastic(stiffness, 1e4), DT) for stiffness in (8e5, 2e6)]
    soft, stiff = (run_closed_loop(one, state, damp, SECONDS, progress=False) for one in grounds)
    assert len(compiled_loop._PROGRAMS) == 1
    assert float(soft["depth"].max()) > 1.05 * float(stiff["depth"].max())
    for one, ran in zip(grounds, (soft, stiff), strict=True):
        again = one.run(ran.control(), SECONDS, state=state)
        np.testing.assert_allclose(again["configuration"], ran["configuration"], atol=1e-9)
