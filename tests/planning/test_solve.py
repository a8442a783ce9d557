"""A small problem solved, interrupted, resumed, written to a file and replayed."""

import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from softground.errors import FileFormatError, OptionError
from softground.planning import Stage, solve, trajectory_of
from softground.planning.checkpoint import Checkpoint
from softground.planning.solve import _Watch

from .foot_problem import foot_problem, level_flight

STAGES = (Stage(1.0, optimality=1e-2, iterations=60), Stage(1.0, "exact", iterations=40, barrier=1e-4))


@pytest.fixture(scope="module")
def plan():
    problem = foot_problem()
    return solve(problem, level_flight(problem), stages=STAGES, progress=False)


def test_converges_to_the_speed_asked_for(plan):
    assert plan.report.status == "converged"
    assert plan.report.violation <= 1e-3
    assert plan.report.optimality <= 1e-3
    assert plan.metrics.velocity_error < 1e-3
    assert plan.trajectory.q[0, 0] == pytest.approx(0.0, abs=1e-9)


def test_report_says_where_the_time_went(plan):
    first = plan.report.stages[0]
    assert first.callback_calls["jacobian"] >= first.iterations
    assert sum(first.callback_seconds.values()) == pytest.approx(first.seconds)
    assert len(first.history) == first.iterations


def test_the_planned_torques_give_the_planned_motion(plan):
    """Played in the simulator with the plan's own step.

    Rows are violated by at most 1e-3; a foot that moves freely adds what that makes in each of 12 steps.
    """
    simulator, trajectory = plan.motion.simulator(), plan.trajectory
    start = simulator.initial_state(trajectory.q[0], trajectory.v[0])
    again = simulator.run(trajectory.torque, state=start)
    np.testing.assert_allclose(again["configuration"].values, trajectory.q[:-1], atol=1e-3)
    np.testing.assert_array_equal(trajectory_of(again).q[:-1], again["configuration"].values)


def test_replay_keeps_the_speed(plan):
    report, _ = plan.replay()
    assert report.speed_kept == pytest.approx(1.0, abs=0.1)
    assert not report.fell


def test_interrupted_solve_returns_its_best_and_resumes(monkeypatch, tmp_path):
    problem, state = foot_problem(), tmp_path / "solve.npz"
    usual = _Watch.__call__

    def press(self, now):
        if now.iteration == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return usual(self, now)

    monkeypatch.setattr(_Watch, "__call__", press)
    before = signal.getsignal(signal.SIGINT)  # ignored where the tests run in the background
    stopped = solve(problem, level_flight(problem), stages=STAGES, progress=False, state=state)
    assert stopped.report.status == "interrupted"
    assert 5 <= stopped.report.iterations <= 7
    first = stopped.report.stages[0].history[0]
    assert stopped.report.violation <= first[1]
    assert signal.getsignal(signal.SIGINT) is before

    monkeypatch.setattr(_Watch, "__call__", usual)
    at = Checkpoint.load(state)
    assert at.iteration >= 5
    resumed = solve(problem, level_flight(problem), stages=STAGES, progress=False, state=state)
    assert resumed.report.status == "converged"
    assert not state.exists()


def test_state_is_kept_when_time_runs_out(monkeypatch, tmp_path):
    problem, state = foot_problem(), tmp_path / "solve.npz"
    usual = _Watch.__call__

    def dawdle(self, now):
        time.sleep(1.0 if now.iteration == 3 else 0.0)
        return usual(self, now)

    monkeypatch.setattr(_Watch, "__call__", dawdle)
    stopped = solve(problem, level_flight(problem), stages=STAGES, progress=False, state=state, seconds=1.0)
    assert stopped.report.status != "converged"
    assert state.exists()
    Checkpoint.load(state)._replace(stage=5).save(state)
    with pytest.raises(FileFormatError, match="give the same stages"):
        solve(problem, level_flight(problem), stages=STAGES, progress=False, state=state)


def test_replay_steps_must_divide_those_of_the_plan(plan):
    for dt in (0.2, 0.03):
        with pytest.raises(OptionError, match="must divide"):
            plan.replay(dt=dt)


def test_state_of_another_problem_is_refused(tmp_path):
    problem, state = foot_problem(), tmp_path / "solve.npz"
    Checkpoint(0, 3, np.zeros(4), np.zeros(2), (2, 1, 1, 0, 1, 0)).save(state)
    with pytest.raises(FileFormatError, match="another problem"):
        solve(problem, level_flight(problem), stages=STAGES, progress=False, state=state)
    state.write_bytes(b"not a state")
    with pytest.raises(FileFormatError, match="damaged"):
        solve(problem, level_flight(problem), stages=STAGES, progress=False, state=state)


def test_solves_outside_the_main_thread():
    """Signals belong to the main thread: elsewhere planning must work without them."""
    problem, found = foot_problem(), []
    worker = threading.Thread(
        target=lambda: found.append(solve(problem, level_flight(problem), stages=STAGES[:1], progress=False))
    )
    worker.start()
    worker.join()
    assert found[0].report.violation <= 1e-3


def test_a_guess_that_is_a_gait_already_is_not_lost(plan, monkeypatch):
    """The optimiser is made to go astray; what is kept is the guess, and how far from optimal it is."""
    astray = lambda self, now: setattr(self, "last", now) or now.iteration >= 2  # noqa: E731
    monkeypatch.setattr(_Watch, "__call__", astray)
    guess = plan.trajectory._replace(torque=plan.trajectory.torque.copy())
    again = solve(plan.problem, guess, stages=(Stage(1.0, iterations=3, optimality=1e-12),), progress=False)
    assert again.report.status in ("feasible", "converged")
    assert again.report.violation <= 1e-3
    np.testing.assert_allclose(again.trajectory.q, guess.q, atol=1e-12)
    assert again.report.optimality < 0.1


def test_a_spare_stage_runs_where_the_one_before_did_not_end_at_a_solution():
    problem = foot_problem()
    short, spare = replace(STAGES[0], iterations=2), replace(STAGES[1], spare=True)
    for first, count in ((short, 2), (replace(STAGES[0], optimality=1e-3), 1)):
        found = solve(problem, level_flight(problem), stages=(first, spare), progress=False)
        assert len(found.report.stages) == count
        assert found.report.status == "converged"
