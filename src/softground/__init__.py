"""softground: legged robots on ground that yields.

    import softground as sg

    sim = sg.Simulator(sg.Robot.load("robosimian"), sg.sand(strength=2))
    run = sim.run(sg.hold_posture(sim.robot), seconds=1, height=0.02)

What most programs need has its name here; the rest is in the sub-packages `robots`, `surfaces`, `media`, `terrain`,
`contact`, `simulation`, `runs`, `control`, `planning`, `experiments`, `envs`, `bridges`, `papers` and `errors`;
docs/api.md lists it all. Nothing is imported before it is used.
"""

from typing import TYPE_CHECKING

from softground.lazy import lazily

if TYPE_CHECKING:  # what `__getattr__` finds, for editors and type checkers
    from softground import (
        bridges,
        contact,
        control,
        envs,
        errors,
        experiments,
        media,
        papers,
        planning,
        robots,
        runs,
        simulation,
        surfaces,
        terrain,
        validation,
    )
    from softground.bridges import mjx, mujoco
    from softground.control import hold_posture, trot, walk
    from softground.files import load
    from softground.media import beads, firm, foam, grains, load_medium, pebbles, sand, save_medium
    from softground.planning import Plan, plan
    from softground.robots import Robot
    from softground.runs import Run
    from softground.simulation import Control, Ground, Simulator
    from softground.surfaces import Plane
    from softground.validation import calibrate

__all__ = [
    "Control",
    "Ground",
    "Plan",
    "Plane",
    "Robot",
    "Run",
    "Simulator",
    "beads",
    "bridges",
    "calibrate",
    "contact",
    "control",
    "envs",
    "errors",
    "experiments",
    "firm",
    "foam",
    "grains",
    "hold_posture",
    "load",
    "load_medium",
    "media",
    "mjx",
    "mujoco",
    "papers",
    "pebbles",
    "plan",
    "planning",
    "robots",
    "runs",
    "sand",
    "save_medium",
    "simulation",
    "surfaces",
    "terrain",
    "trot",
    "validation",
    "walk",
]

_HOMES = {
    "bridges": ("mjx", "mujoco"),
    "control": ("hold_posture", "trot", "walk"),
    "files": ("load",),
    "media": ("beads", "firm", "foam", "grains", "load_medium", "pebbles", "sand", "save_medium"),
    "planning": ("Plan", "plan"),
    "robots": ("Robot",),
    "runs": ("Run",),
    "simulation": ("Control", "Ground", "Simulator"),
    "surfaces": ("Plane",),
    "validation": ("calibrate",),
}
__getattr__, __dir__ = lazily(__name__, __all__, _HOMES)
