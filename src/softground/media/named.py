"""Media by name, for the command line and for those who want sand without choosing numbers.

To add one, write a function whose docstring's first line describes it and list it in `NAMED`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from inspect import signature
from pathlib import Path
from typing import TypeVar

import equinox as eqx
import numpy as np

from softground.arrays import is_known
from softground.errors import MediumError, unknown_name
from softground.media.base import Medium
from softground.media.elements import Elements, Scm
from softground.media.ensemble import Ensemble
from softground.media.learned import LearnedSpace
from softground.media.learned_file import load_ensemble, load_medium
from softground.media.resistive import Resistive, surface_of, wrenches
from softground.media.visco_elastic import Firm, ViscoElastic
from softground.media.wrench_space import DEFAULT_EPS
from softground.robots import Robot
from softground.robots.shapes import Cylinder

Springs = TypeVar("Springs", bound=ViscoElastic)

DATA = Path(__file__).parent / "data"
"""Learned media that are shipped."""

REFERENCE_FOOT = Cylinder(radius=0.05, length=0.15)
"""The foot of zhu2019's experiments, with which the named media are calibrated."""


def sand(strength: float = 1.0, *, eps: float = DEFAULT_EPS, law: str = "auto") -> Resistive:
    """Dry play sand: an upright foot of 5 cm radius pushed down 5 cm meets 200 N.

    The measured sand of zhu2019 gives 48, 125 and 231 N at 1, 3 and 5 cm; this one 40, 120 and 200 N.
    strength: factor on all forces. eps: temperature, W. law: stress law, see `Resistive`.

    >>> import softground as sg
    >>> float(sg.sand(strength=2).strength)
    2.0
    """
    return Resistive(scale_meeting(force=200.0, depth=0.05), strength=strength, eps=eps, law=law)


def pebbles(strength: float = 1.0, *, eps: float = DEFAULT_EPS, law: str = "auto") -> Resistive:
    """Pebbles: an upright foot of 5 cm radius pushed down 4.5 cm meets 280 N. Options as of `sand`.

    >>> import softground as sg
    >>> bool(sg.pebbles().scale > sg.sand().scale)
    True
    """
    return Resistive(scale_meeting(force=280.0, depth=0.045), strength=strength, eps=eps, law=law)


def grains(strength: float = 1.0, *, eps: float = DEFAULT_EPS) -> Elements:
    """Dry sand on every element of a body's surface, as strong as `sand`: edges, tilts and shapes of any kind are felt.

    strength: factor on all forces. eps: temperature, W.

    >>> import softground as sg
    >>> bool(sg.grains().scale == sg.sand().scale)
    True
    """
    return Elements(scale_meeting(force=200.0, depth=0.05), strength=strength, eps=eps)


def soil(strength: float = 1.0) -> Scm:
    """Deformable soil by Bekker and Janosi (SCM), at the published parameters of soft soil.

    strength: factor on all forces.

    >>> import softground as sg
    >>> float(sg.media.soil().power)  # of the depth
    1.1
    """
    return Scm.preset("soft", strength=strength)


def mud(strength: float = 1.0, *, eps: float = DEFAULT_EPS) -> Elements:
    """Cohesive ground, wet and sticky: weak grains with a cohesion of 1 kPa and suction of 0.5 kPa, of no measurement.

    strength: factor on all forces. eps: temperature, W.

    >>> import softground as sg
    >>> float(sg.media.mud().suction)  # Pa
    500.0
    """
    return Elements(0.1, cohesion=1000.0, suction=500.0, strength=strength, eps=eps)


def beads(strength: float = 1.0, *, eps: float = DEFAULT_EPS) -> LearnedSpace:
    """Beads of 1 cm radius, learned from grains simulated one by one: for planar robots on feet of 5 cm radius.

    The medium of zhu2019's simulated experiments, from three beds of our own campaign (docs/beads.md).
    strength: factor on all forces. eps: temperature, W.

    >>> import softground as sg
    >>> sg.beads().foot.radius  # m
    0.05
    """
    return load_medium(DATA / "beads.json", strength=strength, eps=eps)


def gravel(strength: float = 1.0, *, eps: float = DEFAULT_EPS) -> LearnedSpace:
    """Heavy stones of 1 cm radius that hardly roll, learned like `beads`, from two beds: for the same robots.

    Simulated with a modulus of 1e7 Pa, which makes soft stones of them: of rock they would carry about twice as much
    (docs/beads.md). strength: factor on all forces. eps: temperature, W.

    >>> import softground as sg
    >>> sg.media.gravel().kind
    'planar'
    """
    return load_medium(DATA / "gravel.json", strength=strength, eps=eps)


def beads_cylinder(strength: float = 1.0, *, eps: float = DEFAULT_EPS) -> LearnedSpace:
    """The beads in six components, learned with an upright cylinder of 5 cm radius: for robots in space.

    strength: factor on all forces. eps: temperature, W.

    >>> import softground as sg
    >>> sg.media.beads_cylinder().kind
    'spatial'
    """
    return load_medium(DATA / "beads_cylinder.json", strength=strength, eps=eps)


def beads_box(strength: float = 1.0, *, eps: float = DEFAULT_EPS) -> LearnedSpace:
    """The beads in six components, learned with a flat sole of 12 x 8 cm: for robots in space.

    strength: factor on all forces. eps: temperature, W.

    >>> import softground as sg
    >>> sg.media.beads_box().foot.extent[:2]  # m
    (0.12, 0.08)
    """
    return load_medium(DATA / "beads_box.json", strength=strength, eps=eps)


def foam(strength: float = 1.0) -> ViscoElastic:
    """Foam: springs and dampers under the sole, with friction, at romualdi2021's stiffness and damping.

    strength: factor on both; friction stays.

    >>> import softground as sg
    >>> float(sg.foam(strength=2).stiffness / sg.foam().stiffness)  # N/m per m2 of sole
    2.0
    """
    return _stronger(ViscoElastic(), strength)


def firm(strength: float = 1.0) -> Firm:
    """Firm ground: sinks a fraction of a millimetre; the rigid reference.

    strength: factor on stiffness and damping; friction stays.

    >>> import softground as sg
    >>> bool(sg.firm().stiffness > sg.foam().stiffness)
    True
    """
    return _stronger(Firm(), strength)


def _stronger(medium: Springs, strength: float) -> Springs:
    """A visco-elastic medium, stiffer and more damped by a factor; its friction stays."""
    stiffness, damping = np.asarray(medium.stiffness), np.asarray(medium.damping)
    return replace(medium, stiffness=strength * stiffness, damping=strength * damping)


def stronger(medium: Medium, factor: float) -> Medium:
    """A medium of which all forces are larger by a factor; MediumError where it has no such number."""
    if is_known(factor) and not (np.isfinite(factor) and factor > 0):
        raise MediumError(f"a medium is made stronger by a positive factor, got {factor}")
    if isinstance(medium, ViscoElastic):
        return _stronger(medium, factor)
    for name in ("strength", "zeta"):
        if hasattr(medium, name):
            return eqx.tree_at(lambda one: getattr(one, name), medium, factor * np.asarray(getattr(medium, name)))  # noqa: B023
    raise MediumError(f"{type(medium).__name__} has no strength: make another medium")


@cache
def scale_meeting(force: float, depth: float) -> float:
    """Scale of the resistive medium in which `REFERENCE_FOOT`, upright and pushed down, meets a force.

    force: vertical, N, at `depth`, m. The same for both stress laws, because only the sole leads.
    """
    down = np.array([[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]])
    generic = wrenches(surface_of(REFERENCE_FOOT), "plane", np.eye(3)[None], np.array([depth]), down)
    return force / float(generic[0, 0, 0, 2])


NAMED: dict[str, Callable[..., Medium]] = {
    "sand": sand,
    "pebbles": pebbles,
    "grains": grains,
    "soil": soil,
    "mud": mud,
    "beads": beads,
    "gravel": gravel,
    "beads_cylinder": beads_cylinder,
    "beads_box": beads_box,
    "foam": foam,
    "firm": firm,
}
"""Functions that make the named media; each takes `strength`, a factor on all forces but friction's share."""
WEDGE = "wedge"
"""What `medium_of` knows beside them: it is calibrated for the feet of a robot."""


def named_medium(name: str, **options) -> Medium:
    """The medium of this name, made with these options."""
    if name not in NAMED:
        raise MediumError(unknown_name("medium", name, NAMED))
    known = signature(NAMED[name]).parameters
    for option in options:
        if option not in known:
            raise MediumError(f"{name} has no {option}: its options are {', '.join(known)}")
    return NAMED[name](**options)


def medium_of(
    ground: str,
    robot: Robot | None = None,
    *,
    strength: float | None = None,
    stiffness: float | None = None,
    damping: float | None = None,
    eps: float | None = None,
) -> Medium:
    """A medium by what the command line calls it: a name, "wedge", or the file of a learned one (`.json`).

    robot: for "wedge", the law of chen2026, which is calibrated for its feet. strength: factor on all forces.
    stiffness (N/m per m2 of sole), damping (N s/m per m2): of springy ground, foam or firm, in place of its own.
    eps: temperature of granular ground, W.

    >>> import softground as sg
    >>> soft = sg.media.medium_of("foam", stiffness=8e5, damping=1e4)
    """
    springs = {"stiffness": stiffness, "damping": damping}
    given = {name: value for name, value in springs.items() if value is not None}
    rest = {name: value for name, value in {"strength": strength, "eps": eps}.items() if value is not None}
    if ground == WEDGE:
        medium = _wedge(robot, **rest)
    else:
        medium = load_medium(ground, **rest) if ground.endswith(".json") else _named(ground, rest)
    if not given:
        return medium
    if not isinstance(medium, ViscoElastic):
        raise MediumError(f"stiffness and damping are of springy ground (foam, firm): for {ground} give a strength")
    if strength is not None:
        raise MediumError("strength scales stiffness and damping: give either it or them")
    return replace(medium, **given)


def _named(ground: str, options: dict[str, float]) -> Medium:
    if ground not in NAMED:
        raise MediumError(unknown_name("medium", ground, [*NAMED, WEDGE]))
    return named_medium(ground, **options)


def _wedge(robot: Robot | None, strength: float = 1.0, **other: float) -> Medium:
    from softground.media.wedge import calibrated

    if other:
        raise MediumError(f"{WEDGE} has no {', '.join(other)}: its option is strength")
    shapes = {foot.shape for foot in robot.feet} if robot else set()
    shape = next(iter(shapes)) if len(shapes) == 1 else None
    if shape is None or shape.is_ball or not shape.rolls:
        found = ", ".join(sorted(type(one).__name__ for one in shapes)) or "no robot"
        raise MediumError(f"{WEDGE} needs a robot on half-cylinders of one size (biped), got {found}: choose sand")
    law = calibrated(shape)
    return replace(law, zeta=strength * law.zeta)


def ensemble_of(ground: str, **options: float) -> Ensemble:
    """By what learned ground may be wrong: of a file (`.json`), or of shipped ground. options: `strength`, `eps`.

    >>> import softground as sg
    >>> len(sg.media.ensemble_of("beads"))
    72
    """
    if ground in NAMED and not (DATA / f"{ground}.json").is_file():
        learned = ", ".join(name for name in NAMED if (DATA / f"{name}.json").is_file())
        raise MediumError(f"{ground} is theory and has no ensemble: give {learned}, or a learned file (.json)")
    return load_ensemble(DATA / f"{ground}.json" if ground in NAMED else ground, **options)


def describe(name: str) -> str:
    """One line about the medium of this name."""
    if name == WEDGE:
        return "The law of chen2026 (a wedge of grains under a rolling sole), calibrated for a robot's feet."
    return (NAMED[name].__doc__ or "").split("\n")[0]
