"""How many files a call goes through: files of softground in which a function runs, imports done before.

    python scripts/traces.py            # counts of all four calls
    python scripts/traces.py walk       # and the files of one, with how many of their lines lie in functions that ran

Calls are short (a few steps, knots or poses), and each is the first of its process.
"""

from __future__ import annotations

import importlib
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


def main() -> None:
    if len(sys.argv) == 3:  # in the process of a call
        table = [f"{name:45} {count:4}" for name, count in sorted(lines_that_ran(sys.argv[1]).items())]
        Path(sys.argv[2]).write_text("\n".join(table))
        return
    chosen = sys.argv[1:]
    for call in chosen or CALLS:
        with tempfile.TemporaryDirectory() as folder:
            settings = {"cwd": folder, "env": os.environ | {"SOFTGROUND_CACHE": folder}, "check": True}
            if call in FIRST:
                subprocess.run([sys.executable, "-m", "softground.cli", *FIRST[call].split()], **settings)
            subprocess.run([sys.executable, Path(__file__).resolve(), CALLS[call], "files.txt"], **settings)
            table = Path(folder, "files.txt").read_text().splitlines()
        print(f"{call}: {len(table)} files")
        if chosen:
            print(*table, sep="\n")


if __name__ == "__main__":
    main()
