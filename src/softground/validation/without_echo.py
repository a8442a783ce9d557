"""Fast pushes into beds so deep that no wave of the foot's entry is back from the floor while they are judged.

Written down before the runs (docs/validation.md, "Without an echo"): one bed to fit, one to judge; each speed is judged
from 10 mm to where the foot is after 40 ms, the fastest also from where the cone of the added mass is complete. Bar:
within 20 % with inertia at all speeds.
"""

from __future__ import annotations

from softground.media import Elements, Medium
from softground.validation.calibration import calibrate
from softground.validation.pushes import FAST, REPOSE, ROUNDED, SLOW, START, Pushes, parallel
from softground.validation.report import Row

RIG, FIT, JUDGE = "tall", 21, 22
FIRST, BEFORE_ECHO, CONE = 0.01, 0.04, 0.052
"""From which depth on (m), until when (s), and the depth at which the cone of the added mass is complete (m)."""


def without_echo() -> list[Row]:
    """Errors by speed of elements that bear a sole, with and without inertia."""
    fit, judge = (parallel(Pushes.read(rig=RIG, beds=(bed,))) for bed in (FIT, JUDGE))
    cases, slow = _windows(judge), _windows(fit)[f"{SLOW:g} m/s"]
    laws = _laws(fit.density)
    found = {name: (calibrate(law, slow, ["scale"]).medium, 1) for name, law in laws.items()}
    fastest = _windows(fit)[f"{FAST[-1]:g} m/s"]
    drag = calibrate(found["inertia 1"][0], fastest, ["inertia"])
    found[f"inertia {drag.fitted['inertia']:.1f}, fitted at {FAST[-1]:g} m/s"] = (drag.medium, 2)
    return [
        Row(f"elements that bear, {name}", _errors(cases, medium), count, f"upright, bed {FIT}")
        for name, (medium, count) in found.items()
    ]


def _laws(density: float) -> dict[str, Medium]:
    common = {"bearing": REPOSE, "count": ROUNDED, "density": density}
    return {
        "no inertia": Elements(START, **common),
        "inertia 1": Elements(START, inertia=1.0, **common),
        "inertia 1, added mass 1": Elements(START, inertia=1.0, added_mass=1.0, **common),
    }


def _windows(data: Pushes) -> dict[str, Pushes]:
    """What is judged, by speed."""
    below = data.below(FIRST)
    found = {f"{SLOW:g} m/s": below.where(speed=SLOW)}
    for speed in FAST:
        case = below.where(speed=speed)
        found[f"{speed:g} m/s"] = case.rows(case.depth <= BEFORE_ECHO * speed + 1e-9)
    fastest = found[f"{FAST[-1]:g} m/s"]
    found[f"{FAST[-1]:g} m/s, from {1e3 * CONE:.0f} mm on"] = fastest.below(CONE)
    return found


def _errors(cases: dict[str, Pushes], medium: Medium) -> dict[str, float]:
    errors = {name: case.relative_error(medium) for name, case in cases.items()}
    ratio = {f"force, {name}": case.force_ratio(medium) for name, case in cases.items()}
    return errors | ratio
