"""Drop RoboSimian on a slope of sand, hold its posture, and see how deep it stands."""

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from softground.control import hold_posture  # noqa: E402
from softground.media import sand  # noqa: E402
from softground.robots import Robot  # noqa: E402
from softground.runs import run  # noqa: E402
from softground.simulation import Ground, Simulator  # noqa: E402
from softground.surfaces import Plane  # noqa: E402


def main() -> None:
    robot = Robot.load("robosimian")
    simulator = Simulator(robot, Ground(sand(strength=2.0), Plane(slope=np.deg2rad(5))), dt=0.002)
    state = simulator.initial_state(height=0.02)  # the lowest foot 2 cm above the sand
    dataset = run(simulator, state, hold_posture(robot), seconds=1.0, every=5)

    depth = dataset["depth"].values[-1]
    force = float(dataset["wrench_world"].sel(wrench_axis="fz")[-1].sum())
    weight = 9.81 * float(robot.total_mass)
    print(f"the feet stand {1000 * depth.round(3)} mm deep; the sand carries {force:.0f} N of {weight:.0f} N")

    assert (depth > 0.02).all(), "every foot sinks"
    assert abs(force - weight) < 0.02 * weight, "at rest the sand carries the weight"
    assert dataset.attrs["steps_not_converged"] == 0


if __name__ == "__main__":
    main()
