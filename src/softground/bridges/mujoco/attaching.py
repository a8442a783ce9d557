"""The ground in steps that others take: met from inside of MuJoCo's step, through its passive-force callback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import mujoco

from softground.bridges.mujoco.stepping import Stepping


@contextmanager
def attached(beside: Stepping, data: mujoco.MjData, turn: Callable[[], None]) -> Iterator[None]:
    """Inside of this, MuJoCo's own steps of this data meet the ground; turn: called before each.

    MuJoCo's bindings pass an exception on by a jump to where the last call of theirs began: one that is raised in the
    callback after another call of theirs would end the process. So what can be checked is checked before, and what
    fails later is raised as the next step begins, or as the block ends.
    """
    before = mujoco.get_mjcb_passive()
    failed: list[BaseException] = []
    meeting = False

    def passive(_model: mujoco.MjModel, _data: mujoco.MjData) -> None:
        nonlocal meeting
        own = _data._address == data._address and not meeting  # MuJoCo asks anew where it resets a state
        if own:
            if failed:
                raise failed.pop()
            turn()
            beside.check_meeting()
        if before is not None:
            before(_model, _data)
        if own:
            meeting = True
            try:
                beside.meet()
            except BaseException as error:
                failed.append(error)
            meeting = False

    mujoco.set_mjcb_passive(passive)
    try:
        yield
    finally:
        mujoco.set_mjcb_passive(before)
    if failed:
        raise failed.pop()
