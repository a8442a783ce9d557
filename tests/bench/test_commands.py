"""Plain commands: what counts as solved and replayed, and that what was measured is not measured again."""

import json

import pytest

from softground.bench import commands

REPORT = {"status": "converged", "violation": 1e-6, "optimality": 1e-6}
METRICS = {"cost_of_transport": 0.3, "lifts": [6, 6]}


@pytest.fixture
def asked(monkeypatch) -> list[tuple[str, ...]]:
    """Commands that were given. Robots called slow keep 80 % of their speed, those called no-gait have none."""
    given: list[tuple[str, ...]] = []

    def answer(*arguments):
        given.append(arguments)
        if arguments[0] == "replay":
            slow = given[-2][1].startswith("slow")
            return {"speed_kept": 0.8 if slow else 0.99, "fell": False}, 2.0, ""
        if arguments[1].startswith("no-"):
            return {"report": REPORT | {"status": "failed"}, "metrics": METRICS}, 5.0, "not feasible"
        with open(arguments[-1], "w") as file:
            file.write("a gait")
        return {"report": REPORT, "metrics": METRICS}, 5.0, ""

    monkeypatch.setattr(commands, "_answer_of", answer)
    return given


def test_solved_is_not_enough(asked):
    found = commands.measure(["good", "slow", "no-gait"], ["sand"], [0.4])
    assert found["solved_and_replayed"].startswith("1 of 3")
    rows = found["commands"]
    assert [row["status"] for row in rows.values()] == ["converged", "converged", "failed"]
    assert rows["no-gait --ground sand --speed 0.4"]["trouble"] == "not feasible"
    assert rows["slow --ground sand --speed 0.4"]["speed_kept"] == 0.8
    assert found["processor_seconds_worst"] == 5.0  # of planning alone


def test_it_goes_on_where_it_was(asked, tmp_path):
    file = tmp_path / "rows.json"
    commands.measure(["good"], ["sand"], [0.3, 0.4], file)
    before = len(asked)
    found = commands.measure(["good --feet left,right", "good"], ["sand"], [0.4], file)
    assert len(found["commands"]) == 2
    new = asked[before:]
    assert [one[0] for one in new] == ["plan", "replay"]
    assert new[0][1:4] == ("good", "--feet", "left,right")
    assert len(json.loads(file.read_text())["commands"]) == 3
