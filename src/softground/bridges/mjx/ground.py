"""Ground that yields, for those who step models of MJX: functions of data and of what the ground remembers.

The step is that of `softground.bridges.mujoco`: MJX says with which velocity its step ends under the ground's wrenches
of the last one, the convex problem of `bridges/mujoco/pushing.py` which wrenches go with the velocity that they make,
and MJX takes the step with those. Where constraints act, rounds of this until both agree (`docs/from_mujoco.md`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Bool, Float
from mujoco import mjx

from softground.arrays import Array, in_precision
from softground.bridges.mjx.agreeing import Answer, Asked, agreed, once
from softground.bridges.mjx.answering import has_constraints
from softground.bridges.mjx.memory import Memory, fresh_memory
from softground.bridges.mjx.stepping import advanced, as_before, begun, pose_of, with_rows
from softground.bridges.mujoco.answering import EULER, IMPLICITFAST, tree_pattern
from softground.bridges.mujoco.carrying import Posture, carrier_of, model_name
from softground.bridges.mujoco.floor import refuse_floor
from softground.bridges.mujoco.options import check_options, groups_on, soft_ground
from softground.bridges.mujoco.pushing import Touching, untouched
from softground.bridges.mujoco.touch import touches
from softground.contact.newton import BatchNewton, Newton
from softground.errors import OptionError
from softground.media.base import Medium
from softground.media.wrench_space import EPS_SINGLE
from softground.robots.shapes import Shape
from softground.simulation.ground import Ground as SoftGround


class Ground:
    """Ground that yields under the feet of a model of MJX.

        ground = sg.mjx.Ground(model, sg.sand(), feet=["left_foot", "right_foot"])
        memory = ground.reset(mjx_model, data)
        data, memory = jax.jit(ground.step)(mjx_model, data, memory)  # in place of mjx.step(mjx_model, data)

    model: the `mujoco.MjModel` from which MJX's was made (`mjx.put_model(model)`), for its names. Its rigid floor must
    not touch what meets this ground: `sg.mujoco.take_out_floor(model)` before `put_model`. All other arguments are as
    of `sg.mujoco.Ground`.

    Functions are pure, for `jax.jit`, `jax.vmap` over data and memory (and over models of MJX), and `lax.scan`. `on`
    gives other ground: inside of a batch, other ground to every robot. Numbers have the precision of `data`. In single
    precision sand is not sharper than 0.02 W, and a tolerance below 1e-4 m/s would be lost in rounding.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        ground: SoftGround | Medium,
        feet: Iterable[str] | Mapping[str, Shape] | None = None,
        *,
        contacts: str | Iterable[str] = "feet",
        posture: Posture = None,
        tolerance: float = 1e-5,
        rounds: int = 20,
        solver: Newton | None = None,
        backend: str = "native",
    ):
        if not isinstance(model, mujoco.MjModel):
            raise OptionError(
                f"Ground needs the mujoco.MjModel from which the model of MJX is made, got {type(model).__name__}"
            )
        check_options(tolerance, rounds, backend)
        _check_integrator(int(model.opt.integrator))
        self.carrier = carrier_of(model, feet, contacts, posture)
        refuse_floor(model, self.carrier.touched)
        if solver is None:
            solver = Newton() if backend == "native" or jax.default_backend() == "cpu" else BatchNewton()
        self._name, self._sizes = model_name(model), (model.nq, model.nv, model.nbody)
        self._coupled, self._touches = tree_pattern(model), touches(model, self.carrier)
        self._tolerance, self._rounds, self._solver, self._backend = tolerance, int(rounds), solver, backend
        self.ground = soft_ground(ground, "MJX")
        groups_on(self.ground, self.carrier)  # raises where a medium does not serve the model

    def on(self, ground: SoftGround | Medium) -> Ground:
        """The same feet on other ground, the parameters of which may be traced.

        def step(strength, data, memory):
            return ground.on(sg.sand(strength)).step(mjx_model, data, memory)

        data, memory = jax.vmap(step)(strengths, data, memory)
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, ground=soft_ground(ground, "MJX"))
        return other

    @property
    def foot_names(self) -> tuple[str, ...]:
        """In the order of all that is said of feet."""
        return tuple(foot.name for foot in self.carrier.feet)

    def reset(self, model: mjx.Model, data: mjx.Data) -> Memory:
        """Memory of ground in which the feet have been where they are now all along."""
        self._check(model, data)
        placed = mjx.com_pos(model, mjx.kinematics(model, data))
        dtype = data.qpos.dtype
        ground = in_precision(untouched(self._touching(dtype), pose_of(placed)), dtype)
        return fresh_memory(self.carrier, ground, dtype)

    def step(self, model: mjx.Model, data: mjx.Data, memory: Memory) -> tuple[mjx.Data, Memory]:
        """Advance by `model.opt.timestep`, as `mjx.step` does."""
        self._check(model, data)
        start = begun(model, data)
        asked = Asked(self._touching(data.qpos.dtype), self._backend, self._tolerance, self._rounds)
        answer = (agreed if has_constraints(start) else once)(model, start, memory, asked)
        end = answer.reached.into(with_rows(start, asked.bodies, answer.push.applied))
        after = as_before(advanced(model, self._felt(mjx.sensor_acc(model, end), answer.push.normal)), data)
        return after, _remembered(answer, jnp.isfinite(after.qpos).all() & jnp.isfinite(after.qvel).all())

    def _felt(self, data: mjx.Data, normal: Float[Array, " f"]) -> mjx.Data:
        """With the ground's forces in touch sensors, N."""
        sensed = data.sensordata
        for sensor in self._touches:
            sensed = sensed.at[sensor.address].add(normal[np.array(sensor.feet)].sum())
            sensed = sensed.at[sensor.address].min(sensor.most)
        return data.replace(sensordata=sensed)

    def _touching(self, dtype) -> Touching:
        ground = _sharp_enough(self.ground) if dtype == jnp.float32 else self.ground
        # Bound before they are cast: what is known stays NumPy, and becomes constants of the program.
        groups = groups_on(ground, self.carrier)
        carrier, groups, surface = in_precision((self.carrier, groups, ground.surface), dtype)
        return Touching(carrier, groups, surface, self._solver, DENSE, self._coupled)

    def _check(self, model: mjx.Model, data: mjx.Data) -> None:
        """OptionError, while a program is traced, for a model of which this ground knows nothing."""
        for what, wanted in ((model, mjx.Model), (data, mjx.Data)):
            if not isinstance(what, wanted):
                raise OptionError(f"this step is for an mjx.{wanted.__name__}, got {type(what).__name__}")
        if (model.nq, model.nv, model.nbody) != self._sizes:
            raise OptionError(
                f"this ground was made for {self._name} with (nq, nv, nbody) = {self._sizes}, and the model has "
                f"{(model.nq, model.nv, model.nbody)}: make one for each, Ground(model, ...)"
            )
        if not isinstance(data._impl, mjx.DataJAX):
            raise OptionError('only MJX\'s own implementation is served: mjx.put_model(model, impl="jax")')
        if data.qpos.shape != (model.nq,):
            raise OptionError(
                f"data.qpos must have shape ({model.nq},), got {data.qpos.shape}: for a batch use jax.vmap(ground.step)"
            )
        _check_integrator(int(model.opt.integrator))


class _Dense:
    """Rates that are a matrix already."""

    @staticmethod
    def matrix(values: Float[Array, "nv nv"], nv: int) -> Float[Array, "nv nv"]:
        return values


DENSE: Any = _Dense()


def _remembered(answer: Answer, finite: Bool[Array, ""]) -> Memory:
    """What is known after a step, whose end is finite or not."""
    found = answer.push
    return Memory(
        wrenches=found.wrench_world,
        body_wrenches=found.body_wrench_world,
        depth=found.depth,
        power=found.power,
        stored_energy=found.stored,
        rounds=answer.rounds,
        mismatch=answer.apart.greatest,
        converged=found.converged & answer.apart.agreed & found.finite & finite,
        applied=found.applied,
        pushed=found.pushed,
        ground=found.memory,
    )


def _sharp_enough(ground: SoftGround) -> SoftGround:
    """With temperatures that single precision resolves."""

    def warmed(medium):
        if not hasattr(medium, "eps"):
            return medium
        return eqx.tree_at(lambda one: one.eps, medium, jnp.maximum(medium.eps, EPS_SINGLE))

    return eqx.tree_at(
        lambda one: (one.medium, one.bodies),
        ground,
        (warmed(ground.medium), warmed(ground.bodies)),
        is_leaf=lambda x: x is None,
    )


def _check_integrator(integrator: int) -> None:
    if integrator not in (EULER, IMPLICITFAST):
        raise OptionError(
            "model.opt.integrator must be Euler or implicitfast, which ask for forces once a step: write "
            "model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST before mjx.put_model"
        )
