"""Ground that remembers: volume is accounted for, slopes rest, and a foot feels prints, but not its own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softground as sg
from softground import terrain
from softground.errors import MediumError, OptionError
from softground.media.base import FootInGround
from softground.robots.shapes import Box, Cylinder, HalfCylinder, Polygon, Sphere
from softground.simulation import treading
from softground.simulation.batch import rollout_batch
from softground.terrain.footprints import Felt
from softground.terrain.soles import Soles
from softground.terrain.window import LAP, LAPS, Window

DISC = Cylinder(0.05, 0.25)


def feet_on(places, depths, turns=None) -> FootInGround:
    """Feet (n, f) on level ground at places (n, f, 2) and depths (n, f), m."""
    places, depths = np.asarray(places, float), np.asarray(depths, float)
    eye = np.broadcast_to(np.eye(3), (*depths.shape, 3, 3))
    position = np.concatenate([places, np.zeros((*depths.shape, 1))], -1)
    return jax.tree.map(jnp.asarray, FootInGround(depths, position, eye if turns is None else turns, eye))


@eqx.filter_jit
def walked(footprints, shapes, feet: FootInGround, window=None):
    """The window after a way of feet (leading axis: time), and what the feet felt."""
    first = jax.tree.map(lambda x: x[0], feet)
    start = footprints.fresh(shapes, jnp.float64).window if window is None else window

    def step(carry, now):
        window, felt = footprints.trodden(*carry, now, shapes)
        return (window, felt), felt

    (window, _), felt = jax.lax.scan(step, (start, Felt.fresh(first)), feet)
    return window, felt


def push_and_lift(depth=0.05, x=0.0, rest=60):
    """Places and depths of a foot that goes down and up at x (m)."""
    down = np.arange(-0.02, depth + 1e-9, 1e-3)
    depths = np.concatenate([down, down[::-1], np.full(rest, -0.02)])[:, None]
    return np.broadcast_to([x, 0.0], (*depths.shape, 2)), depths


def volume(window: Window, cell: float) -> float:
    """Of the ground above the undisturbed surface, m3."""
    return float(np.asarray(window.cells)[:, 0].sum() * cell**2)


def heights(window: Window) -> dict[tuple[int, int], float]:
    """Height of every cell that is not zero, by its place in the world."""
    cells = np.asarray(window.cells)
    size, found = round(len(cells) ** 0.5), {}
    for at in np.flatnonzero(cells[:, 0]):
        laps = np.array(divmod(int(cells[at, LAP]) - 1, LAPS))
        laps = np.where(laps < LAPS // 2, laps, laps - LAPS)  # what lies behind the origin
        i, j = size * laps + np.array(divmod(int(at), size))
        found[int(i), int(j)] = float(cells[at, 0])
    return found


@pytest.mark.parametrize("rim", [0.0, 1.0, 1.5])
def test_volume_is_accounted_for(rim):
    """What was pushed away is in the rim but for the share that the ground was compacted by: to rounding."""
    footprints = terrain.Footprints(rim=rim)
    window, _ = walked(footprints, [DISC], feet_on(*push_and_lift(0.05)))
    under = Soles.of([DISC])
    middles = (np.arange(-20, 20) + 0.5) * footprints.cell
    inside = np.hypot(*np.meshgrid(middles, middles)) <= float(under.radius[0])
    pushed = 0.05 * inside.sum() * footprints.cell**2
    np.testing.assert_allclose(volume(window, footprints.cell), (rim - 1) * pushed, atol=1e-12)
    assert abs(pushed / (np.pi * 0.05**2 * 0.05) - 1) < 0.1  # cells of 1.5 cm under a disc of 5 cm radius


def test_slopes_come_to_rest():
    """After a foot has left, no slope near it is steeper than the angle of repose by more than sweeps still move."""
    footprints = terrain.Footprints(repose=np.radians(30.0))
    window, _ = walked(footprints, [DISC], feet_on(*push_and_lift(0.05, rest=400)))
    h = heights(window)
    at = lambda i, j: h.get((i, j), 0.0)  # noqa: E731
    rises = [abs(at(i, j) - at(i + a, j + 1 - a)) for i, j in h for a in (0, 1)]
    assert 0.9 < max(rises) / footprints.cell / np.tan(np.radians(30.0)) < 1.02
    assert min(h.values()) > -0.05
    assert max(h.values()) > 0.003


def test_a_foot_feels_a_print_and_not_its_own():
    """Going down it feels fresh ground; coming back it meets the print's bottom, and deeper what fresh ground has."""
    footprints = terrain.Footprints(walls=1.0, length=0.01)
    _, depths = push_and_lift(0.05)
    again = np.arange(-0.02, 0.08, 1e-3)[:, None]
    feet = feet_on(np.zeros((len(depths) + len(again), 1, 2)), np.concatenate([depths, again]))
    _, felt = walked(footprints, [DISC], feet)
    level = np.asarray(felt.level)[:, 0]
    np.testing.assert_array_equal(level[: np.argmax(depths) + 1], 0.0)
    back = level[len(depths) :]
    bottom = back[0]
    assert -0.05 < bottom < -0.005  # a part of the print has slid in
    np.testing.assert_allclose(back[: np.searchsorted(again[:, 0], -bottom) - 2], bottom, rtol=0.1)
    asked = footprints.felt_depth(jax.tree.map(lambda x: x[len(depths) :, 0], feet), jnp.asarray(back)).depth
    in_air, held = again[:, 0] < -bottom - 0.003, again[:, 0] > -bottom + 0.015
    assert (asked[in_air] < 0).all()
    np.testing.assert_allclose(asked[held], again[held, 0], atol=1e-12)  # walls = 1: as in fresh ground


def test_a_print_of_another_foot_is_felt():
    """Two feet: where one has been the other finds the print, and beside it the rim."""
    footprints = terrain.Footprints()
    places, depths = push_and_lift(0.04)
    away = np.broadcast_to([0.5, 0.0], places.shape)
    both = np.concatenate([places, away], 1), np.concatenate([depths, np.full_like(depths, -0.02)], 1)
    window, _ = walked(footprints, [DISC, DISC], feet_on(*both))
    over = feet_on(np.array([[[0.5, 0.0], [0.0, 0.0]], [[0.5, 0.0], [0.1, 0.0]]]), np.full((2, 2), -0.02))
    _, felt = walked(footprints, [DISC, DISC], over, window)
    print_level, rim_level = np.asarray(felt.level)[:, 1]
    assert print_level < -0.005 < 0 < rim_level


def test_firmness_follows_what_was_done():
    """Pressed ground has the one factor, laid ground tends to the other, and both are felt."""
    footprints = terrain.Footprints(firm=1.3, loose=0.7, length=0.001)
    window, _ = walked(footprints, [DISC], feet_on(*push_and_lift(0.03, rest=0)))
    firmness = 1 + np.asarray(window.cells)[..., 1]
    assert 0.7 - 1e-12 <= firmness.min() < 0.72
    assert 1.25 < firmness.max() <= 1.3 + 1e-12


def test_the_window_moves_with_the_robot_and_forgets_what_it_left():
    """Prints are the same wherever the window's border lies; a whole window on, the ground is fresh."""
    small, large = terrain.Footprints(size=64, cell=0.02), terrain.Footprints(size=512, cell=0.02)
    places = np.concatenate([push_and_lift(0.04, x, rest=10)[0] for x in (0.05, 0.25, 0.41, 0.6)])
    depths = np.concatenate([push_and_lift(0.04, x, rest=10)[1] for x in (0.05, 0.25, 0.41, 0.6)])
    here, there = (heights(walked(one, [DISC], feet_on(places, depths))[0]) for one in (small, large))
    assert here.keys() == there.keys()
    np.testing.assert_allclose(list(here.values()), list(there.values()), atol=1e-15)
    beyond = np.concatenate([places, places + np.array([small.size * small.cell, 0.0])])
    after = heights(walked(small, [DISC], feet_on(beyond, np.concatenate([depths, depths])))[0])
    assert min(i for i, _ in after) > max(i for i, _ in here) - small.size  # the old ones are gone
    np.testing.assert_allclose(sorted(after.values()), sorted(here.values()), atol=1e-12)


def test_feet_whose_patches_overlap_both_count():
    """Two feet side by side leave, at once, what they leave one after the other but for the slides between them."""
    footprints = terrain.Footprints(rim=0.0, repose=np.radians(89.0))
    places, depths = push_and_lift(0.03, rest=0)
    aside = np.array([0.0, 0.07])
    left, right = places + aside, places - aside
    together, _ = walked(footprints, [DISC, DISC], feet_on(np.stack([left, right], 2)[:, 0], np.repeat(depths, 2, 1)))
    in_turn, _ = walked(footprints, [DISC], feet_on(np.concatenate([left, right]), np.concatenate([depths, depths])))
    assert heights(together) == pytest.approx(heights(in_turn), abs=1e-15)


@pytest.mark.parametrize(
    "shape",
    [
        Box(0.2, 0.1, 0.05),
        Sphere(0.03),
        HalfCylinder(0.04, 0.08),
        Polygon([(0.1, 0), (0, 0.06), (-0.1, 0), (0, -0.06)]),
    ],
    ids=str,
)
def test_soles_are_where_they_are(shape):
    """Distance and depth under a turned and tilted sole, against points of its lowest surface moved by hand."""
    turn = Rotation.from_euler("zyx", [0.4, 0.15, 0.0]).as_matrix()
    foot = jax.tree.map(jnp.asarray, FootInGround(np.asarray(0.02), np.zeros(3), turn, np.eye(3)))
    sole = jax.tree.map(lambda x: jnp.asarray(x)[0], Soles.of([shape]))
    if shape.rolls:
        angle = np.linspace(-1, 1, 9)
        axis = np.array([0.0, 0.0]) if shape.is_ball else turn[:2, 1] * shape.extent[1] / 4
        across = np.array([-turn[1, 1], turn[0, 1]]) / np.hypot(*turn[:2, 1])
        points = [axis + shape.clearance * np.sin(a) * across for a in angle]
        expected = 0.02 - shape.clearance * (1 - np.cos(angle))
    else:
        flat = shape.outline * 0.9
        points = [(turn @ [*p, 0.0])[:2] for p in flat]
        expected = np.array([0.02 - (turn @ [*p, 0.0])[2] for p in flat])
    for point, depth in zip(points, expected, strict=True):
        outside, found = sole.under(foot, jnp.asarray(point[0])[None, None], jnp.asarray(point[1])[None, None])
        assert outside[0, 0] <= 1e-9
        np.testing.assert_allclose(found[0, 0], depth, atol=1e-9)
    far = (turn @ [*(1.2 * shape.outline[0]), 0.0])[:2] if not shape.rolls else np.array([0.2, 0.2])
    assert sole.under(foot, jnp.asarray(far[0])[None, None], jnp.asarray(far[1])[None, None])[0][0, 0] > 0


@pytest.fixture(scope="module")
def dropped():
    """A foot dropped on sand with and without footprints: simulators, starts, rollouts."""
    robot, found = sg.Robot.load("foot"), {}
    for name, footprints in {"with": terrain.Footprints(), "without": None}.items():
        simulator = sg.Simulator(robot, sg.Ground(sg.sand(), footprints=footprints), backend="xla")
        roll = jax.jit(lambda state, simulator=simulator: simulator.rollout(state, None, 150))
        found[name] = simulator, roll
    return found


def test_the_foot_that_makes_a_print_keeps_its_support(dropped):
    """A foot that lands and comes to rest moves as on ground that remembers nothing."""
    (simulator, roll), (plain, plainly) = dropped["with"], dropped["without"]
    after, record = roll(simulator.initial_state(height=0.01))
    _, expected = plainly(plain.initial_state(height=0.01))
    np.testing.assert_allclose(record.q, expected.q, atol=1e-12)
    deepest = np.asarray(after.prints.window.cells)[..., 0].min()
    np.testing.assert_allclose(deepest, -np.asarray(record.depth).max(), atol=6e-4)  # what the ground would notice
    again, _ = roll(eqx.tree_at(lambda s: s.q, after, simulator.initial_state(height=0.01).q))
    assert np.asarray(again.memory[0].felt.level) < -0.005  # lifted out and dropped again: into its print


def test_a_batch_is_its_members(dropped):
    simulator, roll = dropped["with"]
    starts = [simulator.initial_state(height=height) for height in (0.0, 0.02)]
    batch = jax.tree.map(lambda *x: jnp.stack(x), *starts)
    together = jax.jit(lambda states: rollout_batch(simulator, states, None, 150))(batch)
    for number, start in enumerate(starts):
        alone, _ = roll(start)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a[number], b, atol=1e-12), together, alone)  # noqa: B023


@pytest.mark.parametrize("loose", [1.0, 0.8])
@pytest.mark.parametrize("in_calls", [False, True])
def test_native_code_leaves_the_same_prints(loose, in_calls, monkeypatch):
    """In one call and between calls (where patches are large), of a batch that lands at different times; in the next
    window too, where what was there is forgotten."""
    monkeypatch.setattr(treading, "MOST_CELLS", 0 if in_calls else treading.MOST_CELLS)
    footprints = terrain.Footprints(cell=0.04, size=16, every=5, loose=loose)
    ground = sg.Ground(sg.sand(), footprints=footprints)
    by_xla, natively = (sg.Simulator(sg.Robot.load("foot"), ground, backend=backend) for backend in ("xla", "native"))
    q = jnp.stack([by_xla.initial_state(height=height).q for height in (0.0, 0.02)])
    states = jax.vmap(lambda q: eqx.tree_at(lambda s: s.q, by_xla.initial_state(), q))(q)

    def after(simulator, states, steps=60):
        final = jax.jit(lambda states: rollout_batch(simulator, states, None, steps))
        there = final(states)
        return there, final(eqx.tree_at(lambda s: s.q, there, q + jnp.array([16 * 0.04, 0.0, 0.0])))

    for expected, found in zip(after(by_xla, states), after(natively, states), strict=True):
        assert np.asarray(expected.prints.window.cells)[..., 0].min() < -0.005
        assert (np.asarray(expected.prints.window.cells)[..., 1].min() < 0) == (loose != 1)
        # Between calls all feet tread, also those that have moved by less than is noticed (m).
        tolerance = 6e-4 if in_calls else 1e-8
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-7, atol=tolerance), expected, found)  # noqa: B023


def test_a_run_is_kept_and_repeated(dropped, tmp_path):
    """With its state at the end, in which the ground remembers."""
    simulator, _ = dropped["with"]
    run = simulator.run(seconds=0.1, height=0.0)
    loaded = sg.load(run.save(tmp_path / "run.nc"))
    again = loaded.simulator()
    assert again.ground.footprints is not None
    np.testing.assert_array_equal(again.run(seconds=0.1, height=0.0)["configuration"], run["configuration"])


def test_derivatives_of_a_second_step_are_those_of_differences(dropped):
    """By the strength of the ground, of where a foot comes to that was dropped into a print."""
    simulator, roll = dropped["with"]
    after, _ = roll(simulator.initial_state(height=0.01))
    start = eqx.tree_at(lambda s: s.q, after, simulator.initial_state(height=-0.015).q)

    @jax.jit
    def depth(strength):
        other = eqx.tree_at(lambda s: s.ground.medium.strength, simulator, strength)
        return -other.rollout(start, None, 40)[0].q[1]

    slope = jax.jvp(depth, (1.0,), (1.0,))[1]
    difference = (depth(1.0 + 1e-5) - depth(1.0 - 1e-5)) / 2e-5
    assert abs(difference) > 1e-6
    np.testing.assert_allclose(slope, difference, rtol=1e-3)


def test_what_cannot_be_is_refused():
    robot = sg.Robot.load("foot")
    with pytest.raises(MediumError, match="springs"):
        sg.Simulator(robot, sg.Ground(sg.foam(), footprints=terrain.Footprints()))
    for wrong in ({"cell": 0.0}, {"walls": 2.0}, {"every": 0}, {"repose": -1.0}, {"rim": np.nan}):
        with pytest.raises(OptionError):
            terrain.Footprints(**wrong)
    with pytest.raises(OptionError, match=r"must be terrain\.Footprints"):
        sg.Ground(sg.sand(), footprints=True)
    small = sg.Simulator(robot, sg.Ground(sg.sand(), footprints=terrain.Footprints(size=8)))
    with pytest.raises(OptionError, match="window larger"):
        small.initial_state()


def test_ground_with_a_memory_of_its_own_takes_prints_too():
    ground = sg.Ground(sg.media.Remembering(sg.sand()), footprints=terrain.Footprints())
    run = sg.Simulator(sg.Robot.load("foot"), ground, backend="xla").run(seconds=0.1, height=0.0)
    assert run["converged"].all()


def test_the_viewer_draws_what_is_felt(dropped):
    """The print of a run, made again from its samples, is the one that the ground remembered, and has a rim."""
    from softground.bridges.playback import playback
    from softground.bridges.viewer.run_page import run_footprints
    from softground.terrain.window import heights_at

    simulator, roll = dropped["with"]
    after, _ = roll(simulator.initial_state(height=0.01))
    run = simulator.run(seconds=0.3, height=0.01)
    play = playback(run, fps=100, speed=1.0)
    prints = run_footprints(
        simulator, play, run["configuration"].values[np.searchsorted(run["time"].values, play.time)]
    )
    last = len(play.time) - 1
    drawn = {tile: prints.depths(tile, last) for tile in prints.tiles}
    assert max(depth.max() for depth in drawn.values()) > 0.03
    assert min(depth.min() for depth in drawn.values()) < -0.003
    cell = simulator.ground.footprints.cell
    for tile, depth in drawn.items():
        felt = heights_at(after.prints.window, prints.sheet.tile(tile)[0][:, :2] / cell)
        np.testing.assert_allclose(-depth, felt, atol=2e-3)  # samples and steps are not the same instants
