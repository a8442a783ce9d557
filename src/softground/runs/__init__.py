"""Runs: made by a simulator and a controller, judged, shown, kept and repeated."""

from softground.runs.compiled_loop import run
from softground.runs.cost_of_transport import Cost, WalkCost
from softground.runs.host_loop import Measurement, Stop, run_closed_loop
from softground.runs.measures import Stance
from softground.runs.names import register
from softground.runs.run import RobotMotion, Run
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
