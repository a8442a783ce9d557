"""Simulation of robots on yielding ground."""

from softground.simulation.actuators import Control
from softground.simulation.batch import rollout_batch
from softground.simulation.ground import Ground
from softground.simulation.simulator import Record, Simulator, State

__all__ = ["Control", "Ground", "Record", "Simulator", "State", "rollout_batch"]
