"""Bodies on the ground: they lie where geometry says, the ground only takes energy, and momentum is balanced."""

import equinox as eqx
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from softground import media
from softground.errors import MediumError
from softground.media.base import FootInGround
from softground.robots import Robot, Sphere
from softground.simulation import Ground, Simulator
from softground.simulation.groups import BodyGroup

MASS, GRAVITY, DT = 1.0, 9.81, 0.002
FLOATING = """<mujoco><worldbody><body name="thing" pos="0 0 1"><freejoint/>
  <inertial pos="0 0 0" mass="{mass}" diaginertia="0.004 0.004 0.004"/>
  {geoms}<site name="spike" type="sphere" size="0.006" pos="0 0 0"/></body></worldbody></mujoco>"""
#: A foot in the middle of each, which never touches: what is tested is the body.
LYING = {
    "sphere": ('<geom type="sphere" size="0.05"/>', [1, 0, 0, 0], 0.05),
    "capsule": ('<geom type="capsule" size="0.03 0.1"/>', [np.sqrt(0.5), 0, np.sqrt(0.5), 0], 0.03),
    "cylinder": ('<geom type="cylinder" size="0.04 0.1"/>', [np.sqrt(0.5), 0, np.sqrt(0.5), 0], 0.04),
    "standing cylinder": ('<geom type="cylinder" size="0.04 0.05"/>', [1, 0, 0, 0], 0.05),
    "ellipsoid": ('<geom type="ellipsoid" size="0.1 0.06 0.03"/>', [1, 0, 0, 0], 0.03),
    "box on its side": ('<geom type="box" size="0.1 0.06 0.03"/>', [np.sqrt(0.5), np.sqrt(0.5), 0, 0], 0.06),
}


def thing(folder, geoms: str, mass: float = MASS) -> Robot:
    file = folder / "thing.xml"
    file.write_text(FLOATING.format(geoms=geoms, mass=mass))
    return Robot.load(file, feet=["spike"], contacts="all")


def rollout(simulator: Simulator, state, steps: int):
    return jax.jit(lambda state: simulator.rollout(state, None, steps))(state)


@pytest.mark.parametrize("kind", LYING)
def test_what_lies_on_firm_ground_lies_where_geometry_says(kind, tmp_path):
    """Dropped from 1 mm; it sinks by weight / (k area), at most 0.1 mm, whose points an ellipsoid has on one spot."""
    geoms, quaternion, height = LYING[kind]
    simulator = Simulator(thing(tmp_path, geoms), media.firm(), DT)
    state = simulator.initial_state(np.array([0, 0, 1, *quaternion]), height=1e-3)
    final, record = rollout(simulator, state, 500)
    assert bool(record.converged.all())
    assert float(final.q[2]) == pytest.approx(height, abs=1e-4)
    assert np.abs(final.v).max() < 1e-6
    weight = np.asarray(record.body_wrench_world)[-1, 0, :3]
    np.testing.assert_allclose(weight, [0, 0, MASS * GRAVITY], atol=1e-6 * MASS * GRAVITY)


@pytest.mark.parametrize("angle", [45.0, 60.0])
def test_a_box_on_its_edge_falls_over_as_in_mujoco(angle, tmp_path):
    """From rest, a quarter of a second, against MuJoCo C with steps of 0.1 ms and contacts as stiff as they get.

    A box that pivots about its edge: both follow the pendulum. Ours slides until the ground has carried it for a step,
    because friction goes by the normal force of the step before, and the unstable motion enlarges that: 0.04 rad at
    steps of 1 ms, 0.002 at 0.25 ms from 60 degrees.
    """
    geom = '<geom type="box" size="0.05 0.05 0.15" friction="0.8"/>'
    robot = thing(tmp_path, geom)
    turn = np.deg2rad(angle)
    quaternion = [np.cos(turn / 2), 0, np.sin(turn / 2), 0]
    simulator = Simulator(robot, media.firm(), 2.5e-4)
    start = simulator.initial_state(np.array([0, 0, 1, *quaternion]), height=0.0)
    ours = np.asarray(rollout(simulator, start, 2000)[1].q)[::4]
    spec = mujoco.MjSpec.from_string(FLOATING.format(geoms=geom, mass=MASS))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=[0.8, 0, 0])
    spec.option.timestep, spec.option.cone = 1e-4, mujoco.mjtCone.mjCONE_ELLIPTIC
    for one in spec.geoms:
        one.solref, one.solimp = [5e-4, 1.0], [0.99, 0.999, 1e-4, 0.5, 2]
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = start.q
    theirs = []
    for _ in range(500):
        theirs.append(data.qpos.copy())
        mujoco.mj_step(model, data, nstep=10)
    pitch = [2 * np.arctan2(q[:, 5], q[:, 3]) for q in (ours, np.array(theirs))]
    down = int(np.argmax(pitch[1] > np.pi / 2 - 0.05))  # from there on it bounces
    assert down > 100
    np.testing.assert_allclose(pitch[0][:down], pitch[1][:down], atol=0.01)
    assert pitch[0][-1] == pytest.approx(np.pi / 2, abs=0.05)
    assert float(ours[-1, 2]) == pytest.approx(0.05, abs=0.003)


@pytest.fixture(scope="module")
def tumbling(tmp_path_factory):
    """A body of a box, a capsule and an ellipsoid, which spins and slides, on foam."""
    geoms = (
        '<geom type="box" size="0.1 0.05 0.02"/><geom type="capsule" size="0.02 0.1" pos="0 0.1 0.02"/>'
        '<geom type="ellipsoid" size="0.06 0.03 0.02" pos="0.1 0 0.05"/>'
    )
    robot = thing(tmp_path_factory.mktemp("tumbling"), geoms)
    simulator = Simulator(robot, media.foam(), DT)
    start = simulator.initial_state(v=np.array([0.5, 0.2, 0, 3, 2, 1.0]), height=0.1)

    def step(state, _):
        after, record = simulator.step(state)
        twist = robot.touching_twists(state.q, after.v)[0]
        work = DT * (record.body_wrench_world[0] * twist).sum()
        kinetic = robot.kinetic_energy(after.q, after.v) + robot.potential_energy(after.q)
        return after, (record, work, simulator.energy(after) - kinetic)

    return simulator, start, jax.jit(lambda state: jax.lax.scan(step, state, None, length=1000))(start)[1]


def test_the_ground_only_takes_energy(tumbling):
    """Step by step, what the ground does to the body and what its springs hold, to rounding of 1 J."""
    _, _, (_, work, stored) = tumbling
    gained = np.asarray(work) + np.diff(np.r_[0.0, stored])
    assert gained.max() < 1e-12
    assert gained.sum() < -0.9 * MASS * GRAVITY * 0.1  # the drop is spent
    assert np.asarray(stored).max() > 0.05  # it was not for want of springs


def test_it_comes_to_rest_and_momentum_is_balanced(tumbling):
    record = tumbling[2][0]
    assert bool(record.converged.all())
    assert bool(record.finite.all())
    speeds = np.asarray(record.v)
    assert np.abs(speeds[-1]).max() < 1e-3
    force = np.asarray(record.body_wrench_world)[:-1, 0, :3].sum(0) * DT
    weight = MASS * GRAVITY * DT * (len(speeds) - 1) * np.array([0, 0, 1])
    # m dv = impulse - weight: the wrenches of the record are those that moved the body, to rounding.
    np.testing.assert_allclose(force - weight, MASS * (speeds[-1] - speeds[0])[:3], atol=1e-9)
    depth = np.asarray(record.body_depth)[-1, 0]
    assert 0 < depth < 0.01


def test_bodies_clear_of_the_ground_change_nothing():
    """A robot on its feet, which sink and tilt, moves as if it had no bodies."""
    plain, whole = (Robot.load("robosimian", contacts=contacts) for contacts in ("feet", "all"))
    finals = []
    for robot in (plain, whole):
        simulator = Simulator(robot, media.foam(), DT, backend="xla")
        finals.append(rollout(simulator, simulator.initial_state(height=0.01), 50)[0])
    np.testing.assert_allclose(finals[0].q, finals[1].q, atol=1e-12)


def test_a_body_that_falls_is_found_in_time(tmp_path, monkeypatch):
    """Left out while it is clear of the ground, or never left out: the same motion."""
    robot = thing(tmp_path, '<geom type="box" size="0.1 0.05 0.02"/>')
    simulator = Simulator(robot, media.firm(), DT)
    start = simulator.initial_state(v=np.array([0, 0, -2.0, 1, 2, 0]), height=0.05)
    left_out = np.asarray(rollout(simulator, start, 100)[1].q)
    monkeypatch.setattr(BodyGroup, "near", lambda self, *_: jnp.ones(len(self.members), bool))
    never = np.asarray(rollout(Simulator(robot, media.firm(), DT), start, 100)[1].q)
    assert np.abs(left_out[:, 2] - left_out[0, 2]).max() > 0.03
    np.testing.assert_allclose(left_out, never, atol=1e-9)


def test_a_ball_lies_in_sand_where_its_elements_carry_it(tmp_path):
    """On sand a body meets the law in elements. A ball let go at the surface sinks until the work of the ground, the
    integral of F(d), is its weight times the depth; F goes with the square of a small depth (the volume of a cap), so
    that it stops where F is three times its weight. F by the same law with 500 elements on a foot of that shape."""
    robot = thing(tmp_path, '<geom type="sphere" size="0.05"/>', mass=2.0)
    simulator = Simulator(robot, media.sand(), DT)
    start = simulator.initial_state(height=0.0)
    final, record = rollout(simulator, start, 1000)
    assert bool(record.converged.all())
    assert np.abs(final.v).max() < 1e-3  # grains creep
    assert float(record.body_wrench_world[-1, 0, 2]) == pytest.approx(2.0 * GRAVITY, rel=1e-3)
    depth = float(record.body_depth[-1, 0])
    foot = media.Elements(simulator.ground.medium.scale, count=500).for_foot(Sphere(0.05), planar=False)
    here = FootInGround(jnp.asarray(depth), jnp.array([0, 0, 0.05 - depth]), jnp.eye(3), jnp.eye(3))
    carried = jax.jit(lambda here: foot.law(here, (), DT).wrench(jnp.array([0, 0, -0.1]))[2])(here)
    assert float(carried) == pytest.approx(3 * 2.0 * GRAVITY, rel=0.1)


def test_derivatives_of_a_landing(tmp_path):
    """By velocity, three steps from first touch on, against central differences of 1e-6: good to its square."""
    robot = thing(tmp_path, '<geom type="box" size="0.1 0.05 0.02"/>')
    simulator = Simulator(robot, media.foam(), DT)
    start = simulator.initial_state(np.array([0, 0, 1, 0.99, 0.1, 0.05, 0.0]), height=1e-4)
    towards = jnp.array([0.1, -0.2, -0.3, 0.4, 0.5, 0.6])

    @jax.jit
    def after(size):
        v = jnp.array([0.1, 0, -0.5, 0.3, 0.2, 0.1]) + size * towards
        return simulator.rollout(eqx.tree_at(lambda s: s.v, start, v), None, 3)[0].v

    _, slope = jax.jvp(after, (0.0,), (1.0,))
    difference = (after(1e-6) - after(-1e-6)) / 2e-6
    assert np.abs(slope).max() > 0.1
    np.testing.assert_allclose(slope, difference, atol=1e-6)


def test_media_that_know_feet_only_say_what_to_do(tmp_path):
    robot = thing(tmp_path, '<geom type="sphere" size="0.05"/>')
    with pytest.raises(MediumError, match=r"knows feet only.*bodies=firm\(\).*contacts='feet'"):
        Simulator(robot, media.Wedge())
    both = Simulator(robot, Ground(media.Wedge(), bodies=media.firm()))
    assert isinstance(both.groups[1], BodyGroup)
    softer = eqx.tree_at(lambda s: s.ground.bodies.stiffness, both, jnp.asarray(1e6))
    assert float(softer.groups[1].medium.medium.stiffness[0]) == 1e6
