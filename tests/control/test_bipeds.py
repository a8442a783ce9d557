"""walk: what it refuses, what a controller believes of the ground, and the verdicts on its runs."""

import pytest

import softground as sg
from softground.control import has_round_feet, usual_speed, walk_summary
from softground.control.bipeds import _belief
from softground.errors import OptionError
from softground.media import Noisy


@pytest.fixture(scope="module")
def biped() -> sg.Robot:
    return sg.Robot.load("biped")


def test_which_way_a_robot_walks(biped):
    assert has_round_feet(biped)
    assert not has_round_feet(sg.Robot.load("robosimian"))  # four feet
    assert usual_speed(biped) == 0.2


@pytest.mark.parametrize(
    "option", [{"controller": "rigid"}, {"guess_stiffness": 1e6}, {"guess_damping": 1e4}, {"estimate": True}]
)
def test_options_of_flat_feet_are_not_for_round_ones(biped, option):
    with pytest.raises(OptionError, match=r"for robots on flat feet \(icub, talos, g1\), biped has round ones"):
        sg.walk(biped, sg.sand(), **option)


def test_other_robots_are_refused():
    with pytest.raises(OptionError, match="walking needs two flat feet, robosimian has 4 feet"):
        sg.walk(sg.Robot.load("robosimian"), sg.foam())
    with pytest.raises(OptionError, match="unknown controller 'stiff'"):
        sg.walk(sg.Robot.load("robosimian"), sg.foam(), controller="stiff")


def test_a_controller_takes_the_ground_for_what_it_is_or_for_what_it_is_told():
    ground = Noisy(sg.foam(), 5.0)
    told = _belief(ground, 3e6, None, estimate=True)
    assert told.stiffness == 3e6
    assert told.damping == float(sg.foam().damping)
    assert float(told.estimator.noise[0, 0]) == 25.0  # N2, of the noise of the ground
    assert float(_belief(sg.foam(), None, None, estimate=True).estimator.noise[0, 0]) == 1.0
    assert _belief(sg.foam(), None, None, estimate=False).estimator is None
    with pytest.raises(OptionError, match=r"springs and dampers: foam, firm or a ViscoElastic, got Resistive"):
        _belief(sg.sand(), None, None, estimate=False)


def test_a_walk_on_round_feet_is_summed_up(biped):
    run = sg.walk(biped, sg.firm(), speed=0.2, seconds=0.1, title="a tenth of a second")
    summary = walk_summary(run)
    assert run.attrs["title"] == "a tenth of a second"
    assert summary["steps"] == 0
    assert summary["fell"] is False
    assert 0 < summary["deepest_mm"] < 5
