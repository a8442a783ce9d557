"""The names that files give to classes, and the classes behind them.

A file says "resistive" or "torques", not where the code of that lives: classes may move and be renamed, files stay.
softground 0.1 wrote module and class instead; such files are still read. A class of your own enters by

    @softground.runs.register("my-policy")
    class MyPolicy(eqx.Module): ...

and without that it is written by its module and class, and read as long as those stay what they are.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Callable
from typing import Any

from softground.errors import FileFormatError, OptionError
from softground.robots.shapes import SHAPES

_PLACES = {
    "batch-newton": "softground.contact.newton:BatchNewton",
    "newton": "softground.contact.newton:Newton",
    "foot-motion": "softground.control.foot_motion:FootMotion",
    "trot": "softground.control.trot:Trot",
    "elements": "softground.media.elements.medium:Elements",
    "elements-memory": "softground.media.elements.foot:Memory",
    "scm": "softground.media.elements.scm:Scm",
    "scm-memory": "softground.media.elements.scm:Sheared",
    "learned-space": "softground.media.learned:LearnedSpace",
    "kernels": "softground.media.learned:Kernels",
    "polynomials": "softground.media.learned:Polynomials",
    "joined-features": "softground.media.learned:Joined",
    "remembering": "softground.media.memory:Remembering",
    "noisy": "softground.media.noise:Noisy",
    "noisy-memory": "softground.media.noise:NoisyMemory",
    "resistive": "softground.media.resistive.medium:Resistive",
    "turning-wrench-space": "softground.media.resistive.medium:TurningWrenchSpace",
    "sinking": "softground.media.resistive.medium:Sinking",
    "round-sinking": "softground.media.resistive.medium:RoundSinking",
    "ball-depth": "softground.media.resistive.medium:BallDepth",
    "round-wrench-space": "softground.media.round_space:RoundWrenchSpace",
    "similar-feet": "softground.media.similar_feet:SimilarFeet",
    "at-scale": "softground.media.similar_feet:AtScale",
    "stretches": "softground.media.visco_elastic.fields:Stretches",
    "firm": "softground.media.visco_elastic.medium:Firm",
    "visco-elastic": "softground.media.visco_elastic.medium:ViscoElastic",
    "visco-elastic-memory": "softground.media.visco_elastic.medium:Memory",
    "body-memory": "softground.media.visco_elastic.body:BodyMemory",
    "wedge": "softground.media.wedge.medium:Wedge",
    "wedge-memory": "softground.media.wedge.medium:Memory",
    "depth-tilt": "softground.media.wrench_space:DepthTilt",
    "wrench-space": "softground.media.wrench_space:WrenchSpace",
    "inside-data": "softground.planning.constraints:InsideData",
    "base-attitude": "softground.planning.costs:BaseAttitude",
    "base-height": "softground.planning.costs:BaseHeight",
    "effort": "softground.planning.costs:Effort",
    "forward-speed": "softground.planning.costs:ForwardSpeed",
    "actuator-work": "softground.planning.costs:ActuatorWork",
    "periodicity": "softground.planning.costs:Periodicity",
    "not-kept": "softground.planning.plan_file:NotKept",
    "boundary": "softground.planning.problem:Boundary",
    "limits": "softground.planning.problem:Limits",
    "foot-splines": "softground.planning.splines:FootSplines",
    "tracked-joints": "softground.planning.tracking:TrackJoints",
    "tracked-state": "softground.planning.feedback:TrackState",
    "replanning": "softground.planning.online.controller:Replanning",
    "planned-horizon": "softground.planning.online.horizon:Horizon",
    "planned-rows": "softground.planning.online.reference:Reference",
    "strength-watch": "softground.planning.online.strength:StrengthWatch",
    "closed-form": "softground.planning.dynamics.closed_form:ClosedForm",
    "terrain-identifier": "softground.control.terrain_identification:TerrainIdentifier",
    "sensor-noise": "softground.control.terrain_identification:SensorNoise",
    "uncertainty": "softground.control.terrain_identification:Uncertainty",
    "robot-recipe": "softground.robots.catalogue:Recipe",
    "area-between": "softground.terrain.areas:Between",
    "area-disc": "softground.terrain.areas:Disc",
    "area-both": "softground.terrain.areas:Both",
    "area-outside": "softground.terrain.areas:Outside",
    "area-on-grid": "softground.terrain.grid:OnGrid",
    "grid-field": "softground.terrain.grid:GridField",
    "mixed": "softground.terrain.mixed:Mixed",
    "over-floor": "softground.terrain.over_floor:OverFloor",
    "varied": "softground.terrain.varied:Varied",
    "footprints": "softground.terrain.footprints:Footprints",
    "felt": "softground.terrain.footprints:Felt",
    "prints": "softground.terrain.footprints:Prints",
    "window": "softground.terrain.window:Window",
    "printed": "softground.terrain.printed:Printed",
    "printed-memory": "softground.terrain.printed:PrintedMemory",
    "foot-in-ground": "softground.media.base:FootInGround",
    "layered": "softground.terrain.varied:Layered",
    "held": "softground.simulation.controllers:Held",
    "torques": "softground.simulation.controllers:TorqueSequence",
    "clocked": "softground.simulation.controllers:Clocked",
    "reacting": "softground.simulation.controllers:Reacting",
    "control": "softground.simulation.actuators:Control",
    "state": "softground.simulation.simulator:State",
}
_NAMES = {place: name for name, place in _PLACES.items()}
#: Where classes were that have moved since files named them by their places.
_MOVED = {
    "softground.robots.feet:Box": "box",
    "softground.robots.feet:Cylinder": "cylinder",
    "softground.robots.feet:HalfCylinder": "half-cylinder",
    "softground.robots.feet:Polygon": "polygon",
    "softground.robots.feet:Sphere": "sphere",
    "softground.robots.recipe:Recipe": "robot-recipe",
    "softground.simulation.running:TorqueSequence": "torques",
    "softground.simulation.motors:Control": "control",
}
_REGISTERED: dict[str, type] = {}


def register(name: str) -> Callable[[type], type]:
    """Decorator: files call instances of this class by `name`; OptionError where another class has it."""

    def enter(cls: type) -> type:
        if ":" in name or name in _PLACES or _place(_registered().get(name, cls)) != _place(cls):
            raise OptionError(f"files cannot call {cls.__name__} {name!r}: the name is taken, or holds a colon")
        _REGISTERED[name] = cls
        return cls

    return enter


def public_name(cls: type) -> str:
    """What files call a class."""
    own = next((name for name, registered in _registered().items() if registered is cls), None)
    return own or _NAMES.get(_place(cls), _place(cls))


def canonical(name: str) -> str:
    """The name of today for one that a file of any version gives."""
    return _MOVED.get(name) or _NAMES.get(name, name)


def class_called(name: str) -> type:
    """The class of a name. Of ours its module is imported; a class of one's own must be imported already."""
    place = _PLACES.get(canonical(name), name)
    if canonical(name) in _registered():
        return _registered()[canonical(name)]
    module, _, path = place.partition(":")
    found: Any = importlib.import_module(module) if place in _NAMES else sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and dataclasses.is_dataclass(found)):
        raise FileFormatError(f"{name} is not known here: import the module that defines or registers it, then load")
    return found


def _registered() -> dict[str, type]:
    """Classes that were entered by their names, shapes of feet (`softground.robots.register_shape`) among them."""
    return {**SHAPES, **_REGISTERED}


def _place(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"
