"""Gymnasium's ant in MuJoCo, on sand: its model and a loop as they are, with `ground.step` in place of `mj_step`."""

from pathlib import Path

import gymnasium
import mujoco
import numpy as np

import softground as sg

STANCE = np.array([0, 0, 0.55, 1, 0, 0, 0, 0, 1, 0, -1, 0, -1, 0, 1.0])
FEET = ["left_ankle_geom", "right_ankle_geom", "third_ankle_geom", "fourth_ankle_geom"]


def main() -> None:
    file = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / "ant.xml"
    model = mujoco.MjModel.from_xml_path(str(file))
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, 0.005
    print("rigid no more:", *sg.mujoco.take_out_floor(model))
    data = mujoco.MjData(model)
    data.qpos[:] = STANCE

    ground = sg.mujoco.Ground(model, sg.sand(), feet=FEET, posture=STANCE)
    recorder = sg.mujoco.Recorder(ground, sg.Robot.load("ant"))
    torso = model.body("torso").id
    given = 0.0
    for k in range(400):
        hold = 20 * (STANCE[7:] - data.qpos[7:]) - 2 * data.qvel[6:]  # N m, by a gear of 150
        data.ctrl[:] = np.clip(hold[[6, 7, 0, 1, 2, 3, 4, 5]] / 150, -1, 1)
        data.xfrc_applied[torso, 0] = 3.0 if 200 <= k < 220 else 0.0  # a push
        ground.step(model, data)
        recorder.keep()
        given = max(given, ground.power)
    run = recorder.run()

    weight = 9.81 * model.body_subtreemass[0]
    carried = run["wrench_world"].sel(wrench_axis="fz").values[-1].sum()
    print(f"the sand carries {carried:.2f} N of {weight:.2f} N; the feet are {1000 * ground.depth.round(4)} mm deep")
    print(f"pushed {1000 * data.qpos[0]:.0f} mm; the ground never gave more than {1000 * given:.1f} mW")

    assert abs(carried - weight) < 0.01 * weight, "at rest the sand carries the weight"
    assert run.fall() is None
    assert given < 0.01, "sand takes energy"


if __name__ == "__main__":
    main()
