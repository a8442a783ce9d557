"""Ground that yields inside of MJX, as functions for batches: docs/from_mujoco.md."""

from softground.bridges.mjx.ground import Ground, Memory

__all__ = ["Ground", "Memory"]
