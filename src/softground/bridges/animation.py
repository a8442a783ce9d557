"""Films of runs: mp4 or gif, without a screen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import imageio
import numpy as np
import xarray as xr
from rich.console import Console
from rich.progress import track

from softground.bridges.graphics import find_backend
from softground.bridges.mujoco_film import mujoco_frames
from softground.bridges.playback import Playback, playback
from softground.bridges.side_view import side_view_frames
from softground.errors import OptionError

FORMATS = (".mp4", ".gif")


def animate(
    dataset: xr.Dataset,
    path: str | Path,
    *,
    fps: int = 25,
    speed: float = 1.0,
    size: tuple[int, int] = (640, 384),
    title: str = "",
    progress: bool = True,
) -> Path:
    """Film a run to `path` (.mp4 or .gif), `speed` times as fast as life; `size` is width and height in pixels.

    Drawn by MuJoCo's renderer where EGL or OSMesa works, else by matplotlib from the side, and then says so.
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        raise OptionError(f"a film must end in {' or '.join(FORMATS)}, got {path.name!r}")
    play = playback(dataset, fps=fps, speed=speed, title=title)
    console = Console(stderr=True, quiet=not progress)
    images = frames(play, size, console)
    images = track(images, f"filming {path.name}", len(play.time), console=console, disable=not progress)
    return write_film(path, images, fps)


def frames(play: Playback, size: tuple[int, int], console: Console | None = None) -> Iterator[np.ndarray]:
    """Images (height, width, 3) of a playback, by the best means there is."""
    backend = find_backend()
    if backend is not None:
        return mujoco_frames(play, backend, *size)
    if console is not None:
        console.print("no off-screen OpenGL (EGL or OSMesa) here: the film is drawn from the side by matplotlib")
    return side_view_frames(play, *size)


def write_film(path: Path, images: Iterator[np.ndarray], fps: int) -> Path:
    """Encode images; written whole, under a temporary name first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    options = {"fps": fps, "quality": 8} if path.suffix == ".mp4" else {"duration": 1000 / fps, "loop": 0}
    try:
        with imageio.get_writer(temporary, **options) as writer:
            for image in images:
                writer.append_data(image)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
