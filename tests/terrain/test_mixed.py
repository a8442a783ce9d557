"""Mixed ground: each foot meets its own medium, a border is smooth, and a floor is felt where it is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import softground as sg
from softground import terrain
from softground.errors import MediumError
from softground.media.base import COMPONENTS, FootInGround
from softground.robots.shapes import Box, Cylinder, Sphere

FOOT = Cylinder(0.05, 0.15)
FEET = {"planar": (FOOT, True), "ball": (Sphere(0.03), False), "flat": (Box(0.2, 0.1, 0.05), False)}
DT = 0.002


def foot_at(depth, x=0.0) -> FootInGround:
    return FootInGround(jnp.asarray(depth), jnp.array([x, 0.0, 0.0]), jnp.eye(3), jnp.eye(3))


def law_of(medium, foot, shape, planar):
    bound = medium.for_foot(shape, planar)
    return bound.law(foot, bound.initial_memory(foot), DT), bound


def upward(medium, depth, shape=FOOT, planar=True, x=0.0, speed=0.1):
    """Force along the normal on a foot that goes down at a speed (m/s)."""
    law, bound = law_of(medium, foot_at(depth, x), shape, planar)
    up = int(np.flatnonzero(COMPONENTS[bound.kind] == 2)[0])
    return law.wrench(jnp.zeros(len(COMPONENTS[bound.kind])).at[up].set(-speed))[up]


@pytest.mark.parametrize("feet", FEET)
def test_far_from_a_border_the_ground_is_one_medium(feet):
    """Forces under a mixed ground's parts are those of the parts alone, also where these work at different points."""
    shape, planar = FEET[feet]
    mixed = terrain.Mixed(sg.firm(), (sg.sand(), terrain.Between("x", 1.0)))
    for x, alone in ((0.5, sg.firm()), (1.5, sg.sand())):
        for depth in (-0.001, 0.0005, 0.03):
            expected = upward(alone, depth, shape, planar)
            np.testing.assert_allclose(upward(mixed, depth, shape, planar, x), expected, rtol=1e-12, atol=1e-9)


def test_a_ball_that_rolls_is_held_where_its_medium_holds_it():
    """On springs friction acts at the lowest point, in sand at the middle: rolling is free on one and not the other."""
    shape, radius = Sphere(0.03), 0.03
    foot = foot_at(0.01)
    rolling = jnp.array([0.1, 0, 0, 0, 0.1 / radius, 0])  # no speed at the lowest point
    springs = terrain.Mixed(sg.sand(), (sg.foam(), lambda place: 1.0))
    law, bound = law_of(springs, foot, shape, False)
    assert bound.kind == "spatial"
    np.testing.assert_allclose(law.wrench(rolling)[:2], 0.0, atol=1e-9)
    grains, _ = law_of(terrain.Mixed(sg.foam(), (sg.sand(), lambda place: 1.0)), foot, shape, False)
    alone, _ = law_of(sg.sand(), foot, shape, False)
    np.testing.assert_allclose(grains.wrench(rolling)[:3], alone.wrench(rolling[:3]), rtol=1e-9)


def test_forces_are_derivatives_of_a_convex_potential():
    """Of the sum over a border, with media that work with different twists."""
    mixed = terrain.Mixed(sg.foam(), (sg.sand(), terrain.Between("x", 0.0, border=1.0)))
    law, _ = law_of(mixed, foot_at(0.02, x=0.1), Sphere(0.03), False)
    random = np.random.default_rng(0)
    for twist, direction in random.normal(size=(5, 2, 6)) * 0.05:
        wrench, stiffness = law.response(jnp.asarray(twist))
        np.testing.assert_allclose(wrench, -jax.grad(law.potential)(twist), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(stiffness, jax.hessian(law.potential)(twist), rtol=1e-6, atol=1e-4)
        assert np.linalg.eigvalsh(stiffness).min() > -1e-9 * np.abs(stiffness).max()
        line = law.along(jnp.asarray(twist), jnp.asarray(direction))
        start, (value, slope, curvature) = (line.derivatives(jnp.asarray(t)) for t in (0.0, 0.3))
        there = jnp.asarray(twist + 0.3 * direction)
        risen = law.potential(there) - law.potential(jnp.asarray(twist))
        np.testing.assert_allclose(value - start[0], risen, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(slope, jax.grad(law.potential)(there) @ direction, rtol=1e-8)
        np.testing.assert_allclose(curvature, direction @ jax.hessian(law.potential)(there) @ direction, rtol=1e-6)


def test_weights_sum_to_one_and_change_smoothly():
    """Whatever is painted over whatever; a step of a millimetre changes a share by no more than its border allows."""
    mixed = terrain.Mixed(
        sg.firm(),
        (sg.sand(), terrain.Between("x", 0.0, 1.0) | terrain.Disc((1.0, 0.0), 0.3)),
        (sg.foam(), ~terrain.Between("y", -0.2, 0.2)),
    )
    places = np.stack([np.arange(-0.2, 1.6, 1e-3), np.full(1800, 0.195), np.zeros(1800)], -1)
    shares = np.array(jax.vmap(lambda p: jnp.stack([mixed.weight(i, p, foot_at(0.0)) for i in range(3)]))(places))
    np.testing.assert_allclose(shares.sum(1), 1.0, atol=1e-12)
    assert (shares >= 0).all()
    steepest = 1.875 / terrain.areas.BORDER  # slope of the smooth step at its middle
    seen = 1 - shares[0, 2]  # of what lies under the foam
    assert 0.98 * seen * steepest < np.abs(np.diff(shares, axis=0)).max() / 1e-3 <= steepest


def test_sand_over_a_floor_is_sand_above_it_and_both_below():
    """3 cm of sand: the force is that of sand down to the floor, and below it also that of the floor."""
    shallow, depths = terrain.OverFloor(sg.sand(), 0.03), np.linspace(0.001, 0.031, 31)
    forces, sand = (np.array([upward(medium, d) for d in depths]) for medium in (shallow, sg.sand()))
    floor = np.array([upward(sg.firm(), d - 0.03) for d in depths])
    np.testing.assert_allclose(forces, sand + floor, rtol=1e-12)
    assert (
        floor[depths < 0.0298] == 0
    ).all()  # at 0.1 m/s a foot covers 0.2 mm in a step, and feels the floor so early
    assert floor[-1] > 10 * sand[-1]


def test_a_foot_sinks_to_the_floor():
    """One that alone would sink to 44 mm in sand rests on the floor at 30 mm, 0.1 mm in, as on firm ground."""
    at_rest = {}
    for name, ground in {"sand": sg.sand(), "shallow": terrain.OverFloor(sg.sand(), 0.03), "firm": sg.firm()}.items():
        run = sg.Simulator(sg.Robot.load("foot"), ground, backend="xla").run(seconds=0.4, height=0.01)
        assert run["converged"].all()
        at_rest[name] = float(run["depth"][-1, 0])
    assert at_rest["sand"] > 0.04
    assert 0.03 < at_rest["shallow"] < 0.03 + at_rest["firm"]  # the sand carries a part


def test_layers_and_varied_strength_multiply_forces():
    crusted = terrain.Layered(sg.sand(), edges=[0.02], strengths=[4.0, 1.0], border=0.004)
    for depth, factor in ((0.01, 4.0), (0.02, 2.5), (0.03, 1.0)):
        np.testing.assert_allclose(upward(crusted, depth), factor * upward(sg.sand(), depth), rtol=1e-9)
    field = terrain.GridField([[1.0, 1.0], [3.0, 3.0]], cell=0.5, origin=(0.0, -0.25))
    for medium in (sg.sand(), sg.foam(), sg.media.Remembering(sg.sand()), sg.media.Noisy(sg.sand(), 0.0)):
        varied = terrain.Varied(medium, field)
        np.testing.assert_allclose(upward(varied, 0.02, x=0.25), 2 * upward(medium, 0.02), rtol=1e-9)


def test_a_map_puts_media_where_its_indices_say():
    media = [sg.firm(), sg.sand(), sg.foam()]
    indices = np.array([[0, 1], [2, 1], [0, 0]])
    mixed = terrain.Mixed.from_map(indices, media, cell=0.2, origin=(-0.2, 0.0))
    for i, j in np.ndindex(indices.shape):
        place = jnp.array([-0.2 + 0.2 * i, 0.2 * j, 0.0])
        shares = [float(mixed.weight(k, place, foot_at(0.0))) for k in range(3)]
        np.testing.assert_allclose(shares, np.arange(3) == indices[i, j], atol=1e-12)


def test_ground_in_words(tmp_path):
    mixed = terrain.terrain_of("firm, sand*2: 1<x<3 & y>-0.5, foam: x>3", floor=0.1)
    inner = mixed.parts[0]
    assert [type(part).__name__ for part in inner.parts] == ["Firm", "Resistive", "ViscoElastic"]
    assert float(inner.parts[1].strength) == 2.0
    places = ((0.0, 0, 0), (2.0, 0, 0), (2.0, -1.0, 0), (4.0, 0, 0))
    shares = [[float(inner.weight(k, jnp.array(place), foot_at(0.0))) for k in range(3)] for place in places]
    np.testing.assert_array_equal(shares, [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
    np.savetxt(tmp_path / "map.csv", [[0, 1], [1, 1]], fmt="%d", delimiter=",")
    by_map = terrain.terrain_of("firm, sand", map_file=tmp_path / "map.csv", cell=1.0)
    assert float(by_map.weight(0, jnp.array([-0.5, -0.5, 0.0]), foot_at(0.0))) == 1.0


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("firm: x>1, sand", "lies everywhere"),
        ("firm, sand", "must be said"),
        ("firm, sand: z>1", "x>1, y<0.5"),
        ("firm, sand: 3<x<1", "begin before"),
        ("firm, sand*soft: x>1", "not a number"),
        ("firm, snow: x>1", "snow"),
    ],
)
def test_words_that_mean_nothing_are_refused(words, cause):
    with pytest.raises(MediumError, match=cause):
        terrain.terrain_of(words)


def test_parameters_that_mean_nothing_are_refused(tmp_path):
    (ragged := tmp_path / "ragged.csv").write_text("0,1\n1,0,1\n")
    for wrong, cause in {
        lambda: terrain.Mixed(sg.firm(), sg.sand()): "pair",
        lambda: terrain.OverFloor(sg.sand(), -0.1): "thickness",
        lambda: terrain.Layered(sg.sand(), [0.02, 0.01], [1, 2, 3]): "increase",
        lambda: terrain.Layered(sg.sand(), [0.02], [1]): "one strength more",
        lambda: terrain.GridField([[1.0]], 0.1): "2 x 2",
        lambda: terrain.Mixed.from_map([[0, 2], [0, 0]], [sg.sand(), sg.firm()], 0.1): "up to 2",
        lambda: terrain.Mixed.from_map([[0, 1], [0]], [sg.sand(), sg.firm()], 0.1): "one length",
        lambda: terrain.read_map(tmp_path / "no.txt"): "csv",
        lambda: terrain.read_map(tmp_path / "no.csv"): "cannot be read",
        lambda: terrain.read_map(ragged): "as many in every line: .*from 2 to 3",
        lambda: terrain.OverFloor("sand", 0.03): r"media.medium_of\('sand'\)",
        lambda: terrain.Varied(sg.sand(), terrain.GridField([[1.0, -2.0], [1.0, 1.0]], 0.1)): "everywhere",
        lambda: terrain.Disc((0.0, float("nan")), 1.0): "two finite numbers",
        lambda: sg.Ground("sand"): r"media.medium_of\('sand'\)",
        lambda: sg.Ground(sg.sand(), bodies="firm"): "what bodies meet",
        lambda: sg.sand(strength="hard"): "must be a number",
        lambda: sg.media.Elements.of_grains(1500.0, 29.0): "deg2rad",
    }.items():
        with pytest.raises(MediumError, match=cause):
            wrong()


def test_a_run_on_mixed_ground_is_kept_and_repeated(tmp_path):
    ground = terrain.OverFloor(terrain.Mixed(sg.firm(), (sg.sand(), terrain.Between("x", -1.0))), 0.03)
    run = sg.Simulator(sg.Robot.load("foot"), ground, backend="xla").run(seconds=0.02, height=0.0)
    path = run.save(tmp_path / "run.nc")
    again = sg.load(path).simulator()
    assert isinstance(again.ground.medium, terrain.OverFloor)
    np.testing.assert_array_equal(again.run(seconds=0.02, height=0.0)["configuration"], run["configuration"])
