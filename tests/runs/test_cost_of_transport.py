"""Cost of transport of run files, and falls: numbers that can be worked out by hand."""

import json

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from softground.cli import app
from softground.errors import OptionError
from softground.media import sand
from softground.robots import Robot
from softground.runs import Run, run
from softground.runs.cost_of_transport import describe_cost, stance_rows, walk_cost
from softground.runs.description import describe
from softground.runs.measures import actuator_work, base_tilt, heading, loaded_intervals
from softground.simulation import Simulator
from softground.surfaces import Plane

MASS, SPEED, DT = 10.0, 0.4, 0.01
WEIGHT = MASS * 9.81


def walk(seconds=2.0, *, tilt=0.0, drop=1.0, slope=0.0):
    """A made-up walk: two feet that change every 0.2 s, two actuators of +30 W and -10 W while the left foot stands.

    The base leans by `tilt` about x (rad) and the robot is `drop` of its height in the second half. The ground rises by
    `slope` (rad) along x, and the robot with it.
    """
    count = round(seconds / DT)
    time = DT * np.arange(count)
    late = np.arange(count) >= count // 2
    left = np.arange(count) // round(0.2 / DT) % 2 == 0
    lean = np.where(late, tilt, 0.0)
    configuration = np.outer(time, [3.0, 2.0])
    quaternion = np.stack([np.cos(lean / 2), np.sin(lean / 2), 0 * lean, 0 * lean], axis=-1)
    wrench = np.zeros((count, 2, 6))
    wrench[:, 0, 2], wrench[:, 1, 2] = WEIGHT * left, WEIGHT * ~left
    height = np.where(late, drop, 1.0) * 0.5 / np.cos(slope)
    position = np.stack([SPEED * time, 0 * time, height + np.tan(slope) * SPEED * time], axis=-1)
    ground = {"surface": describe(Plane(slope=slope).to_dict(), {})}
    dataset = xr.Dataset(
        {
            "configuration": (("time", "q"), configuration),
            "velocity": (("time", "v"), np.tile([3.0, 2.0], (count, 1))),
            "torque": (("time", "actuator"), np.where(left[:, None], [10.0, -5.0], [0.0, 0.0])),
            "wrench_world": (("time", "foot", "wrench_axis"), wrench),
            "depth": (("time", "foot"), np.zeros((count, 2))),
            "base_position": (("time", "xyz"), position),
            "base_quaternion": (("time", "quaternion"), quaternion),
            "center_of_mass": (("time", "xyz"), position),
        },
        coords={
            "time": time,
            "q": ["hip", "knee"],
            "actuator": ["hip", "knee"],
            "actuator_dof": ("actuator", [0, 1]),
            "foot": ["left", "right"],
            "wrench_axis": ["fx", "fy", "fz", "tx", "ty", "tz"],
            "xyz": ["x", "y", "z"],
        },
        attrs={
            "mass_kg": MASS,
            "gravity_m_per_s2": [0.0, 0.0, -9.81],
            "dt_s": DT,
            "robot": "made up",
            "ended": "finished",
            "simulator_recipe": json.dumps(ground),
        },
    )
    return Run(dataset)


def test_walk_and_stances_by_hand():
    cost = walk_cost(walk())
    assert cost.fall is None
    # 20 W net, 40 W counted by actuator, while the left foot stands: half of the time
    assert cost.walk.energy == pytest.approx(20.0 * 1.0)
    assert cost.walk.energy_per_actuator == pytest.approx(40.0 * 1.0)
    assert cost.walk.distance == pytest.approx(SPEED * (2.0 - DT))
    assert cost.walk.cost_of_transport == pytest.approx(20.0 / (WEIGHT * SPEED * (2.0 - DT)))
    assert cost.walk.dimensionless_speed == pytest.approx(SPEED / np.sqrt(9.81 * 0.5))
    # ten stances, of which the first and the last touch an end of the run
    assert [stance.foot for stance in cost.stances] == ["right", "left"] * 4
    on_left = 20.0 / (WEIGHT * SPEED)
    for stance in cost.stances:
        assert stance.cost.end - stance.cost.start == pytest.approx(0.2)
        assert stance.cost.cost_of_transport == pytest.approx(on_left if stance.foot == "left" else 0.0, abs=1e-12)
    described = describe_cost(cost)
    assert described["stances"] == 8
    assert described["cost_per_stance_mean"] == pytest.approx(on_left / 2)
    assert described["cost_per_stance_deviation"] == pytest.approx(on_left / 2)
    assert [row["foot"] for row in stance_rows(cost)][:2] == ["right", "left"]


def test_part_of_a_run():
    part = walk_cost(walk(), start=0.4, end=0.8)
    assert part.walk.distance == pytest.approx(0.4 * SPEED)
    assert part.walk.energy == pytest.approx(20.0 * 0.2)
    with pytest.raises(OptionError, match=r"lasts from 0 to 1.99 s: nothing from 3 s to its end"):
        walk_cost(walk(), start=3.0)


@pytest.mark.parametrize(
    ("dataset", "reason"),
    [
        (walk(drop=0.45), "the centre of mass is 0.225 m over the ground, 0.500 m when standing"),
        (walk(tilt=1.2), "the base leans 69 degrees"),
        (walk(tilt=-1.2), "the base leans 69 degrees"),
        (walk().assign({"ended": "non-finite"}), "the state became non-finite"),
    ],
)
def test_a_fall_has_no_cost(dataset, reason):
    cost = walk_cost(dataset)
    assert cost.fall.reason == reason
    assert (cost.walk, cost.stances) == (None, ())
    described = describe_cost(cost)
    assert described["fell"]
    assert described["cost_of_transport"] is None
    if dataset.attrs["ended"] == "finished":
        assert cost.fall.time == pytest.approx(1.0)


def test_lower_and_leaning_but_on_its_feet():
    assert walk(drop=0.55, tilt=1.0).fall() is None
    np.testing.assert_allclose(base_tilt(walk(tilt=1.0))[[0, -1]], [0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize("slope", [-0.35, 0.35])
def test_heights_are_over_the_ground(slope):
    """Down a slope the centre of mass ends below half its first height over z = 0, and the robot has not fallen."""
    downhill = walk(4.0, slope=slope)
    assert (downhill["center_of_mass"][-1, 2] < 0.25) == (slope < 0)
    assert downhill.fall() is None
    assert walk(4.0, slope=slope, drop=0.45).fall().reason.endswith("0.225 m over the ground, 0.500 m when standing")


def test_going_nowhere_has_no_cost():
    standing = walk()
    standing["center_of_mass"].loc[{"xyz": "x"}] = 0.0
    cost = walk_cost(standing)
    assert cost.walk.cost_of_transport is None
    assert describe_cost(cost)["cost_per_stance_mean"] is None


def test_no_model_says_where_its_front_is_so_walking_backwards_gets_ahead_and_there_and_back_nowhere():
    backwards = walk()
    backwards["center_of_mass"].loc[{"xyz": "x"}] *= -1
    assert describe_cost(walk_cost(backwards)) == describe_cost(walk_cost(walk()))
    there_and_back = walk(2.0 + DT)  # an even number of steps
    x = there_and_back["center_of_mass"].sel(xyz="x").values
    there_and_back["center_of_mass"].loc[{"xyz": "x"}] = np.minimum(x, x[::-1])
    assert walk_cost(there_and_back).walk.cost_of_transport is None


def test_the_way_of_a_robot_that_turns_is_its_arc():
    """Round a circle, started askew: iCub's base, for one, looks along -x where the robot looks along x."""
    turning = walk()
    angle, askew = 0.9 * turning["time"].values, 2.5
    turning["center_of_mass"].values[:, :2] = SPEED / 0.9 * np.stack([np.sin(angle), 1 - np.cos(angle)], axis=-1)
    turning["base_quaternion"].values[:] = 0.0
    turning["base_quaternion"].values[:, 0] = np.cos((angle + askew) / 2)
    turning["base_quaternion"].values[:, 3] = np.sin((angle + askew) / 2)
    np.testing.assert_allclose(heading(turning), angle, atol=1e-12)
    cost = walk_cost(turning)
    assert cost.walk.distance == pytest.approx(SPEED * (2.0 - DT), rel=5e-3)  # less at its ends, by the average
    assert cost.stances[4].cost.distance == pytest.approx(0.2 * SPEED, rel=1e-4)


def test_intervals_that_touch_the_ends_are_left_out():
    assert loaded_intervals(np.array([1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1], bool)) == [(3, 6), (8, 9)]
    assert loaded_intervals(np.ones(5, bool)) == []
    assert loaded_intervals(np.zeros(5, bool)) == []


@pytest.fixture(scope="module")
def dragged(tmp_path_factory):
    """The single foot pushed along sand by its actuators: 60 N forwards, its weight less 30 N upwards."""
    robot = Robot.load("foot")
    simulator = Simulator(robot, sand(), dt=0.002)
    force = np.tile([60.0, float(robot.total_mass) * 9.81 - 30.0, 0.0], (50, 1))
    dataset = run(simulator, simulator.initial_state(height=0.0), force, progress=False, title="dragged foot")
    path = tmp_path_factory.mktemp("cost") / "run.nc"
    dataset.save(path)
    return path, dataset


def test_command(dragged):
    path, dataset = dragged
    result = CliRunner().invoke(app, ["cost", str(path), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    # Forces that never change do work by where they end up: forwards all the time, down to some depth, up from there.
    (forwards, upwards, _), (x, z, _) = dataset["torque"].values[0], dataset["configuration"].values.T
    assert (np.diff(x) >= 0).all()
    assert np.count_nonzero(np.diff(np.sign(np.diff(z)))) == 1
    weight, center = dataset.attrs["mass_kg"] * 9.81, dataset["center_of_mass"].sel(xyz="x").values
    way = center[-1] - center[0]  # not that of the sole: the foot tips backwards
    each = forwards * (x[-1] - x[0]) + upwards * (z[0] - 2 * z.min() + z[-1])
    assert found["distance_m"] == pytest.approx(way, rel=1e-9)
    assert found["cost_of_transport_per_actuator"] == pytest.approx(each / (weight * way), rel=1e-9)
    both = np.abs(forwards * np.diff(x) + upwards * np.diff(z)).sum()
    assert found["energy_j"] == pytest.approx(both, rel=1e-9)
    assert found["cost_of_transport"] == pytest.approx(both / (weight * way), rel=1e-9)
    assert found["distance_m"] > 0.01
    table = CliRunner().invoke(app, ["cost", str(path)]).stdout
    assert "cost of transport" in table


def test_files_of_softground_0_1_open_and_have_a_cost(dragged, tmp_path):
    """They keep neither gravity nor the base's orientation: the Earth's, and the pitch, are taken."""
    _, dataset = dragged
    old = dataset.dataset.drop_vars(["base_quaternion", "quaternion"])
    del old.attrs["gravity_m_per_s2"]
    old.to_netcdf(tmp_path / "old.nc", engine="h5netcdf")
    loaded = Run.load(tmp_path / "old.nc")
    costs = [walk_cost(one).walk for one in (loaded, dataset)]
    assert vars(costs[0]) == pytest.approx(vars(costs[1]), rel=1e-12)
    np.testing.assert_allclose(base_tilt(loaded), base_tilt(dataset), atol=1e-12)


def test_the_work_of_steady_forces_does_not_depend_on_how_many_samples_are_kept(dragged):
    """Displacements are exact. Only what an actuator does and undoes between two samples is not seen in its cost."""
    _, dataset = dragged
    whole, sampled = dataset.isel(time=slice(0, 49)), dataset.isel(time=slice(0, 49, 8))
    np.testing.assert_allclose(
        actuator_work(sampled).sum(axis=0), actuator_work(whole).sum(axis=0), rtol=1e-9, atol=1e-12
    )
    assert walk_cost(sampled).walk.distance == pytest.approx(walk_cost(whole).walk.distance, rel=1e-9)
    assert walk_cost(sampled).walk.energy <= walk_cost(whole).walk.energy * (1 + 1e-9)


def test_command_reports_a_fall(dragged, tmp_path):
    _, dataset = dragged
    fallen = Run(dataset.dataset.copy(deep=True))
    fallen["base_quaternion"].values[25:] = [np.cos(1.0), 0.0, np.sin(1.0), 0.0]
    fallen.save(tmp_path / "fall.nc")
    result = CliRunner().invoke(app, ["cost", str(tmp_path / "fall.nc"), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["fell"]
    assert found["cost_of_transport"] is None
    assert found["fell_at_s"] == pytest.approx(0.05)
    assert "leans" in CliRunner().invoke(app, ["cost", str(tmp_path / "fall.nc")]).stdout
