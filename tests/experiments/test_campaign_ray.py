"""Campaigns on Ray: a cluster of two nodes, workers that die, preparation shared by runs."""

import os
from pathlib import Path

import numpy as np
import pytest

from softground.errors import ExperimentError
from softground.experiments.campaign import Grid, collect, run_campaign
from softground.experiments.campaign.store import Store
from softground.experiments.rigs.resistive import ResistiveRig
from softground.robots.shapes import Cylinder

FOOT = Cylinder(0.05, 0.15)
GRID = Grid((0.04,), (0.0,))


@pytest.fixture(scope="module")
def cluster():
    """Two nodes on this machine, one core each, and nothing else: the driver brings none."""
    pytest.importorskip("ray", reason="needs softground[cluster]")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80 * 2**20}
    nodes = Cluster(initialize_head=True, head_node_args=node)
    nodes.add_node(**node)
    yield nodes
    nodes.shutdown()


@pytest.fixture(scope="module")
def address(cluster):
    return cluster.address


def make_rig(log):
    """A rig whose class lives in this function, so that it travels by value: workers cannot import tests."""
    folder, crash = str(log), str(log / "crash")

    class LoggingRig(ResistiveRig):
        """Notes where it works. Direction 9, straight down, kills its worker the first time."""

        def prepare(self, seed):
            self._note(f"prepared {seed}")

        def record(self, motion, seed=0):
            import os
            import time
            from pathlib import Path

            import ray

            if motion.twist[2] == -0.02 and not Path(crash).exists():
                Path(crash).write_text("")
                os._exit(11)
            self._note(f"node {ray.get_runtime_context().get_node_id()} threads {os.environ['OMP_NUM_THREADS']}")
            late = time.monotonic() + 60
            while len(self._nodes()) < 2 and time.monotonic() < late:  # else one is done before the other has started
                time.sleep(0.05)
            return super().record(motion, seed)

        def _nodes(self):
            from pathlib import Path

            return {text.split()[1] for path in Path(folder).glob("*.txt") if "threads" in (text := path.read_text())}

        def _note(self, text):
            import uuid
            from pathlib import Path

            Path(folder, uuid.uuid4().hex + ".txt").write_text(text)

    return LoggingRig(FOOT, 0.5)


def notes(log: Path, word: str) -> list[str]:
    return [text for path in log.glob("*.txt") if (text := path.read_text()).startswith(word)]


@pytest.mark.slow
def test_two_nodes_share_a_campaign(tmp_path, address, capfd):
    log = tmp_path / "log"
    log.mkdir()
    outcome = run_campaign(make_rig(log), GRID, tmp_path / "ray", ray_address=address)
    assert (outcome.finished, outcome.failed) == (14, {})
    assert (log / "crash").exists()  # a worker died, and its run was made again
    places = notes(log, "node")
    assert len(places) == 14
    assert len({place.split()[1] for place in places}) == 2
    assert {place.split()[3] for place in places} == {"1"}  # single-threaded side by side
    assert Store(tmp_path / "ray").load(GRID.runs()[0].name).slots == 2
    assert capfd.readouterr().out == ""

    run_campaign(ResistiveRig(FOOT, 0.5), GRID, tmp_path / "here")
    # Sums in one thread and in several differ in the last digit.
    np.testing.assert_allclose(collect(tmp_path / "ray").wrench, collect(tmp_path / "here").wrench, atol=1e-9)


@pytest.mark.slow
def test_failures_come_back_from_workers(tmp_path, address):
    outcome = run_campaign(ResistiveRig(FOOT), Grid((0.04,), directions="point"), tmp_path, ray_address=address)
    assert 0 < outcome.finished < outcome.total
    assert all("use the law 3d" in reason for reason in outcome.failed.values())


def test_absent_cluster(tmp_path):
    pytest.importorskip("ray", reason="needs softground[cluster]")
    with pytest.raises(ExperimentError, match="no Ray cluster answers at nonsense"):
        run_campaign(ResistiveRig(FOOT), GRID, tmp_path, ray_address="nonsense")


def test_without_ray(tmp_path, monkeypatch):
    """One worker needs none; several say what to install."""
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    assert run_campaign(ResistiveRig(FOOT), GRID, tmp_path / "one").finished == 14
    with pytest.raises(ExperimentError, match=r"softground\[cluster\]"):
        run_campaign(ResistiveRig(FOOT), GRID, tmp_path / "two", workers=2)
