"""Which off-screen OpenGL MuJoCo's renderer can use on this machine, and a context of it.

`import mujoco` itself fails if MUJOCO_GL names a library that is not there, and a broken driver may end the
process, so every choice is tried in a process of its own first.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from typing import Any

BACKENDS = ("egl", "osmesa")

_TRIAL = """
import mujoco
from softground.bridges.graphics import make_context
context = make_context({backend!r}, 32, 32)
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
print("works")
"""


@functools.cache
def find_backend() -> str | None:
    """The first of `BACKENDS` that works, or None. SOFTGROUND_GL=egl, osmesa or none narrows the choice."""
    wanted = os.environ.get("SOFTGROUND_GL", "")
    candidates = [wanted] if wanted in BACKENDS else [] if wanted == "none" else BACKENDS
    return next((backend for backend in candidates if _works(backend)), None)


def _works(backend: str) -> bool:
    environment = {key: value for key, value in os.environ.items() if key not in ("MUJOCO_GL", "PYOPENGL_PLATFORM")}
    try:
        trial = subprocess.run(
            [sys.executable, "-c", _TRIAL.format(backend=backend)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return trial.returncode == 0 and "works" in trial.stdout


def make_context(backend: str, width: int, height: int) -> Any:
    """A current OpenGL context; call its `free()` when done.

    MuJoCo's C library reads MUJOCO_GL when it first draws, so it is set here, after `import mujoco`.
    """
    os.environ["MUJOCO_GL"] = backend
    os.environ["PYOPENGL_PLATFORM"] = backend
    if backend == "egl":
        from mujoco.egl import GLContext
    else:
        from mujoco.osmesa import GLContext
    context = GLContext(width, height)
    context.make_current()
    return context


def draws_in_software() -> bool:
    """Whether the current context draws on the processor, as Mesa does where there is no graphics card."""
    from OpenGL.GL import GL_RENDERER, glGetString

    name = (glGetString(GL_RENDERER) or b"").decode(errors="replace").lower()
    return any(renderer in name for renderer in ("llvmpipe", "softpipe", "swrast"))
