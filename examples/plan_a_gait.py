"""A gait of 1.5 s on sand: planned from a speed alone, then replayed in the simulator.

It is short and stops at a feasible gait. For one of 9 s at an optimum (half a minute) call
`softground.plan(robot, ground, speed=0.4)`, or use the command line:

    softground plan robosimian --strength 2 --speed 0.4 --out gait.nc
"""

import jax

jax.config.update("jax_enable_x64", True)

from softground.media import sand  # noqa: E402
from softground.planning import solve, standard_stages, walk_at_speed, walking_problem  # noqa: E402
from softground.robots import Robot  # noqa: E402
from softground.simulation import Ground  # noqa: E402


def main() -> None:
    problem = walking_problem(Robot.load("robosimian"), Ground(sand(2.0)), speed=0.4, knots=31, period=0.75)
    plan = solve(problem, walk_at_speed(problem), stages=standard_stages()[:1])
    print(f"{plan.report.reason}: violation {plan.report.violation:.1e}")
    print(f"speed {plan.metrics.speed:.3f} m/s, cost of transport {plan.metrics.cost_of_transport:.2f}")
    report, _ = plan.replay()
    print(f"replayed in steps of 2 ms: {100 * report.speed_kept:.0f} % of the speed")
    assert plan.report.status != "failed"
    assert report.speed_kept > 0.9
    assert not report.fell


if __name__ == "__main__":
    main()
