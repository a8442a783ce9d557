"""sg.load opens every file of ours by what it is, and says what to do with others."""

from pathlib import Path

import numpy as np
import pytest

import softground as sg
from softground.errors import FileFormatError
from softground.experiments import WrenchDatabase, read_database, write_database
from softground.media import LearnedSpace

DATA = Path(__file__).parent / "data"
TABLE = "depth_m,tilt_rad,direction,fx_n,fz_n,ty_nm\n" + "".join(
    f"-0.05,0.0,{direction},{force},10.0,0.0\n" for direction, force in enumerate(np.linspace(-5, 5, 18))
)


@pytest.fixture(scope="module")
def run() -> sg.Run:
    return sg.Simulator(sg.Robot.load("foot"), sg.sand()).run(seconds=0.01)


@pytest.mark.parametrize("name", ["run.nc", "run.dat"])
def test_a_run_is_known_by_its_content(run, name, tmp_path):
    found = sg.load(run.save(tmp_path / name))
    assert isinstance(found, sg.Run)
    np.testing.assert_array_equal(found["depth"], run["depth"])


def test_a_run_of_the_first_version_opens():
    assert sg.load(DATA / "run_0_1.nc").attrs["robot"]


@pytest.mark.parametrize("name", ["medium.json", "medium.txt"])
def test_a_learned_medium_is_known_by_its_content(name, tmp_path):
    found = sg.load(sg.save_medium(tmp_path / name, sg.beads(strength=2)))
    assert isinstance(found, LearnedSpace)
    assert float(found.strength) == 2


@pytest.mark.parametrize("name", ["database.csv", "database.txt"])
def test_a_wrench_database_is_known_by_its_content(name, tmp_path):
    """A plain table of zhu2019, and the same as a database of ours."""
    plain = tmp_path / "table.dat"
    plain.write_text(TABLE)
    database = sg.load(plain)
    assert isinstance(database, WrenchDatabase)
    path = write_database(tmp_path / name, database)
    assert len(sg.load(path)) == len(read_database(path)) == 18


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("robot.xml", "<mujoco/>", "Robot.load reads models of robots"),
        ("hill.stl", "solid hill", "MeshSurface reads terrain"),
        ("notes.txt", "to do", "is not a run or a planned gait .netCDF., a learned medium .JSON. or a wrench database"),
        ("run.nc", "to do", "is not a run file"),
        ("medium.json", "[]", "not a learned medium"),
        ("table.csv", "a,b\n1,2\n", "columns must be depth_m,tilt_rad"),
        ("empty.dat", "", "copy it again"),
    ],
)
def test_what_is_not_ours_is_refused_with_a_remedy(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(FileFormatError, match=message):
        sg.load(path)
    with pytest.raises(FileFormatError, match="no file at"):
        sg.load(tmp_path / "absent.nc")
