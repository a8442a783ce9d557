"""Bridges to other programs: videos of runs, the viewer in a browser, soft ground in MuJoCo and MJX, the rigid peer."""

from typing import TYPE_CHECKING

from softground.lazy import lazily

if TYPE_CHECKING:  # what `__getattr__` finds, for editors and type checkers
    from softground.bridges import mjx, mujoco, viewer
    from softground.bridges.animation import animate
    from softground.bridges.viewer import LiveSettings, view_live, view_run

__all__ = [
    "LiveSettings",
    "animate",
    "mjx",
    "mujoco",
    "view_live",
    "view_run",
    "viewer",
]

_HOMES = {
    "animation": ("animate",),
    "viewer": ("LiveSettings", "view_live", "view_run"),
}
__getattr__, __dir__ = lazily(__name__, __all__, _HOMES)
