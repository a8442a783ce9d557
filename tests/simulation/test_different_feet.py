"""A robot whose feet differ: each meets the ground as on a robot of its own."""

import jax
import numpy as np
import pytest

from softground import media
from softground.errors import MediumError
from softground.robots import Box, Cylinder, HalfCylinder, Robot, Shape, Sphere
from softground.simulation import Simulator
from softground.simulation.groups import medium_under_feet

GROUNDS = {
    "sand": media.sand(),
    "elements": media.grains(),
    "foam": media.foam(),
    "firm": media.firm(),
    "wedge": media.Wedge(),
    "remembering sand": media.Remembering(media.sand()),
}
#: Two feet that every medium here serves together.
PAIRS: dict[str, tuple[Shape, Shape]] = {
    "boxes": (Box(0.2, 0.1, 0.05), Box(0.1, 0.06, 0.05)),
    "balls": (Sphere(0.03), Sphere(0.05)),
    "rollers": (HalfCylinder(0.04, 0.08), HalfCylinder(0.06, 0.1)),
}
#: Two of which every medium makes something else.
MIXED: tuple[Shape, Shape] = (Sphere(0.03), Box(0.2, 0.1, 0.05))


def robot(folder, feet: dict[str, Shape], planar: bool) -> Robot:
    """A block of 5 kg on each foot. They slide and pitch on their own: what one does is nothing to the others."""
    axes = {"x": "1 0 0", "z": "0 0 1"} if planar else {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
    blocks = "".join(
        f'<body name="{name}">'
        + "".join(f'<joint name="{name}_{axis}" type="slide" axis="{along}"/>' for axis, along in axes.items())
        + f'<joint name="{name}_pitch" axis="0 1 0"/>'
        f'<geom type="box" size="0.05 0.05 0.05" pos="0 0 0.1" mass="5"/><site name="{name}_foot"/></body>'
        for name in feet
    )
    file = folder / "blocks.xml"
    file.write_text(f"<mujoco><worldbody>{blocks}</worldbody></mujoco>")
    return Robot.load(file, feet={f"{name}_foot": shape for name, shape in feet.items()}, planar=planar)


@pytest.mark.parametrize("planar", [True, False], ids=["planar", "spatial"])
@pytest.mark.parametrize("pair", PAIRS)
def test_each_foot_gets_the_ground_of_its_own_shape(pair, planar, tmp_path):
    """Leaf by leaf what the foot would get alone, so every law made of it is the same."""
    left, right = PAIRS[pair]
    both = robot(tmp_path, {"left": left, "right": right}, planar)
    for medium in GROUNDS.values():
        together = medium_under_feet(medium, both)
        for foot, shape in enumerate((left, right)):
            alone = medium.for_foot(shape, planar)
            mine = jax.tree.map(lambda leaf, foot=foot: leaf[foot], together)
            assert jax.tree.structure(mine) == jax.tree.structure(alone)
            jax.tree.map(np.testing.assert_array_equal, mine, alone)


def test_flat_feet_of_different_shapes(tmp_path):
    """In the plane a disc is as good as a rectangle; in space sand treats it by its symmetry."""
    feet: dict[str, Shape] = {"left": Box(0.2, 0.1, 0.05), "right": Cylinder(0.05, 0.1)}
    for medium in GROUNDS.values():
        assert medium_under_feet(medium, robot(tmp_path, feet, planar=True)).kind == "planar"
    for ground in ("foam", "firm", "wedge"):
        assert medium_under_feet(GROUNDS[ground], robot(tmp_path, feet, planar=False)).kind == "spatial"


@pytest.mark.parametrize(
    ("ground", "planar", "pair"), [("sand", True, PAIRS["boxes"]), ("foam", False, MIXED), ("sand", False, MIXED)]
)
def test_blocks_on_different_feet_move_as_each_would_alone(ground, planar, pair, tmp_path):
    """Two blocks dropped and pushed along, and each of them by itself: the minimum of a sum of two separate problems
    is found to 1e-12 (the solver's tolerance, relative), which 50 steps of contact may enlarge a thousandfold.

    A ball beside a box is two groups in one step, whose twists have three and six components.
    """
    feet = dict(zip(("left", "right"), pair, strict=True))
    both = dropped(robot(tmp_path, feet, planar), GROUNDS[ground])
    each = [dropped(robot(tmp_path, {name: shape}, planar), GROUNDS[ground]) for name, shape in feet.items()]
    assert abs(both[-1, 0] - both[-1, both.shape[1] // 2]) > 1e-4  # they do differ
    np.testing.assert_allclose(both, np.concatenate(each, axis=1), atol=1e-9)


def dropped(model: Robot, medium: media.Medium) -> np.ndarray:
    """Configurations (step, nq) of 50 steps that start on the surface, going down and forwards."""
    simulator = Simulator(model, medium, dt=0.002)
    velocity = np.tile([0.3, -0.2, 0.0] if model.planar else [0.3, 0.1, -0.2, 0.0], len(model.feet))
    start = simulator.initial_state(v=velocity)
    _, record = jax.jit(lambda state: simulator.rollout(state, None, 50))(start)
    return np.asarray(record.q)


@pytest.mark.parametrize("planar", [True, False], ids=["planar", "spatial"])
@pytest.mark.parametrize("ground", GROUNDS)
def test_who_needs_feet_of_one_kind_refuses_others_with_the_remedy(ground, planar, tmp_path):
    mixed = robot(tmp_path, dict(zip(("ball", "flat"), MIXED, strict=True)), planar)
    with pytest.raises(MediumError, match=r"must be of one kind.*Sphere.*Box.*Robot.load\(..., feet="):
        medium_under_feet(GROUNDS[ground], mixed)
