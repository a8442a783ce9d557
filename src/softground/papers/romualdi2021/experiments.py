"""Figs 3 to 5: centre of mass, wrenches and left foot under both controllers, on three grounds."""

from __future__ import annotations

import matplotlib
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.control.walking.walk import verdict
from softground.papers.romualdi2021.walks import (
    GROUND_NOTE,
    QUICK_SECONDS,
    SECONDS,
    WALK_NOTE,
    Place,
    icub,
    outcome,
    walk_icub,
    wrench_rate,
)
from softground.papers.study import Check, Findings, Options, Row, Study, Table, above, below
from softground.runs import Run
from softground.runs.figures import COLOURS, STYLE

EXPERIMENTS = {1: Place(2e6, 1e4), 2: Place(1e6, 1e4), 3: Place(2e6, 1e3)}
BEFORE_FALL = 0.3  # s: a fall shakes all wrenches, so the last of a run that ends in one is left out of comparisons
HUES = {"compliant": COLOURS[0], "rigid": COLOURS[1]}
Runs = dict[str, Run]


def perform(options: Options) -> Findings:
    seconds = QUICK_SECONDS if options.quick else SECONDS
    experiments = {1: EXPERIMENTS[1]} if options.quick else EXPERIMENTS
    rows: list[Row] = []
    checks: list[Check] = []
    figures = {}
    for number, place in experiments.items():
        runs = {name: walk_icub(name, place.medium, place.belief, seconds) for name in HUES}
        found = {name: _row(number, place, name, runs) for name in HUES}
        rows += found.values()
        checks += _checks(number, found)
        figures[f"experiment_{number}"] = figure(number, place, runs)
    return Findings(
        checks=checks,
        metrics={f"{row['experiment']}, {row['controller']}": row for row in rows},
        tables=[Table("experiments", "The experiments", rows)],
        figures=figures,
        notes=[
            WALK_NOTE,
            GROUND_NOTE,
            "The rate of the wrench is that of the forces, rms over planned contacts, up to "
            f"{BEFORE_FALL:g} s before the first of the two walks ends.",
        ],
    )


def _row(number: int, place: Place, name: str, runs: Runs) -> Row:
    found = verdict(runs[name]).as_dict()
    ends = [run["time"].values[-1] - (run.attrs["ended"] != "finished") * BEFORE_FALL for run in runs.values()]
    return {
        "experiment": number,
        "ground": str(place),
        "controller": name,
        "outcome": outcome(found),
        "ended": found["ended"],
        "seconds": found["seconds"],
        "com_error_max_mm": found["com_error_max_mm"],
        "com_error_rms_mm": found["com_error_rms_mm"],
        "wrench_rate_n_s": wrench_rate(runs[name], min(ends)),
    }


def _checks(number: int, found: dict[str, Row]) -> list[Check]:
    compliant, rigid = found["compliant"], found["rigid"]
    ratio = rigid["wrench_rate_n_s"] / compliant["wrench_rate_n_s"]
    checks = [above(f"experiment {number}: wrenches vary faster under TSID-Rigid, rates rigid / compliant", ratio, 1.0)]
    if number == 1:
        return checks + [
            below(f"experiment 1: error of the CoM under TSID-{name.capitalize()}", row["com_error_max_mm"], 10.0, "mm")
            for name, row in found.items()
        ]
    expected = {"compliant": "success", "rigid": "failure"}
    return checks + [
        Check(
            f"experiment {number}: TSID-{name.capitalize()} {'walks' if expected[name] == 'success' else 'falls'}",
            row["outcome"] == expected[name],
            row["ended"],
            expected[name],
        )
        for name, row in found.items()
    ]


def figure(number: int, place: Place, runs: Runs) -> Figure:
    """Over time: centre of mass beside its reference, wrench on the left foot, place of the left foot."""
    with matplotlib.rc_context(STYLE):
        result = blank(9.2, 5.6)
        panels = result.subplots(3, 2, sharex=True)
        for name, run in runs.items():
            _draw(panels, name, run)
        for axes, label in zip(
            panels.flat,
            (
                "CoM x (m)",
                "CoM y (m)",
                "left foot: fz (N)",
                "left foot: ty (N m)",
                "left foot x (m)",
                "left foot z (mm)",
            ),
            strict=True,
        ):
            axes.set_ylabel(label)
        for axes in panels[-1]:
            axes.set_xlabel("time (s)")
        panels[0, 0].set_title(f"experiment {number}: {place}", loc="left", fontweight="bold")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        result.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    return result


def _draw(panels, name: str, run: Run) -> None:
    time, style = run["time"].values, {"color": HUES[name], "lw": 0.9}
    centre, desired = run["center_of_mass"].values, run["com_reference"].values
    foot = run.foot_poses(icub())[0][:, 0]
    limits = [(low - 0.05, high + 0.05) for low, high in zip(desired.min(axis=0), desired.max(axis=0), strict=True)]
    for axis in range(2):
        if name == "compliant":  # which walks to the end: its reference is whole
            panels[0, axis].plot(time, desired[:, axis], color=COLOURS[6], lw=2.0, alpha=0.35, label="reference")
            panels[0, axis].set_ylim(limits[axis])
        panels[0, axis].plot(time, centre[:, axis], label=f"TSID-{name.capitalize()}", **style)
    panels[1, 0].plot(time, run["wrench_world"].sel(wrench_axis="fz").values[:, 0], **style)
    panels[1, 1].plot(time, run["wrench_world"].sel(wrench_axis="ty").values[:, 0], **style)
    panels[2, 0].plot(time, foot[:, 0], **style)
    panels[2, 1].plot(time, 1e3 * foot[:, 2], **style)
    weight = run.weight
    panels[1, 0].set_ylim(-0.1 * weight, 2.0 * weight)
    panels[1, 1].set_ylim(-25, 25)
    panels[2, 1].set_ylim(-45, 45)


STUDY = Study(
    "romualdi2021",
    "experiments",
    "centre of mass, wrenches and left foot (Figs 3 to 5)",
    "on stiff and damped ground both controllers keep the centre of mass within 1 cm, but wrenches vary faster under "
    "TSID-Rigid; with less stiffness, or less damping, TSID-Rigid falls and TSID-Compliant does not.",
    perform,
)
