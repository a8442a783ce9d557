"""What batches of our robots are timed beside: the same robots on a rigid plane, stepped by MJX and by MuJoCo Warp.

Neither says whether a step has converged. Theirs counts as such when it ends close to the step that `MANY_ITERATIONS`
make of the same state.
"""

from __future__ import annotations

import contextlib
import sys
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from softground.bench.motions import Motion
from softground.bridges.rigid_peer import rigid_peer
from softground.simulation import State

#: Iterations of the solver and of its line search: few, as their users do for speed.
ITERATIONS = 4
#: Iterations after which an answer is taken for exact, and of how many steps one is looked at: it takes long.
MANY_ITERATIONS, LOOK_EVERY = 20, 10
#: A step has converged if dv'M dv to the exact one is below this, J: 6e-5 m/s of a robot of 30 kg. Our own measure is
#: stricter (`contact/newton.py`).
TOLERANCE = 1e-7
#: Contacts and rows of constraints that MuJoCo Warp has room for, a robot: four rows for the pyramid of friction at
#: every foot, and limits of joints.
CONTACTS, ROWS = 8, 64


class Mjx:
    """The rigid peer, stepped by MJX."""

    def __init__(self, motion: Motion, dt: float, states: State, steps: int):
        with contextlib.redirect_stdout(sys.stderr):  # it says on standard output which optional parts are missing
            from mujoco import mjx

        self.motion, self.steps, self._step = motion, steps, mjx.step
        self._model, self._exact = (mjx.put_model(_peer(motion, dt, n)) for n in (ITERATIONS, MANY_ITERATIONS))
        self._blank = mjx.make_data(_peer(motion, dt, ITERATIONS))
        self._start = self._data(states)

    @cached_property
    def _rollout(self):
        def advance(data, _):
            return jax.vmap(self._stepped)(data), None

        return jax.jit(lambda data: jax.lax.scan(advance, data, None, length=self.steps)[0].qpos)

    def run(self) -> Any:
        """Positions at the end, on the device."""
        return jax.block_until_ready(self._rollout(self._start))

    def converged(self, states: State) -> float:
        """Share of the steps from these states on (of every tenth) that end close to the exact one."""

        def advance(data, _):
            after = self._stepped(data)
            change = after.qvel - self._stepped(data, exactly=True).qvel
            return jax.lax.fori_loop(1, LOOK_EVERY, lambda _, data: self._stepped(data), after), _is_close(
                self.motion, data.qpos, change
            )

        looks = max(self.steps // LOOK_EVERY, 1)
        run = jax.vmap(lambda data: jax.lax.scan(advance, data, None, length=looks)[1])
        return float(jax.jit(run)(self._data(states)).mean())

    def _data(self, states: State):
        return jax.vmap(lambda q, v: self._blank.replace(qpos=q, qvel=v))(states.q, states.v)

    def _stepped(self, data, exactly: bool = False):
        control = self.motion.target(data.time).astype(data.qpos.dtype)
        return self._step(self._exact if exactly else self._model, data.replace(ctrl=control))


class Warp:
    """The rigid peer, stepped by MuJoCo Warp: a step is recorded once as a graph of its kernels and started again."""

    def __init__(self, motion: Motion, dt: float, states: State, steps: int):
        with contextlib.redirect_stdout(sys.stderr):
            import warp

            warp.config.quiet = True  # before it begins
            import mujoco_warp

        self._warp, self._mujoco_warp = warp, mujoco_warp
        self.motion, self.steps = motion, steps
        models = [_peer(motion, dt, n) for n in (ITERATIONS, MANY_ITERATIONS)]
        self._plain = models[0]
        self._model, self._exact = map(mujoco_warp.put_model, models)
        for model in (self._model, self._exact):
            model.opt.warn_overflow = 0  # that iterations end at their limit is what was asked for
        # What the actuators are told in every step, the same for all robots.
        self._targets = np.stack([np.asarray(motion.target(k * dt), np.float32) for k in range(steps)])
        self._q, self._v = (warp.array(np.asarray(x, np.float32), dtype=float) for x in (states.q, states.v))

    def run(self) -> Any:
        """Positions at the end, on the device."""
        data, start = self._data, self._start
        for to, value in start.items():
            self._warp.copy(getattr(data, to), value)
        for target in self._device_targets:
            self._warp.copy(data.ctrl, target)
            self._advance()
        self._warp.synchronize()
        return data.qpos

    def converged(self, states: State) -> float:
        """Share of the steps from these states on (of every tenth) that end close to the exact one."""
        data, exact = self._new_data(len(states.q)), self._new_data(len(states.q))
        for to, value in (("qpos", states.q), ("qvel", states.v)):
            getattr(data, to).assign(np.asarray(value, np.float32))
        close = []
        for k, target in enumerate(self._targets):
            both = [data, exact] if k % LOOK_EVERY == 0 else [data]
            q = data.qpos.numpy() if len(both) > 1 else None
            if q is not None:
                for field in ("qpos", "qvel", "qacc_warmstart", "time"):
                    self._warp.copy(getattr(exact, field), getattr(data, field))
            for one, model in zip(both, (self._model, self._exact), strict=False):
                one.ctrl.assign(np.broadcast_to(target, one.ctrl.shape))
                self._mujoco_warp.step(model, one)
            if q is not None:
                change = data.qvel.numpy() - exact.qvel.numpy()
                close.append(jax.vmap(lambda q, dv: _is_close(self.motion, q, dv))(jnp.asarray(q), jnp.asarray(change)))
        return float(np.mean(close))

    def _new_data(self, robots: int) -> Any:
        return self._mujoco_warp.make_data(self._plain, nworld=robots, nconmax=CONTACTS, njmax=ROWS)

    @cached_property
    def _data(self) -> Any:
        return self._new_data(len(self._q))

    @cached_property
    def _start(self) -> dict[str, Any]:
        """What a rollout begins with."""
        blank = {name: self._warp.zeros_like(getattr(self._data, name)) for name in ("qacc_warmstart", "time")}
        return {"qpos": self._q, "qvel": self._v, **blank}

    @cached_property
    def _device_targets(self) -> list[Any]:
        rows = self._data.ctrl.shape[0]
        return [self._warp.array(np.tile(target, (rows, 1)), dtype=float) for target in self._targets]

    @cached_property
    def _advance(self):
        """One step of `_data`."""

        def step():
            self._mujoco_warp.step(self._model, self._data)

        step()  # compiled
        if not self._warp.get_preferred_device().is_cuda:
            return step
        with self._warp.ScopedCapture() as recorded:
            step()
        return lambda: self._warp.capture_launch(recorded.graph)


PEERS = {"mjx": Mjx, "warp": Warp}


def _peer(motion: Motion, dt: float, iterations: int):
    peer = rigid_peer(motion.robot, dt, motion.kp, motion.kd)
    peer.opt.iterations = peer.opt.ls_iterations = iterations
    return peer


def _is_close(motion: Motion, q: Any, change: Any) -> jax.Array:
    robot = motion.robot
    return change @ robot.mass_matrix(robot.kinematics(q)) @ change < TOLERANCE
