"""Models of MuJoCo on soft ground that the tests share."""

from functools import cache

import jax
import mujoco
import numpy as np

import softground as sg
from softground.bridges.mujoco.pushing import Touching
from softground.bridges.rigid_peer import use_pd
from softground.control.posture import actuator_positions, pd_gains
from softground.robots.loading import build

FAST = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
#: Tests of one robot on these share its compiled programs.
GROUNDS = {"sand": lambda: sg.sand(2.0), "foam": sg.foam}


#: On what robots that fall over lie, beside their feet.
LIES_ON = {"walker2d": ("torso_geom", "thigh_geom"), "g1": ("pelvis_contour_link", "torso_link", "head_link")}


@cache
def robot(name: str) -> sg.Robot:
    return sg.Robot.load(name, contacts=LIES_ON.get(name, "feet"))


def feet_of(name: str):
    """Feet with their shapes where a site without a size is one."""
    return {foot.name: foot.shape for foot in robot(name).feet}


def servo_model(name: str, dt: float, kp=None, kd=None) -> mujoco.MjModel:
    """A robot of the catalogue with servos, as a user would have it in MuJoCo, without a rigid floor."""
    spec = build(robot(name).recipe).spec
    gains = pd_gains(robot(name))
    use_pd(spec, robot(name), gains[0] if kp is None else kp, gains[1] if kd is None else kd)
    model = spec.compile()
    model.opt.integrator, model.opt.timestep = FAST, dt
    if name == "g1":
        model.geom_conaffinity[:] = 0  # its hulls overlap: they meet the ground, not each other
    sg.mujoco.take_out_floor(model)
    return model


def standing(model: mujoco.MjModel, name: str, height: float = 0.0) -> mujoco.MjData:
    """In the posture, which the servos hold."""
    data = mujoco.MjData(model)
    data.qpos[:] = robot(name).posture
    data.qpos[1 if robot(name).planar else 2] += height
    data.ctrl[:] = actuator_positions(robot(name), data.qpos)
    return data


def ground_under(model: mujoco.MjModel, name: str, medium, **options) -> sg.mujoco.Ground:
    return sg.mujoco.Ground(model, medium, feet=feet_of(name), posture=np.asarray(robot(name).posture), **options)


def explicit(ground: sg.mujoco.Ground, data: mujoco.MjData):
    """The same law with the velocity at the start of the step, as people apply forces by hand: () -> wrenches."""
    touching: Touching = ground._programs.touching(data)
    memory = ground._programs.example(data).memory.ground

    @jax.jit
    def wrenches(given, memory):
        carrier, groups = touching.carrier, touching.groups
        placed = [group.placed(carrier, given.pose, touching.surface) for group in groups]
        contacts = [
            group.contacts(carrier, given.pose, one, before, given.dt)
            for group, one, before in zip(groups, placed, memory, strict=True)
        ]
        twists = [group.jacobian @ given.reference for group in contacts]
        found = [group.wrench(u) for group, u in zip(contacts, twists, strict=True)]
        world = [group.wrench_in_world(one, w) for group, one, w in zip(groups, placed, found, strict=True)]
        after = tuple(
            group.remember(one, before, own, u, given.dt)
            for group, one, before, own, u in zip(groups, placed, memory, contacts, twists, strict=True)
        )
        return world, after

    given = ground._programs.example(data)
    order = [member for group in touching.groups for member in group.members]

    def now() -> np.ndarray:
        nonlocal memory
        with jax.enable_x64(True):
            world, memory = wrenches(given, memory)
        return np.concatenate([np.asarray(one) for one in world])[np.argsort(order)]

    return now


def true_power(ground: sg.mujoco.Ground, data: mujoco.MjData) -> float:
    """Power (W) of the ground's wrenches by MuJoCo's own Jacobians and the velocity with which it ended the step."""
    linear, angular = np.zeros((2, 3, ground.model.nv))
    total = 0.0
    for body, wrench in zip(ground.carrier.touched, ground.last.pushed, strict=True):
        mujoco.mj_jacBodyCom(ground.model, data, linear, angular, body)
        total += wrench[:3] @ linear @ data.qvel + wrench[3:] @ angular @ data.qvel
    return float(total)


def potential_fall(ground: sg.mujoco.Ground, data: mujoco.MjData):
    """() -> Phi(0) - Phi(u) of the step just taken, W: by convexity f.u is at most that."""
    touching: Touching = ground._programs.touching(data)

    @jax.jit
    def fall(given, memory, velocity):
        carrier, total = touching.carrier, 0.0
        for group, before in zip(touching.groups, memory.ground, strict=True):
            placed = group.placed(carrier, given.pose, touching.surface)
            contacts = group.contacts(carrier, given.pose, placed, before, given.dt)
            twists = contacts.jacobian @ velocity
            total = total + contacts.potential(0 * twists) - contacts.potential(twists)
        return total

    def now() -> float:
        beside = ground._last
        assert beside is not None
        with jax.enable_x64(True):
            return float(fall(beside.given, beside.memories[1 - beside.now], beside.push.velocity))

    return now


def step_explicitly(ground: sg.mujoco.Ground, data: mujoco.MjData, now) -> None:
    """A step of MuJoCo with forces computed from the state at its start."""
    model, carrier = ground.model, ground.carrier
    mujoco.mj_step1(model, data)
    wrench = now()
    data.qfrc_applied[:] = 0
    for foot, (force, torque) in zip(carrier.feet, wrench.reshape(-1, 2, 3), strict=True):
        body = carrier.moving[foot.body]
        point = data.xpos[body] + data.xmat[body].reshape(3, 3) @ foot.position
        mujoco.mj_applyFT(model, data, force, torque, point, body, data.qfrc_applied)
    mujoco.mj_step2(model, data)


#: A legged box: one knee is driven through a tendon, a spring pulls on another, a connect ties a parallel link to a
#: shank (a closed loop), and a tail of two links lies on the box.
CLOSED = """
<mujoco model="closed">
  <option timestep="0.002" integrator="implicitfast"/>
  <default><geom density="500" friction="0.8"/><joint damping="0.2" armature="0.005"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body name="box" pos="0 0 0.35">
      <freejoint/>
      <geom name="box" type="box" size="0.2 0.1 0.05"/>
      <site name="imu"/>
      <body name="tail" pos="-0.1 0 0.06">
        <joint name="tail" type="hinge" axis="0 1 0" range="-170 170" limited="true"/>
        <geom type="sphere" pos="0 0 0.03" size="0.01"/>
        <body name="tip" pos="0 0 0.05">
          <joint name="tip" type="hinge" axis="0 1 0"/>
          <geom name="tip" type="capsule" fromto="0.02 0 0 0.15 0 0" size="0.02"/>
        </body>
      </body>
      {legs}
    </body>
  </worldbody>
  <tendon>
    <fixed name="pull" stiffness="30" damping="0.5" springlength="0">
      <joint joint="knee0" coef="1"/><joint joint="knee1" coef="-1"/>
    </fixed>
    <fixed name="both" range="-0.05 0.05" limited="true">
      <joint joint="hip2" coef="1"/><joint joint="hip3" coef="-1"/>
    </fixed>
  </tendon>
  <equality>
    <joint name="gear" joint1="knee2" joint2="knee3" polycoef="0 1 0 0 0"/>
    <connect name="loop" body1="link" body2="shank0" anchor="0 0 -0.1"/>
  </equality>
  <contact><exclude body1="box" body2="link"/></contact>
  <actuator>
    {servos}
    <motor name="pull" tendon="pull" gear="1"/>
  </actuator>
  <sensor>
    <force name="ankle" site="ankle0"/>
    <touch name="touch" site="ankle0"/>
    <touch name="inside" site="inside0"/>
    <touch name="cut" site="ankle0" cutoff="2"/>
    <accelerometer name="acc" site="imu"/>
    <framelinvel name="vel" objtype="body" objname="box"/>
  </sensor>
</mujoco>
"""
LEG = """
<body name="thigh{k}" pos="{x} {y} -0.03">
  <joint name="hip{k}" type="hinge" axis="0 1 0" range="-60 60" frictionloss="0.1"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.13" size="0.02"/>{link}
  <body name="shank{k}" pos="0 0 -0.15">
    <joint name="knee{k}" type="hinge" axis="0 1 0" range="-60 60"/>
    <geom type="capsule" fromto="0 0 -0.02 0 0 -0.1" size="0.015"/>
    <body name="ankle{k}" pos="0 0 -0.13">
      <site name="ankle{k}" size="0.04"/>
      <site name="inside{k}" size="0.02"/>
      <geom name="foot{k}" type="sphere" size="0.03"/>
    </body>
  </body>
</body>
"""
LINK = """<body name="link" pos="0.05 0 -0.15">
  <joint name="link" type="hinge" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 -0.05 0 -0.1" size="0.005" contype="0" conaffinity="0"/></body>"""


def closed_xml() -> str:
    corners = [(x, y) for x in (0.15, -0.15) for y in (0.1, -0.1)]
    legs = "".join(LEG.format(k=k, x=x, y=y, link=LINK if k == 0 else "") for k, (x, y) in enumerate(corners))
    servos = "".join(
        f'<position name="{j}{k}" joint="{j}{k}" kp="60" kv="3" forcerange="-20 20"/>'
        for k in range(4)
        for j in ("hip", "knee")
    )
    return CLOSED.format(legs=legs, servos=servos)


def closed_model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(closed_xml())


#: The same on a small scale, which MJX compiles in seconds: two hips are geared, a tendon limits the others, one has
#: dry friction, and a tail lies on the box.
SMALL = """
<mujoco model="small">
  <option timestep="0.002" integrator="implicitfast"/>
  <default><geom density="500" contype="0" conaffinity="0"/><joint type="hinge" axis="0 1 0" damping="0.3"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" contype="1" conaffinity="1"/>
    <body name="box" pos="0 0 0.24">
      <freejoint/>
      <geom name="box" type="box" size="0.2 0.1 0.05" contype="2" conaffinity="2"/>
      <body name="tail" pos="-0.1 0 0.09">
        <joint name="tail" range="-170 170" limited="true"/>
        <geom type="capsule" fromto="0 0 0 0.05 0 0" size="0.01"/>
        <body name="tip" pos="0.05 0 0">
          <joint name="tip"/>
          <geom name="tip" type="sphere" pos="0.05 0 0" size="0.03" contype="2" conaffinity="2"/>
        </body>
      </body>
      {legs}
    </body>
  </worldbody>
  <tendon>
    <fixed name="both" range="-0.05 0.05" limited="true">
      <joint joint="hipRL" coef="1"/><joint joint="hipRR" coef="-1"/>
    </fixed>
  </tendon>
  <equality><joint name="gear" joint1="hipFL" joint2="hipFR" polycoef="0 1 0 0 0"/></equality>
  <actuator>{servos}</actuator>
  <sensor><touch site="FL"/><touch site="RR" cutoff="4"/></sensor>
</mujoco>
"""
SMALL_LEG = """
<body name="leg{k}" pos="{x} {y} 0">
  <joint name="hip{k}" range="-30 30" limited="true" frictionloss="{rubs}"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02"/>
  <geom name="{k}" type="sphere" pos="0 0 -0.2" size="0.04"/>
  <site name="{k}" pos="0 0 -0.2" size="0.05"/>
</body>
"""


def small_xml() -> str:
    corners = {"FL": (0.15, 0.1, 0.1), "FR": (0.15, -0.1, 0), "RL": (-0.15, 0.1, 0), "RR": (-0.15, -0.1, 0)}
    legs = "".join(SMALL_LEG.format(k=k, x=x, y=y, rubs=rubs) for k, (x, y, rubs) in corners.items())
    servos = "".join(f'<position name="hip{k}" joint="hip{k}" kp="40" kv="2"/>' for k in corners)
    return SMALL.format(legs=legs, servos=servos)


def small_model() -> mujoco.MjModel:
    model = mujoco.MjModel.from_xml_string(small_xml())
    sg.mujoco.take_out_floor(model)
    return model
