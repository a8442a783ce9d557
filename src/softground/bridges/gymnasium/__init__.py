"""Environments of Gymnasium on soft ground, registered as softground/... when this is imported."""

import gymnasium

from softground.bridges.gymnasium.locomotion import AntOnGround, Walker2dOnGround

__all__ = ["AntOnGround", "Walker2dOnGround"]

for _name, _made in {"Ant": AntOnGround, "Walker2d": Walker2dOnGround}.items():
    _id = f"softground/{_name}-v0"
    if _id not in gymnasium.registry:
        gymnasium.register(_id, entry_point=_made, max_episode_steps=1000)
