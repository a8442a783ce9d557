"""Figs 4 and 5: stances predicted by the augmented models, beside those of the experiment."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.papers.chen2026.experiment import SPEEDS, biped_law, fall_of, stances, walk
from softground.papers.chen2026.prediction import (
    MODELS,
    QUANTITIES,
    UNITS,
    Measured,
    errors,
    measured,
    predicted,
)
from softground.papers.study import Check, Findings, Options, Row, Study, Table
from softground.runs.figures import COLOURS, STYLE

STEPS = 10
SHOWN = 0.2  # m/s
DRAWN = ("proposed", "unified", "rigid")
"""Models in the figures; on the law as printed the frontal model's foot leaves them."""
TESTED = {"proposed": "", "unified": ", unified model"}
"""Models that are to be better than the rigid assumption, and how their checks are told apart."""
NOTES = [
    'The "experiment" is the 3D biped on 3D-RFT sand: the measurements are not public. The models start from its state '
    "at touch-down and are given its actuator torques, nothing else; zeta, lambda and the shear come from pushing and "
    "dragging the foot once, before any walk.",
    '"printed" and "proposed" are the planar models, on the law as printed and with shear below the wedge. '
    "The frontal plane takes depth and F_z from the sagittal one. (9) alone is far from the sideways force of the "
    "experiment, and the frontal model's foot slides off.",
    '"unified" is the whole biped in space on the law with shear. It predicts legs, F_y, '
    "y_s and z_s better than the planes, which have no yaw, and F_x and x_s a little worse.",
]


def perform_stance(options: Options) -> Findings:
    found, fallen = _stances(SHOWN, 4 if options.quick else STEPS)
    if found is None:
        return Findings([fallen], {})
    error = errors(found)
    return Findings(
        checks=[fallen, *_checks(f"{SHOWN:g} m/s", error)],
        metrics={"rmse": error} | _calibration(),
        tables=[Table("stance", f"RMSE over a stance at {SHOWN:g} m/s", _rows({SHOWN: error}))],
        figures={"stance": stance_figure(found)},
        notes=NOTES,
    )


def perform_velocities(options: Options) -> Findings:
    checks, error = [], {}
    for speed in (0.2, 0.4) if options.quick else SPEEDS:
        found, fallen = _stances(speed, 4 if options.quick else STEPS)
        checks.append(fallen)
        if found is not None:
            error[speed] = errors(found)
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


def _checks(label: str, error: dict[str, dict[str, float]]) -> list[Check]:
    return [
        Check(
            f"{name} at {label}{told}: RMSE below the rigid assumption's",
            error[model][name] < error["rigid"][name],
            error[model][name],
            f"< {error['rigid'][name]:.4g} {UNITS[name]}",
        )
        for model, told in TESTED.items()
        for name in QUANTITIES
    ]


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
        | {f"{speed:g} m/s, {model}": of[model][name] for speed, of in error.items() for model in MODELS}
        for name in QUANTITIES
    ]


def stance_figure(found: Measured) -> Figure:
    """Every quantity over the stance, of the experiment and the models; mean and one deviation."""
    guesses = predicted(found)
    curves = {"experiment": found.values} | {model: guesses[model] for model in DRAWN}
    with matplotlib.rc_context(STYLE):
        result = blank(9.0, 5.4)
        panels = result.subplots(3, 4)
        places = [*panels[0], *panels[1, :3], *panels[2, :3]]
        for name, axes in zip(QUANTITIES, places, strict=True):
            for (label, values), colour in zip(curves.items(), COLOURS, strict=False):
                mean, deviation = values[name].mean(axis=0), values[name].std(axis=0)
                share = np.linspace(0, 100, len(mean))
                axes.plot(share, mean, color=colour, label=label)
                axes.fill_between(share, mean - deviation, mean + deviation, color=colour, alpha=0.2, lw=0)
            axes.set_title(f"{name} ({UNITS[name]})", fontsize=8)
            axes.set_xlim(0, 100)
        for axes in panels[1:, 3]:
            axes.set_axis_off()
        panels[1, 3].legend(*places[0].get_legend_handles_labels(), loc="center", fontsize=8)
        for axes in panels[2, :3]:
            axes.set_xlabel("stance (%)")
    return result


def velocities_figure(error: dict[float, dict[str, dict[str, float]]]) -> Figure:
    """RMSE over speed, as Fig 5."""
    with matplotlib.rc_context(STYLE):
        result = blank(9.0, 3.6)
        panels = result.subplots(2, 5).ravel()
        for name, axes in zip(QUANTITIES, panels, strict=True):
            for model, marker, colour in zip(DRAWN, "o^s", COLOURS[1:], strict=False):
                axes.plot(
                    [*error], [of[model][name] for of in error.values()], marker, ls="-", color=colour, label=model
                )
            axes.set_title(f"{name} ({UNITS[name]})", fontsize=8)
            axes.set_ylim(0, None)
        panels[3].legend(fontsize=7, loc=(0.1, 0.5))
        for axes in panels[5:]:
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
