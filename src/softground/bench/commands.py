"""Plain commands as users give them, `softground plan ROBOT --ground ... --speed ...`, and a replay of what they wrote.

Each is a process of its own, so that loading, compiling and searching are all in its time. That is processor time (user
and system): the clock also counts what else the machine does.
"""

from __future__ import annotations

import json
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softground.runs.verdict import wilson
from softground.whole_file import write_whole

ROBOTS = ("robosimian", "walker2d", "go1", "anymal")
GROUNDS = ("sand", "foam")
SPEEDS = (0.3, 0.4, 0.5)
"""m/s: the default of `softground plan`, and a quarter less and more."""
KEPT = 0.9
"""Share of its speed that a gait must keep in the simulator, with feedback in steps of 2 ms, to count as replayed."""
SECONDS = 1800.0
"""s by the clock, after which a command counts as failed."""


def measure(
    robots: Sequence[str] = ROBOTS,
    grounds: Sequence[str] = GROUNDS,
    speeds: Sequence[float] = SPEEDS,
    out: str | Path | None = None,
) -> dict[str, Any]:
    """Share of commands that end in a gait which is solved, and walks in the simulator.

    robots: names, or what else is written behind `softground plan`: "robot.urdf --feet left,right". Solved is a plan
    that converged; it replays if the robot, with feedback, does not fall and keeps 90 % of its speed. out: file of rows
    as they come (JSON); commands that it holds are not given again.
    """
    out = None if out is None else Path(out)
    rows = json.loads(out.read_text())["commands"] if out is not None and out.exists() else {}
    asked = [
        f"{robot} --ground {ground} --speed {speed:g}" for robot in robots for ground in grounds for speed in speeds
    ]
    for command in asked:
        if command not in rows:
            rows[command] = planned_and_replayed(command)
        if out is not None:
            text = json.dumps(summary(rows), indent=1)
            write_whole(out, lambda path, text=text: path.write_text(text))
    return summary({command: rows[command] for command in asked})


def planned_and_replayed(command: str) -> dict[str, Any]:
    """What becomes of one command, given behind `softground plan`."""
    with tempfile.TemporaryDirectory() as folder:
        gait, again = Path(folder) / "gait.nc", Path(folder) / "replay.nc"
        plan, seconds, trouble = _answer_of("plan", *shlex.split(command), "--out", str(gait))
        row: dict[str, Any] = {"status": "failed", "processor_seconds": seconds}
        if plan is None:
            return row | {"trouble": trouble}
        report, metrics = plan["report"], plan["metrics"]
        row |= {name: report[name] for name in ("status", "violation", "optimality")}
        row |= {"cost_of_transport": metrics["cost_of_transport"], "lifts": " ".join(map(str, metrics["lifts"]))}
        if not gait.exists():
            return row | {"trouble": trouble}
        walk, _, trouble = _answer_of("replay", str(gait), "--out", str(again))
        if walk is None:
            return row | {"trouble": trouble}
        return row | {"speed_kept": walk["speed_kept"], "fell": walk["fell"]}


def _answer_of(*arguments: str) -> tuple[dict[str, Any] | None, float, str]:
    """What a command of softground's prints as JSON (None where it prints none), its processor time (s), and the last
    line of its troubles."""
    before = _children_seconds()
    line = [sys.executable, "-m", "softground", *arguments, "--json"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, _children_seconds() - before, f"no answer within {SECONDS:g} s"
    troubles = done.stderr.strip().splitlines() or [""]
    answer = json.loads(done.stdout) if done.stdout.strip() else None
    return answer, _children_seconds() - before, troubles[-1]


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def replays(row: dict[str, Any]) -> bool:
    """Whether the gait of a row walks in the simulator."""
    return not row.get("fell", True) and row["speed_kept"] >= KEPT


def summary(rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Rows, with the shares of what is counted; intervals are Wilson's, of 95 %."""
    good = sum(row["status"] == "converged" and replays(row) for row in rows.values())
    only_feasible = sum(row["status"] == "feasible" and replays(row) for row in rows.values())
    low, high = wilson(good, len(rows))
    seconds = [row["processor_seconds"] for row in rows.values()]
    return {
        "solved_and_replayed": f"{good} of {len(rows)} ({low:.0%} to {high:.0%})",
        "feasible_and_replayed": f"{only_feasible} of {len(rows)}",
        "processor_seconds_median": float(np.median(seconds)),
        "processor_seconds_worst": max(seconds),
        "commands": rows,
    }
