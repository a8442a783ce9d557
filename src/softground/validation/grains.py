"""Media before grains that were simulated one by one: a tilted foot, a fast one, and one that comes back.

Written down before the runs: what is fitted (one scale; where it is said, one factor more) is fitted to an upright foot
in beds 1 to 4 and judged in beds 5 to 8. A tilted foot takes no part in a fit. `scripts/record_pushes.py` makes the
records anew.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softground.media import Elements, Medium, Resistive
from softground.terrain import Footprints
from softground.validation.calibration import calibrate
from softground.validation.over_beds import ratio_of_errors
from softground.validation.pushes import FAST, REPOSE, ROUNDED, SLOW, START, Pushes, parallel
from softground.validation.report import NOTHING, Row
from softground.validation.second_steps import SecondSteps, fresh_line, read_second_steps, second_push, volume_lost
from softground.validation.without_echo import without_echo

FIT, JUDGE = (1, 2, 3, 4), (5, 6, 7, 8)
DEEP_ENOUGH = 0.01
"""Where forces by speed are compared: the sole's centre is so deep (m) or deeper."""
LENGTH, LEVEL, VERTICAL = 0.007, 0.57, 0.06
"""How beads of 1 cm follow a foot, and what is left of their stress in level motion: found for another foot in other
beds (docs/zhu2019.md)."""
VARIANTS = ("wider", "smoother", "finer", "stiffer")
"""Rigs that differ in one thing: box, friction of the grains, their radius (and the box), their modulus."""
ENTRIES = {"as planned": JUDGE, "wider": (1,), "stiffer": (1,), "tall": (21, 22)}
DEPTHS = 0.005
"""Rigs of which the force is shown by depth, and how far apart, m."""
SECOND_JUDGE = (5, 6, 7)
UNSEEN = (9, 10, 11)
"""Beds that were poured when all of this was done, of which a law was set down before (`judged_law`)."""
JUDGED = "elements that follow, plane law, and bear"
TILT = np.deg2rad(20.0)
DIRECTIONS = {"down": False, "oblique": True}
PRINTS = Footprints(rim=-0.464, repose=REPOSE, rim_width=2.4, walls=1.0, length=0.02, firm=0.9, cell=0.01, every=1)
"""As identified in beds 1 and 2 by `scripts/identify_footprints.py`: loose beads are compacted around a print too."""
GRAINS = "the grains"
UPRIGHT = "upright, beds 1 to 4"


def grains_tables() -> dict[str, list[Row]]:
    """Tables of rows, by title."""
    fit, judge = Pushes.read(beds=FIT), Pushes.read(beds=JUDGE)
    felt = fit.where(speed=SLOW).felt_surface()
    tables = {"foot tilted by 20 degrees: rms error over rms force": tilted(fit, judge)}
    tables["the same, feet larger by a grain's radius"] = tilted_larger(fit, judge)
    title = f"{JUDGED}: error over that of sole-centre laws, scatter of beds taken off, 95 % interval"
    tables[title] = over_soles(fit, judge)
    unseen = Pushes.read(beds=UNSEEN)
    tables["foot at other tilts in unseen beds: rms error over rms force"] = other_tilts(fit, unseen)
    tables[f"{title}, unseen beds, at 20 degrees"] = over_soles(fit, unseen.at(TILT))
    tables[f"{title}, beds 5 to 11, at 20 degrees"] = over_soles(fit, Pushes.read(beds=JUDGE + UNSEEN).at(TILT))
    tables[f"{title}, unseen beds, at 15, 20 and 30 degrees together"] = over_soles(fit, unseen)
    title = f"the same, ground taken to begin {-1e3 * felt:.0f} mm higher"
    tables[title] = tilted(replace(fit, surface=felt), replace(judge, surface=felt))
    one, other = (Pushes.read(rig="finer", beds=(bed,)) for bed in (1, 2))
    title = "foot tilted by 20 degrees in finer grains, one bed to fit and one to judge"
    tables[title] = tilted(one, other, "upright, bed 1")
    tables["the same in finer grains, feet larger by a grain's radius"] = tilted_larger(one, other, "upright, bed 1")
    tables["upward force of the tilted foot over that of the upright one, 10 to 45 mm deep"] = bearing(judge)
    tables["upright foot by speed: upward force, N, 10 to 45 mm deep"] = forces()
    tables["the same by depth (mm): force beyond the slow one over density x area x speed^2"] = by_depth()
    fit, judge = fit.below(DEEP_ENOUGH), judge.below(DEEP_ENOUGH)
    tables["by speed: rms error over rms force"] = by_speed(fit, judge, Pushes.relative_error)
    fit, judge = replace(fit, surface=felt), replace(judge, surface=felt)
    tables["the same, ground taken to begin higher"] = by_speed(fit, judge, Pushes.relative_error)
    unseen = replace(unseen.below(DEEP_ENOUGH), surface=felt)
    tables["the same in unseen beds"] = by_speed(fit, unseen, Pushes.relative_error)
    tables["the same, scatter of beds taken off, with 95 % interval"] = own_by_speed(fit, unseen)
    tables["mean force over that of the grains, ground taken to begin higher"] = by_speed(
        fit, judge, Pushes.force_ratio
    )
    title = "by speed in beds too deep for an echo: rms error over rms force, and mean force over the grains'"
    tables[title] = without_echo()
    tables["second step: rms error over mean force of fresh ground"] = second_steps()
    return tables


def laws_of_soles() -> dict[str, Medium]:
    """Laws that feel a flat foot at the centre of its sole."""
    return {
        "sand (wrench space, plane law)": Resistive(START, law="plane"),
        "sand (wrench space, 3d law)": Resistive(START, law="3d"),
    }


def laws() -> dict[str, Medium]:
    """Laws of quasi-static grains with one scale to be fitted."""
    return laws_of_soles() | {
        "elements": Elements(START),
        "elements that follow": Elements(START, length=LENGTH),
        "elements that follow, as beads do": Elements(START, length=LENGTH, level=LEVEL, vertical=VERTICAL),
        "elements that bear": Elements(START, bearing=REPOSE),
        "elements that follow, plane law": Elements(START, length=LENGTH, law="plane"),
        "elements that follow, plane law, and bear": Elements(START, length=LENGTH, law="plane", bearing=REPOSE),
    }


def grown(data: Pushes) -> Pushes:
    """With the ground a grain's radius higher: a foot touches grains that far from their middles."""
    return replace(data, surface=-data.radius)


def laws_of_surfaces() -> dict[str, Medium]:
    """Elements on a surface with rounded edges, which takes many."""
    bears = Elements(START, bearing=REPOSE, count=ROUNDED)
    follows = Elements(START, length=LENGTH, bearing=REPOSE, count=ROUNDED)
    return {"elements that bear": bears, "elements that follow, and bear": follows, JUDGED: judged_law()}


def judged_law() -> Elements:
    """With which tilted feet are judged in unseen beds: set down before these were pushed into."""
    return Elements(START, length=LENGTH, law="plane", bearing=REPOSE, count=ROUNDED)


def _cases(judge: Pushes) -> dict[str, Pushes]:
    """Upright; tilted and pushed straight down or obliquely; of these, while only the edge is in the ground."""
    upright = judge.where(speed=SLOW)
    cases = {"upright": upright} if len(upright) else {}
    for name, oblique in DIRECTIONS.items():
        case = judge.where(tilted=True, oblique=oblique)
        cases |= {name: case, f"{name}, edge only": case.rows(case.depth < 0)}
    return cases


def _cases_by_tilt(judge: Pushes) -> dict[str, Pushes]:
    found = {"upright": judge.where(speed=SLOW)}
    for tilt in sorted(set(judge.tilt[judge.tilt > 0])):
        own = {name: judge.where(tilted=float(tilt), oblique=oblique) for name, oblique in DIRECTIONS.items()}
        found |= {f"{np.rad2deg(tilt):.0f} degrees {name}": case for name, case in own.items()}
    return {name: case for name, case in found.items() if len(case)}


def powers() -> dict[str, Medium]:
    """Laws with a power of depth to be fitted too."""
    follow = Elements(START, power=0.6, length=LENGTH, level=LEVEL, vertical=VERTICAL)
    return {"elements": Elements(START, power=0.6), "elements that follow, as beads do": follow}


def tilted(fit: Pushes, judge: Pushes, on: str = UPRIGHT) -> list[Row]:
    """Errors of a tilted foot pushed straight down and obliquely; of it all, and while only the edge is in."""
    cases = _cases(judge)
    several = len(judge.wrench) > 1
    rows = [_row("one bed about the mean of all", cases, Pushes.relative_spread, 0, GRAINS)] if several else []
    for name, law in laws().items():
        found = _scaled(law, fit.where(speed=SLOW))
        rows.append(_row(name, cases, lambda case, medium=found: case.relative_error(medium), 1, on))
    for name, law in powers().items():
        found = calibrate(law, fit.where(speed=SLOW), ["scale", "power"])
        label = f"{name}, power of depth {found.fitted['power']:.2f}"
        rows.append(_row(label, cases, lambda case, medium=found.medium: case.relative_error(medium), 2, on))
    return rows


def tilted_larger(fit: Pushes, judge: Pushes, on: str = UPRIGHT) -> list[Row]:
    """The same with feet as the middles of grains meet them: sole-centre laws a radius deeper, elements on the surface
    that lies a radius outside."""
    several = len(judge.wrench) > 1
    rows = [_row("one bed about the mean of all", _cases(judge), Pushes.relative_spread, 0, GRAINS)] if several else []
    for view, some in ((grown, laws_of_soles()), (parallel, laws_of_surfaces())):
        cases = _cases(view(judge))
        for name, law in some.items():
            found = _scaled(law, view(fit).where(speed=SLOW))
            rows.append(_row(name, cases, lambda case, medium=found: case.relative_error(medium), 1, on))
    return rows


def over_soles(fit: Pushes, judge: Pushes) -> list[Row]:
    """Error of the law that is judged over that of each sole-centre law, as it is and a grain's radius deeper."""
    ours = _scaled(judged_law(), parallel(fit).where(speed=SLOW))
    of_law = {
        name: parallel(judge).where(tilted=True, oblique=oblique).errors_by_bed(ours)
        for name, oblique in DIRECTIONS.items()
    }
    rows = []
    for name, law, view in _soles_viewed():
        sole, errors = _scaled(law, view(fit).where(speed=SLOW)), {}
        for direction, oblique in DIRECTIONS.items():
            of_sole = view(judge).where(tilted=True, oblique=oblique).errors_by_bed(sole)
            found = ratio_of_errors(of_law[direction], of_sole)
            errors |= {direction: found.value, f"{direction}, low": found.low, f"{direction}, high": found.high}
        rows.append(Row(f"over {name}", errors, 1, UPRIGHT))
    return rows


def _soles_viewed():
    """Sole-centre laws by name, as they are and for feet a grain's radius deeper."""
    views = {"": lambda data: data, ", a grain's radius deeper": grown}
    return [(name + more, law, view) for name, law in laws_of_soles().items() for more, view in views.items()]


def other_tilts(fit: Pushes, judge: Pushes) -> list[Row]:
    """Errors at other tilts, in beds that had no part in anything: of the law set down before, and of sole-centre
    laws, as they are and a grain's radius deeper."""
    several, cases = len(judge.wrench) > 1, _cases_by_tilt(judge)
    rows = [_row("one bed about the mean of all", cases, Pushes.relative_spread, 0, GRAINS)] if several else []
    for name, law, view in [*_soles_viewed(), (JUDGED, judged_law(), parallel)]:
        found = _scaled(law, view(fit).where(speed=SLOW))
        cases = _cases_by_tilt(view(judge))
        rows.append(_row(name, cases, lambda case, medium=found: case.relative_error(medium)))
    return rows


def bearing(judge: Pushes) -> list[Row]:
    """What a tilted foot bears over what an upright one does, by the grains and by the laws, whatever their scale."""
    upright = judge.where(speed=SLOW).below(DEEP_ENOUGH)
    cases = {"down": judge.where(tilted=True), "oblique": judge.where(tilted=True, oblique=True)}

    def ratio(case: Pushes, force) -> float:
        return float(force(case.below(DEEP_ENOUGH))[:, 1].mean() / force(upright)[:, 1].mean())

    rows = [
        Row(GRAINS, {name: ratio(case, lambda one: one.measured) for name, case in cases.items()}, 0, NOTHING, GRAINS)
    ]
    for name, law in laws().items():
        errors = {label: ratio(case, lambda one, law=law: one.predict(law)) for label, case in cases.items()}
        rows.append(Row(name, errors, 0, NOTHING))
    return rows


def forces() -> list[Row]:
    """What the grains do: mean force by speed and rig, its spread, and how often density v^2 it grows by."""
    rows = []
    rigs = {"beds 1 to 4": ("as planned", FIT), "beds 5 to 8": ("as planned", JUDGE)}
    rigs |= {f"{rig}, bed 1": (rig, (1,)) for rig in ("as planned", *VARIANTS)}
    for label, (rig, beds) in rigs.items():
        data = Pushes.read(rig=rig, beds=beds).below(DEEP_ENOUGH)
        found = {speed: data.where(speed=speed).mean_force() for speed in sorted(set(data.speed))}
        errors = {_speed(speed): force for speed, (force, _) in found.items()}
        errors |= {f"spread {_speed(speed)}": spread for speed, (_, spread) in found.items() if len(beds) > 1}
        sole = data.density * data.foot.extent[0] * data.foot.extent[1]
        grown = {speed: found[speed][0] - found[SLOW][0] for speed in found if SLOW in found and speed > SLOW}
        errors |= {f"factor {_speed(speed)}": force / sole / speed**2 for speed, force in grown.items()}
        rows.append(Row(label, errors, 0, NOTHING, GRAINS))
    return rows


def by_depth() -> list[Row]:
    """What fast pushes meet beyond the slow one, over density, area and speed^2, by the depth of the sole, mm."""
    rows = []
    for rig, beds in ENTRIES.items():
        data = Pushes.read(rig=rig, beds=beds)
        slow, sole = data.where(speed=SLOW), data.density * data.foot.extent[0] * data.foot.extent[1]
        for speed in FAST[1:]:
            fast = data.where(speed=speed)
            more = fast.measured[:, 1] - np.interp(fast.depth, slow.depth, slow.measured[:, 1])
            factors = {
                f"{1e3 * depth:.0f}": float(factor)
                for depth, factor in zip(fast.depth, more / sole / speed**2, strict=True)
                if np.isclose(depth % DEPTHS, 0, atol=1e-6) or np.isclose(depth % DEPTHS, DEPTHS, atol=1e-6)
            }
            rows.append(Row(f"{rig}, {_speed(speed)}", factors, 0, NOTHING, GRAINS))
    return rows


def by_speed(fit: Pushes, judge: Pushes, measure) -> list[Row]:
    """A measure of media with and without inertia at every speed; scale fitted at the slowest."""
    cases = _cases_by_speed(judge)
    return [
        _row(name, cases, lambda case, medium=medium: measure(case, medium), count, on)
        for name, (medium, count, on) in _laws_by_speed(fit).items()
    ]


def own_by_speed(fit: Pushes, judge: Pushes) -> list[Row]:
    """Own errors of the same media, free of what beds scatter, over what was measured, with intervals over beds."""
    rows = []
    for name, (medium, count, on) in _laws_by_speed(fit).items():
        errors = {}
        for speed, case in _cases_by_speed(judge).items():
            found = ratio_of_errors(case.errors_by_bed(medium), case.forces_by_bed())
            errors |= {speed: found.value, f"{speed}, low": found.low, f"{speed}, high": found.high}
        rows.append(Row(name, errors, count + (fit.surface != 0), on))
    return rows


def _cases_by_speed(judge: Pushes) -> dict[str, Pushes]:
    return {_speed(speed): judge.where(speed=speed) for speed in (SLOW, *FAST)}


def _laws_by_speed(fit: Pushes) -> dict[str, tuple[Medium, int, str]]:
    """Media with and without inertia, how many numbers of them were fitted, and on what."""
    slow, density = fit.where(speed=SLOW), fit.density
    laws = {
        "elements": Elements(START, density=density),
        "elements, inertia 1": Elements(START, density=density, inertia=1.0),
        "elements, inertia 1, added mass 1": Elements(START, density=density, inertia=1.0, added_mass=1.0),
    }
    found = {name: (_scaled(law, slow), 1, "upright at 0.1 m/s, beds 1 to 4") for name, law in laws.items()}
    for speed in FAST[1:]:
        drag = calibrate(found["elements, inertia 1"][0], fit.where(speed=speed), ["inertia"])
        on = f"upright at 0.1 and {speed:g} m/s, beds 1 to 4"
        found[f"elements, inertia {drag.fitted['inertia']:.1f}"] = (drag.medium, 2, on)
    return found


def second_steps() -> list[Row]:
    """Errors of the second push with prints as shipped and without memory, and of one bed about the mean of all."""
    steps = read_second_steps(beds=SECOND_JUDGE)
    line = fresh_line(steps)

    def rms(step: SecondSteps, error: np.ndarray) -> float:
        return float(np.sqrt((error**2).mean()) / np.polyval(line, step.depth).mean())

    def label(step: SecondSteps) -> str:
        where = "in place" if step.beside == 0 else f"{1e3 * step.beside:.0f} mm beside"
        return f"{1e3 * step.first_depth:.0f} mm, {where}"

    def row(name: str, force, source: str = "softground") -> Row:
        errors = {label(step): rms(step, force(step) - step.second.mean(0)) for step in steps}
        in_print = [step for step in steps if step.beside == 0]
        errors |= {
            f"{label(step)}, down to it": rms(step, (force(step) - step.second.mean(0))[step.depth <= step.first_depth])
            for step in in_print
        }
        fitted = (6, "second pushes, beds 1 and 2") if "identified" in name else (0, NOTHING)
        return Row(name, errors, *fitted, source)

    lost = max(volume_lost(PRINTS, steps[0].foot, step.first_depth) for step in steps)
    rows = [
        row("footprints, identified", lambda step: second_push(PRINTS, step, line)),
        row("footprints, defaults", lambda step: second_push(Footprints(), step, line)),
        row("no memory", lambda step: np.polyval(line, step.depth)),
    ]
    apart = {label(step): rms(step, step.second.std(0, ddof=1)) for step in steps}
    rows.append(Row("one bed about the mean of all", apart, 0, NOTHING, GRAINS))
    rows.append(Row("volume lost by footprints, share", {label(steps[0]): lost}, 0, NOTHING))
    return rows


def _scaled(law: Medium, data: Pushes) -> Medium:
    """With its one scale fitted."""
    return calibrate(law, data, ["scale"]).medium


def _row(name: str, cases: dict[str, Pushes], measure, fitted: int = 1, on: str = UPRIGHT) -> Row:
    """Where the ground begins, if it is neither the surface nor a grain's radius higher, was fitted too."""
    errors = {label: measure(case) for label, case in cases.items()}
    if not fitted:
        return Row(name, errors, 0, NOTHING, GRAINS)
    return Row(name, errors, fitted + any(case.surface not in (0, -case.radius) for case in cases.values()), on)


def _speed(speed: float) -> str:
    return f"{speed:g} m/s"
