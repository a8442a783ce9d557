"""Every medium before every measurement: errors, repeats' spread, published models, and what was fitted on what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from softground import media
from softground.errors import ExperimentError
from softground.media import Elements, Medium
from softground.media.resistive.stress import SURFACE_FRICTION, scale_of_grains
from softground.media.resistive.wrench import wrenches
from softground.robots.shapes import Cylinder, HalfCylinder
from softground.validation import published
from softground.validation.base import Measurements
from softground.validation.calibration import calibrate
from softground.validation.plates import Plates
from softground.validation.sand_wrenches import SandWrenches
from softground.validation.wheel import SIZES, Wheel

FILES = {
    "sand": "sand_wrenches_measured.csv",
    "wheel": "wheel_in_sand_smooth.csv",
    "plates": "plate_in_sand.csv",
}
DENSITY, REPOSE = 1330.0, np.deg2rad(29.0)
"""Bulk density (kg/m3) and angle of repose (rad) of the wheel's sand, from its authors' parameter file."""
LENGTH = 0.007  # m, as found for beads simulated one by one (docs/zhu2019.md)
FINE = 120
"""Elements of a wheel: where a round body rolls or drags, few elements are too coarse."""
STEEPEST = 60.0  # degrees of slip angle up to which the wheel is steady
NOTHING = "nothing"


@dataclass(frozen=True)
class Row:
    """One model before one set of measurements. errors: by column, in its unit."""

    model: str
    errors: dict[str, float]  # mean absolute ones, in the units of the columns
    fitted: int | None  # numbers that were fitted; None: many
    fitted_on: str
    source: str = "softground"
    values: dict[str, float] | None = None  # of what was fitted, in the units of the medium's parameters

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {**vars(self), "errors": {name: round(value, 4) for name, value in self.errors.items()}}


def read_measurements(folder: str | Path) -> dict[str, Measurements]:
    """The measurements of a folder by name ("sand", "wheel", "plates"), of those files that it has (`FILES`)."""
    folder = Path(folder)
    readers: dict[str, Callable[[Path], Measurements]] = {
        "sand": SandWrenches.read,
        "wheel": lambda path: Wheel.read(path).up_to(STEEPEST),
        "plates": Plates.read,
    }
    found = {name: readers[name](folder / file) for name, file in FILES.items() if (folder / file).is_file()}
    if not found:
        raise ExperimentError(
            f"{folder} holds no measurements: give a folder with one or more of {', '.join(FILES.values())} "
            "(columns: docs/validation.md)"
        )
    return found


def grains_of_wheel(**options: Any) -> Elements:
    """The wheel's sand from its authors' density and angle of repose, nothing fitted."""
    return Elements.of_grains(DENSITY, float(REPOSE), friction=float(np.tan(REPOSE)), count=FINE, **options)


def validate(folder: str | Path) -> dict[str, list[Row]]:
    """Tables of rows, by title, for the measurements of a folder."""
    found, tables = read_measurements(folder), {}
    power = 1.0
    plates = found.get("plates")
    if isinstance(plates, Plates):
        power, tables["plates and wheel pushed down"] = _plates(plates)
    wheel = found.get("wheel")
    if isinstance(wheel, Wheel):
        for size, (radius, width) in SIZES.items():
            sized = replace(wheel, radius=radius, width=width)
            tables[f"wheel {size}, load given"] = _wheel(sized, published.LOAD_GIVEN, power)
            at_sinkage = replace(sized, given_load=False)
            tables[f"wheel {size}, sinkage given"] = _wheel(at_sinkage, published.SINKAGE_GIVEN, power)
    sand = found.get("sand")
    if isinstance(sand, SandWrenches):
        tables["foot in the sand of zhu2019"] = _sand(sand)
    return tables


def _row(model: str, data: Measurements, errors: np.ndarray, **options: Any) -> Row:
    settings = {"fitted": 0, "fitted_on": NOTHING, **options}
    return Row(model, dict(zip(data.columns, map(float, errors), strict=True)), **settings)


def _of_data(data: Measurements) -> list[Row]:
    """What no model can beat, and what a model must beat."""
    centre = data.measured.mean(0)
    return [
        _row("spread between repeats", data, data.spread(), source="the measurements"),
        _row("the measurements' own mean", data, np.abs(data.measured - centre).mean(0), source="the measurements"),
    ]


def _calibrated(model: str, medium: Medium, data: Measurements, parameters: tuple[str, ...]) -> Row:
    """Fitted on every other condition, judged on the rest."""
    half, rest = data.halves()
    found = calibrate(medium, half, parameters)
    errors = rest.errors(found.medium)
    on = f"{len(half)} conditions, judged on the other {len(rest)}"
    return _row(model, data, errors, fitted=len(parameters), fitted_on=on, values=found.fitted)


def _wheel(wheel: Wheel, known: dict, power: float) -> list[Row]:
    rows = _of_data(wheel)
    rows += [
        Row(name, dict(zip(wheel.columns, errors, strict=True)), fitted, NOTHING if fitted == 0 else "the same", source)
        for name, (errors, fitted, source) in known.items()
        if wheel.radius == SIZES["0.058 x 0.050 m"][0]
    ]
    rows.append(_row("plain 3D-RFT, not convex", wheel, np.abs(_plain(wheel) - wheel.measured).mean(0)))
    unfitted = {
        "sand (wrench space)": media.sand(),
        "wedge": media.Wedge(),
        "elements": grains_of_wheel(),
        "elements that follow": grains_of_wheel(length=LENGTH),
    }
    rows += [_row(name, wheel, wheel.errors(medium)) for name, medium in unfitted.items()]
    start = grains_of_wheel(length=LENGTH, level=0.5, vertical=0.3, power=power)
    rows.append(_calibrated("elements that follow", start, wheel, ("scale", "level", "vertical")))
    return rows


def _plain(wheel: Wheel) -> np.ndarray:
    """Predictions of the plain stresses on a fine mesh."""
    scale = scale_of_grains(DENSITY, float(np.tan(REPOSE)))
    panels = HalfCylinder(wheel.radius, wheel.width).panels(2)

    def forces(depth: np.ndarray, twist: np.ndarray) -> np.ndarray:
        same, which = np.unique(twist, axis=0, return_inverse=True)
        found = np.zeros((len(depth), 3))
        for index, one in enumerate(same):
            mine = np.flatnonzero(which.ravel() == index)
            at = wrenches(panels, "3d", np.eye(3)[None], depth[mine], one[None], wheel.radius, float(np.tan(REPOSE)))
            found[mine] = scale * at[0, :, 0, :3]
        return found

    return wheel.predicted(forces)


def _plates(plates: Plates) -> tuple[float, list[Row]]:
    """The power of depth that each body's own curve has (mean), and the table."""
    level = grains_of_wheel(length=LENGTH, power=1.2)
    alone = [plates.rows(plates.body == body) for body in range(len(plates.shapes))]
    powers = [calibrate(level, one, ("scale", "power")).fitted["power"] for one in alone]
    power = float(np.mean(powers))
    rows = _of_data(plates)[:1]
    for name, medium in {"sand (wrench space)": media.sand(), "elements": grains_of_wheel()}.items():
        rows.append(_row(name, plates, plates.errors(medium)))
    flat, round_ones = plates.of(Cylinder), plates.of(HalfCylinder)
    found = calibrate(replace(level, power=power), flat, ("scale",))
    on = "plates of 60 and 100 mm"
    settings = {"fitted": 2, "values": {**found.fitted, "power": power}}
    rows.append(_row("elements, plates", flat, flat.errors(found.medium), fitted_on=on, **settings))
    judged = f"{on}; judged on the wheel"
    if len(round_ones):
        rows.append(_row("elements, wheel", flat, round_ones.errors(found.medium), fitted_on=judged, **settings))
    bears = calibrate(grains_of_wheel(power=1.2, bearing=float(REPOSE)), flat, ("scale", "power"))
    settings = {"fitted": 2, "values": bears.fitted}
    rows.append(_row("elements that bear, plates", flat, flat.errors(bears.medium), fitted_on=on, **settings))
    if len(round_ones):
        errors = round_ones.errors(bears.medium)
        rows.append(_row("elements that bear, wheel", flat, errors, fitted_on=judged, **settings))
    return power, rows


def _sand(sand: SandWrenches) -> list[Row]:
    rows = _of_data(sand)[1:]
    every = {
        "sand (wrench space)": media.sand(),
        "remembering sand": media.Remembering(media.sand()),
        "wedge": media.Wedge(),
        "foam": media.foam(),
        "grains (elements)": media.grains(),
    }
    rows += [_row(name, sand, sand.errors(medium)) for name, medium in every.items()]
    followed = Elements(float(media.grains().scale), friction=SURFACE_FRICTION, length=LENGTH)
    rows.append(_row("elements that follow", sand, sand.errors(followed)))
    rows.append(_calibrated("sand (wrench space)", media.sand(), sand, ("strength",)))
    rows.append(_calibrated("grains (elements)", media.grains(), sand, ("strength",)))
    rows.append(_calibrated("elements that follow", followed, sand, ("strength",)))
    return rows
