"""Ground that yields inside of MuJoCo, for those who have a model, a loop and controllers: docs/from_mujoco.md."""

from softground.bridges.mujoco.floor import take_out_floor
from softground.bridges.mujoco.ground import Ground

__all__ = ["Ground", "take_out_floor"]
