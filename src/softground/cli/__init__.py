"""The command line, a file per kind of work.

Heavy parts are imported inside the commands, so that `softground --help` is quick. Commands appear in the help in
the order in which their files are imported here.
"""

# isort: off
from softground.cli.application import app
from softground.cli import simulation, walking, planning, learning, experiments, pictures, studies, validation, bench
# isort: on

__all__ = [
    "app",
    "bench",
    "experiments",
    "learning",
    "pictures",
    "planning",
    "simulation",
    "studies",
    "validation",
    "walking",
]
