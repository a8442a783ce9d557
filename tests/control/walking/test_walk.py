"""A walk from command to run: it gets there, its file can be opened, and its judge tells good walks from bad."""

import dataclasses

import equinox as eqx
import numpy as np
import pytest

from softground.bridges.playback import playback
from softground.control.walking import ICUB_SOFT_GAIT, gait_for
from softground.control.walking.walk import LOST, Belief, Command, com_error, standing, verdict, walk
from softground.control.walking.walker import walking_controller
from softground.errors import OptionError
from softground.media import Noisy, ViscoElastic
from softground.media.named import sand
from softground.papers.romualdi2021.walks import controller, icub
from softground.robots import Robot
from softground.runs import Run
from softground.simulation import Ground, Simulator
from softground.surfaces import Plane


@pytest.fixture(scope="module")
def run():
    """The beginning of a walk: the left foot swings and comes down, and the weight goes over to it."""
    simulator = Simulator(icub(), ViscoElastic(8e5, 1e4), 1e-3)
    command = Command(0.085, seconds=10.0)
    return walk(
        simulator, controller("compliant"), ICUB_SOFT_GAIT, command, Belief(8e5, 1e4), until=2.6, progress=False
    )


def test_icub_walks_on_foam(run):
    judged = verdict(run)
    assert judged.success, judged.ended
    assert judged.controller_failures == 0
    assert judged.com_error_max_mm < 20
    lifted = run["planned_contact"].values[:, 0] == 0
    assert run["depth"].values[lifted, 0].min() < -0.01  # the left foot is in the air
    assert run["wrench_world"].values[lifted, 0].any(axis=1).mean() < 0.05  # and carries nothing there
    assert float(run["center_of_mass"][-1, 0] - run["center_of_mass"][0, 0]) > 0.02


def test_its_file_holds_references_and_can_be_played(run, tmp_path):
    again = Run.load(run.save(tmp_path / "walk.nc"))
    np.testing.assert_array_equal(again["com_reference"], run["com_reference"])
    assert again.attrs["controller_failures"] == 0
    assert len(playback(again, fps=10, speed=1.0).time) == pytest.approx(26, abs=2)


def test_a_controller_that_knows_the_ground_believes_the_truth_to_the_end(run):
    assert (run["believed_stiffness"].values == 8e5).all()
    assert (run["believed_damping"].values == 1e4).all()


def test_verdict_of_a_walk_that_strays(run):
    strayed = run.assign(com_reference=run["com_reference"] + 1.2 * LOST)
    judged = verdict(strayed)
    assert not judged.success
    assert judged.ended.startswith("lost")
    assert judged.com_error_max_mm == pytest.approx(1e3 * np.linalg.norm(com_error(strayed), axis=1).max())


def test_verdict_of_a_walk_whose_controller_gave_up(run):
    assert verdict(run.assign({"controller_failures": 1})).ended.startswith("controller failure")
    fallen = verdict(run.assign({"ended": "fallen: the base came down"}))
    assert (fallen.success, fallen.ended) == (False, "fallen: the base came down")


def test_stands_as_deep_as_the_ground_carries_it():
    simulator = Simulator(icub(), Noisy(ViscoElastic(8e5, 1e4), 0.0), 1e-3)
    state = standing(simulator)
    area = 2 * 0.19 * 0.09
    depth = -np.asarray(icub().foot_poses(state.q)[0])[:, 2]
    assert depth == pytest.approx(float(icub().total_mass) * 9.81 / (8e5 * area), rel=0.02)


def test_gaits_of_other_robots_are_similar():
    """Two robots whose gaits are scaled: the pendulum falls as far within a step."""
    gaits = [gait_for(Robot.load(name)) for name in ("g1", "talos")]
    for gait in gaits:
        assert gait.omega * gait.step_duration == pytest.approx(ICUB_SOFT_GAIT.omega * ICUB_SOFT_GAIT.step_duration)
        assert gait.step_length_limit / gait.com_height == pytest.approx(
            ICUB_SOFT_GAIT.step_length_limit / ICUB_SOFT_GAIT.com_height
        )
    assert gait_for(icub()) == ICUB_SOFT_GAIT


def test_gaits_under_another_gravity_are_similar():
    """On the moon steps are as long, and take longer as the pendulum falls more slowly: by the root of gravity."""
    robot = icub()
    on_the_moon = eqx.tree_at(lambda r: r.gravity, robot, np.array([0.0, 0.0, -1.62]))
    gait = gait_for(on_the_moon)
    assert gait.step_duration == pytest.approx(ICUB_SOFT_GAIT.step_duration * np.sqrt(9.81 / 1.62))
    assert gait.omega * gait.step_duration == pytest.approx(ICUB_SOFT_GAIT.omega * ICUB_SOFT_GAIT.step_duration)
    assert gait.step_length_limit == ICUB_SOFT_GAIT.step_length_limit
    with pytest.raises(OptionError, match="needs gravity"):
        gait_for(eqx.tree_at(lambda r: r.gravity, robot, np.zeros(3)))


def test_refuses_what_cannot_walk():
    with pytest.raises(OptionError, match="two flat feet"):
        gait_for(Robot.load("robosimian"))
    with pytest.raises(OptionError, match=r"unknown controller 'stiff'.*compliant"):
        walking_controller(icub(), "stiff")
    with pytest.raises(OptionError, match="visco-elastic"):
        standing(Simulator(icub(), sand(), 1e-3))
    with pytest.raises(OptionError, match="level ground"):
        standing(Simulator(icub(), Ground(ViscoElastic(8e5, 1e4), Plane(slope=0.1)), 1e-3))
    slower = Simulator(icub(), ViscoElastic(8e5, 1e4), 2e-3)
    with pytest.raises(OptionError, match=r"whole number of steps of 0\.002 s, got 0\.001 s"):
        walk(slower, controller("compliant"), ICUB_SOFT_GAIT, Command(0.085), Belief(8e5, 1e4))


def test_a_gait_must_be_sound():
    with pytest.raises(OptionError, match="step_duration"):
        dataclasses.replace(ICUB_SOFT_GAIT, step_duration=-1.0)
