"""From grains to ground: measure a foot in sand, learn a medium from the wrenches, drop the foot on it.

    python examples/measure_and_learn.py

The rig here is resistive force theory, which is instant. With named_rig("dem") LAMMPS moves the grains one by one,
and a run takes half a minute instead.
"""

import tempfile

import jax

from softground.experiments import Grid, collect, learn, named_rig, run_campaign
from softground.robots import Robot
from softground.simulation import Simulator


def main() -> None:
    jax.config.update("jax_enable_x64", True)  # double precision
    grid = Grid(depths=(0.02, 0.06), tilts=(0.0, 0.6))
    with tempfile.TemporaryDirectory() as folder:
        run_campaign(named_rig("rft", medium="sand"), grid, folder, medium="sand")
        database = collect(folder)
    print(f"{len(database)} wrenches at {len(database.configurations())} poses, zero depth included")

    learned = learn(database, method="physics")
    robot = Robot.load("foot")
    simulator = Simulator(robot, learned.medium, dt=0.002)
    start = simulator.initial_state(height=0.02)
    _, record = jax.jit(lambda state: simulator.rollout(state, None, 500))(start)
    depth, force = float(record.depth[-1, 0]), float(record.wrench_world[-1, 0, 2])
    weight = 9.81 * float(robot.total_mass)
    print(f"the foot rests {1000 * depth:.1f} mm deep; the sand carries {force:.1f} of {weight:.1f} N")
    assert abs(force - weight) < 0.01 * weight


if __name__ == "__main__":
    main()
