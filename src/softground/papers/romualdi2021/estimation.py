"""Fig. 7: estimates of stiffness and damping on ground that changes along the way."""

from __future__ import annotations

from typing import NamedTuple

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.control.estimation import Estimator
from softground.control.walking.walk import Belief, verdict
from softground.media import ViscoElastic
from softground.media.visco_elastic import Stretches
from softground.papers.romualdi2021.walks import (
    GROUND_NOTE,
    NOISE_NOTE,
    SECONDS,
    WALK_NOTE,
    icub,
    noisy,
    sigma_over_step,
    stances,
    walk_icub,
)
from softground.papers.study import Check, Findings, Options, Row, Study, Table, below
from softground.runs import Run
from softground.runs.figures import COLOURS, STYLE

SIGMA = 5.0  # N, N m
EDGES, NEAR_EDGES = (0.13, 0.34), (0.02, 0.34)  # m along x, where the ground changes; the second in quick studies
STIFFNESS, DAMPING = (8e5, 1.6e6, 1.1e6), (1e4, 5e3, 8e3)
NEAR, SOON = 0.05, 1.0  # relative error of a good estimate; time (s) after touch-down in which it should be reached
SETTLING_SEEN = 0.5  # s: a stance that the end of the run cuts shorter says nothing
QUANTITIES = {"stiffness": "k (N/m per m2)", "damping": "b (N s/m per m2)"}


class Changing(NamedTuple):
    """Ground whose stiffness, damping or both change along x."""

    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    edges: tuple[float, ...] = EDGES

    @property
    def medium(self) -> ViscoElastic:
        return ViscoElastic(Stretches(self.edges, self.stiffness), Stretches(self.edges, self.damping))

    def under(self, quantity: str, x: float) -> float:
        """Value at a place along x (m)."""
        values: tuple[float, ...] = getattr(self, quantity)
        return values[int(np.sum(x >= np.array(self.edges)))]

    def varies(self, quantity: str) -> bool:
        return len(set(getattr(self, quantity))) > 1


CASES = {
    "stiffness": Changing(STIFFNESS, 3 * (1e4,)),
    "damping": Changing(3 * (1e6,), DAMPING),
    "both": Changing(STIFFNESS, DAMPING),
}


def perform(options: Options) -> Findings:
    cases = {"both": CASES["both"]._replace(edges=NEAR_EDGES)} if options.quick else CASES
    until = 3.5 if options.quick else SECONDS
    rows: list[Row] = []
    checks: list[Check] = []
    figures, metrics = {}, {}
    for name, ground in cases.items():
        first = Belief(ground.stiffness[0], ground.damping[0], Estimator(sigma_over_step(SIGMA)))
        run = walk_icub("compliant", noisy(ground.medium, SIGMA, seed=3), first, until)
        judged = verdict(run)
        changes = changes_of(name, ground, run)
        rows += changes
        metrics[name] = {"walk": judged.as_dict(), "changes": changes}
        checks += [
            Check(f"{name} changes: it walks", judged.success, judged.ended, "finished"),
            below(
                f"{name} changes: estimates within {100 * NEAR:g} % after at most",
                max((row["settled_after_s"] for row in changes), default=np.inf),
                SOON,
                "s",
            ),
        ]
        figures[name] = figure(name, ground, run)
    return Findings(
        checks=checks,
        metrics=metrics,
        tables=[Table("changes", "Touch-downs on other ground", rows)],
        figures=figures,
        notes=[
            WALK_NOTE,
            GROUND_NOTE,
            NOISE_NOTE,
            "The estimate is in the loop: the controller uses it. The truth under a foot is the ground's value where "
            "the foot came down; the covariance is reset there.",
            "An estimate has settled at the sample from which on it stays within "
            f"{100 * NEAR:g} % of the truth while the foot stands; 'never' counts as infinite.",
        ],
    )


def truth(ground: Changing, quantity: str, run: Run) -> Float[np.ndarray, "n f"]:
    """Value under each foot over time: where it came down last."""
    x = run.foot_poses(icub())[0][..., 0]
    values = np.empty(x.shape)
    for foot in range(x.shape[1]):
        for first, _ in stances(run, foot):
            values[first:, foot] = ground.under(quantity, float(x[first, foot]))
    return values


def changes_of(name: str, ground: Changing, run: Run) -> list[Row]:
    """Every touch-down on ground that differs from where the foot stood before, and how long the estimate took."""
    rows: list[Row] = []
    time = run["time"].values
    dt = float(time[1] - time[0])
    for quantity in QUANTITIES:
        true, believed = truth(ground, quantity, run), run[f"believed_{quantity}"].values
        for foot, label in enumerate(run["foot"].values):
            for first, last in stances(run, foot)[1:]:
                if true[first, foot] == true[first - 1, foot] or (last - first) * dt < SETTLING_SEEN:
                    continue
                wrong = np.abs(believed[first : last + 1, foot] / true[first, foot] - 1)
                late = np.flatnonzero(wrong > NEAR)
                settled = 0 if not late.size else int(late[-1]) + 1
                rows.append(
                    {
                        "changes": name,
                        "quantity": quantity,
                        "foot": str(label),
                        "touch_down_s": float(time[first]),
                        "from": float(true[first - 1, foot]),
                        "to": float(true[first, foot]),
                        "settled_after_s": settled * dt if settled < wrong.size else float("inf"),
                        "error_at_end_percent": 100 * float(wrong[-1]),
                        "stance_s": (last - first) * dt,
                    }
                )
    return rows


def figure(name: str, ground: Changing, run: Run) -> Figure:
    """Estimates of what changes, over time, beside the truth."""
    shown = [quantity for quantity in QUANTITIES if ground.varies(quantity)]
    time = run["time"].values
    with matplotlib.rc_context(STYLE):
        result = blank(8.8, 2.4 * len(shown) + 0.4)
        panels = result.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
        for panel, quantity in zip(panels, shown, strict=True):
            true, believed = truth(ground, quantity, run), run[f"believed_{quantity}"].values
            for foot, label in enumerate(run["foot"].values):
                colour = COLOURS[foot]
                panel.plot(time, believed[:, foot], color=colour, label=f"{label}, estimate")
                panel.plot(time, true[:, foot], color=colour, ls=(0, (4, 2)), lw=1.0, label=f"{label}, truth")
            panel.set(ylabel=QUANTITIES[quantity], ylim=(0, 1.6 * max(getattr(ground, quantity))))
        panels[-1].set_xlabel("time (s)")
        panels[0].set_title(f"changing: {name}", loc="left", fontweight="bold")
        result.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8)
    return result


STUDY = Study(
    "romualdi2021",
    "estimation",
    "estimates on ground that changes along the way (Fig. 7)",
    "with noise of sigma 5 on the wrenches the estimated stiffness and damping reach the truth in less than a second "
    "after a foot comes down on other ground, and the robot walks on.",
    perform,
)
