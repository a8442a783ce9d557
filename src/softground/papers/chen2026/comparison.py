"""Figs 4 and 5: stances predicted by the augmented models, beside those of the experiment."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.media.wedge import lateral_force
from softground.media.wedge.resistance import wall_stress
from softground.papers.chen2026.experiment import SPEEDS, biped_law, fall_of, stances, walk
from softground.papers.chen2026.inverse_dynamics import forces_and_torques, forces_by_kept_jacobian
from softground.papers.chen2026.prediction import (
    MODELS,
    RIGID,
    errors,
    least_rigid,
    predicted,
    rms_errors,
    told_sinkage,
)
from softground.papers.chen2026.stance_series import FORCES, QUANTITIES, UNITS, Measured, Stances, measured
from softground.papers.study import Check, Findings, Options, Row, Study, Table, above, below
from softground.runs.figures import COLOURS, STYLE

STEPS = 10
SHOWN = 0.2  # m/s
DRAWN = ("proposed", "unified", "rigid")
"""Models in the figures; on the law as printed the frontal model's foot leaves them."""
TESTED = {"proposed": "", "unified": ", unified model", "printed": ", as printed"}
"""Models that are to be better than the rigid assumption, and how their checks are told apart."""
NEAR, MAIN = 0.2, 0.5
"""What follows an experiment is off by less of its range; the main source of a force has more of its rms: set before
they were looked at."""
BY_CONSTRUCTION = ("y_s", "z_s")
"""What a foot that is believed to stay where it is has none of: counted apart."""
NOTES = [
    'The "experiment" is the 3D biped on 3D-RFT sand: the measurements are not public. The models start from its state '
    "at touch-down and are given its actuator torques, nothing else; zeta, lambda and the shear come from pushing and "
    "dragging the foot once, before any walk.",
    '"printed" and "proposed" are the planar models, on the law as printed and with shear below the wedge. '
    "The frontal plane takes depth and F_z from the sagittal one. (9) alone is far from the sideways force of the "
    "experiment, and the frontal model's foot slides off.",
    '"unified" is the whole biped in space on the law with shear; the planes have no yaw.',
    'A check asks for less than the least error of three rigid-ground models: "rigid" lands with an impact, "rigid, '
    'rates kept" without, both then predict all of the stance from its torques; "rigid, inverse" has forces only, by '
    "inverse dynamics of the joints' measured motion. The feet of all three roll without slip. y_s and z_s, which they "
    "have none of, are marked as lost by construction.",
]


def perform_stance(options: Options) -> Findings:
    found, fallen = _stances(SHOWN, 4 if options.quick else STEPS)
    if found is None:
        return Findings([fallen], {})
    of = predicted(found)
    error, sizes, spans = errors(found, of), force_sizes(found, of), ranges(found)
    return Findings(
        checks=[
            fallen,
            *_checks(f"{SHOWN:g} m/s", error),
            *_follows(error["proposed"], spans),
            *_overestimates(sizes),
            above("F_y by (9), at the measured depth and slip, over the experiment's, rms", bulldozed(found), MAIN),
        ],
        metrics={"rmse": error, "forces": sizes, "ranges": spans} | _calibration(),
        tables=[
            Table("stance", f"RMSE over a stance at {SHOWN:g} m/s", _rows({SHOWN: error})),
            Table("forces", f"Size of the forces over a stance at {SHOWN:g} m/s: rms, greatest (N)", _size_rows(sizes)),
            Table("ranges", "How far the experiment's mean goes over a stance", _range_rows(error, spans)),
            Table("told", "RMSE of the frontal plane, told the measured sinkage and load", [_told_rows(found, error)]),
        ],
        figures={"stance": stance_figure(found, of)},
        notes=NOTES,
    )


def perform_velocities(options: Options) -> Findings:
    checks, error = [], {}
    for speed in (0.2, 0.4) if options.quick else SPEEDS:
        found, fallen = _stances(speed, 4 if options.quick else STEPS)
        checks.append(fallen)
        if found is not None:
            error[speed] = errors(found, predicted(found))
            checks += _checks(f"{speed:g} m/s", error[speed])
    return Findings(
        checks=checks,
        metrics={"rmse": {f"{speed:g}": of for speed, of in error.items()}} | _calibration(),
        tables=[Table("rmse", "RMSE over a stance, mean over steps", _rows(error))],
        figures={"velocities": velocities_figure(error)} if error else {},
        notes=NOTES,
    )


def _stances(speed: float, count: int) -> tuple[Measured | None, Check]:
    fall = fall_of("sand", speed)
    told = "none" if fall is None else f"{fall.reason} at {fall.time:.2f} s"
    check = Check(f"the robot walks at {speed:g} m/s", fall is None, told, "no fall")
    return (measured(stances(walk("sand", speed), count)) if fall is None else None), check


def force_sizes(found: Measured, of: dict[str, Stances]) -> dict[str, dict[str, tuple[float, float]]]:
    """How large forces are over a stance, by whom and direction: rms and greatest size, mean over stances, N."""
    by = {"experiment": found.values} | {model: one.values for model, one in of.items() if model != "printed"}
    by["rigid, inverse"] = forces_and_torques(found.whole)[0]
    by["Jacobian kept"] = forces_by_kept_jacobian(found.whole)
    return {
        label: {
            name: (
                float(np.sqrt((values[name] ** 2).mean(axis=1)).mean()),
                float(np.abs(values[name]).max(axis=1).mean()),
            )
            for name in FORCES
        }
        for label, values in by.items()
    }


def _overestimates(sizes: dict[str, dict[str, tuple[float, float]]]) -> list[Check]:
    """Fig 4b's claim, "in all directions": of the ways in which the rigid assumption has forces, rms over the rms."""
    return [
        above(f"{label}: {name} over the experiment's, rms", sizes[label][name][0] / sizes["experiment"][name][0], 1.0)
        for label in ("rigid, inverse", "Jacobian kept", "rigid")
        for name in FORCES
    ]


def _follows(error: dict[str, float], spans: dict[str, float]) -> list[Check]:
    """Fig 4's "closely followed", of the proposed model: beside the experiment, not beside another model."""
    return [below(f"follows {name}: RMSE over its range", error[name] / span, NEAR) for name, span in spans.items()]


def ranges(found: Measured) -> dict[str, float]:
    """How far the experiment's mean over stances goes, by quantity, in its unit."""
    return {name: float(np.ptp(found.values[name].mean(axis=0))) for name in QUANTITIES}


def bulldozed(found: Measured) -> float:
    """What (9) makes of the depth and the slip that were measured, over the sideways force that was: rms over rms."""
    law, depth = biped_law(), -found.stances.sagittal.q[..., 1]
    slip = np.abs(found.values["y_s"])
    force = float(law.zeta) * lateral_force(np.maximum(depth, 0.0), slip, law.saturation_length, wall_stress())
    return float(np.sqrt(np.mean(np.square(force)) / np.mean(np.square(found.values["F_y"]))))


def _told_rows(found: Measured, error: dict[str, dict[str, float]]) -> Row:
    told = told_sinkage(found)
    missed = rms_errors(told, {name: found.values[name] for name in told})
    return {f"{name} ({UNITS[name]})": one for name, one in missed.items()} | {
        f"{name}, as proposed": error["proposed"][name] for name in missed
    }


def _range_rows(error: dict[str, dict[str, float]], spans: dict[str, float]) -> list[Row]:
    return [
        {"quantity": f"{name} ({UNITS[name]})", "range": span}
        | {f"RMSE over it, {model}": error[model][name] / span for model in MODELS}
        for name, span in spans.items()
    ]


def _size_rows(sizes: dict[str, dict[str, tuple[float, float]]]) -> list[Row]:
    return [
        {"forces of": label}
        | {f"{name}, {what}": of[name][i] for name in FORCES for i, what in enumerate(("rms", "max"))}
        for label, of in sizes.items()
    ]


def _checks(label: str, error: dict[str, dict[str, float]]) -> list[Check]:
    return [
        Check(
            f"{name} at {label}{told}: RMSE below the rigid assumption's{_apart(name)}",
            error[model][name] < least_rigid(error, name),
            error[model][name],
            f"< {least_rigid(error, name):.4g} {UNITS[name]}",
        )
        for model, told in TESTED.items()
        for name in QUANTITIES
    ]


def _apart(name: str) -> str:
    return " (lost by construction)" if name in BY_CONSTRUCTION else ""


def _calibration() -> dict[str, float]:
    law = biped_law()
    return {
        "zeta": float(law.zeta),
        "saturation_length_m": float(law.saturation_length),
        "shear": float(law.shear),  # type: ignore[arg-type]
    }


def _rows(error: dict[float, dict[str, dict[str, float]]]) -> list[Row]:
    return [
        {"quantity": f"{name} ({UNITS[name]})"}
        | {
            f"{speed:g} m/s, {model}": of[model].get(name, "")
            for speed, of in error.items()
            for model in (*MODELS, *RIGID)
        }
        for name in QUANTITIES
    ]


def stance_figure(found: Measured, of: dict[str, Stances]) -> Figure:
    """Every quantity over the stance, of the experiment and the models; mean and one deviation."""
    curves = {"experiment": found.values} | {model: of[model].values for model in DRAWN}
    curves["rigid, inverse"] = forces_and_torques(found.whole)[0]
    with matplotlib.rc_context(STYLE):
        result = blank(9.0, 7.0)
        panels = result.subplots(4, 3)
        for name, axes in zip(QUANTITIES, panels.flat, strict=True):
            for (label, values), colour in zip(curves.items(), COLOURS, strict=False):
                if name not in values:
                    continue
                mean, deviation = values[name].mean(axis=0), values[name].std(axis=0)
                share = np.linspace(0, 100, len(mean))
                axes.plot(share, mean, color=colour, label=label)
                axes.fill_between(share, mean - deviation, mean + deviation, color=colour, alpha=0.2, lw=0)
            axes.set_title(f"{name} ({UNITS[name]})", fontsize=8)
            axes.set_xlim(0, 100)
        named = panels[2, 0].get_legend_handles_labels()
        result.legend(*named, loc="outside upper center", ncols=len(curves), fontsize=8)
        for axes in panels[-1]:
            axes.set_xlabel("stance (%)")
    return result


def velocities_figure(error: dict[float, dict[str, dict[str, float]]]) -> Figure:
    """RMSE over speed, as Fig 5."""
    with matplotlib.rc_context(STYLE):
        result = blank(9.0, 5.2)
        panels = result.subplots(3, 4).ravel()
        for name, axes in zip(QUANTITIES, panels, strict=True):
            for model, marker, colour in zip(DRAWN, "o^s", COLOURS[1:], strict=False):
                axes.plot(
                    [*error], [of[model][name] for of in error.values()], marker, ls="-", color=colour, label=model
                )
            axes.set_title(f"{name} ({UNITS[name]})", fontsize=8)
            axes.set_ylim(0, None)
        result.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(DRAWN), fontsize=8)
        for axes in panels[8:]:
            axes.set_xlabel("speed (m/s)")
    return result


STANCE = Study(
    "chen2026",
    "stance",
    "one stance, predicted and measured (Fig 4)",
    "the model with slip and sinkage follows the experiment; the rigid assumption overestimates forces.",
    perform_stance,
)
VELOCITIES = Study(
    "chen2026",
    "velocities",
    "errors over walking speeds (Fig 5)",
    "angles, reaction forces and intrusion are predicted better than with the rigid assumption at every speed.",
    perform_velocities,
)
