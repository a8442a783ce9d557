"""softground: legged robots on ground that yields.

    import softground as sg

    sim = sg.Simulator(sg.Robot.load("robosimian"), sg.sand(strength=2))
    run = sim.run(sg.hold_posture(sim.robot), seconds=1, height=0.02)

What most programs need has its name here; the rest is in the sub-packages `robots`, `surfaces`, `media`, `contact`,
`simulation`, `runs`, `control`, `planning`, `experiments`, `bridges` and `papers`. Nothing is imported
before it is used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what `__getattr__` finds, for editors and type checkers
    from softground import (
        bridges,
        contact,
        control,
        experiments,
        media,
        papers,
        planning,
        robots,
        runs,
        simulation,
        surfaces,
    )
    from softground.control import hold_posture, trot
    from softground.media import beads, firm, foam, load_medium, pebbles, sand, save_medium
    from softground.robots import Robot
    from softground.runs import Run
    from softground.simulation import Control, Ground, Simulator
    from softground.surfaces import Plane

_HOMES = {
    "softground.control": ("hold_posture", "trot"),
    "softground.media": ("beads", "firm", "foam", "load_medium", "pebbles", "sand", "save_medium"),
    "softground.robots": ("Robot",),
    "softground.runs": ("Run",),
    "softground.simulation": ("Control", "Ground", "Simulator"),
    "softground.surfaces": ("Plane",),
}

__all__ = [
    "Control",
    "Ground",
    "Plane",
    "Robot",
    "Run",
    "Simulator",
    "beads",
    "bridges",
    "contact",
    "control",
    "experiments",
    "firm",
    "foam",
    "hold_posture",
    "load_medium",
    "media",
    "papers",
    "pebbles",
    "planning",
    "robots",
    "runs",
    "sand",
    "save_medium",
    "simulation",
    "surfaces",
    "trot",
]


def __getattr__(name: str):
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    if name in __all__:
        return importlib.import_module(f"softground.{name}")
    raise AttributeError(f"module 'softground' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
