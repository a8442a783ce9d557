"""Pictures of wrench spaces: drawn from real shapes, and cut where they should be."""

import json
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from softground.cli import app
from softground.experiments.figures import _cut
from softground.media.named import DATA


def test_a_cut_through_an_octahedron_is_a_square():
    octahedron = np.vstack([np.eye(3), -np.eye(3)])
    corners = _cut(octahedron, 0.5)
    np.testing.assert_allclose(np.abs(corners).sum(axis=1), 0.5, atol=1e-12)  # |x| + |z| = 1 - level
    assert {tuple(c) for c in corners.round(9) + 0.0} == {(0.5, 0), (0, 0.5), (-0.5, 0), (0, -0.5)}


def test_inspect_reports_and_draws(tmp_path: Path):
    result = CliRunner().invoke(app, ["inspect", str(DATA / "beads"), "--out", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert 0 <= report["average"] <= report["worst"] < 0.2
    assert {path.name for path in tmp_path.iterdir()} == {"hull.png", "slices.png", "change.png"}
    assert all(path.stat().st_size > 10_000 for path in tmp_path.iterdir())
