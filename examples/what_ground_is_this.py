"""A biped drops on sand that it does not know, and its joint sensors tell how strong the sand is: no force sensor.

python examples/what_ground_is_this.py
"""

from dataclasses import replace

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from softground.control import Sensed, TerrainIdentifier, hold_posture  # noqa: E402
from softground.media import Wedge  # noqa: E402
from softground.robots import Robot  # noqa: E402
from softground.runs import run  # noqa: E402
from softground.simulation import Simulator  # noqa: E402

GROUND = Wedge(zeta=2.2, shear=1.0)
GUESS = 1.0  # N/cm3
HEIGHT = 0.01  # m, of the drop


def main() -> None:
    robot = Robot.load("biped")
    simulator = Simulator(robot, GROUND, dt=0.002)
    dataset = run(simulator, simulator.initial_state(height=HEIGHT), hold_posture(robot), seconds=0.2)

    # What its sensors show: joint angles and rates, actuator torques, and how the base moves, with 1 cm/s of noise.
    noise = 0.01 * np.random.default_rng(0).standard_normal(dataset["velocity"].shape)
    q, v, torque = dataset["configuration"].values, dataset["velocity"].values + noise, dataset["torque"].values
    sensed = Sensed(q[:-1], v[:-1], v[1:], torque[:-1])

    identifier = TerrainIdentifier(robot, replace(GROUND, zeta=GUESS), ("zeta",), dt=float(simulator.dt))
    program = jax.jit(lambda stream: identifier.over(identifier.start(stream.q[0], depth=-0.8 * HEIGHT), stream))
    beliefs = program(sensed)
    for at in range(19, len(sensed.q), 20):
        zeta, factor = float(beliefs.parameters[at, 0]), float(np.exp(beliefs.deviations[at, 0]))
        depth = 1e3 * float(dataset["depth"][at].max())
        print(f"{2 * at + 2:3d} ms, {depth:5.1f} mm deep: zeta = {zeta:.2f} N/cm3, to a factor of {factor:.2f}")
    print(f"the truth is {float(GROUND.zeta):.2f}, the first guess was {GUESS:.2f}")
    assert abs(float(beliefs.parameters[-1, 0]) / float(GROUND.zeta) - 1) < 0.05


if __name__ == "__main__":
    main()
