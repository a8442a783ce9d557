"""Programs that are made once for a model and a ground, and run beside any data of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import mujoco
import numpy as np

from softground.bridges.mujoco.answering import Limited, Rates, tree_pattern
from softground.bridges.mujoco.calls import Call, at_once, one_by_one
from softground.bridges.mujoco.carrying import Carrier, Pose
from softground.bridges.mujoco.options import groups_on
from softground.bridges.mujoco.pushing import Given, Memory, Touching, push, untouched
from softground.contact.newton import Newton
from softground.envs.grounds import Grounds, Parameters
from softground.native.direct import Direct
from softground.native.errors import NotNative
from softground.native.parts import say_why_not


class Programs:
    """Of the ground's part of a step, of its beginning, and of small arithmetic between."""

    def __init__(self, model: mujoco.MjModel, grounds: Grounds, carrier: Carrier, solver: Newton, backend: str):
        self.carrier, self.grounds = carrier, grounds
        self.values: dict[str, Any] = {name: np.array(value) for name, value in grounds.middle().items()}
        """Parameters of the ground, which programs read where they are."""
        with jax.enable_x64(True):
            self.groups = groups_on(grounds.with_parameters(self.values), carrier)
        self._model, self._solver, self._backend = model, solver, backend
        self._limited = Limited(model)
        self._steps: dict[bool, Any] = {}
        self._small: dict[Callable, Any] = {}
        self._untouched: Callable[[Pose, Parameters], Memory] | None = None

    def of_step(self, data: mujoco.MjData, alone: bool) -> Any:
        """`push`, of a step and of `values`, where constraints are of single dofs alone, or of any kind."""
        if alone not in self._steps:
            with jax.enable_x64(True):
                rates = Rates(self._model, data)  # not of `data`, which programs must not keep alive
                step = lambda given, values: push(self._touching(rates, values), given)  # noqa: E731
                self._steps[alone] = _program(step, (self.example(data, alone), self.values), self._backend)
        return self._steps[alone]

    def small(self, function: Callable, arguments: tuple) -> Any:
        """Of a function of arrays like these."""
        if function not in self._small:
            with jax.enable_x64(True):
                self._small[function] = _program(function, arguments, self._backend)
        return self._small[function]

    def in_a_row(self, calls: Sequence[Call]) -> Callable[[], None]:
        """Calls of MuJoCo's functions as one."""
        if self._backend == "native":
            try:
                return at_once(calls)
            except NotNative as reason:
                say_why_not("calls of MuJoCo", str(reason))
        return one_by_one(calls)

    def fresh_memory(self, data: mujoco.MjData) -> Memory:
        """What ground remembers in which the feet have been where they are now all along."""
        with jax.enable_x64(True):
            if self._untouched is None:
                rates = Rates(self._model, data)
                self._untouched = jax.jit(lambda pose, values: untouched(self._touching(rates, values), pose))
            return jax.tree.map(np.array, self._untouched(_pose(data), self.values))

    def touching(self, data: mujoco.MjData) -> Touching:
        """What meets the ground, where none of it varies."""
        return self._touching(Rates(self._model, data), {})

    def _touching(self, rates: Rates, values: Parameters) -> Touching:
        """What meets the ground with these parameters; all else of it becomes constants of a program."""
        ground = self.grounds.with_parameters(values)
        groups = groups_on(ground, self.carrier) if values else self.groups
        return Touching(self.carrier, groups, ground.surface, self._solver, rates, tree_pattern(self._model))

    def example(self, data: mujoco.MjData, alone: bool = True) -> Given:
        """Arrays of which a step is made, those of MuJoCo where they are."""
        nv, touched = self._model.nv, len(self.carrier.touched)
        return Given(
            pose=_pose(data),
            dt=np.array(float(self._model.opt.timestep)),
            mass=np.eye(nv),
            rates=Rates(self._model, data).values,
            rows=self._limited.rows(self._model, data) if self._limited.any else None,
            stiffness=None if alone else np.zeros((nv, nv)),
            velocity=np.zeros(nv),
            reference=data.qvel,
            applied=np.zeros((touched, 6)),
            pushed=np.zeros((touched, 6)),
            memory=self.fresh_memory(data),
        )


class _ByXla:
    """What `Direct` is, through XLA."""

    def __init__(self, function: Callable, examples: tuple):
        self._function = jax.jit(function)
        self._shapes = jax.eval_shape(function, *examples)

    def results(self) -> Any:
        return jax.tree.map(lambda shape: np.zeros(shape.shape, shape.dtype), self._shapes)

    def bound(self, arguments: tuple, results: Any) -> Callable[[], None]:
        def call() -> None:
            with jax.enable_x64(True):
                jax.tree.map(np.copyto, results, jax.tree.map(np.asarray, self._function(*arguments)))

        return call


def _program(function: Callable, examples: tuple, backend: str) -> Any:
    if backend == "native":
        try:
            return Direct(function, *examples)
        except NotNative as reason:
            say_why_not("steps in MuJoCo", str(reason))
    return _ByXla(function, examples)


def _pose(data: mujoco.MjData) -> Pose:
    return Pose(data.xpos, data.xmat, data.xipos, data.subtree_com, data.cdof)
