"""Differentiate through contact: how much less deep does a foot land in sand that is a little stronger?"""

import jax

jax.config.update("jax_enable_x64", True)

from softground.media import sand  # noqa: E402
from softground.robots import Robot  # noqa: E402
from softground.simulation import Simulator  # noqa: E402

STEPS = 60  # of 4 ms: the foot has come to rest


def main() -> None:
    robot = Robot.load("foot")

    def landing_depth(strength):
        """Depth of the sole (m) at the end of a fall from 2 cm, on sand of this strength."""
        simulator = Simulator(robot, sand(strength), dt=0.004)
        _, record = simulator.rollout(simulator.initial_state(height=0.02), None, STEPS)
        return record.depth[-1, 0]

    value, slope = jax.jit(jax.value_and_grad(landing_depth))(1.0)
    step = 1e-4
    depth = jax.jit(landing_depth)
    by_differences = (depth(1.0 + step) - depth(1.0 - step)) / (2 * step)
    print(f"depth {1000 * value:.1f} mm, d depth / d strength {1000 * slope:.3f} mm", end=" ")
    print(f"(by differences {1000 * by_differences:.3f} mm)")

    assert slope < 0, "stronger sand stops the foot higher"
    assert abs(slope - by_differences) < 1e-4 * abs(slope)


if __name__ == "__main__":
    main()
