"""Run files: what goes in comes out, a rebuilt run repeats itself, and bad files are told from good ones."""

import json
import os
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from softground.control import hold_posture
from softground.errors import FileFormatError, OptionError
from softground.media import Elements, LearnedSpace, Scm, ViscoElastic, named_medium
from softground.media.named import NAMED, sand
from softground.robots import Robot
from softground.runs import Run, compiled_loop, register, run
from softground.runs.dataset import VARIABLES
from softground.runs.description import describe
from softground.runs.names import class_called
from softground.simulation import Control, Ground, Simulator
from softground.surfaces import HeightField, Plane


@pytest.fixture(scope="module")
def recorded() -> Run:
    """A foot on a slope of sand, driven sideways by its actuators."""
    robot = Robot.load("foot")
    simulator = Simulator(robot, Ground(sand(1.3, eps=2e-3), Plane(0.1)), 0.002)
    control = hold_posture(robot)
    return run(simulator, simulator.initial_state(height=0.02), control, 0.3, progress=False, seed=7, command="x")


def assert_same(a: Run, b: Run):
    for name in VARIABLES:
        np.testing.assert_array_equal(a[name].values, b[name].values, err_msg=name)


def test_roundtrip_keeps_everything(recorded, tmp_path):
    loaded = Run.load(recorded.save(tmp_path / "deep" / "run.nc"))
    xr.testing.assert_identical(loaded.dataset, recorded.dataset)
    assert os.listdir(tmp_path / "deep") == ["run.nc"]  # no temporary file stays


def test_every_variable_says_unit_meaning_and_frame(recorded):
    for name in recorded.dataset.data_vars:
        assert {"units", "long_name", "frame"} <= set(recorded[name].attrs), name
    assert recorded["wrench_world"].dims == ("time", "foot", "wrench_axis")
    assert recorded["wrench_world"].attrs["frame"] == "world"


def test_rebuilt_run_is_identical(recorded, tmp_path):
    loaded = Run.load(recorded.save(tmp_path / "run.nc"))
    assert_same(loaded.repeat(), recorded)


def test_a_run_continues_where_it_ended(recorded):
    simulator, final = recorded.rebuild("final")
    rest = run(simulator, final, recorded.control(), 0.1, progress=False)
    start = recorded.rebuild()[1]
    whole = run(simulator, start, recorded.control(), 0.4, progress=False)
    np.testing.assert_array_equal(rest["configuration"].values, whole["configuration"].values[150:])


def test_changed_parameters_are_repeated(tmp_path):
    """Masses replaced after loading are in no model file: the run file keeps them itself."""
    robot = Robot.load("foot")
    plain = Simulator(robot, ViscoElastic(), 0.005)
    heavy = eqx.tree_at(lambda s: s.robot.parameters.mass, plain, 2 * robot.parameters.mass)
    dataset = run(heavy, heavy.initial_state(height=0.01), None, 0.05, progress=False)
    changes = json.loads(dataset.attrs["simulator_recipe"])["changes"]
    assert list(changes) == [".robot.parameters.mass"]
    loaded = Run.load(dataset.save(tmp_path / "run.nc"))
    for one in (loaded.rebuild()[0].robot, loaded.robot):
        np.testing.assert_array_equal(one.parameters.mass, 2 * robot.parameters.mass)


def test_memory_and_sampled_ground_are_kept(tmp_path):
    """Anchors of visco-elastic ground and the grid of a height field go through the file as arrays."""
    heights = 0.01 * np.random.default_rng(0).normal(size=(8, 6))
    ground = Ground(ViscoElastic(), HeightField(heights, 0.2, origin=(-0.7, -0.5)))
    simulator = Simulator(Robot.load("foot"), ground, 0.005)
    torques = np.random.default_rng(1).normal(size=(10, 3))
    dataset = run(simulator, simulator.initial_state([0.0, -0.02, 0.0]), torques, progress=False)
    loaded = Run.load(dataset.save(tmp_path / "run.nc"))
    touched = loaded.rebuild("final")[1].memory
    assert all((part != 0).any() for part in jax.tree.leaves(touched))
    jax.tree.map(np.testing.assert_array_equal, touched, dataset.rebuild("final")[1].memory)
    assert_same(loaded.repeat(), dataset)


def test_decimation_keeps_every_nth_sample_and_counts_all_steps():
    simulator = Simulator(Robot.load("foot"), sand(), 0.002)
    state = simulator.initial_state(height=0.02)
    every = run(simulator, state, None, 0.2, progress=False)
    fifth = run(simulator, state, None, 0.2, every=7, progress=False)
    assert fifth.sizes["time"] == 15  # 100 steps: the last sample stands for two
    assert int(fifth.attrs["steps"]) == 100
    np.testing.assert_array_equal(fifth["depth"].values, every["depth"].values[::7])
    assert int(fifth["iterations"].max()) == int(every["iterations"].max())


def test_a_plain_function_is_not_repeated_but_can_be_saved(recorded, tmp_path):
    simulator, state = recorded.rebuild()
    dataset = run(simulator, state, lambda s: Control(jnp.zeros(3)), 0.01, progress=False)
    loaded = Run.load(dataset.save(tmp_path / "run.nc"))
    loaded.rebuild()
    with pytest.raises(FileFormatError, match="plain function"):
        loaded.control()


def test_stops_at_the_first_non_finite_state(recorded):
    simulator, state = recorded.rebuild()
    dt = float(simulator.dt)
    policy = lambda s: Control(jnp.where(s.time > 10.5 * dt, jnp.nan, 0.0) * jnp.ones(3))  # noqa: E731
    dataset = run(simulator, state, policy, 1.0, progress=False)
    assert dataset.attrs["ended"] == "non-finite"
    assert dataset.attrs["steps"] == 12
    assert np.isfinite(dataset["configuration"]).all()
    (line,) = [line for line in dataset.troubles() if "non-finite" in line]
    assert "t = 0.022 s" in line


def test_interruption_keeps_what_was_simulated(recorded, monkeypatch):
    simulator, state = recorded.rebuild()
    calls = []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*args)

    lowered = compiled_loop._lowered_chunk

    def lower_chunk(*args):
        nonlocal original
        original = lowered(*args)()
        return lambda: interrupted

    original = None
    monkeypatch.setattr(compiled_loop, "_lowered_chunk", lower_chunk)
    dataset = run(simulator, state, None, 1.0, progress=False)
    assert dataset.attrs["ended"] == "interrupted"
    assert 0 < dataset.attrs["steps"] < 500
    assert dataset.sizes["time"] == dataset.attrs["steps"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.unlink(), "no run file"),
        (lambda path: path.write_bytes(path.read_bytes()[:3000]), "truncated or damaged"),
        (lambda path: path.write_text("time,depth\n0,0\n"), "not a run file"),
        (lambda path: xr.Dataset({"a": 1}).to_netcdf(path, engine="h5netcdf"), "not a softground run"),
        (lambda path: edit(path, format_version=3), "upgrade softground"),
        (lambda path: edit(path, format_version=0), "repeat the run"),
        (lambda path: edit(path, drop="depth"), "lacks depth"),
    ],
)
def test_bad_files_are_refused_with_a_remedy(recorded, tmp_path, spoil, message):
    path = recorded.save(tmp_path / "run.nc")
    spoil(path)
    with pytest.raises(FileFormatError, match=message):
        Run.load(path)


def edit(path, drop=None, **attrs):
    dataset = Run.load(path).dataset
    dataset = dataset.drop_vars(drop) if drop else dataset
    dataset.assign_attrs(attrs).to_netcdf(path, engine="h5netcdf")


def test_a_changed_robot_is_noticed(recorded):
    recipe = json.loads(recorded.attrs["simulator_recipe"])
    recipe["robot"]["sha256"] = "0" * 64
    with pytest.raises(FileFormatError, match="has changed since the run"):
        recorded.assign({"simulator_recipe": json.dumps(recipe)}).rebuild()


def test_a_run_of_before_recipes_could_ignore_features_is_repeated(recorded):
    recipe = json.loads(recorded.attrs["simulator_recipe"])
    assert recipe["robot"]["recipe"]["fields"].pop("ignore") == {"tuple": []}
    simulator, _ = recorded.assign({"simulator_recipe": json.dumps(recipe)}).rebuild()
    assert simulator.robot.recipe == Robot.load("foot").recipe


def test_a_file_of_0_1_opens_and_repeats():
    """Written by `softground simulate foot --ground sand` of version 0.1.0; in the plane sand is what it was.

    Another processor rounds otherwise: 1e-6 m and rad is the creep of steps solved to 1e-12 J, over 50 steps.
    """
    old = Run.load(Path(__file__).parents[1] / "data" / "run_0_1.nc")
    assert old.attrs["softground_version"] == "0.1.0"
    again = old.repeat()
    np.testing.assert_allclose(again["configuration"], old["configuration"], atol=1e-6)


def test_a_file_cannot_name_arbitrary_code(recorded):
    recipe = json.loads(recorded.attrs["simulator_recipe"])
    recipe["medium"] = {"type": "os:system", "fields": {}}
    with pytest.raises(FileFormatError, match="not known here"):
        recorded.assign({"simulator_recipe": json.dumps(recipe)}).rebuild()


@register("push-along")
class Push(eqx.Module):
    """A policy of a user's own."""

    force: float

    def __call__(self, state):
        return Control(self.force * jnp.ones(3))


@pytest.mark.parametrize("ground", [*NAMED, "elements that remember"])
def test_files_call_a_ground_and_its_memory_by_names_and_not_by_where_their_code_is(ground):
    medium = Elements(length=0.007, added_mass=1.0) if ground not in NAMED else named_medium(ground)
    parts = [medium]
    if not isinstance(medium, LearnedSpace):  # which remembers nothing
        parts += Simulator(Robot.load("foot"), medium).initial_state().memory
    if not isinstance(medium, Scm | LearnedSpace):  # these know feet alone
        parts.append(medium.on_any_side())
    assert "softground." not in json.dumps([describe(part, {}) for part in parts])


def test_grounds_that_were_called_by_where_their_code_is_still_open():
    assert class_called("softground.media.elements.medium:Elements") is class_called("elements") is Elements


def test_a_registered_policy_is_kept_under_its_name(recorded, tmp_path):
    simulator, state = recorded.rebuild()
    pushed = simulator.run(Push(2.0), 0.02, state=state)
    assert json.loads(pushed.attrs["control_recipe"])["type"] == "push-along"
    assert_same(Run.load(pushed.save(tmp_path / "run.nc")).repeat(), pushed)
    with pytest.raises(OptionError, match="taken"):
        register("sphere")(Push)


@pytest.mark.parametrize("options", [{"seconds": 0.0}, {"seconds": None}, {"seconds": 1.0, "every": 0}])
def test_bad_options(recorded, options):
    simulator, state = recorded.rebuild()
    with pytest.raises(OptionError, match="must be"):
        run(simulator, state, None, progress=False, **options)


def test_no_torques_are_no_run(recorded):
    simulator, state = recorded.rebuild()
    with pytest.raises(OptionError, match="at least one row"):
        run(simulator, state, np.zeros((0, simulator.robot.nu)), progress=False)
