"""The command line: what it prints, what it writes, and how it refuses."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.text import Text
from typer.main import get_command
from typer.testing import CliRunner

from softground.cli import app
from softground.planning import Plan
from softground.runs import Run

GAIT = Path(__file__).parent / "data" / "gait_0_1.nc"
QUICK = ["--seconds", "0.05", "--quiet"]
START = ["--perturb", "0.1", "--seed"]
GROUNDS = "beads, beads_box, beads_cylinder, firm, foam, grains, gravel, mud, pebbles, sand, soil, wedge"
SLOPE = ["--slope", "10", "--eps", "0.002"]  # one ground, so that it is compiled once


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_simulate_writes_a_run_and_plot_draws_it(tmp_path):
    out = tmp_path / "run.nc"
    result = call("simulate", "foot", "--out", out, "--perturb", 0.1, "--seed", 3, *SLOPE, *QUICK)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    dataset = Run.load(out)
    assert dataset.attrs["steps"] == 25
    assert dataset.attrs["seed"] == 3
    assert abs(dataset["velocity"].values[0]).min() > 0  # the seed's random start
    assert json.loads(dataset.attrs["simulator_recipe"])["surface"]["dict"]["slope"] == pytest.approx(0.17453, rel=1e-4)
    result = call("plot", out, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"figure": str(out.with_suffix(".png"))}
    assert out.with_suffix(".png").stat().st_size > 10_000


def test_json_is_one_document_and_nothing_else(tmp_path):
    command = [
        sys.executable,
        "-m",
        "softground",
        "simulate",
        "foot",
        *SLOPE,
        "--seconds",
        "0.02",
        "--json",
    ]
    done = subprocess.run([*command, "--out", tmp_path / "run.nc"], capture_output=True, text=True, check=True)
    summary = json.loads(done.stdout)
    assert summary["steps"] == 10
    assert summary["run_file"].endswith("run.nc")


def test_same_seed_same_numbers(tmp_path):
    depths = []
    for seed in (1, 1, 2):
        assert call("simulate", "foot", "--out", tmp_path / "run.nc", *START, seed, *SLOPE, *QUICK).exit_code == 0
        depths.append(Run.load(tmp_path / "run.nc")["depth"].values)
    assert (depths[0] == depths[1]).all()
    assert (depths[0] != depths[2]).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "nope"], "neither a file nor in the catalogue"),
        (
            ["simulate", "foot", "--ground", "cheese"],
            f"must be one of {GROUNDS}",
        ),
        (["simulate", "foot", "--ground", "wedge"], "wedge needs a robot on half-cylinders"),
        (["simulate", "foot", "--seed", "3"], "--seed needs something random to be the seed of: give --perturb, too"),
        (["simulate", "foot", "--ground", "sand", "--stiffness", "1e6"], "for sand give a strength"),
        (["simulate", "foot", "--spacing", "0.01"], "--spacing is of a terrain"),
        (["simulate", "foot", "--dt", "0"], "--dt must be positive, got 0"),
        (["simulate", "foot", "--dt", "nan"], "--dt must be positive, got nan"),
        (["simulate", "foot", "--seconds", "-1"], "--seconds must be positive"),
        (["simulate", "foot", "--slope", "95"], "between -90 and 90 degrees, got 95"),
        (["simulate", "foot", "--terrain", "no_such.stl"], "no mesh at no_such.stl"),
        (["simulate", "foot", "--terrain", "any.stl", "--slope", "5"], "cannot be given together"),
        (["simulate", "foot", "--ground", "firm", "--eps", "1"], "firm has no eps: its options are strength"),
        (["simulate", "foot", "--feet", "sol"], "unknown foot 'sol'"),
        (["simulate", "foot", "--lock", "knee_*"], "knee_"),
        (["simulate", "foot", "--every", "0"], "--every must be positive, got 0"),
        (["simulate", "foot", "--out", "."], "cannot write .: it is a folder"),
        (["simulate", "foot", "--out", f"{__file__}/run.nc"], "is no folder that you may write to"),
        (["simulate", "foot", "--video", "foot.avi"], "a video must end in .mp4 or .gif, got 'foot.avi'"),
        (["plot", "absent.nc"], "no run file at absent.nc"),
        (["bench", "robustness", "--states", "0"], "--states must be positive, got 0"),
        (["walk", "icub", "--stiffness", "-8e5"], "--stiffness must be positive, got -800000"),
        (["walk", "icub", "--damping", "0"], "--damping must be positive, got 0"),
        (["walk", "icub", "--controller", "stiff"], "unknown controller 'stiff': must be one of"),
        (
            ["walk", "icub", "--ground", "sand"],
            "ground of springs and dampers: foam, firm or a ViscoElastic, got Resistive",
        ),
        (["walk", "robosimian"], "walking needs two flat feet, robosimian has 4 feet"),
        (["walk", "icub", "--noise", "-1"], "sigma of the noise must be >= 0"),
        (["walk", "icub", "--strength", "2", "--stiffness", "1e6"], "give either it or them"),
        (["walk", "biped", "--seed", "5"], "--seed needs something random to be the seed of: give --noise, too"),
        (["walk", "biped", "--controller", "rigid"], "controller: for robots on flat feet"),
        (["walk", "biped", "--guess-stiffness", "1e6", "--estimate"], "guess-stiffness, estimate: for robots on flat"),
        (["acquire", "status", "absent"], "absent holds no campaign"),
        (["walk", "biped", "--ground", "sand", "--stiffness", "1e6"], "stiffness and damping are of springy ground"),
        (
            ["walk", "biped", "--ground", "jelly"],
            f"must be one of {GROUNDS}",
        ),
        (["walk", "biped", "--strength", "0"], "--strength must be positive, got 0"),
    ],
)
def test_bad_options_are_one_line_and_exit_2(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_robot_without_marked_feet_asks_for_them(tmp_path):
    model = tmp_path / "ball.xml"
    model.write_text(
        '<mujoco><worldbody><body name="ball"><freejoint/><geom size="0.1" mass="1"/></body></worldbody></mujoco>'
    )
    result = call("simulate", model, *QUICK)
    assert result.exit_code == 2
    assert "no feet given" in result.stderr
    assert "ball" in result.stderr
    result = call("simulate", model, "--feet", "ball", "--out", tmp_path / "run.nc", *QUICK)
    assert result.exit_code == 0, result.output


def test_media_and_version():
    media = json.loads(call("media", "--json").stdout)
    assert {"sand", "pebbles", "firm", "foam"} <= set(media)
    assert all(media.values())
    assert call("--version").stdout.strip().count(".") == 2


def test_unexpected_errors_are_not_dressed_up(monkeypatch):
    monkeypatch.setattr("softground.terrain.terrain_of", lambda *_, **__: 1 / 0)
    assert isinstance(call("simulate", "foot").exception, ZeroDivisionError)


def test_what_only_others_need_is_loaded_when_they_ask():
    """A compiler of Fortran, which SciPy would import, and a search of all that is installed, for a plugin of JAX."""
    code = """
import sys
from importlib import metadata
search = metadata.distributions
from softground.cli.application import configure_jax
configure_jax()
import numpy, scipy.linalg
assert metadata.distributions is search
assert "numpy.f2py.crackfortran" not in sys.modules
assert "f2py" in numpy.f2py.get_include()
assert "numpy.f2py.crackfortran" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_word_of_a_help_text_is_taken_for_markup():
    """Rich leaves out what stands in square brackets, as the name of an extra may."""

    def texts(command):
        yield from filter(None, [command.help, *(getattr(option, "help", None) for option in command.params)])
        for inner in getattr(command, "commands", {}).values():
            yield from texts(inner)

    found = list(texts(get_command(app)))
    assert len(found) > 100
    assert [text for text in found if Text.from_markup(text).plain != text.replace("\\[", "[")] == []


def test_help_teaches_and_does_not_import_jax():
    code = "import sys, softground.cli; assert not {'jax', 'mujoco', 'xarray', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    text = call("simulate", "--help").output
    assert "softground simulate robosimian --slope 5" in text
    walking = call("walk", "--help").output
    assert "softground walk icub --stiffness 8e5 --damping 1e4 --out run.nc" in walking
    assert "softground walk biped --ground sand --speed 0.2" in walking


def test_a_walk_that_falls_is_a_fall(tmp_path):
    """On round feet, much too fast: written down, and no number for what it cost."""
    ground = ["--ground", "firm", "--stiffness", "2e7", "--damping", "2e5"]
    out = tmp_path / "run.nc"
    result = call("walk", "biped", *ground, "--speed", "9", "--seconds", "1.6", "--json", "--out", out)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["fell"] is True
    assert summary["cost_of_transport"] is None
    assert 0.8 < summary["fell_at_s"] < 1.6  # it steps in place for the first 0.8 s
    assert Run.load(out).attrs["robot"] == "biped"


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("step", {"steps": {"robosimian walking on sand": {"ratio": 2.0}}, "dt": 0.002}),
        ("batch", {"device": "cpu", "batches": {"4096": {"softground": 1e6, "mjx": 5e5, "ratio": 2.0}}}),
        ("robustness", {"states": 10, "not_finite": 0, "grounds": {"sand": {"not_converged": 3}}}),
    ],
)
def test_bench_prints_json_or_a_table(name, result, monkeypatch):
    import types

    module = types.ModuleType(f"softground.bench.{name}")
    module.measure = lambda **options: result
    monkeypatch.setitem(sys.modules, f"softground.bench.{name}", module)
    assert json.loads(call("bench", name, "--json").stdout) == result
    table = call("bench", name).output
    assert all(word in table for word in (["ratio", "2"] if name != "robustness" else ["not finite", "10"]))


def test_a_planned_gait_is_drawn_measured_and_replayed(tmp_path):
    """Also one of softground 0.1, which wrote gaits as runs."""
    x = Plan.load(GAIT).motion["center_of_mass"].sel(xyz="x").values  # the foot goes straight ahead on level ground
    for name, gait in (("new.nc", Plan.load(GAIT).save(tmp_path / "new.nc")), ("old.nc", GAIT)):
        figure = tmp_path / f"{name}.png"
        assert call("plot", gait, "--out", figure).exit_code == 0
        assert figure.stat().st_size > 10_000
        cost = call("cost", gait, "--json")
        assert json.loads(cost.stdout)["distance_m"] == pytest.approx(float(x[-1] - x[0]))
        replayed = call("replay", gait, "--open-loop", "--json", "--out", tmp_path / f"again_{name}")
        assert json.loads(replayed.stdout)["base_difference"] == pytest.approx(0.0128827, abs=1e-6)
    refused = call("replay", tmp_path / "again_new.nc")
    assert refused.exit_code == 2
    assert "holds no plan" in refused.stderr


def test_a_failed_plan_is_neither_titled_nor_written(tmp_path, monkeypatch):
    plan = Plan.load(GAIT)
    failed = replace(plan, report=replace(plan.report, status="failed", reason="steps became too small"))
    monkeypatch.setattr("softground.planning.plan", lambda *_, **__: failed)
    out = tmp_path / "gait.nc"
    result = call("plan", "foot", "--out", out)
    assert result.exit_code == 1
    assert not out.exists()
    assert "no gait of foot on sand" in result.stdout
    assert "walks" not in result.stdout
    assert "steps became too small" in result.stderr


def test_a_library_wants_numbers():
    result = call("library", "build", "robosimian", "--slopes", "5,steep")
    assert result.exit_code != 0
    assert "slopes must be numbers" in result.stderr + str(result.exception)


def test_tasks_are_listed_and_policies_asked_for():
    listed = json.loads(call("tasks", "--json").stdout)
    assert {"go1", "anymal", "g1", "robosimian"} <= set(listed)
    for arguments, message in {
        ("train", "flying"): "unknown task 'flying'",
        ("train", "go1", "--vary", "strength=much"): "NAME=LOW:HIGH",
        ("play", "none.npz"): "there is no policy file none.npz",
        ("play", "none.npz", "--video", "a.mp4"): "give --command, too",
    }.items():
        failed = call(*arguments)
        assert failed.exit_code == 2
        assert message in " ".join(failed.stderr.split())
