"""Your own robot: any MJCF or URDF file, its feet given by name. Here a hopper, written on the spot."""

import tempfile
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

from softground.control import hold_posture  # noqa: E402
from softground.media import pebbles  # noqa: E402
from softground.robots import Cylinder, Robot  # noqa: E402
from softground.runs import Run, run  # noqa: E402
from softground.simulation import Simulator  # noqa: E402

HOPPER = """
<mujoco model="hopper">
  <compiler angle="radian"/>
  <worldbody>
    <body name="body" pos="0 0 0.6">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <geom type="box" size="0.15 0.1 0.05" mass="5"/>
      <body name="thigh">
        <joint name="hip" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="0.5"/>
        <body name="shank" pos="0 0 -0.3">
          <joint name="knee" axis="0 1 0"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.025" mass="0.4"/>
          <body name="toe" pos="0 0 -0.3"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="hip" ctrllimited="true" ctrlrange="-60 60"/>
    <motor joint="knee" ctrllimited="true" ctrlrange="-60 60"/>
  </actuator>
</mujoco>
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hopper.xml"
        file.write_text(HOPPER)
        robot = Robot.load(file, feet={"toe": Cylinder(radius=0.03, length=0.1)}, posture={"hip": -0.5, "knee": 1.0})
        simulator = Simulator(robot, pebbles())
        dataset = run(simulator, simulator.initial_state(height=0.05), hold_posture(robot), seconds=0.8, every=4)

        # The run file holds all that is needed to repeat the run: the same numbers, to the last bit.
        again = Run.load(dataset.save(Path(folder) / "hopper.nc")).repeat()
    depth = float(dataset["depth"][-1, 0])
    print(f"{robot.name} of {float(robot.total_mass):.1f} kg stands {1000 * depth:.0f} mm deep in pebbles")

    assert 0.005 < depth < 0.1
    assert bool((again["configuration"] == dataset["configuration"]).all()), "a repeated run is identical"


if __name__ == "__main__":
    main()
