"""The baseline of zhu2021: what it minimises, and how its fall is found."""

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from softground.papers.zhu2021 import baselines, gaits
from softground.planning import Periodicity
from softground.planning.layout import TORQUE_UNIT, Layout
from softground.runs import Run
from softground.simulation import Simulator

KNOTS = 3


def test_costs_are_those_of_the_gait_problem():
    """Summed over a trajectory they are the planner's objective, less periodicity, which needs more than a horizon."""
    problem = gaits.problem_on(gaits.slope(0.0), quick=True)
    robot, rng = problem.robot, np.random.default_rng(0)
    layout = Layout.of(robot, KNOTS, 12)
    z = rng.normal(size=layout.size)
    costs = [cost for cost in problem.costs if not isinstance(cost, Periodicity)]
    blocks = [block for cost in costs for block in cost.blocks(problem, layout)]
    expected = sum(float((block.all_rows(jnp.asarray(z), 1.0) ** 2).sum()) for block in blocks)
    simulator = Simulator(robot, problem.ground, baselines.DT)
    short = baselines.short_problem(problem, simulator, simulator.initial_state())
    states = [np.concatenate([z[layout.q_at(k)], z[layout.v_at(k)]]) for k in range(KNOTS)]
    torques = [TORQUE_UNIT * z[layout.torque_at(k)] for k in range(KNOTS - 1)]
    found = sum(float(short.cost(x, u)) for x, u in zip(states[:-1], torques, strict=True))
    assert found + float(short.final_cost(states[-1])) == pytest.approx(expected, rel=1e-12)


def falling(until: int, steps: int = 100) -> Run:
    """A torso that moves ahead at 0.3 m/s and tips over at a step."""
    q, v = np.zeros((steps, 15)), np.zeros((steps, 15))
    time = baselines.DT * np.arange(steps)
    q[:, 0], q[:, 1], v[:, 0] = 0.3 * time, 0.9, 0.3
    q[until:, 2] = 2.0
    return Run(
        xr.Dataset(
            {"configuration": (("time", "q"), q), "velocity": (("time", "v"), v), "torque": (("time", "u"), v[:, :12])},
            {"time": time},
        )
    )


def test_fall_is_found_and_what_comes_after_does_not_count():
    found = baselines.measured(falling(until=40))
    assert found["falls"]
    assert found["until (s)"] == pytest.approx(0.2)
    assert found["way (m)"] == pytest.approx(0.06)
    assert found["Mv (m/s)"] == pytest.approx(0.1)
    assert all(check.passed for check in baselines.checks(found))


def test_a_walk_that_does_not_fall_contradicts_the_paper():
    found = baselines.measured(falling(until=100))
    assert not found["falls"]
    assert [check.passed for check in baselines.checks(found)] == [False, True, True]
