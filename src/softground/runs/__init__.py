"""Runs: made by a simulator and a controller, judged, shown, kept and repeated."""

from softground.runs.compiled_loop import run
from softground.runs.cost_of_transport import Cost, WalkCost
from softground.runs.fall import Fall
from softground.runs.host_loop import Measurement, Stop, run_closed_loop
from softground.runs.motion import RobotMotion
from softground.runs.names import register
from softground.runs.run import Run
from softground.runs.stances import Stance

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
