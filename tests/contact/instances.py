"""Random instances of the granular step: RoboSimian in the measured sand (in the shipped sand where it is
absent)."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import RBFInterpolator

from softground import media
from softground.contact import Contacts, StepProblem
from softground.contact.feet import contact_jacobian, feet_in_ground
from softground.media.base import FootInGround
from softground.media.wrench_space import DepthTilt, SupportFunction, WrenchSpace
from softground.robots import Robot
from softground.surfaces import Plane

COUNT = 1000
DT = 0.005
EPS = 1e-3
REFERENCE_HEIGHT = 0.1572  # m above the sole, where the authors measured torque
GRAIN_INERTIA = np.diag([14.714, 14.714, 0.122])  # zhu2019
MEASURED = Path(__file__).resolve().parents[3] / "shared" / "data" / "sand_wrenches_measured.csv"


class Instances(NamedTuple):
    """A batch of steps (leading axis); dt and the metric M are the robot's own."""

    mass: np.ndarray
    momentum: np.ndarray
    jacobian: np.ndarray
    vertices: np.ndarray  # (batch, feet, vertices, 3), without the origin

    def problems(self, eps: float) -> StepProblem:
        origin = np.zeros_like(self.vertices[:, :, :1])
        laws = SupportFunction(
            jnp.asarray(np.concatenate([self.vertices, origin], axis=2)),
            jnp.full(self.vertices.shape[:2], eps),
        )
        dt = jnp.full(len(self.mass), DT)
        contacts = Contacts(jnp.asarray(self.jacobian), laws)
        return StepProblem(jnp.asarray(self.mass), jnp.asarray(self.momentum), (contacts,), None, dt)


@cache
def robosimian() -> Robot:
    return Robot.load("robosimian")


@cache
def instances(count: int = COUNT) -> Instances:
    """RoboSimian near its stance, every foot at a depth of its own (uneven ground): a tenth of them in the
    air."""
    robot, random = robosimian(), np.random.default_rng(0)
    q = np.repeat(robot.posture[None], count, 0)
    q[:, 2] += random.uniform(-0.2, 0.2, count)
    q[:, 3:] += random.uniform(-0.22, 0.22, (count, robot.nv - 3))  # |tilt| < 0.2 + 3 * 0.22 < 0.9
    speed = 10 ** random.uniform(-3, 0, (count, 1))  # from standing, where feet stick, to falling
    v = speed * np.c_[random.normal(0, 0.4, (count, 3)), random.normal(0, 0.8, (count, robot.nv - 3))]
    torque = np.c_[np.zeros((count, 3)), speed * random.normal(0, 40, (count, robot.nv - 3))]
    depth = random.uniform(0, 0.07, (count, 4)) * (random.uniform(size=(count, 4)) > 0.1)
    height = WrenchSpace(np.zeros((1, 1, 3)), DepthTilt(), reference_height=REFERENCE_HEIGHT)
    four_heights = jax.tree.map(lambda leaf: jnp.stack([jnp.asarray(leaf)] * 4), height)

    @jax.jit
    @jax.vmap
    def step(q, v, torque):
        kin = robot.kinematics(q)
        feet = feet_in_ground(robot, kin, Plane())
        mass = robot.mass_matrix(kin)
        momentum = mass @ v + DT * (torque - robot.bias_force(kin, v))
        return mass, momentum, contact_jacobian(feet, robot.foot_jacobians(kin), four_heights), feet.tilt

    mass, momentum, jacobian, tilt = map(np.asarray, step(q, v, torque))
    assert np.abs(tilt).max() < 0.9
    return Instances(mass, momentum, jacobian, vertices(depth.ravel(), tilt.ravel()).reshape(count, 4, -1, 3))


def vertices(depth: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """Vertices of the wrench set (n, k, 3) about the point 0.1572 m above the sole, zero for feet in the air."""
    found = measured_vertices(depth, tilt) if MEASURED.is_file() else shipped_vertices(depth, tilt)
    return found * (depth > 0)[:, None, None]


def measured_vertices(depth: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """Thin-plate splines through the 19 measured poses, inputs weighted 5 to 1 as the authors do."""
    table = np.genfromtxt(MEASURED, delimiter=",", skip_header=1)
    poses = table[:, :2].reshape(-1, 26, 2)[:, 0]
    spline = RBFInterpolator(
        poses * [-5.0, 1.0], table[:, 3:].reshape(len(poses), -1), kernel="thin_plate_spline", degree=1
    )
    found = spline(np.c_[5.0 * depth, np.abs(tilt)]).reshape(-1, 26, 3)
    mirror = np.where(tilt[:, None] < 0, [-1.0, 1.0, -1.0], 1.0)
    return found * mirror[:, None]


def shipped_vertices(depth: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """Those of the shipped sand, moved from the sole to the reference point."""
    space = media.sand().for_foot(robosimian().feet[0].shape, planar=True)
    zero, one = np.zeros_like(tilt), np.ones_like(tilt)
    turn = np.array([[np.cos(tilt), zero, np.sin(tilt)], [zero, one, zero], [-np.sin(tilt), zero, np.cos(tilt)]])
    turn = np.moveaxis(turn, -1, 0)
    feet = FootInGround(depth, np.zeros((len(depth), 3)), turn, np.broadcast_to(np.eye(3), turn.shape))
    found = np.array(jax.vmap(space.vertices)(feet))[:, :-1]
    up, along = REFERENCE_HEIGHT * np.cos(tilt)[:, None], REFERENCE_HEIGHT * np.sin(tilt)[:, None]
    # torque about sole + r: ty - (r x f)_y = ty - (r_z f_x - r_x f_z)
    found[..., 2] -= up * found[..., 0] - along * found[..., 1]
    return found
