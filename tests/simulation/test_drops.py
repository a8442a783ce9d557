"""What drops are judged by: the price of depth in closed form, and a few drops."""

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softground import media
from softground.bench import drops
from softground.bench.displaced import displaced, least_rate, least_share, level_rate
from softground.errors import OptionError
from softground.robots import Robot

THING = """<mujoco><compiler angle="radian" inertiafromgeom="false"/>
<custom><text name="softground_feet" data="toe"/></custom>
<worldbody><body name="thing"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1e-3 1e-3 1e-3"/>
<site name="toe" type="sphere" size="0.01" pos="0 0 5"/>{geom}</body></worldbody></mujoco>"""


@pytest.fixture(scope="module", autouse=True)
def native_steps():
    """Drops choose their backend."""


@pytest.mark.parametrize(
    ("geom", "height", "expected"),
    [
        # A box of 0.2 x 0.1 x 0.04 m, its lower face 1 cm deep; all of it 7 cm deep: volume times mean depth.
        ('<geom type="box" size="0.1 0.05 0.02"/>', 0.01, 0.2 * 0.1 * 0.01**2 / 2),
        ('<geom type="box" size="0.1 0.05 0.02"/>', -0.05, 0.2 * 0.1 * 0.04 * 0.05),
        # A cap of depth h of a ball: the integral of (h - x) times its area pi (2 r x - x^2).
        ('<geom type="sphere" size="0.05"/>', 0.03, np.pi * (2 * 0.05 * 0.02**3 / 6 - 0.02**4 / 12)),
        ('<geom type="sphere" size="0.05"/>', -0.2, 4 / 3 * np.pi * 0.05**3 * 0.2),
    ],
)
def test_what_bodies_displace_is_an_integral_over_their_volume(geom, height, expected, tmp_path):
    path = tmp_path / "thing.xml"
    path.write_text(THING.format(geom=geom))
    robot = Robot.load(path, contacts="all")
    place, turn = np.array([[[0.3, 0.1, height]]]), Rotation.from_euler("z", 0.7).as_matrix()[None, None]
    assert displaced(robot, place, turn)[0, 0] == pytest.approx(expected, rel=0.03)  # panels of a ball lie inside it


def test_the_price_of_depth_is_that_of_the_law():
    """Springs: the stiffness. Grains: less than a level face pays, and more than nothing, in every direction."""
    assert least_rate(media.foam()) == level_rate(media.foam()) == 8e5
    sand = media.sand()
    assert level_rate(sand) == pytest.approx(200 / (np.pi * 0.05**2 * 0.05), rel=0.3)  # N/m3: 5 cm radius, 5 cm deep
    assert 0.05 < least_share(0.4) < 0.127  # a level face that goes up pays 0.127
    assert least_rate(sand) == pytest.approx(least_share(0.4) * level_rate(sand))
    with pytest.raises(OptionError, match="springs and dry grains"):
        least_rate(media.soil())


def test_a_few_drops(tmp_path):
    """On springs and in grains; what is kept of the worst can be simulated again."""
    found = drops.measure(("robosimian",), ("foam", "sand"), count=2, seconds=0.6, out=tmp_path)
    wrong = [check for check in found["checks"] if not check["passed"] and "moves" not in check["name"]]
    assert not wrong
    assert found["drops"] == 4
    assert all(20 < row["deepest_mm"] < 500 for row in found["cases"].values())
    kept = tmp_path / "worst" / "robosimian_sand_paid_0.json"
    run = drops.again(kept)
    assert float(run["body_depth"].max()) == pytest.approx(json.loads(kept.read_text())["deepest"], abs=0.01)


def test_a_check_can_fail():
    """Bodies that have given the ground nothing have not paid for where they are."""
    robot = Robot.load("robosimian", contacts="all")
    simulator = drops.Simulator(robot, media.foam().on_any_side())
    q = np.array(simulator.initial_state(height=-0.1).q)[None, None]
    paid = drops._paid(simulator, drops.Looks(q, np.zeros((1, 1, len(robot.bodies)))))
    assert paid[0] == 0.0
    row = {"drops": 1, "not_finite": 0, "not_converged_share": 0.0, "at_rest_share": 1.0}
    row |= {"total_gain_share": 0.0, "allowed_gain_share": 0.0, "least_paid": float(paid[0])}
    assert [check["passed"] for check in drops._checks({"case": row})] == [True, True, True, True, False]
