"""Ensembles: what was left out lies inside, members are the set moved by what was seen, and bad parts are refused."""

import json
from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from softground.cli import app
from softground.errors import ExperimentError, FileFormatError, MediumError
from softground.experiments.database_file import write_database
from softground.experiments.learning import Physics, report
from softground.experiments.learning.ensemble import beds_of, ensemble, law_wrenches, left_out_errors, mean_bed, trust
from softground.experiments.learning.grid import feet_at
from softground.media import Ensemble, load_ensemble, load_medium, save_medium
from softground.papers.zhu2019.databases import resistive_database
from softground.papers.zhu2019.learned_cases import about_sole
from softground.robots.shapes import Cylinder
from softground.runs.spread import spreads

METHOD = Physics(learn_hyper=False)
NOISE = 0.15


def bed(seed: int):
    """Theory with noise: each row off by a share of the wrenches at its depth, and a whole bed strong or weak."""
    database, random = about_sole(resistive_database("sand")), np.random.default_rng(seed)
    size = np.array([70.0, 150.0, 5.0]) * database.depth[:, None] / 0.05
    whole = 1 + 0.05 * random.normal()
    return replace(database, wrench=whole * database.wrench + NOISE * size * random.normal(size=database.wrench.shape))


@pytest.fixture(scope="module")
def databases():
    return [bed(seed) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def beds(databases):
    return beds_of(databases)


@pytest.fixture(scope="module")
def learned(beds):
    return ensemble(METHOD.fit(mean_bed(beds)).medium(), beds, METHOD, members=12)


def test_what_was_left_out_lies_inside_the_band(beds):
    found = trust(beds, METHOD)
    assert 0.8 <= found.coverage <= 0.95
    # A fit of two noisy beds is nearer to the third than these beds' mean is.
    assert found.bed_noise is not None
    assert found.bed_error is not None
    assert found.bed_error < found.bed_noise
    alone = trust(beds[:1], METHOD)
    assert 0.8 <= alone.coverage <= 0.95
    assert alone.bed_error is None


def test_a_band_of_other_ground_does_not_hold(beds):
    """The same check where one bed is twice as strong as the others: it can fail."""
    stronger = replace(beds[0], wrenches=2 * beds[0].wrenches)
    assert trust([stronger, *beds[1:]], METHOD).coverage < 0.8


def test_a_member_is_the_set_moved_by_its_pattern(learned):
    depth = 0.03
    foot = feet_at(np.array([[depth, 0.3, 0.0]]))
    one = type(foot)(*(jnp.asarray(leaf[0]) for leaf in (foot.depth, foot.position, foot.rotation, foot.surface)))
    plain, moved = (np.asarray(eqx.filter_jit(space.vertices)(one)) for space in (learned.medium, learned.member(3)))
    np.testing.assert_allclose(moved[:-1] - plain[:-1], (depth + learned.offset) * learned.patterns[3], atol=1e-6)
    np.testing.assert_array_equal(moved[-1], 0.0)  # the origin stays


def test_patterns_are_errors_and_their_mirror_images(beds):
    errors = left_out_errors(beds, METHOD)
    assert errors.shape == (2 * 3 * 16, 26, 3)
    np.testing.assert_allclose(np.sort(errors[..., 0].ravel()), np.sort(-errors[..., 0].ravel()))
    assert errors[..., 1].std() == pytest.approx(NOISE * 150 / 0.05, rel=0.4)  # N/m, of the vertical component


def test_the_law_picks_the_most_dissipative_vertex_or_none(beds):
    vertices = np.array([[[0.0, 10.0, 0.0], [-5.0, 1.0, 0.0]]])
    chosen = law_wrenches(vertices, beds[0], np.array([[0.05, 0.0, 0.0]]))[0]
    for twist, wrench in zip(beds[0].twists, chosen, strict=True):
        power = -np.append(vertices[0] @ twist, 0.0)
        assert -wrench @ twist == pytest.approx(power.max(), abs=1e-12)


def test_files_hold_ensembles_and_say_what_is_wrong(learned, tmp_path):
    path = save_medium(tmp_path / "sand.json", learned)
    back = load_ensemble(path)
    np.testing.assert_allclose(back.patterns, learned.patterns, rtol=1e-3)
    assert float(load_medium(path).max_depth) == back.medium.max_depth
    document = json.loads(path.read_text())
    for change, message in (
        ({"patterns": [[1.0, 2.0]]}, "is damaged"),
        ({"offset_m": -1.0}, "offset positive"),
        ({}, "lacks"),
    ):
        kept = {**document["ensemble"], **change} if change else {"offset_m": 0.01}
        path.write_text(json.dumps({**document, "ensemble": kept}))
        with pytest.raises(FileFormatError, match=message):
            load_ensemble(path)


def test_beds_that_do_not_belong_together_are_refused(databases, learned):
    other_foot = replace(databases[1], foot=Cylinder(0.06, 0.15))
    with pytest.raises(ExperimentError, match="foot is Cylinder"):
        beds_of([databases[0], other_foot])
    with pytest.raises(ExperimentError, match="of one medium, these are of sand and gravel"):
        beds_of([databases[0], replace(databases[1], medium="gravel")])
    slower = replace(databases[1], twist=0.5 * databases[1].twist)
    with pytest.raises(ExperimentError, match="same directions"):
        beds_of([databases[0], slower])
    shallow = databases[1].select((databases[1].depth < 0.02) & (databases[1].tilt < 0.5))
    with pytest.raises(ExperimentError, match=r"share \d poses"):
        beds_of([databases[0], shallow])
    with pytest.raises(MediumError, match="one entry for each vertex"):
        Ensemble(learned.medium, learned.patterns[:, :5], learned.offset)
    with pytest.raises(MediumError, match="give 2 to 12"):
        learned.members(50)


def test_spreads_leave_nothing_out():
    found = spreads([{"speed": float(k), "name": "a", "fell": k > 8} for k in range(11)])
    assert set(found) == {"speed", "fell"}
    assert (found["speed"].low, found["speed"].middle, found["speed"].high) == pytest.approx((0.5, 5.0, 9.5))
    assert np.isnan(spreads([{"speed": np.nan}, {"speed": 1.0}])["speed"].middle)


def test_commands_learn_beds_and_print_intervals(databases, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "METHODS", (report.PUBLISHED, METHOD))  # the others take half a minute
    paths = [str(write_database(tmp_path / f"bed{k}.csv", one)) for k, one in enumerate(databases[:2])]
    out = tmp_path / "ground.json"
    command = ["learn", paths[0], "--bed", paths[1], "--method", "physics", "--out", str(out), "--json"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["trust"]
    assert 0.75 <= told["coverage"] <= 0.95
    assert told["bed_noise"] > 0
    options = ["--seconds", "0.4", "--dt", "0.004", "--members", "4", "--json"]
    done = CliRunner().invoke(app, ["simulate", "foot", "--ground", str(out), *options])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    sinkage = next(value for name, value in told.items() if "depth" in name or "sink" in name)
    assert sinkage["low"] < sinkage["middle"] < sinkage["high"]
