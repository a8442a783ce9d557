"""Videos: written whole, of the asked length, showing the robot and its sinking feet."""

import imageio.v3 as iio
import imageio_ffmpeg
import numpy as np
import pytest

from softground.bridges import animation, graphics
from softground.bridges.mujoco_video import footprints, mujoco_frames
from softground.bridges.playback import playback
from softground.bridges.scene import build_scene
from softground.control import hold_posture
from softground.errors import OptionError
from softground.media.named import sand
from softground.robots import Robot
from softground.runs import run
from softground.simulation import Ground, Simulator
from softground.surfaces import Plane, Wave


@pytest.fixture(scope="module")
def dropped():
    robot = Robot.load("robosimian")
    simulator = Simulator(robot, Ground(sand(2.0), Plane(0.1)), 0.002)
    state = simulator.initial_state(height=0.02)
    return run(simulator, state, hold_posture(robot), 0.4, every=5, progress=False)


def test_without_opengl_matplotlib_draws_and_says_so(dropped, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(animation, "find_backend", lambda: None)
    path = animation.animate(dropped, tmp_path / "video.mp4", fps=10, size=(320, 192))
    assert imageio_ffmpeg.count_frames_and_secs(str(path))[0] == 4
    assert "drawn from the side by matplotlib" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [path]


def test_gif(dropped, tmp_path, monkeypatch):
    monkeypatch.setattr(animation, "find_backend", lambda: None)
    path = animation.animate(dropped, tmp_path / "video.gif", fps=10, size=(160, 96), progress=False)
    assert len(iio.imread(path)) == 4


def test_slow_motion_has_more_frames(dropped):
    assert len(playback(dropped, fps=20, speed=0.5).time) == 2 * len(playback(dropped, fps=20, speed=1.0).time)


def test_soles_of_the_playback_are_where_the_run_has_them(dropped):
    """Depth of the drawn soles below the drawn plane equals the recorded depth."""
    play = playback(dropped, fps=20, speed=1.0)
    distance = np.array([[float(play.surface.signed_distance(p)) for p in frame] for frame in play.foot])
    np.testing.assert_allclose(-distance, play.depth, atol=1e-9)


def test_footprints_are_left_where_feet_were(dropped):
    assert footprints(playback(dropped, fps=20, speed=1.0)) == []  # nobody has lifted a foot


def test_edges_are_smoothed_where_a_card_draws(dropped):
    play = playback(dropped, fps=20, speed=1.0)
    samples = [build_scene(play, 64, 64, in_software=soft).vis.quality.offsamples for soft in (True, False)]
    assert samples == [0, 4]


@pytest.mark.render
@pytest.mark.parametrize("surface", [Plane(0.1), Wave(0.1, 2.0)], ids=["plane", "wave"])
def test_mujoco_draws_sky_sand_and_robot(dropped, surface):
    backend = graphics.find_backend()
    if backend is None:
        pytest.skip("neither EGL nor OSMesa works here")
    import dataclasses

    play = dataclasses.replace(playback(dropped, fps=5, speed=1.0), surface=surface)
    image = next(mujoco_frames(play, backend, 320, 192)).astype(int)
    sky, ground = image[30:40].mean((0, 1)), image[-20:].mean((0, 1))
    assert sky[2] > sky[0]  # blue above
    assert ground[0] > ground[2] + 30  # sand below
    assert (np.abs(image - ground).sum(-1) > 150).mean() > 0.1


@pytest.mark.parametrize("options", [{"path": "video.avi"}, {"path": "video.mp4", "size": (321, 192)}])
def test_bad_options(dropped, tmp_path, options):
    path = tmp_path / options.pop("path")
    with pytest.raises(OptionError, match="must"):
        animation.animate(dropped, path, progress=False, **options)
