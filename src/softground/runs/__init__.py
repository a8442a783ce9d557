"""Runs: made by a simulator and a controller, judged, shown, kept and repeated."""

from typing import TYPE_CHECKING

from softground.lazy import lazily

if TYPE_CHECKING:  # what `__getattr__` finds, for editors and type checkers
    from softground.runs.compiled_loop import run
    from softground.runs.cost_of_transport import Cost, WalkCost
    from softground.runs.host_loop import Measurement, Stop, run_closed_loop
    from softground.runs.measures import Stance
    from softground.runs.motion import RobotMotion, Run
    from softground.runs.names import register
    from softground.runs.verdict import Fall

__all__ = [
    "Cost",
    "Fall",
    "Measurement",
    "RobotMotion",
    "Run",
    "Stance",
    "Stop",
    "WalkCost",
    "register",
    "run",
    "run_closed_loop",
]

# Datasets, which few but finished runs need, take a while to import.
_HOMES = {
    "compiled_loop": ("run",),
    "cost_of_transport": ("Cost", "WalkCost"),
    "host_loop": ("Measurement", "Stop", "run_closed_loop"),
    "measures": ("Stance",),
    "motion": ("RobotMotion", "Run"),
    "names": ("register",),
    "verdict": ("Fall",),
}
__getattr__, __dir__ = lazily(__name__, __all__, _HOMES)
