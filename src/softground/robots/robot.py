"""Robot: a rigid-body tree with feet, read from MJCF or URDF, with its dynamics as pure functions."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array, one_program
from softground.errors import RobotError, unknown_name
from softground.robots import dynamics
from softground.robots.bodies import Body
from softground.robots.catalogue import Recipe
from softground.robots.dynamics import Kinematics, difference, integrate
from softground.robots.feet import Foot
from softground.robots.frames import Frames
from softground.robots.rotations import cross, matmul3, matvec3
from softground.robots.shapes import Shape
from softground.robots.tree import Tree, TreeParameters

if TYPE_CHECKING:
    import mujoco

Configuration = Float[Array, " nq"] | Kinematics
"""A configuration q, or the `Kinematics` already computed at it (so that a time step computes it once)."""


class Robot(eqx.Module):
    """A robot and its dynamics.

    State follows MuJoCo: q = qpos (a free joint: position, quaternion wxyz), v = qvel (a free joint: linear
    velocity in the world frame, angular velocity in the body frame). SI units, world z up. The precision of
    every result is that of q. Every method is pure: jit, vmap and grad it; called with numbers it is a
    program of its own, compiled at the first call.

    Parameters are array leaves (NumPy float64 as loaded): closed over by a jitted function they become
    constants of the compiled program; passed in or replaced with `eqx.tree_at` they can be differentiated
    and randomised.

    >>> import softground as sg
    >>> robot = sg.Robot.load("robosimian")
    >>> len(robot.feet), robot.nu
    (4, 12)
    """

    name: str = eqx.field(static=True)
    tree: Tree = eqx.field(static=True)
    joint_names: tuple[str, ...] = eqx.field(static=True)
    """(nl,) in the order of q and v."""
    body_names: tuple[str, ...] = eqx.field(static=True)
    """(nb,) the bodies that move; what is welded to one counts as part of it."""
    actuated: tuple[int, ...] = eqx.field(static=True)
    """(nu,) dofs that have an actuator."""
    limited: tuple[int, ...] = eqx.field(static=True)
    """Dofs (slides and hinges) with a finite `joint_range`."""
    planar: bool = eqx.field(static=True)
    """Whether every dof moves in the x-z plane: slides in it and hinges about y."""
    recipe: Recipe = eqx.field(static=True)
    """What `Robot.load` was given: `Robot.from_recipe(robot.recipe)` is the same robot."""
    sha256: str = eqx.field(static=True)
    """Digest of the compiled model with its feet: equal digests mean equal dynamics."""
    parameters: TreeParameters
    feet: tuple[Foot, ...]
    gravity: Float[Array, "3"]
    """Acceleration of free fall in the world frame (m/s2)."""
    damping: Float[Array, " nv"]
    """Viscous friction of each dof (N m s/rad, N s/m)."""
    stiffness: Float[Array, " nv"]
    """Joint springs (N m/rad, N/m) of slides and hinges."""
    spring_reference: Float[Array, " nv"]
    """Joint positions at which the springs are at rest (rad, m)."""
    friction_loss: Float[Array, " nv"]
    """Dry friction of each dof (N m, N)."""
    torque_limit: Float[Array, " nu"]
    """Greatest actuator effort (N m, N); inf where the model gives none."""
    joint_range: Float[Array, "nv 2"]
    """Lower and upper limit of slides and hinges (rad, m); infinite where there is none."""
    posture: Float[Array, " nq"]
    """Reference configuration, usually standing."""
    bodies: tuple[Body, ...] = ()
    """What meets the ground beside the feet."""

    @classmethod
    def load(
        cls,
        path_or_name: str | Path,
        feet: Iterable[str] | Mapping[str, Shape] | None = None,
        lock: Iterable[str] | Mapping[str, float] = (),
        planar: bool = False,
        posture: str | Mapping[str, float] | None = None,
        ignore: Iterable[str] = (),
        contacts: str | Iterable[str] = "feet",
    ) -> "Robot":
        """Load a robot from the catalogue (`softground.robots.available()`) or from an MJCF or URDF file.

        Args:
            path_or_name: name in the catalogue, or path of an .xml (MJCF) or .urdf file.
            feet: names of bodies, geoms or sites, or a mapping of names to shapes; None takes those of the
                catalogue or those marked in the file by
                `<custom><text name="softground_feet" data="..."/></custom>`.
            lock: joints to weld (glob patterns allowed) at the posture, or a mapping of joints to angles
                (rad, m).
            planar: reduce a free base to x, z and pitch, and weld every joint that leaves the x-z plane.
            posture: name of a keyframe, or joint values (the rest at the model's reference); None takes
                keyframe 'home' or 'stand', else the model's reference.
            contacts: what meets the ground: "feet"; "all" collision geometry of the file; or names of bodies and
                geoms, beside the feet.
            ignore: features of the file to leave out that the dynamics do not have and that are refused otherwise,
                such as 'equality' or 'tendon' (docs/model_files.md): the robot is then another one than the file's.

        Raises:
            RobotError: the file cannot be read, says what the dynamics do not have, a name is unknown, a moving body
                has no inertia, ...
        """
        return cls.from_recipe(Recipe.of(path_or_name, feet, lock, planar, posture, ignore, contacts))

    @classmethod
    def from_recipe(cls, recipe: Recipe) -> "Robot":
        """Load the robot that a recipe describes (see `Robot.recipe`)."""
        from softground.robots.loading import load_fields  # loading needs mujoco, the dynamics do not

        return cls(**load_fields(recipe))

    def mujoco_model(self, meshes: bool = False) -> "mujoco.MjModel":
        """The MuJoCo model of this robot as loaded (same q, v and actuators): do not modify it.

        With `meshes`, the visual meshes of a URDF that can be found and read are drawn too (slower to build).
        Parameters replaced since loading are not in it.
        """
        from softground.robots.loading import compiled_model

        return compiled_model(self.recipe, self.sha256, meshes)

    @property
    def nq(self) -> int:
        """Length of q."""
        return self.tree.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom, length of v."""
        return self.tree.nv

    @property
    def nu(self) -> int:
        """Number of actuators."""
        return len(self.actuated)

    @property
    def dof_names(self) -> tuple[str, ...]:
        """(nv,) the joint's name, with the component where a joint has several dofs."""
        return tuple(
            name + suffix
            for name, kind in zip(self.joint_names, self.tree.joint_type, strict=True)
            for suffix in _DOF_SUFFIXES[kind]
        )

    @property
    def dof_q(self) -> tuple[int, ...]:
        """(nv,) entry of q moved by each slide or hinge dof; -1 for dofs of free and ball joints."""
        return self.tree.dof_q

    @property
    def total_mass(self) -> Float[Array, ""] | np.float64:
        """Mass of everything that moves (kg)."""
        return self.parameters.mass.sum()

    @property
    def weight(self) -> Float[Array, ""] | np.float64:
        """Weight of everything that moves (N), under the gravity of the model."""
        return self.total_mass * (self.gravity @ self.gravity) ** 0.5

    @property
    def armature(self) -> Float[Array, " nv"]:
        """Rotor inertia reflected to each dof (kg m2, or kg on slides)."""
        return self.parameters.armature

    # Kinematics

    @one_program
    def kinematics(self, q: Configuration) -> Kinematics:
        """Poses, screws and inertias at q: hand the result to the other methods in place of q."""
        return q if isinstance(q, Kinematics) else dynamics.kinematics(self.tree, self.parameters, q)

    @one_program
    def body_poses(self, q: Configuration) -> tuple[Float[Array, "nb 3"], Float[Array, "nb 3 3"]]:
        """Origin (m) and orientation in the world of each body frame."""
        return self._body_frames(self.kinematics(q), range(self.tree.n_bodies))

    @one_program
    def foot_poses(self, q: Configuration) -> tuple[Float[Array, "F 3"], Float[Array, "F 3 3"]]:
        """Origin (m) and orientation in the world of each foot frame."""
        kin = self.kinematics(q)
        position, rotation = self._body_frames(kin, [foot.body for foot in self.feet])
        place = jnp.stack([jnp.asarray(foot.position, kin.dtype) for foot in self.feet])
        turn = jnp.stack([jnp.asarray(foot.rotation, kin.dtype) for foot in self.feet])
        return position + matvec3(rotation, place), matmul3(rotation, turn)

    @one_program
    def foot_jacobians(self, q: Configuration) -> Float[Array, "F 6 nv"]:
        """Jacobians of the feet: twist (linear, angular) at the foot frame's origin, world frame, = J v."""
        kin = self.kinematics(q)
        position, _ = self.foot_poses(kin)
        return dynamics.point_jacobians(self.tree, kin, self._foot_bodies, position)

    @one_program
    def touching_poses(self, q: Configuration) -> tuple[Float[Array, "B 3"], Float[Array, "B 3 3"]]:
        """Origin (m) and orientation in the world of the frame of each of `bodies`."""
        return self._body_frames(self.kinematics(q), self._touching)

    @one_program
    def touching_jacobians(self, q: Configuration) -> Float[Array, "B 6 nv"]:
        """Jacobians of `bodies`: twist (linear, angular) at the origin of the body's frame, world frame, = J v."""
        kin = self.kinematics(q)
        return dynamics.point_jacobians(self.tree, kin, self._touching, self.touching_poses(kin)[0])

    @one_program
    def touching_twists(self, q: Configuration, v: Float[Array, " nv"]) -> Float[Array, "B 6"]:
        """Twist (linear m/s, angular rad/s) of each of `bodies` at its frame's origin, world frame."""
        kin = self.kinematics(q)
        return self._point_twists(kin, v, self._touching, self.touching_poses(kin)[0])

    @one_program
    def foot_twists(self, q: Configuration, v: Float[Array, " nv"]) -> Float[Array, "F 6"]:
        """Twist (linear m/s, angular rad/s) of each foot at its frame's origin, world frame."""
        kin = self.kinematics(q)
        return self._point_twists(kin, v, self._foot_bodies, self.foot_poses(kin)[0])

    @one_program
    def foot_bias_accelerations(self, q: Configuration, v: Float[Array, " nv"]) -> Float[Array, "F 6"]:
        """dJ/dt v of each foot: (linear m/s2, angular rad/s2) at zero joint acceleration, world frame."""
        kin = self.kinematics(q)
        return self._point_bias_accelerations(kin, v, self._foot_bodies, self.foot_poses(kin)[0])

    def frames(self, q: Configuration, v: Float[Array, " nv"], names: Sequence[str]) -> Frames:
        """Pose and motion of named frames: feet by their names, bodies (their own frames) by theirs.

        Raises:
            RobotError: a name is neither a foot nor a body of the robot.
        """
        kin = self.kinematics(q)
        bodies, place, turn = zip(*(self._frame(name) for name in names), strict=True)
        position, rotation = self._body_frames(kin, bodies)
        position = position + matvec3(rotation, jnp.stack([jnp.asarray(part, kin.dtype) for part in place]))
        rotation = matmul3(rotation, jnp.stack([jnp.asarray(part, kin.dtype) for part in turn]))
        return Frames(
            names=tuple(names),
            position=position,
            rotation=rotation,
            jacobian=dynamics.point_jacobians(self.tree, kin, bodies, position),
            twist=self._point_twists(kin, v, bodies, position),
            bias_acceleration=self._point_bias_accelerations(kin, v, bodies, position),
        )

    @one_program
    def center_of_mass(self, q: Configuration) -> Float[Array, "3"]:
        """Centre of mass of the whole robot in the world (m)."""
        kin = self.kinematics(q)
        return kin.origin + self._com_offset(kin)

    @one_program
    def center_of_mass_jacobian(self, q: Configuration) -> Float[Array, "3 nv"]:
        """Jacobian of the centre of mass: its velocity in the world (m/s) = J v."""
        return self.centroidal_momentum_matrix(q)[:3] / jnp.sum(jnp.asarray(self.parameters.mass))

    # Momentum and energy

    @one_program
    def centroidal_momentum(self, q: Configuration, v: Float[Array, " nv"]) -> Float[Array, "6"]:
        """Momentum (linear kg m/s, angular about the centre of mass kg m2/s), world axes; rotors excluded."""
        kin = self.kinematics(q)
        momentum = dynamics.momentum(self.parameters, kin, dynamics.body_twists(self.tree, kin, v))
        return self._about_com(kin, jnp.sum(momentum, axis=0))

    @one_program
    def centroidal_momentum_matrix(self, q: Configuration) -> Float[Array, "6 nv"]:
        """A(q) with `centroidal_momentum` = A v."""
        kin = self.kinematics(q)
        return self._about_com(kin, dynamics.momentum_matrix(self.tree, self.parameters, kin).T)

    @one_program
    def centroidal_momentum_rate(
        self, q: Configuration, v: Float[Array, " nv"], a: Float[Array, " nv"]
    ) -> Float[Array, "6"]:
        """Time derivative of `centroidal_momentum` at acceleration a: (force N, torque about the CoM N m)."""
        kin = self.kinematics(q)
        twist = dynamics.body_twists(self.tree, kin, v)
        acceleration = dynamics.body_accelerations(self.tree, kin, v, a)
        wrench = dynamics.body_wrenches(self.parameters, kin, twist, acceleration)
        return self._about_com(kin, jnp.sum(wrench, axis=0))

    @one_program
    def kinetic_energy(self, q: Configuration, v: Float[Array, " nv"]) -> Float[Array, ""]:
        """1/2 v' M v (J), armature included."""
        kin = self.kinematics(q)
        twist = dynamics.body_twists(self.tree, kin, v)
        bodies = jnp.sum(twist * dynamics.momentum(self.parameters, kin, twist))
        return 0.5 * (bodies + jnp.sum(jnp.asarray(self.armature, kin.dtype) * v * v))

    @one_program
    def potential_energy(self, q: Configuration) -> Float[Array, ""]:
        """Energy (J) of gravity, zero with the centre of mass at the world's origin, and of joint springs."""
        kin = self.kinematics(q)
        weight = jnp.asarray(self.total_mass * self.gravity, kin.dtype)
        stretch = self._spring_stretch(kin.q)
        springs = 0.5 * jnp.sum(jnp.asarray(self.stiffness, kin.dtype) * stretch * stretch)
        return springs - jnp.sum(weight * self.center_of_mass(kin))

    # Dynamics

    @one_program
    def mass_matrix(self, q: Configuration) -> Float[Array, "nv nv"]:
        """Inertia matrix M(q), armature included."""
        return dynamics.mass_matrix(self.tree, self.parameters, self.kinematics(q))

    @one_program
    def bias_force(self, q: Configuration, v: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """C(q, v) v + g(q) in M a + bias = applied force. Joint damping and springs: see `passive_force`."""
        return dynamics.inverse_dynamics(self.tree, self.parameters, self.kinematics(q), v, None, self.gravity)

    def passive_force(self, q: Configuration, v: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Force of joint dampers and springs: -damping v - stiffness (q - spring_reference)."""
        q = q.q if isinstance(q, Kinematics) else q
        damping, stiffness = jnp.asarray(self.damping, q.dtype), jnp.asarray(self.stiffness, q.dtype)
        return -damping * v - stiffness * self._spring_stretch(q)

    @one_program
    def inverse_dynamics(self, q: Configuration, v: Float[Array, " nv"], a: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Generalised force M a + bias that causes acceleration a (no damping, springs or contact)."""
        return dynamics.inverse_dynamics(self.tree, self.parameters, self.kinematics(q), v, a, self.gravity)

    @one_program
    def forward_dynamics(
        self, q: Configuration, v: Float[Array, " nv"], force: Float[Array, " nv"]
    ) -> Float[Array, " nv"]:
        """Acceleration M^-1 (force - bias) under a generalised force (no damping, springs or contact)."""
        kin = self.kinematics(q)
        factor = jax.scipy.linalg.cho_factor(self.mass_matrix(kin), lower=True)
        return jax.scipy.linalg.cho_solve(factor, force - self.bias_force(kin, v))

    # The configuration space

    def integrate(self, q: Float[Array, " nq"], v: Float[Array, " nv"], dt) -> Float[Array, " nq"]:
        """Configuration reached from q at constant v in time dt (s); quaternions by the exponential map."""
        return integrate(self.tree, q, v, dt)

    def difference(self, q0: Float[Array, " nq"], q1: Float[Array, " nq"]) -> Float[Array, " nv"]:
        """Velocity that leads from q0 to q1 in unit time: integrate(q0, difference(q0, q1), 1) = q1."""
        return difference(self.tree, q0, q1)

    def _frame(self, name: str) -> tuple[int, Float[Array, "3"], Float[Array, "3 3"]]:
        """Body that carries a named frame, and the frame's origin and orientation in it."""
        for foot in self.feet:
            if foot.name == name:
                return foot.body, foot.position, foot.rotation
        if name in self.body_names:
            return self.body_names.index(name), np.zeros(3), np.eye(3)
        known = [*(foot.name for foot in self.feet), *self.body_names]
        raise RobotError(f"{self.name}: {unknown_name('frame', name, known)}")

    def _point_twists(self, kin: Kinematics, v, bodies, points: Float[Array, "k 3"]) -> Float[Array, "k 6"]:
        """Twist at points fixed to bodies."""
        twist = dynamics.body_twists(self.tree, kin, v)[np.array(bodies)]
        angular, linear = twist[:, :3], twist[:, 3:]
        return jnp.concatenate([linear + cross(angular, points - kin.origin), angular], axis=1)

    def _point_bias_accelerations(self, kin: Kinematics, v, bodies, points: Float[Array, "k 3"]) -> Float[Array, "k 6"]:
        """dJ/dt v of points fixed to bodies."""
        twist = self._point_twists(kin, v, bodies, points)
        velocity, turn = twist[:, :3], twist[:, 3:]
        spatial = dynamics.body_accelerations(self.tree, kin, v)[np.array(bodies)]
        # Spatial acceleration is that of the velocity field at the fixed point o; a point carried along
        # by the body also sees the field turn: a = a_o + alpha x r + omega x (velocity of the point).
        linear = spatial[:, 3:] + cross(spatial[:, :3], points - kin.origin) + cross(turn, velocity)
        return jnp.concatenate([linear, spatial[:, :3]], axis=1)

    @property
    def _touching(self) -> tuple[int, ...]:
        return tuple(body.body for body in self.bodies)

    @property
    def _foot_bodies(self) -> tuple[int, ...]:
        return tuple(foot.body for foot in self.feet)

    def _body_frames(self, kin: Kinematics, bodies):
        bodies = np.array(list(bodies), dtype=int)
        links = np.array(self.tree.body_link)[bodies]
        rotation = dynamics.take(kin.link_rotation, links)
        origin = dynamics.take(jnp.asarray(self.parameters.body_origin, kin.dtype), bodies)
        return dynamics.take(kin.link_position, links) + matvec3(rotation, origin), rotation

    def _com_offset(self, kin: Kinematics) -> Float[Array, "3"]:
        """Centre of mass of the robot relative to kin.origin (m)."""
        mass = jnp.asarray(self.parameters.mass, kin.dtype)
        return jnp.sum(mass[:, None] * kin.com, axis=0) / jnp.sum(mass)

    def _about_com(self, kin: Kinematics, total: Float[Array, "6 ..."]) -> Float[Array, "6 ..."]:
        """(moment about o, vector) -> (vector, moment about the centre of mass)."""
        moment, vector = total[:3], total[3:]
        return jnp.concatenate([vector, moment - cross(self._com_offset(kin), vector.T).T])

    def _spring_stretch(self, q: Float[Array, " nq"]) -> Float[Array, " nv"]:
        """Joint positions less the springs' rest positions; zero for free and ball joints."""
        address = np.array(self.dof_q)
        stretch = q[np.maximum(address, 0)] - jnp.asarray(self.spring_reference, q.dtype)
        return jnp.where(address >= 0, stretch, jnp.zeros_like(stretch))


_DOF_SUFFIXES = {
    0: ("_vx", "_vy", "_vz", "_wx", "_wy", "_wz"),  # free
    1: ("_wx", "_wy", "_wz"),  # ball
    2: ("",),  # slide
    3: ("",),  # hinge
}
