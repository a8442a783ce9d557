"""Soft ground inside of MJX: in a batch it is what it is in MuJoCo, robot by robot."""

import re
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from mujoco import mjx

import softground as sg
from softground.bridges.mujoco.carrying import carrier_of
from softground.errors import OptionError, RobotError
from softground.simulation.groups import groups_under_feet

from .mujoco_cases import small_model, small_xml

FEET = ("FL", "FR", "RL", "RR")
#: The robots run piece by piece, of so many steps.
STEPS, PIECE, STRENGTHS = 300, 20, (1.0, 2.0, 4.0)


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> dict[str, Any]:
    """What the program of the page leaves: docs/from_mujoco.md, as printed, with a file of ours for the user's."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "robot.xml").write_text(small_xml())
    text = (Path(__file__).parents[2] / "docs" / "from_mujoco.md").read_text()
    program = next(found for found in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "sg.mjx" in found)
    names: dict = {}
    exec(program.replace("robot.xml", str(folder / "robot.xml")), names)
    return names


def told(k: int) -> tuple[np.ndarray, float]:
    """Servos swing, and the box is pushed sideways for a while (N): limits and the tail's contact come and go."""
    return 0.3 * np.sin(0.02 * k) * np.array([1.0, 1.0, -1.0, 1.0]), 20.0 if 150 < k < 170 else 0.0


@cache
def program():
    """Robots on sand of these strengths: a start, and a function from states at a step to states and what was seen."""
    model = small_model()
    ground = sg.mjx.Ground(model, sg.sand(), feet=FEET, backend="xla")
    mjx_model = mjx.put_model(model)
    ctrl, push = (jnp.stack(series) for series in zip(*map(told, range(STEPS)), strict=True))

    def start(sideways):
        data = mjx.make_data(model)
        data = data.replace(qvel=data.qvel + sideways)
        return data, ground.reset(mjx_model, data)

    @jax.jit
    @partial(jax.vmap, in_axes=(0, 0, None))
    def piece(strength, state, first):
        soft = ground.on(sg.sand(strength))

        def advance(state, k):
            data, memory = state
            data = data.replace(ctrl=ctrl[k], xfrc_applied=data.xfrc_applied.at[1, 1].set(push[k]))
            data, memory = soft.step(mjx_model, data, memory)
            seen = {key: getattr(data, key) for key in ("qpos", "qvel", "xfrc_applied", "sensordata")}
            return (data, memory), memory._asdict() | seen

        return jax.lax.scan(advance, state, first + jnp.arange(PIECE))

    return jax.jit(jax.vmap(start)), partial(piece, np.array(STRENGTHS))


@pytest.fixture(scope="module")
def walked() -> dict[str, np.ndarray]:
    """All steps of all robots, robots first."""
    start, piece = program()
    state, pieces = start(np.zeros(3)), []
    for first in range(0, STEPS, PIECE):
        state, seen = piece(state, first)
        pieces.append(seen)
    return jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *pieces)


def test_the_program_of_the_page(page):
    weight = page["model"].body_subtreemass[0] * 9.81
    total = np.asarray(page["memory"].wrenches[:, :, 2].sum(1))
    assert np.asarray(page["memory"].converged).all()
    assert (total > 0.2 * weight).all()
    deepest = np.asarray(page["memory"].depth.max(1))
    assert (np.diff(deepest) < 0).all()  # the stronger the sand, the less


@pytest.mark.parametrize("robot", [0, 2])
def test_robots_of_a_batch_are_those_of_mujoco(walked, robot):
    """Each on its own sand, for 300 steps from one start, with an equality, limits, a tendon's limit, dry friction, and
    a contact between bodies: to what rounding and two solvers' tolerances have grown to in 300 steps."""
    model = small_model()
    data = mujoco.MjData(model)
    ground = sg.mujoco.Ground(model, sg.sand(STRENGTHS[robot]), feet=FEET)
    touched = 0
    for k in range(STEPS):
        data.ctrl[:], data.xfrc_applied[1, 1] = told(k)
        ground.step(model, data)
        touched += data.ncon > 0
        np.testing.assert_allclose(walked["qvel"][robot, k], data.qvel, atol=1e-7)
        np.testing.assert_allclose(walked["wrenches"][robot, k], ground.wrenches, atol=1e-4)
        np.testing.assert_allclose(walked["depth"][robot, k], ground.depth, atol=1e-9)
        np.testing.assert_allclose(walked["xfrc_applied"][robot, k], data.xfrc_applied, atol=1e-4)
        np.testing.assert_allclose(walked["sensordata"][robot, k], data.sensordata, atol=1e-4)
        assert walked["power"][robot, k] == pytest.approx(ground.power, abs=1e-5)
    assert walked["converged"][robot].all()
    assert touched > 50
    assert data.sensordata[0] > 1


def test_a_robot_that_is_not_finite_is_alone_with_it(walked):
    """The others do what they do when it is well."""
    start, piece = program()
    lost = np.arange(3) == 1
    seen = piece(start(np.where(lost, np.nan, 0.0)), 0)[1]
    assert not np.asarray(seen["converged"])[lost].any()
    assert walked["converged"].all()
    one, other = (jax.tree.leaves(series) for series in (seen, walked))
    for series, well in zip(one, other, strict=True):
        np.testing.assert_array_equal(np.asarray(series)[~lost], well[~lost, :PIECE])


def test_it_gives_no_energy(walked):
    """Sand gives at most eps log K a foot (docs/media.md); K is the number of corners of its wrench space."""
    (group,) = groups_under_feet(sg.sand(), carrier_of(small_model(), FEET, "feet", None))
    medium: Any = group.medium
    allowed = float(np.sum(medium.eps)) * np.log(medium.coefficients.shape[2] + 1)
    assert walked["power"].max() <= allowed
    assert walked["power"].min() < -0.1


def test_without_constraints_it_is_our_simulator_and_has_gradients():
    """One foot on foam under Euler's step, thrown forwards: states are those of `sg.Simulator`, which shares the laws
    and nothing of MJX; the derivative of the way by the foam's stiffness is that of differences."""
    own, dt = sg.Robot.load("foot"), 0.005
    model = own.mujoco_model()
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_EULER, dt
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    ours = sg.Simulator(own, sg.foam(), dt)
    start = ours.initial_state(v=np.array([0.3, -0.2, 0.0]), height=0.001)
    mjx_model = mjx.put_model(model)
    data = mjx.make_data(model).replace(qpos=start.q, qvel=start.v)
    foam = sg.Ground(sg.foam())
    ground = sg.mjx.Ground(model, foam, feet={foot.name: foot.shape for foot in own.feet}, backend="xla")

    @jax.jit
    def states(factor):
        here = ground.on(foam.stronger(factor))

        def advance(state, _):
            state = here.step(mjx_model, *state)
            return state, (state[0].qpos, state[1].wrenches)

        return jax.lax.scan(advance, (data, here.reset(mjx_model, data)), None, length=60)[1]

    qpos, wrenches = states(1.0)
    record = ours.rollout(start, None, 60)[1]
    np.testing.assert_allclose(qpos[:-1], record.q[1:], atol=1e-10)
    np.testing.assert_allclose(wrenches, record.wrench_world, atol=1e-5 * float(own.weight))
    way = lambda factor: states(factor)[0][-1, 0]  # noqa: E731
    gradient = jax.jit(jax.grad(way))(1.0)
    h = 1e-5
    assert float(gradient) == pytest.approx(float(way(1 + h) - way(1 - h)) / (2 * h), rel=1e-5)
    assert abs(gradient) > 1e-5


def test_mistakes_are_named():
    model = small_model()
    ground = sg.mjx.Ground(model, sg.sand(), feet=FEET)
    mjx_model, data = mjx.put_model(model), mjx.make_data(model)
    memory: Any = None  # is not looked at before
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), data)
    with pytest.raises(OptionError, match=r"for a batch use jax\.vmap\(ground\.step\)"):
        ground.step(mjx_model, batch, memory)
    with pytest.raises(OptionError, match=r"is for an mjx\.Model, got MjModel"):
        ground.step(model, data, memory)
    other = sg.Robot.load("foot").mujoco_model()
    with pytest.raises(OptionError, match="made for small with"):
        ground.reset(mjx.put_model(other), mjx.make_data(other))
    with pytest.raises(OptionError, match=r"needs the mujoco\.MjModel"):
        sg.mjx.Ground(mjx_model, sg.sand(), feet=FEET)
    with pytest.raises(OptionError, match="footprints are not kept in MJX"):
        ground.on(sg.Ground(sg.sand(), footprints=sg.terrain.Footprints()))
    with pytest.raises(RobotError, match="no feet given and none marked"):
        sg.mjx.Ground(model, sg.sand())
    with pytest.raises(RobotError, match=r"rigid floor \(geom floor\) still pushes"):
        sg.mjx.Ground(
            mujoco.MjModel.from_xml_string(small_xml().replace('contype="0"', 'contype="1"')), sg.sand(), FEET
        )
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    with pytest.raises(OptionError, match=r"must be Euler or implicitfast.*mjINT_IMPLICITFAST"):
        sg.mjx.Ground(model, sg.sand(), feet=FEET)
