"""Simulation of robots on yielding ground."""

from softground.simulation.closed_loop import Measurement, Stop, run_closed_loop
from softground.simulation.ground import Ground
from softground.simulation.motors import Control
from softground.simulation.run_file import control_of, load_run, rebuild, repeat, save_run
from softground.simulation.running import run
from softground.simulation.simulator import Record, Simulator, State

__all__ = [
    "Control",
    "Ground",
    "Measurement",
    "Record",
    "Simulator",
    "State",
    "Stop",
    "control_of",
    "load_run",
    "rebuild",
    "repeat",
    "run",
    "run_closed_loop",
    "save_run",
]
