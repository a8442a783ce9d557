"""Ground that yields inside of MuJoCo, for those who have a model, a loop and controllers: docs/from_mujoco.md."""

from softground.bridges.mujoco.floor import take_out_floor
from softground.bridges.mujoco.ground import Ground
from softground.bridges.mujoco.recording import Recorder

__all__ = ["Ground", "Recorder", "take_out_floor"]
