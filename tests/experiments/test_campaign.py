"""Campaigns: nothing finished is lost or repeated, whatever happens to the process, the disk or the rig."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace

import h5netcdf
import numpy as np
import pytest
from typer.testing import CliRunner

from softground.cli import app
from softground.errors import ExperimentError, FileFormatError, OutputError
from softground.experiments.campaign import Grid, beds_in, campaign_status, collect, merge, pack, run_campaign
from softground.experiments.campaign.manifest import Manifest
from softground.experiments.campaign.store import Store
from softground.experiments.database import MIRRORED, ZERO
from softground.experiments.database_file import read_database
from softground.experiments.protocol import Pose, Recording, wrench_at_target
from softground.experiments.rigs.base import Rig
from softground.experiments.rigs.resistive import ResistiveRig
from softground.robots.shapes import Cylinder

FOOT = Cylinder(0.05, 0.15)


@dataclass(frozen=True)
class QuickRig(Rig):
    """Answers at once with the depth and the twist; fails `failures` times a run at tilt 0.6."""

    name = "quick"
    foot: Cylinder = FOOT
    failures: int = 0
    calls: dict = field(default_factory=dict)

    def record(self, motion, seed=0):
        key = (motion.target, motion.twist, seed)
        self.calls[key] = self.calls.get(key, 0) + 1
        if motion.target.tilt == 0.6 and self.calls[key] <= self.failures:
            raise RuntimeError("the motor stalled")
        time = np.linspace(0, motion.duration, 30)
        push = -np.array(motion.twist) * [1e4, 1e4, 1e4, 1, 1, 1] * motion.target.depth / 0.01
        return Recording(time, np.tile(push * (1 + 0.1 * seed), (30, 1)))

    def settings(self):
        return {"rig": self.name}


GRID = Grid((0.02,), (0.0, 0.6))


def stamps(folder):
    """Identity and time of every finished file."""
    return {p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in (folder / "runs").glob("depth*.nc")}


# -- from runs to rows -------------------------------------------------------------------------------------


def test_rows_are_those_of_the_theory(tmp_path):
    """Mirrored rows included: the same as if they had been measured."""
    rig = ResistiveRig.in_medium("sand", FOOT)
    outcome = run_campaign(rig, Grid((0.04,), (0.0, 0.3)), tmp_path, medium="sand")
    assert (outcome.total, outcome.finished, outcome.failed) == (40, 40, {})
    database = collect(tmp_path, reference_height=0.1572)
    assert (database.kind, database.foot, database.medium) == ("planar", FOOT, "sand")
    assert len(database) == 4 * 26
    assert sum(source == MIRRORED for source in database.source) == 12
    assert sum(source == ZERO for source in database.source) == 52
    full = Grid((0.04,), (0.0,), mirror=False)
    scale = np.abs(database.wrench).max(axis=0)
    for run in full.runs()[::3]:
        row = (database.depth == 0.04) & (database.tilt == 0) & (database.direction == run.direction)
        expected = wrench_at_target(rig.record(run.motion), run.motion, 0.1572)[[0, 2, 4]]
        # Elements on the edge of leading fall to either side by rounding, hence not exactly.
        np.testing.assert_allclose(database.wrench[row][0], expected, atol=2e-3 * scale.max())


def test_rows_in_space(tmp_path):
    rig = ResistiveRig.in_medium("sand", Cylinder(0.03, 0.1), law="3d")
    run_campaign(rig, Grid((0.03,), directions="point"), tmp_path / "less")
    run_campaign(rig, Grid((0.03,), directions="point", mirror=False), tmp_path / "all")
    less, full = (collect(tmp_path / name) for name in ("less", "all"))
    assert len(Store(tmp_path / "less").finished()) < 34 / 2
    assert less.kind == "spatial"
    np.testing.assert_allclose(less.wrench, full.wrench, atol=1e-3 * np.abs(full.wrench).max())


def test_seeds_are_averaged(tmp_path):
    run_campaign(QuickRig(), Grid((0.02,), seeds=(1, 2, 3)), tmp_path / "three")
    run_campaign(QuickRig(), Grid((0.02,), seeds=(2,)), tmp_path / "one")
    three, one = (collect(tmp_path / name) for name in ("three", "one"))
    np.testing.assert_allclose(three.wrench, one.wrench)
    assert "_seed1+2+3" in three.source[0]


def test_run_files_hold_everything(tmp_path):
    run_campaign(QuickRig(), GRID, tmp_path)
    run = GRID.runs()[3]
    finished = Store(tmp_path).load(run.name)
    expected = QuickRig().record(run.motion, run.seed)
    np.testing.assert_array_equal(finished.recording.wrench, expected.wrench)
    np.testing.assert_array_equal(finished.recording.time, expected.time)
    np.testing.assert_allclose(finished.wrench, wrench_at_target(expected, run.motion))
    np.testing.assert_array_equal(finished.twist, run.motion.twist)
    assert finished.settings == {"rig": "quick"}
    with h5netcdf.File(Store(tmp_path).path(run.name)) as file:
        assert file.attrs["tilt_rad"] == run.pose.tilt
        assert file.attrs["direction"] == run.direction


# -- interruption ------------------------------------------------------------------------------------------


LONG_RECORDS = 201  # samples, so that there is time to kill a campaign of 26 runs


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The database of a campaign that nothing interrupted."""
    folder = tmp_path_factory.mktemp("unbroken")
    rig = replace(ResistiveRig.in_medium("sand", FOOT), samples=LONG_RECORDS)
    run_campaign(rig, Grid((0.04,), (0.3,)), folder, medium="sand")
    return collect(folder)


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_campaign_goes_on(tmp_path, workers, unbroken):
    """kill -9 in the middle; then nothing finished is touched, and the end is that of an unbroken campaign."""
    if workers > 1:
        pytest.importorskip("ray", reason="needs softground[cluster]")
    options = ["--grid", "0.04x0.3", "--set", f"samples={LONG_RECORDS}", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "softground", "acquire", "-q", "--workers", str(workers), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while len(stamps(tmp_path)) < 3:
            assert process.poll() is None, "the campaign ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = stamps(tmp_path)
    assert 3 <= len(before) < 26
    (tmp_path / "runs" / ".depth0.040_tilt0.30_dir99_seed1.1.part.nc").write_text("half a file")

    assert CliRunner().invoke(app, ["acquire", "-q", *options]).exit_code == 0
    after = stamps(tmp_path)
    assert len(after) == 26
    assert {name: after[name] for name in before} == before
    assert not list(tmp_path.rglob("*.part*"))
    database = read_database(tmp_path / "database.csv")
    assert database.source == unbroken.source
    # Workers sum in one thread, this process in several: the last digit may differ.
    np.testing.assert_allclose(database.wrench, unbroken.wrench, atol=1e-9)


def test_finished_runs_are_not_made_again(tmp_path):
    run_campaign(QuickRig(), GRID, tmp_path)
    again = QuickRig()
    outcome = run_campaign(again, GRID, tmp_path)
    assert not again.calls
    assert (outcome.finished, outcome.made_now) == (outcome.total, 0)


def test_full_disk(tmp_path, monkeypatch):
    rename, written = os.replace, []

    def until_full(source, target):
        if len(written) == 9:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(target)
        return rename(source, target)

    monkeypatch.setattr(os, "replace", until_full)
    with pytest.raises(OutputError, match=r"No space left on device.*make room.*same command"):
        run_campaign(QuickRig(), GRID, tmp_path)
    monkeypatch.undo()
    before = stamps(tmp_path)
    assert len(before) == 8  # and the manifest
    assert not list(tmp_path.rglob("*.part*"))
    assert run_campaign(QuickRig(), GRID, tmp_path).finished == 40
    assert {name: stamps(tmp_path)[name] for name in before} == before


def test_disk_full_while_a_file_is_filled(tmp_path, monkeypatch):
    def no_room(self, *args, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run_campaign(QuickRig(), Grid((0.02,)), tmp_path / "before")
    monkeypatch.setattr(h5netcdf.File, "create_variable", no_room)
    with pytest.raises(OutputError, match="No space left"):
        run_campaign(QuickRig(), GRID, tmp_path / "full")
    assert not list((tmp_path / "full" / "runs").iterdir())


# -- failures ----------------------------------------------------------------------------------------------


def test_a_run_that_fails_once_is_made_again(tmp_path):
    rig = QuickRig(failures=1)
    outcome = run_campaign(rig, GRID, tmp_path)
    assert (outcome.finished, outcome.failed) == (40, {})
    assert max(rig.calls.values()) == 2


def test_a_run_that_fails_twice_is_recorded_and_the_others_go_on(tmp_path):
    outcome = run_campaign(QuickRig(failures=2), GRID, tmp_path)
    assert (outcome.finished, len(outcome.failed)) == (14, 26)
    assert set(outcome.failed.values()) == {"RuntimeError: the motor stalled"}
    assert "Traceback" in (tmp_path / "failed" / "depth0.020_tilt0.60_dir00_seed1.txt").read_text()
    assert np.unique(collect(tmp_path).tilt).tolist() == [0.0]  # only poses that are complete
    status = campaign_status(tmp_path)
    assert (status["done"], status["failed"]) == (14, 26)
    # The rig is repaired: the same campaign goes on, and the reports go.
    outcome = run_campaign(QuickRig(), GRID, tmp_path)
    assert (outcome.finished, outcome.made_now, outcome.failed) == (40, 26, {})


def test_a_record_that_is_cut_short_is_a_failure(tmp_path):
    class Short(QuickRig):
        def record(self, motion, seed=0):
            whole = super().record(motion, seed)
            return Recording(whole.time[:10], whole.wrench[:10])

    outcome = run_campaign(Short(), Grid((0.02,)), tmp_path)
    assert "cut short" in next(iter(outcome.failed.values()))
    with pytest.raises(ExperimentError, match="no pose of the campaign"):
        collect(tmp_path)


# -- mixing ------------------------------------------------------------------------------------------------


def test_other_settings_are_refused(tmp_path):
    run_campaign(ResistiveRig(FOOT, 0.5), Grid((0.02,)), tmp_path, medium="sand")
    before = stamps(tmp_path)
    with pytest.raises(ExperimentError, match=r"rig.scale was 0.5, now 0.6"):
        run_campaign(ResistiveRig(FOOT, 0.6), Grid((0.02,)), tmp_path, medium="sand")
    with pytest.raises(ExperimentError, match=r"grid.depths was \[0.02\], now \[0.03\]"):
        run_campaign(ResistiveRig(FOOT, 0.5), Grid((0.03,)), tmp_path, medium="sand")
    with pytest.raises(ExperimentError, match="medium"):
        run_campaign(ResistiveRig(FOOT, 0.5), Grid((0.02,)), tmp_path, medium="mud")
    assert stamps(tmp_path) == before


def test_one_process_at_a_time(tmp_path):
    with Store(tmp_path).held(), pytest.raises(ExperimentError, match="another process"):
        run_campaign(QuickRig(), GRID, tmp_path)
    assert run_campaign(QuickRig(), GRID, tmp_path).finished == 40


LACKING = '{"format": "softground campaign", "version": 1, "medium": "sand"}'


def test_damaged_files_are_named(tmp_path):
    run_campaign(QuickRig(), Grid((0.02,)), tmp_path)
    path = sorted((tmp_path / "runs").iterdir())[0]
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(FileFormatError, match=rf"{path.name}.*delete it"):
        collect(tmp_path)
    path.unlink()
    assert run_campaign(QuickRig(), Grid((0.02,)), tmp_path).made_now == 1
    (tmp_path / "campaign.json").write_text("{")
    with pytest.raises(FileFormatError, match="damaged"):
        campaign_status(tmp_path)
    for document, message in (("[1]", "is not a softground campaign"), (LACKING, "lacks foot, rig, grid")):
        (tmp_path / "campaign.json").write_text(document)
        with pytest.raises(FileFormatError, match=message):
            campaign_status(tmp_path)


# -- the command -------------------------------------------------------------------------------------------


def test_command_writes_a_database(tmp_path):
    command = ["acquire", "--foot", "sphere:0.03", "--depths", "0,0.02", "--json", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["total"], document["failed"], document["rows"]) == (14, {}, 52)
    database = read_database(document["database"])
    np.testing.assert_array_equal(np.unique(database.depth), [0, 0.02])
    down = (database.direction == 9) & (database.depth == 0.02)
    assert database.wrench[down][0, 1] > 0

    status = json.loads(CliRunner().invoke(app, ["acquire", "status", str(tmp_path), "--json"]).stdout)
    assert (status["done"], status["total"], status["running"], status["time_left_s"]) == (14, 14, False, 0.0)
    assert status["configurations"] == {"depth0.020 tilt0.00": {"done": 14, "total": 14, "failed": 0}}
    shown = CliRunner().invoke(app, ["acquire", "status", str(tmp_path)])
    assert "depth0.020" in shown.stdout


def test_status_estimates_the_time_left(tmp_path):
    run_campaign(QuickRig(), GRID, tmp_path)
    for path in sorted((tmp_path / "runs").iterdir())[:20]:
        path.unlink()
    assert campaign_status(tmp_path)["time_left_s"] > 0


def test_command_says_that_runs_failed(tmp_path):
    """The plane law cannot go sideways."""
    command = ["acquire", "--depths", "0.02", "--directions", "point", "--set", "law=plane", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1
    assert "use the law 3d" in " ".join(result.stdout.replace("│", "").split())


def test_command_refuses_nonsense(tmp_path):
    for options in (["--depths", "50"], ["--depths", "0.01", "--foot", "cone:1"], [], ["status", str(tmp_path)]):
        out = [] if "status" in options else ["--out", str(tmp_path / "out")]
        assert CliRunner().invoke(app, ["acquire", *options, *out]).exit_code == 2
    assert not (tmp_path / "out").exists()


def test_meshes_are_not_mirrored(tmp_path):
    import trimesh

    mesh = trimesh.creation.box((0.1, 0.06, 0.05))
    mesh.apply_translation([0, 0, 0.025])
    mesh.export(tmp_path / "foot.stl")
    command = ["acquire", "--foot", str(tmp_path / "foot.stl"), "--depths", "0.02", "--set", "samples=20", "-q"]
    assert CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")]).exit_code == 0
    database = read_database(tmp_path / "out" / "database.csv")
    assert len(Store(tmp_path / "out").finished()) == 26
    assert (database.foot.length, database.foot.height) == (0.1, 0.05)
    assert "mesh" in database.provenance


def test_pose_is_the_key():
    """Poses are compared to the micrometre, in grids as in databases."""
    assert Grid((0.02 + 1e-9,)).poses() == [Pose(0.02)]


GRID_OF_SEEDS = Grid((0.02,), seeds=(1, 2))


def half_of(tmp_path, name, seeds):
    """A part of one campaign of two seeds, as another machine would make it."""
    grid = replace(GRID_OF_SEEDS, seeds=seeds)
    rig = QuickRig()
    run_campaign(rig, grid, tmp_path / name)
    (tmp_path / name / "campaign.json").unlink()
    Manifest.of(rig, GRID_OF_SEEDS, "").settle(tmp_path / name)
    return tmp_path / name


def test_parts_made_on_two_machines_make_the_whole(tmp_path):
    first, second = half_of(tmp_path, "first", (1,)), half_of(tmp_path, "second", (2,))
    assert pack(second) == 14
    shutil.rmtree(second / "runs")  # what travels: campaign.json and packed.csv
    assert merge(first, [second]) == 28
    assert run_campaign(QuickRig(), GRID_OF_SEEDS, first).made_now == 0
    whole = run_campaign(QuickRig(), GRID_OF_SEEDS, tmp_path / "whole")
    assert whole.finished == 28
    np.testing.assert_allclose(collect(first).wrench, collect(tmp_path / "whole").wrench, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(collect(first, seeds=(2,)).wrench, collect(second, seeds=(2,)).wrench)
    with pytest.raises(ExperimentError, match=r"no seeds \[3\]"):
        collect(first, seeds=(3,))
    for bed, seed in zip(beds_in(first), (1, 2), strict=True):
        np.testing.assert_array_equal(bed.wrench, collect(first, seeds=(seed,)).wrench)


def test_parts_that_do_not_belong_together_are_refused(tmp_path):
    first, second = half_of(tmp_path, "first", (1,)), half_of(tmp_path, "second", (1,))
    pack(second)
    table = second / "packed.csv"
    lines = table.read_text().splitlines()
    name, *numbers = lines[2].split(",")
    table.write_text("\n".join([*lines[:2], ",".join([name, "99", *numbers[1:]]), *lines[3:]]) + "\n")
    shutil.rmtree(second / "runs")
    with pytest.raises(ExperimentError, match=f"run {name} .* another wrench"):
        merge(first, [second])
    table.write_text("\n".join(lines[:4]) + "\n" + lines[4][:30])
    with pytest.raises(FileFormatError, match=r"line 5: not a packed run \(it has \d of 9 columns\)"):
        merge(first, [second])
    table.write_text("softground packed runs, version 0\n")
    with pytest.raises(FileFormatError, match="must begin with"):
        merge(first, [second])
    (second / "campaign.json").unlink()
    Manifest.of(QuickRig(), GRID_OF_SEEDS, "other").settle(second)
    with pytest.raises(ExperimentError, match="other settings"):
        merge(first, [second])
    assert not (first / "packed.csv").exists()


def test_a_campaign_of_another_version_is_refused_and_keeps_its_runs(tmp_path):
    run_campaign(QuickRig(), GRID_OF_SEEDS, tmp_path)
    path = tmp_path / "campaign.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))
    before = stamps(tmp_path)
    for ask in (lambda: run_campaign(QuickRig(), GRID_OF_SEEDS, tmp_path), lambda: collect(tmp_path)):
        with pytest.raises(FileFormatError, match=r"of version 99, .*its runs are left as they are"):
            ask()
    assert stamps(tmp_path) == before
