"""How many files a call goes through: files of softground in which a function runs, imports done before.

    python scripts/traces.py                     # counts of all four calls
    python scripts/traces.py walk                # and the files of one, with how many of their lines ran
    python scripts/traces.py --tree ../old/src   # the same of another version

Calls are short (a few steps, knots or poses), and each is the first of its process. Lines are those of the functions
that ran. Beside all files the fewest are counted that hold a share `READ` of the lines: what is left out are the
checks, caches and re-exports of a few lines that a reader passes by.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

CALLS = {
    "simulate": "simulate robosimian --seconds 0.1",
    "learn": "learn sand/database.csv",
    "plan": "plan robosimian --strength 2 --knots 13 --period 0.5 --seconds 1",
    "walk": "walk icub --seconds 0.1",
}
FIRST = {"learn": "acquire --grid 0.01,0.03,0.05x-0.3,0,0.3 --out sand"}
"""What is called before, in a process of its own."""
READ = 0.93
"""Share of the lines that ran, of which the files are counted: where 0.1 has as many as a reader of `simulate` and
`learn` had counted there, 37 and 22."""


def lines_that_ran(command: str) -> dict[str, int]:
    """Lines of the functions that run during a command, for every file of softground in which one does."""
    import softground
    from softground.cli import app
    from softground.cli.application import configure_jax

    configure_jax()
    root = Path(softground.__file__).parent
    for module in pkgutil.walk_packages([str(root)], "softground."):
        with suppress(ImportError):  # of packages that few need
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    ran = set()

    def note(frame, event, _):
        if event == "call":
            ran.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    with suppress(SystemExit):
        app(command.split())
    sys.setprofile(None)
    lines: dict[str, set[int]] = {}
    for code in ran:
        file = Path(code.co_filename)
        if root in file.parents:
            within = lines.setdefault(str(file.relative_to(root)), set())
            within.update(line for *_, line in code.co_lines() if line)
    return {name: len(found) for name, found in lines.items()}


def fewest(lines: dict[str, int], share: float) -> int:
    """How many files, longest first, hold a share of all lines."""
    wanted, held = share * sum(lines.values()), 0
    for number, count in enumerate(sorted(lines.values(), reverse=True), start=1):
        held += count
        if held >= wanted:
            return number
    return len(lines)


def traced(call: str, tree: Path) -> dict[str, int]:
    """Lines that ran, by file, in a call in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"SOFTGROUND_CACHE": folder, "PYTHONPATH": str(tree)}
        settings = {"cwd": folder, "env": environment, "check": True, "stdout": subprocess.DEVNULL}
        if call in FIRST:
            subprocess.run([sys.executable, "-m", "softground.cli", *FIRST[call].split()], **settings)
        subprocess.run([sys.executable, Path(__file__).resolve(), "--within", call, "files.json"], **settings)
        return json.loads(Path(folder, "files.json").read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("calls", nargs="*", help="whose files are listed, too")
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[1] / "src", help="folder of the package")
    asked = parser.parse_args()
    for call in asked.calls or CALLS:
        lines = traced(call, asked.tree.resolve())
        print(f"{call}: {len(lines)} files, {fewest(lines, READ)} of them with {READ:.0%} of the lines that ran")
        if asked.calls:
            print(*(f"{name:45} {count:4}" for name, count in sorted(lines.items())), sep="\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--within"]:  # in the process of a call
        Path(sys.argv[3]).write_text(json.dumps(lines_that_ran(CALLS[sys.argv[2]])))
    else:
        main()
