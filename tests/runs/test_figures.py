"""The figure of a run: it is written, and shows every foot."""

import pytest

from softground.media.named import sand
from softground.robots import Robot
from softground.runs import run
from softground.runs.figures import COLOURS, run_figure, save_figure
from softground.simulation import Simulator


@pytest.fixture(scope="module")
def fallen():
    simulator = Simulator(Robot.load("foot"), sand(), 0.002)
    return run(simulator, simulator.initial_state(height=0.02), None, 0.6, progress=False)


def test_figure_has_labelled_axes_and_a_curve_per_foot(fallen, tmp_path):
    figure = run_figure(fallen)
    panels = figure.axes
    assert all(axes.get_ylabel().endswith(")") for axes in panels)  # a unit
    assert len(panels[2].lines) == fallen.sizes["foot"] + 1  # and the surface
    assert save_figure(figure, tmp_path / "run.png").stat().st_size > 10_000
    assert len(set(COLOURS)) == len(COLOURS)


def test_summary_of_a_foot_at_rest(fallen):
    """At rest the sand carries the weight: the mean vertical force over the second half is m g."""
    summary = fallen.summary()
    assert summary["mean_vertical_force_n"] == pytest.approx(summary["weight_n"], rel=2e-3)
    assert 0 < summary["mean_sinkage_m"] <= summary["greatest_sinkage_m"]
    assert summary["seconds"] == pytest.approx(0.6)
    assert summary["ended"] == "finished"
