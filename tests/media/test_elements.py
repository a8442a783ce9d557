"""Ground in elements: its sets of stresses beside plain resistive force theory, few elements beside many, edges."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softground.errors import MediumError
from softground.media import Elements, Resistive
from softground.media.base import COMPONENTS, FootInGround
from softground.media.elements import fit
from softground.media.elements.medium import surface_of
from softground.media.elements.placement import Surface, gathered
from softground.media.elements.stress_sets import COEFFICIENTS
from softground.media.elements.submerged import FLAT, ROUNDING, submerged
from softground.media.resistive.wrench import wrenches
from softground.robots.shapes import Box, Compound, Cylinder, HalfCylinder, Part, Shape, Sphere

SHAPES: dict[str, Shape] = {
    "box": Box(0.2, 0.1, 0.05),
    "cylinder": Cylinder(0.05, 0.15),
    "half-cylinder": HalfCylinder(0.04, 0.08),
    "ball": Sphere(0.03),
}
DT = jnp.asarray(1e-3)
LENGTH = 0.06  # m, by which torques are divided to be compared with forces


def poses(count: int, shape: Shape) -> FootInGround:
    """1 to 6 cm deep, tilted up to 0.5 rad about both axes."""
    random = np.random.default_rng(1)
    angles = np.c_[random.uniform(-3, 3, count), random.uniform(-0.5, 0.5, (count, 2))]
    rotation = np.eye(3)[None].repeat(count, 0) if shape.is_ball else Rotation.from_euler("zyx", angles).as_matrix()
    depth = random.uniform(0.01, 0.06, count)
    return FootInGround(depth, np.zeros((count, 3)), rotation, np.broadcast_to(np.eye(3), rotation.shape))


@eqx.filter_jit
def wrench_on(medium, feet, twists):
    return jax.vmap(lambda foot, twist: medium.law(foot, (), DT).wrench(twist))(feet, twists)


def fine(medium: Elements, shape: Shape):
    """Every panel of the shape an element."""
    panels = shape.panels()
    moments = np.einsum("eai,eaj->eij", panels.edges, panels.edges) / 3
    corners = np.zeros((len(moments), 1, 3))  # of which nothing is asked
    return medium._on(Surface(panels.centre, panels.normal, panels.area, moments, corners), shape, planar=False)


@cache
def answers(name: str):
    """Wrenches of moving feet, torques as forces: in few and in many elements, by plain theory, and by the space."""
    shape, medium, count = SHAPES[name], Elements(), 60
    random, feet = np.random.default_rng(2), poses(count, SHAPES[name])
    twists = 0.1 * random.normal(size=(count, 6)) / np.repeat([1.0, 2 * LENGTH], 3)
    twists[:, 2] = -np.abs(twists[:, 2])
    bound = medium.for_foot(shape, planar=False)
    parts, unit = COMPONENTS[bound.kind], np.repeat([1.0, 1 / LENGTH], 3)
    plain = np.concatenate(
        [
            wrenches(
                shape.panels(), "3d", feet.rotation[i, None], feet.depth[i, None], twists[i, None], shape.clearance
            )
            for i in range(count)
        ]
    )[:, 0, 0]
    media = bound, fine(medium, shape), Resistive(law="3d").for_foot(shape, planar=False)
    found = [np.asarray(wrench_on(one, feet, twists[:, parts])) for one in media]
    return [one * unit[parts] for one in (*found, plain[:, parts])]


def off(one, other) -> float:
    return float(np.sqrt(((one - other) ** 2).sum() / (other**2).sum()))


@pytest.mark.parametrize("name", SHAPES)
def test_few_elements_do_for_many(name):
    """Forces within 5 % (rms) of those on a fine mesh, wrenches within 6 %."""
    few, many, *_ = answers(name)
    assert off(few[:, :3], many[:, :3]) < 0.05
    assert off(few, many) < 0.06


@pytest.mark.parametrize("name", SHAPES)
def test_nearer_to_plain_theory_than_the_wrench_space(name):
    few, _, space, plain = answers(name)
    assert off(few, plain) < off(space, plain)


def test_stress_sets_are_nearer_to_plain_stresses_than_their_hull():
    """What docs/media.md says: over all directions and tilts, by stress and by power."""
    rows = fit.report(COEFFICIENTS, 0.4)
    ellipsoid, hull = (np.array([row[name] for row in rows]) for name in ("ellipsoid", "hull"))
    assert (ellipsoid[:, 2] < 0.75 * hull[:, 2]).all()  # rms of the stress
    assert ellipsoid[:, 0].mean() < hull[:, 0].mean() < 0.27  # mean of the power, over the rms stress
    assert ellipsoid[:, 1].max() < 0.8  # worst power


def test_coefficients_are_those_of_the_fit():
    np.testing.assert_allclose(fit.fit(), COEFFICIENTS, atol=2e-3)


@pytest.mark.parametrize("name", ["box", "cylinder"])
def test_a_level_sole_pushed_down_meets_scale_times_area_times_depth(name):
    """The definition of the scale; walls slide along themselves and add up to the friction of their sets."""
    shape, depth, scale = SHAPES[name], 0.004, 0.7
    foot = FootInGround(jnp.asarray(depth), jnp.zeros(3), jnp.eye(3), jnp.eye(3))
    medium = Elements(scale).for_foot(shape, planar=False)
    sole = medium.normal[:, 2] < -0.9
    only = eqx.tree_at(lambda m: m.area, medium, np.where(sole, medium.area, 0.0))
    down = jnp.array([[0.0, 0.0, -0.1, 0.0, 0.0, 0.0]])
    lift = wrench_on(only, jax.tree.map(lambda x: x[None], foot), down)[0, 2]
    assert float(lift) == pytest.approx(scale * 1e6 * shape.area * (depth - ROUNDING / 2 - FLAT), rel=1e-4)


def test_a_wall_that_stands_in_the_ground_in_part():
    """Mean depth and centre of pressure of a rectangle from d = 0 to 3 cm, as integrals over it: 1.5 cm and 2 cm."""
    deepest, height = 0.03, 0.1
    mean, shift, share = submerged(jnp.array([deepest - height / 2]), jnp.array([height**2 / 12]))
    assert float(mean[0] * height) == pytest.approx(deepest**2 / 2, rel=2 * ROUNDING / deepest)
    assert float(share[0]) == pytest.approx(deepest / height, rel=ROUNDING / deepest)
    centre = deepest - height / 2 + float(shift[0]) * height**2 / 12
    assert centre == pytest.approx(2 / 3 * deepest, rel=ROUNDING / deepest)


def test_an_edge_that_dips_in_first_is_felt_and_a_foot_in_the_air_is_not():
    shape, tilt = SHAPES["box"], np.deg2rad(20)
    rotation = Rotation.from_euler("y", tilt).as_matrix()
    edge = 0.1 * np.sin(tilt)  # m, below the sole's centre
    depth = jnp.array([-0.5 * edge, -edge - 1e-6])
    feet = FootInGround(depth, jnp.zeros((2, 3)), jnp.stack([rotation] * 2), jnp.stack([jnp.eye(3)] * 2))
    down = jnp.tile(jnp.array([0.0, 0.0, -0.1, 0.0, 0.0, 0.0]), (2, 1))
    touching, above = np.asarray(wrench_on(Elements().for_foot(shape, False), feet, down))
    assert touching[2] > 10  # N
    assert touching[4] < -0.5  # N m: the front edge is lifted
    np.testing.assert_array_equal(above, 0.0)
    space = Resistive().for_foot(shape, False)
    np.testing.assert_array_equal(wrench_on(space, feet, down)[0], 0.0)  # felt at the sole's centre only


@pytest.mark.parametrize("name", ["box", "cylinder", "half-cylinder"])
def test_in_the_plane_a_body_meets_what_it_meets_in_space(name):
    shape = SHAPES[name]
    foot = poses(1, shape)
    foot = FootInGround(foot.depth, foot.position, Rotation.from_euler("y", 0.2).as_matrix()[None], foot.surface)
    twist = jnp.array([[0.05, 0.0, -0.1, 0.0, 0.5, 0.0]])
    plane = wrench_on(Elements().for_foot(shape, True), foot, twist[:, COMPONENTS["planar"]])
    space = wrench_on(Elements().for_foot(shape, False), foot, twist)
    np.testing.assert_allclose(plane, space[:, COMPONENTS["planar"]], rtol=1e-12)
    assert len(surface_of(shape, True, 20).area) == len(surface_of(shape, False, 20).area) / 2


@pytest.mark.parametrize("name", SHAPES)
def test_elements_keep_area_and_moments(name):
    shape = SHAPES[name]
    panels, found = shape.panels(), gathered(shape, 20)
    assert found.area.sum() == pytest.approx(panels.area.sum(), rel=1e-12)
    np.testing.assert_allclose(found.area @ found.centre, panels.area @ panels.centre, atol=1e-12)
    second = np.einsum("e,ei,ej->ij", found.area, found.centre, found.centre)
    whole = second + np.einsum("e,eij->ij", found.area, found.moments)
    within = np.einsum("p,pai,paj->ij", panels.area, panels.edges, panels.edges) / 3
    fine_one = np.einsum("p,pi,pj->ij", panels.area, panels.centre, panels.centre) + within
    np.testing.assert_allclose(whole, fine_one, atol=1e-12)


def test_bodies_of_different_shapes_stand_side_by_side():
    box, roller = Elements().under_feet([SHAPES["box"], SHAPES["half-cylinder"]], planar=False)
    assert jax.tree.structure(box) == jax.tree.structure(roller)
    assert [leaf.shape for leaf in jax.tree.leaves(box)] == [leaf.shape for leaf in jax.tree.leaves(roller)]


def test_strength_follows_from_density_and_friction_angle():
    """Agarwal et al. 2023: xi = rho g (894 mu^3 - 386 mu^2 + 89 mu), of which a level plate feels 0.875."""
    mu = np.tan(np.deg2rad(29))
    xi = 1330 * 9.81 * (894 * mu**3 - 386 * mu**2 + 89 * mu)
    assert float(Elements.of_grains(1330, np.deg2rad(29)).scale) == pytest.approx(0.875 * xi / 1e6, rel=2e-3)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"scale": 0.0}, "scale of ground in elements"),
        ({"friction": -1}, "surface friction"),
        ({"count": 0}, "one element"),
    ],
)
def test_bad_parameters_are_refused(options, text):
    with pytest.raises(MediumError, match=text):
        Elements(**options)


def test_a_corner_of_a_body_is_felt_as_soon_as_it_touches():
    """A box tilted about both axes, its corner 5 mm deep: pushed up; 1 mm above the ground: not at all. At a third of
    its height the force is that of a fine mesh."""
    box = Part.at(Box(0.5, 0.3, 0.2), [0, 0, -0.1], np.eye(3))
    shape, rotation = Compound((box,)), Rotation.from_euler("xy", [0.5, 0.6]).as_matrix()
    reach = float((np.abs(rotation[2]) * [0.25, 0.15, 0.1]).sum())  # m, of the lowest corner below the middle
    depth = jnp.array([0.005, -0.001, 0.1]) - reach
    turns = jnp.stack([rotation] * 3)
    feet = FootInGround(depth, jnp.zeros((3, 3)), turns, jnp.stack([jnp.eye(3)] * 3))
    down = jnp.tile(jnp.array([0.0, 0.0, -0.1, 0.0, 0.0, 0.0]), (3, 1))
    medium = Elements()
    lift = np.asarray(wrench_on(medium.for_body(shape, False), feet, down))[:, 2]
    assert lift[0] > 0.1
    assert lift[1] == 0.0
    assert lift[2] == pytest.approx(float(wrench_on(fine(medium, shape), feet, down)[2, 2]), rel=0.1)
    sole = medium._on(surface_of(shape, False, medium.count), shape, False)  # by the even spread alone
    assert float(wrench_on(sole, feet, down)[0, 2]) == 0.0
