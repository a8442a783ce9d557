"""What the <option> of a model file switches off."""

import mujoco


def switched_off(model: mujoco.MjModel, *flags: str) -> bool:
    """Whether any of these flags of <option><flag .../></option> is "disable"."""
    bits = (getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag.upper()}") for flag in flags)
    return any(model.opt.disableflags & int(bit) for bit in bits)
