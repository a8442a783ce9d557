"""One motion, one verdict: everything that says whether a robot fell says the same of a run."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from softground.cli import app
from softground.control import hold_posture
from softground.control.walking.walk import verdict
from softground.media import firm
from softground.planning.replay import _compare
from softground.planning.trajectory import Trajectory
from softground.robots import Robot
from softground.runs import Run
from softground.runs.verdict import FallWatch
from softground.simulation import Simulator

#: A trunk on a leg with a wide or a narrow sole, and an ankle that holds it.
STANDER = """
<mujoco model="stander">
  <option gravity="0 0 {gravity}"/>
  <worldbody>
    <body name="leg" pos="0 0 0.5">
      <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
      <joint name="pitch" type="hinge" axis="0 1 0"/>
      <geom name="shank" type="capsule" fromto="0 0 -0.45 0 0 0" size="0.03" mass="2" contype="0" conaffinity="0"/>
      <geom name="sole" type="box" size="{half} 0.1 0.02" pos="0 0 -0.48" mass="1"/>
      <body name="trunk" pos="0 0 0">
        <joint name="hip" type="hinge" axis="0 1 0" range="-1 1" damping="1"/>
        <geom type="box" size="0.1 0.1 0.2" pos="0.03 0 0.2" mass="10" contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="hip" ctrlrange="-100 100"/></actuator>
</mujoco>
"""
EARTH, MOON = -9.81, -1.62


@pytest.fixture(scope="module", params=[EARTH, MOON], ids=["Earth", "Moon"])
def standers(request, tmp_path_factory) -> dict[str, str]:
    """Files of a robot that stands, and of one that topples forward over its sole, under a gravity (m/s2)."""
    folder = tmp_path_factory.mktemp("robots")
    files = {"stands": (0.2, folder / "wide.xml"), "topples": (0.005, folder / "narrow.xml")}
    for half, path in files.values():
        path.write_text(STANDER.format(gravity=request.param, half=half))
    return {name: str(path) for name, (_, path) in files.items()}


@pytest.mark.parametrize("falls", [False, True], ids=["stands", "topples"])
def test_everybody_agrees(standers, falls, tmp_path):
    model = standers["topples" if falls else "stands"]
    out = tmp_path / "run.nc"
    options = ["--ground", "firm", "--feet", "sole", "--seconds", "4", "--every", "10", "--height", "0.0"]
    told = CliRunner().invoke(app, ["simulate", model, *options, "--out", str(out), "--json"])
    assert told.exit_code == 0, told.output
    simulated = json.loads(told.stdout)
    cost = json.loads(CliRunner().invoke(app, ["cost", str(out), "--json"]).stdout)
    run = Run.load(out)
    robot, q = run.robot, run["configuration"].values
    watch = FallWatch(run.rebuild()[0], q[0])
    plan = Trajectory(q, run["velocity"].values, run["torque"].values[:-1], 0.02)
    verdicts = {
        "simulate": simulated["fell"],
        "cost": cost["fell"],
        "run": run.fall() is not None,
        "watch": any(watch(row) for row in q),
        "walk": verdict(as_walk(run)).fell,
        "replay": _compare(robot, run.rebuild()[0].ground, plan, run).fell,
    }
    assert set(verdicts.values()) == {falls}, verdicts
    if falls:
        assert any("fell" in line for line in run.troubles())
        first = next(time for time, row in zip(run["time"].values, q, strict=True) if watch(row))
        assert run.fall().time == pytest.approx(cost["fell_at_s"]) == pytest.approx(first)


def as_walk(run: Run) -> Run:
    """The run with what a walk keeps besides."""
    reference = ("time", "xyz"), run["center_of_mass"].values
    spent = "time", np.zeros(run.sizes["time"])
    return run.assign({"controller_failures": 0}, com_reference=reference, controller_seconds=spent)


def test_a_robot_that_is_dropped_has_not_fallen(standers):
    """From more than its own height: its centre of mass comes down to less than half of where it was."""
    simulator = Simulator(Robot.load(standers["stands"], feet=["sole"]), firm(), 0.002)
    run = simulator.run(hold_posture(simulator.robot), 3.0, height=0.8, every=10)
    height = run.height()
    assert height[-1] < 0.5 * height[0]
    assert run.fall() is None
