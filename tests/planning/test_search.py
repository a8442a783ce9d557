"""The search for better strides, and the library of those that were found."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

import softground.planning.library as library
import softground.planning.search as searching
from softground.errors import FileFormatError
from softground.media.named import sand
from softground.planning import Manner, Trajectory, drawn_walk, walking_problem
from softground.planning.library import Command, Library, build, near, shipped
from softground.planning.moves import crossed, efforts_of, pairs, swings
from softground.planning.planner import outside_library
from softground.planning.search import Search, improved, solved_from
from softground.robots import Robot
from softground.simulation import Ground

from .foot_problem import foot_problem


@dataclass
class Found:
    """A plan of a problem with one unknown."""

    place: float
    problem: object = None

    @property
    def report(self):
        cost = 1 + np.cos(3 * self.place) + 0.1 * (self.place - 5) ** 2  # several valleys, the deepest at 5.2
        return SimpleNamespace(objective=cost, violation=0.0)


@pytest.fixture
def valleys(monkeypatch):
    """Solves that find the bottom of the valley in which they start."""

    def descend(problem, guess, **_):
        places = guess + np.linspace(-1.0, 1.0, 401)
        costs = [Found(place).report.objective for place in places]
        at = 200
        while 0 < at < 400 and min(costs[at - 1], costs[at + 1]) < costs[at]:
            at += 1 if costs[at + 1] < costs[at - 1] else -1
        return Found(places[at])

    monkeypatch.setattr(searching, "solve", descend)


def test_the_best_guess_counts_whatever_runs_beside_it(valleys):
    for workers in (1, 3):
        found = solved_from(None, [0.5, 3.0, 7.0], (), Search(workers=workers))
        assert [round(one.place, 1) for one in found] == [3.2, 7.3, 1.1]


def test_neighbours_lead_from_valley_to_valley_and_the_search_ends(valleys):
    moves = lambda number, known, idle: [known[0].place + 2.0, known[0].place - 2.0]  # noqa: E731
    start = [Found(-1.0)]
    best = improved(start, moves, (), Search(workers=1))
    assert best.place == pytest.approx(5.2, abs=0.1)
    assert improved(start, moves, (), Search(workers=1, rounds=1)).place < 2.0
    first = start[0].report.objective
    assert improved(start, moves, (), Search(workers=1, enough=first)).place == start[0].place


def test_noise_is_on_joints_alone_and_follows_its_seed():
    guess = Trajectory(np.zeros((3, 5)), np.zeros((3, 5)), np.zeros((2, 2)), 0.1)
    one, other = (Search(noise=0.1, seed=seed).perturbed(guess, 0).q for seed in (1, 2))
    assert not one[:, :3].any()
    assert one[:, 3:].all()
    assert (one[:, 3:] != other[:, 3:]).all()
    assert Search().perturbed(guess, 0) is guess


def test_crossings_are_of_the_cheapest_fronts_and_rears():
    efforts = np.array([[1.0, 5.0], [4.0, 1.0], [2.0, 2.0]])
    assert pairs(efforts, set(), 2) == [(0, 1), (0, 2)]  # 2 and 3
    assert pairs(efforts, {(0, 1)}, 2) == [(0, 2), (2, 1)]


def test_a_crossing_has_the_limbs_of_both_in_step():
    """A walk crossed with itself, begun later, is the walk again: the other is turned back to where it is like it."""
    robot = Robot.load("robosimian")
    problem = walking_problem(robot, Ground(sand(2.0)), knots=31)
    walk = drawn_walk(problem, Manner(lag=0.2, gather=0.6, lift=0.1))
    count, place = 30, walk.q[:, 0] - walk.q[0, 0]
    at = (np.arange(31) + 7) % count
    torque = np.random.default_rng(0).normal(size=(count, robot.nu))
    q = walk.q[at].copy()
    q[:, 0] = place
    later = Trajectory(q, walk.v[at], torque[at[:-1]], walk.dt)
    walk = walk._replace(torque=torque)
    both = crossed(robot, walk, later)
    np.testing.assert_allclose(both.q[:-1], walk.q[:-1], atol=1e-9)
    np.testing.assert_allclose(both.torque, walk.torque)
    front, rear = efforts_of(robot, [walk])[0]
    assert front + rear == pytest.approx((torque**2).sum())


def test_swings_go_round_the_cycle():
    assert swings(np.array([1, 0, 0, 1, 1, 0, 1], dtype=bool)) == [(3, 5), (6, 8)]
    assert swings(np.ones(4, dtype=bool)) == []


# -- the library ---------------------------------------------------------------------------------------------------


def stride_of(number: float) -> Trajectory:
    return Trajectory(np.full((3, 3), number), np.zeros((3, 3)), np.zeros((2, 3)), 0.05)


def test_a_library_is_built_from_the_nearest_and_goes_on_where_it_stopped(tmp_path):
    problem = foot_problem()
    path = tmp_path / "strides.npz"
    commands = [Command(0.4, slope, 2.0) for slope in (-0.1, 0.0, 0.1, 0.2)]
    asked = []

    def stride_for(command, known):
        asked.append((command.slope, None if known is None else known[0].slope))
        return None if command.slope == 0.2 else (1.0, stride_of(command.slope))

    empty = Library.empty(problem.robot, problem.ground)
    built = build(path, empty, commands, stride_for)
    assert asked[0] == (0.0, None)
    assert set(asked[1:]) == {(-0.1, 0.0), (0.1, 0.0), (0.2, 0.1)}
    assert len(built.entries) == 3
    asked.clear()
    again = build(path, empty, commands, stride_for)
    assert asked == [(0.2, 0.1)]  # of which none was found
    assert again.nearest(Command(0.4, 0.09, 2.0))[1].q[0, 0] == pytest.approx(0.1)
    assert [command.slope for command, _ in again.near(Command(0.4, 0.09, 2.0))] == [0.1, 0.0, -0.1]
    assert again.nearest(Command(3.0, 0.0, 2.0)) is None
    assert again.serves(problem)
    assert not replace(again, robot="another").serves(problem)
    assert not again.serves(replace(problem, dt=0.04))


def test_starts_come_from_all_files_of_a_robot_the_nearest_first(monkeypatch):
    problem = foot_problem()  # 0.1 m/s, strength 1
    empty = Library.empty(problem.robot, problem.ground)
    files = [empty.grown(Command(speed, 0.0, 1.0), 1.0, stride_of(speed)) for speed in (0.4, 0.2, 0.6)]
    monkeypatch.setattr(library, "shipped", lambda: files)
    assert [command.speed for command, _ in near(problem, 0.0)] == [0.2, 0.4]


def test_files_that_are_no_libraries_are_refused(tmp_path):
    path = tmp_path / "strides.npz"
    path.write_bytes(b"not a library")
    with pytest.raises(FileFormatError, match="no library"):
        Library.load(path)
    np.savez(path, format="softground-strides 99")
    with pytest.raises(FileFormatError, match=r"^[^:]*strides\.npz is a library of another version"):
        Library.load(path)


def test_the_shipped_strides_are_of_robots_of_the_catalogue():
    kinds = {(one.robot.split()[0], one.medium) for one in shipped()}
    assert {("robosimian", "Resistive"), ("go1", "ViscoElastic"), ("anymal", "Resistive")} <= kinds
    assert not near(foot_problem(), 0.0)
    assert "no stride of foot near 0.1 m/s, 0 degrees, strength 1" in outside_library(foot_problem())
