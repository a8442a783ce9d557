"""Identify the memory of the ground (`softground.media.memory`) on the DEM record of the curved trajectory.

    .venv/bin/python scripts/identify_memory.py        (about a minute on one core)

A foot that a PID drives (zhu2019 IV.C.1) is simulated again and again; Nelder and Mead's method lowers the error of
its wrenches against DEM over the memory's five numbers and the strength of the ground. The straight trajectory counts
half as much, so that the strength is not paid for by it. The trajectories revisited and slowed take no part and are
printed for judgement.
"""

from __future__ import annotations

import jax

jax.config.update("jax_enable_x64", True)

import equinox as eqx  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from scipy.optimize import minimize  # noqa: E402

from softground.media.memory import Remembering  # noqa: E402
from softground.papers.study import Options  # noqa: E402
from softground.papers.zhu2019.foot_study import bead_ground, dem_record  # noqa: E402
from softground.papers.zhu2019.tracking import errors, foot_simulator, recorded, records_along  # noqa: E402
from softground.papers.zhu2019.trajectories import TRAJECTORIES  # noqa: E402

DT = 0.004
NAMES = ("length", "start", "end", "vertical", "least", "strength")
LOW = np.array([0.002, -0.99, -0.4, 0.0, 0.0, 0.6])
HIGH = np.array([0.1, 0.5, 0.99, 1.0, 1.0, 1.6])
STARTS = np.array([[0.01, -0.4, 0.6, 0.1, 0.5, 1.0], [0.03, -0.2, 0.8, 0.0, 0.3, 1.0]])
STEPS = np.array([0.015, 0.2, -0.2, 0.2, -0.25, 0.1])


def error_on(name: str, simulator):
    """Function of the numbers: error of all components together on a trajectory."""
    trajectory = TRAJECTORIES[name]()
    time = DT * np.arange(round(trajectory.duration / DT))
    _, measured = recorded(dem_record(name, Options()), trajectory, time)
    strength = simulator.ground.medium.ground.strength
    start = simulator.initial_state(trajectory.corners()[0], trajectory.velocities()[0])

    def simulate(numbers):
        changed = eqx.tree_at(
            lambda sim: (
                [getattr(sim.ground.medium, field) for field in NAMES[:5]] + [sim.ground.medium.ground.strength]
            ),
            simulator,
            [*numbers[:5], numbers[5] * strength],
        )
        return records_along(changed, trajectory, start)[1]

    compiled = jax.jit(simulate)
    return lambda numbers: errors(np.asarray(compiled(jnp.asarray(numbers))), measured)["together"]


def main() -> None:
    simulator = foot_simulator(Remembering(bead_ground(Options()).medium), DT)
    error = {name: error_on(name, simulator) for name in TRAJECTORIES}

    def objective(numbers):
        held = np.clip(numbers, LOW, HIGH)
        outside = 10 * float(((numbers - held) ** 2).sum())
        if held[2] - held[1] < 0.05:
            return 1 + outside
        return float(np.hypot(error["curved"](held), 0.5 * error["straight"](held))) + outside

    without = np.array([0.01, -0.5, 0.5, 1.0, 1.0, 1.0])
    print("without memory", {name: round(one(without), 3) for name, one in error.items()})
    for start in STARTS:
        simplex = np.vstack([start, start + np.diag(STEPS)])
        found = minimize(
            objective, start, method="Nelder-Mead", options={"maxiter": 150, "initial_simplex": simplex, "fatol": 1e-4}
        )
        numbers = np.clip(found.x, LOW, HIGH)
        print(dict(zip(NAMES, numbers.round(4).tolist(), strict=True)))
        print("  ", {name: round(one(numbers), 3) for name, one in error.items()})


if __name__ == "__main__":
    main()
