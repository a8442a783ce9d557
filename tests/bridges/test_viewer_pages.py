"""The pages: a run that is scrubbed and played, a live simulation that is changed, and how both refuse."""

import signal
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

from softground.bridges.viewer import LivePage, LiveSettings, RunPage, serving
from softground.bridges.viewer.live_loop import LiveLoop, LiveSample
from softground.bridges.viewer.live_page import status_line
from softground.cli import app
from softground.control import hold_posture
from softground.errors import FileFormatError, OptionError
from softground.media import foam, sand
from softground.planning import Plan
from softground.robots import Robot
from softground.runs import Run, run
from softground.simulation import Ground, Simulator
from softground.surfaces import Plane

from .viewer_cases import HandClock, sent_bytes, served

SLOPE = 0.1  # rad
GAIT = Path(__file__).parents[1] / "data" / "gait_0_1.nc"


@pytest.fixture(scope="module")
def dropped():
    robot = Robot.load("robosimian")
    simulator = Simulator(robot, Ground(sand(2.0), Plane(SLOPE)), 0.002)
    return run(simulator, simulator.initial_state(height=0.02), hold_posture(robot), 0.4, every=5, progress=False)


@pytest.fixture(scope="module")
def page(dropped):
    with served() as server:
        yield RunPage(dropped, server, HandClock())


# -- a run ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", [0.39, 0.0, 0.2, 0.1])
def test_scrubbing_to_any_time_shows_the_recorded_pose(page, dropped, moment):
    page.clock.seek(moment)
    page.update()
    row = int(np.searchsorted(dropped["time"].values, page.play.time[page.frame]))
    assert abs(dropped["time"].values[row] - moment) <= 1 / 50 + 1e-9
    model = page.play.model
    data = mujoco.MjData(model)
    data.qpos[:] = dropped["configuration"].values[row]
    mujoco.mj_kinematics(model, data)
    for body, frame in page.stage.robot.frames.items():
        np.testing.assert_allclose(frame.position, data.xpos[body], atol=1e-6)
        np.testing.assert_allclose(frame.wxyz, data.xquat[body], atol=1e-6)
    assert page.slider.value == pytest.approx(page.play.time[page.frame], abs=6e-3)


def test_arrows_and_hulls_show_the_recorded_forces(page, dropped):
    """The force lies in the wrench space: the tip of the arrow in the hull, both drawn to one scale."""
    page.show(len(page.play.time) - 1)
    hulls = page.stage.hulls
    start, tip = hulls.arrows.points[:, 0], hulls.arrows.points[:, 1]
    np.testing.assert_allclose((tip - start) / hulls.scale, page.play.force[-1], atol=0.5)  # float32 of metres
    for i, handle in enumerate(hulls._hulls):
        np.testing.assert_allclose(handle.position, start[i], atol=1e-6)
        x, z = handle.vertices[:, 0], handle.vertices[:, 2]
        slack = 1e-3  # m, what float32 and the recorded step's end round off
        for angle in np.linspace(0, 2 * np.pi, 16, endpoint=False):
            direction = np.array([np.cos(angle), np.sin(angle)])
            reach = (np.stack([x, z], -1) @ direction).max()
            assert (tip - start)[i, [0, 2]] @ direction <= reach + slack


def test_a_plan_is_played_like_a_run():
    """Also one that was written by softground 0.1; what its report complains of is said."""
    found = Plan.load(GAIT)
    plan = replace(found, report=replace(found.report, status="failed"))
    with served() as server:
        page = RunPage(plan, server, HandClock())
        page.clock.seek(plan.trajectory.seconds)
        page.update()
        np.testing.assert_allclose(page.configurations[page.frame], plan.trajectory.q[-2])  # the last step begins there
        np.testing.assert_allclose(page.play.force[-1], plan.motion["wrench_world"].values[-1][:, :3])
    assert "not feasible" in plan.troubles()[0]


def test_footprints_are_as_deep_as_the_feet_went(page, dropped):
    depths = [page.prints.depths(tile, len(page.play.time)).max() for tile in page.prints.tiles]
    tilted = 0.05 * np.tan(np.abs(dropped["tilt"].values).max())  # a tilted sole's edge is deeper than its centre
    deepest = page.play.depth.max()
    assert deepest - 1e-3 <= max(depths) <= deepest + tilted + 1e-3


def test_scrubbing_back_takes_the_prints_out_of_the_ground(page):
    page.show(0)
    ground = page.stage.ground
    before = {name: (mesh.vertices.copy(), mesh.visible) for name, mesh in ground._meshes.items()}
    page.show(len(page.play.time) - 1)
    assert any(name.endswith("_pressed") and mesh.visible for name, mesh in ground._meshes.items())
    page.show(0)
    for name, mesh in ground._meshes.items():
        if name in before and before[name][1]:
            np.testing.assert_array_equal(mesh.vertices, before[name][0])
        else:
            assert not mesh.visible  # pressed ground that is yet to come


def test_a_foot_in_the_air_has_no_arrow(page):
    page.show(0)
    assert not page.play.force[0].any()
    assert not page.stage.hulls.arrows.visible


def test_switches_hide_hulls_and_forces(page):
    page.stage.hulls.hulls_visible = page.stage.hulls.arrows_visible = False
    page.show(len(page.play.time) - 1)
    assert not page.stage.hulls.arrows.visible
    assert not any(handle.visible for handle in page.stage.hulls._hulls)
    page.stage.hulls.hulls_visible = page.stage.hulls.arrows_visible = True
    page.show(len(page.play.time) - 1)
    assert page.stage.hulls.arrows.visible
    assert all(handle.visible for handle in page.stage.hulls._hulls)


def test_playing_moves_the_robot_and_the_plots(page):
    page.clock.seek(0.0)
    page.clock.play()
    page.clock._now.time += 0.2
    page.update()
    assert page.play.time[page.frame] == pytest.approx(0.2, abs=0.021)
    page.show_cursor()
    for plot in page.plots:
        assert plot.plot.data[0][np.argmax(plot.plot.data[-1])] == page.play.time[page.frame]
    page._toggle()
    assert page.play_button.label == "Play"


def test_elastic_ground_has_no_hulls_and_keeps_no_prints():
    robot = Robot.load("foot")
    simulator = Simulator(robot, foam())
    dataset = run(simulator, simulator.initial_state(height=0.0), None, 0.05, every=5, progress=False)
    with served() as server:
        page = RunPage(dataset, server)
        page.show(len(page.play.time) - 1)
        assert page.prints.tiles == set()
        assert page.stage.hulls._hulls == [None]
        assert page.hulls.disabled


def stretched(dataset: Run, seconds: float, speed: float) -> Run:
    """A run in slow motion, at 2 ms, again and again until it lasts, each time further uphill: many steps, cheaply."""
    count, slower = int(seconds / 0.002), 25
    rows = np.arange(count) // slower
    long = dataset.isel(time=rows % dataset.sizes["time"]).assign(time=("time", 0.002 * np.arange(count)))
    repetition = rows // dataset.sizes["time"]
    way = speed * 0.002 * slower * dataset.sizes["time"] * repetition
    configuration, base = long["configuration"].values.copy(), long["base_position"].values.copy()
    uphill = np.stack([way * np.cos(SLOPE), way * np.sin(SLOPE)], axis=1)
    configuration[:, :2] += uphill
    base[:, [0, 2]] += uphill
    return long.assign(
        configuration=(long["configuration"].dims, configuration), base_position=(long["base_position"].dims, base)
    )


def test_a_long_run_costs_its_length_and_is_sent_in_a_few_megabytes(dropped):
    """40 beside 10 seconds, in processor time: preparing them at most in proportion, showing a frame alike."""
    spent = {}
    for seconds in (10.0, 40.0):
        with served() as server:
            began = time.process_time()
            page = RunPage(stretched(dropped, seconds, 0.3), server)
            prepared, sent = time.process_time(), sent_bytes(server)
            for frame in np.random.default_rng(0).integers(0, len(page.play.time), 20):
                page.show(int(frame))
            spent[seconds] = prepared - began, time.process_time() - prepared
    assert page.play.time[-1] > 39
    assert len(page.prints.tiles) > 30
    assert sent < 4e6
    assert all(len(plot.plot.data[0]) <= 1003 for plot in page.plots)
    # Twice as much for noise; the first also compiles.
    assert spent[40.0][0] < 2 * 4 * spent[10.0][0]
    assert spent[40.0][1] < 2 * 4 * spent[10.0][1]


# -- live ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def live():
    now = HandClock()
    with served() as server:
        loop = LiveLoop(Robot.load("foot"), LiveSettings(strength=2.0), now=now)
        yield LivePage(loop, server), now


def advance(live, seconds):
    page, now = live
    for _ in range(round(seconds / 0.05)):
        now.time += 0.05
        page.update()
    return page.loop.sample


def test_live_keeps_pace_with_the_clock_and_the_foot_sinks(live):
    page, _ = live
    page.start_anew()
    sample = advance(live, 1.0)
    assert sample.time == pytest.approx(1.0, abs=0.03)
    assert sample.finite
    assert sample.depth[0] > 0.005
    assert page.prints.tiles
    assert "of real time" in page.status.content


def test_live_gives_up_time_it_cannot_catch_up(live):
    page, now = live
    before = page.loop.sample.time
    now.time += 60.0
    page.update()
    assert page.loop.sample.time - before == pytest.approx(0.1, abs=0.02)


def test_live_changes_medium_strength_payload_and_slope(live):
    page, _ = live
    page.start_anew()
    soft = advance(live, 1.0).depth[0]
    page.change(strength=8.0)
    assert page.loop.sample.finite
    page.start_anew()
    assert advance(live, 1.0).depth[0] < 0.6 * soft
    page.change(payload=5.0)
    assert float(page.loop.simulator.robot.total_mass) == pytest.approx(float(page.robot.total_mass) + 5.0)
    advance(live, 0.2)
    page.change(medium="firm")
    assert advance(live, 0.5).depth[0] < 2e-3
    assert page.prints.tiles == set()
    page.change(medium="sand")
    assert advance(live, 0.3).finite
    page.change(slope=10.0)
    assert page.loop.sample.time == 0.0
    assert advance(live, 0.3).finite
    page.change(slope=0.0)


def test_live_controls_leave_wishes_that_update_fulfils(live):
    page, _ = live
    page._wish(lambda: page.change(strength=5.0))
    assert page.loop.settings.strength != 5.0
    advance(live, 0.05)
    assert page.loop.settings.strength == 5.0


def test_live_refuses_with_a_reason_and_goes_on(live):
    page, _ = live
    before = page.loop.settings
    page.change(gait="trot")  # one foot cannot
    assert page.loop.settings == before
    assert "a trot needs four feet" in page.loop.message
    sample = advance(live, 0.1)
    assert sample.finite
    assert "a trot needs four feet" in page.status.content
    page.change(strength=6.0)
    assert page.loop.message == ""


def test_live_shows_a_state_that_is_not_finite_and_recovers(live):
    page, _ = live
    import equinox as eqx

    page.loop.state = eqx.tree_at(lambda s: s.v, page.loop.state, page.loop.state.v * np.nan)
    shown = page.loop.sample.q
    sample = advance(live, 0.1)
    assert not sample.finite
    np.testing.assert_array_equal(page.loop.sample.q, shown)
    assert "not finite" in page.status.content
    page.start_anew()
    assert advance(live, 0.1).finite


def test_push_adds_a_velocity_along_x():
    loop = LiveLoop(Robot.load("robosimian"), LiveSettings(strength=2.0), now=HandClock())
    assert loop.can_push
    loop.push(0.5)
    twists = loop.robot.foot_twists(loop.state.q, loop.state.v)
    np.testing.assert_allclose(np.asarray(twists)[:, :3], np.array([[0.5, 0, 0]] * 4), atol=1e-9)


def test_unconverged_steps_are_counted_in_the_status_line():
    zeros = np.zeros(1)
    sample = LiveSample(1.0, zeros, np.zeros((1, 3)), zeros, zeros, 3, 15, True, 0.97)
    assert "3 of 15 steps did not converge" in status_line(sample, "")


@pytest.mark.parametrize(
    "options", [{"strength": 0.0}, {"slope": 80.0}, {"payload": -1.0}, {"gait": "fly"}, {"strength": np.nan}]
)
def test_bad_settings(options):
    with pytest.raises(OptionError, match="must"):
        LiveSettings(**options)


# -- serving -------------------------------------------------------------------------------------------------


def test_only_this_machine_can_look_by_default():
    with served() as server:
        assert server.get_host() == "127.0.0.1"
        sockets = [s.getsockname()[0] for s in _listening(server.get_port())]
        assert sockets == ["127.0.0.1"]
        assert serving.address(server) == f"http://127.0.0.1:{server.get_port()}"


def _listening(port: int) -> list:
    """Stand-ins for the sockets that listen on a port: what the kernel says, /proc/net/tcp."""
    from pathlib import Path

    class Listener:
        def __init__(self, address):
            self.address = address

        def getsockname(self):
            return self.address

    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    local = [row[1].split(":") for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port]
    return [Listener((socket.inet_ntoa(bytes.fromhex(ip)[::-1]), port)) for ip, _ in local]


@pytest.fixture
def ordinary_interrupts():
    """SIGINT raises, as in a terminal: workers of pytest-xdist ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ordinary_interrupts")
def test_the_first_interrupt_asks_and_the_second_insists():
    stop = threading.Event()
    with serving.interrupts_set(stop):
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_port_in_use_is_refused(tmp_path, dropped):
    path = dropped.save(tmp_path / "run.nc")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OptionError, match=f"port {port}.*choose another"):
            serving.start_server(port=port)
        result = CliRunner().invoke(app, ["view", str(path), "--port", str(port)])
        assert result.exit_code == 2
        assert "choose another with --port" in result.stderr


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70000), ("203.0.113.7", 0), ("no.such.host.invalid", 0)])
def test_an_impossible_address_is_refused(host, port):
    with pytest.raises(OptionError, match="--port"):
        serving.check_address(host, port)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["view"], "either a run file or --live"),
        (["view", "run.nc", "--live", "foot"], "either a run file or --live"),
        (["view", "absent.nc"], "no run file at absent.nc"),
        (["view", "--live", "nope"], "neither a file nor in the catalogue"),
        (["view", "--live", "foot", "--ground", "cheese"], "unknown medium 'cheese'"),
        (["view", "--live", "foot", "--slope", "80"], "between -60 and 60 degrees"),
        (["view", "--live", "foot", "--strength", "0"], "strength must be positive"),
    ],
)
def test_bad_options_are_one_line_and_exit_2(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stderr.startswith("error: ")


@pytest.mark.parametrize("content", [b"hello", b"\x89HDF\r\n\x1a\n" + b"0" * 100], ids=["text", "truncated"])
def test_a_file_that_is_no_run_is_refused(tmp_path, content):
    from softground.bridges.viewer import view_run

    path = tmp_path / "run.nc"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"run\.nc"):
        view_run(path, port=0)
