"""Videos of runs: mp4 or gif, without a screen."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import imageio.v3
import imageio_ffmpeg
import numpy as np
from rich.console import Console
from rich.progress import track

from softground.bridges.graphics import find_backend
from softground.bridges.mujoco_video import mujoco_frames
from softground.bridges.playback import Playback, playback
from softground.bridges.side_view import side_view_frames
from softground.errors import OptionError
from softground.runs import RobotMotion
from softground.whole_file import write_whole

FORMATS = (".mp4", ".gif")
NO_RENDERER = "no off-screen OpenGL (EGL or OSMesa) here: the video is drawn from the side by matplotlib"


def animate(
    dataset: RobotMotion,
    path: str | Path,
    *,
    fps: int = 25,
    speed: float = 1.0,
    size: tuple[int, int] = (640, 384),
    title: str = "",
    progress: bool = True,
) -> Path:
    """Render a run to `path` (.mp4 or .gif), `speed` times as fast as life, of `size` (width, height) pixels.

    Drawn by MuJoCo's renderer where EGL or OSMesa works, else by matplotlib from the side, and then says so.
    """
    path = Path(path)
    check_format(path)
    if size[0] % 2 or size[1] % 2:
        raise OptionError(f"a video's width and height must be even, got {size[0]} x {size[1]}")
    play = playback(dataset, fps=fps, speed=speed, title=title)
    console = Console(stderr=True, quiet=not progress)
    images = frames(play, size, console)
    images = track(images, f"rendering {path.name}", len(play.time), console=console, disable=not progress)
    return write_video(path, images, fps)


def check_format(path: Path) -> None:
    """OptionError unless videos can be written to a file of this name."""
    if path.suffix not in FORMATS:
        raise OptionError(f"a video must end in {' or '.join(FORMATS)}, got {path.name!r}")


def frames(play: Playback, size: tuple[int, int], console: Console | None = None) -> Iterator[np.ndarray]:
    """Images (height, width, 3) of a playback, by the best means there is."""
    backend = find_backend()
    if backend is not None:
        return mujoco_frames(play, backend, *size)
    if console is not None:
        console.print(NO_RENDERER, soft_wrap=True)
    return side_view_frames(play, *size)


def write_video(path: Path, images: Iterable[np.ndarray], fps: int) -> Path:
    """Encode images; written whole."""
    encode = _encode_mp4 if path.suffix == ".mp4" else _encode_gif
    return write_whole(path, lambda file: encode(file, images, fps))


def _encode_gif(path: Path, images: Iterable[np.ndarray], fps: int) -> None:
    imageio.v3.imwrite(path, list(images), duration=1000 / fps, loop=0)


def _encode_mp4(path: Path, images: Iterable[np.ndarray], fps: int) -> None:
    """Pipe raw frames to the ffmpeg that imageio-ffmpeg carries.

    Not through imageio: its way of starting ffmpeg forks, which JAX's threads do not survive for certain.
    """
    images = iter(images)
    first = next(images)
    height, width = first.shape[:2]
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps), "-i", "-"]
    target = [
        "-c:v",
        "libx264",
        "-preset",
        "veryfast",  # half the time of "fast", and smaller files of such pictures
        "-crf",
        "21",
        "-pix_fmt",
        "yuv420p",
        "-movflags",
        "+faststart",
    ]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", *source, *target, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        for image in itertools.chain([first], images):
            process.stdin.write(np.ascontiguousarray(image).tobytes())
    except BrokenPipeError:
        pass  # ffmpeg gave up: its reason follows
    finally:
        process.stdin.close()
        complaint = process.stderr.read().decode(errors="replace").strip()
        process.stderr.close()
    if process.wait() != 0:
        raise OptionError(f"ffmpeg could not write the video: {complaint or 'no reason given'}; try a .gif")
