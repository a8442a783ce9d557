"""The scene of a video: the robot's visible geometry on textured ground, under a sky, as one MuJoCo model.

The robot is drawn, not simulated: each body of its model becomes a mocap body, put where the run has it.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from softground.bridges.playback import Playback, heights
from softground.surfaces import Plane, Surface

SAND = np.array([0.86, 0.74, 0.55])
VISIBLE_GROUPS = 3
"""Geoms of groups 0 to 2 are drawn, as in MuJoCo's viewer; collision shapes usually live above."""
FIELD_CELLS = 160
HORIZON = 100
"""Half the side of flat ground, in sizes of the robot."""


def build_scene(play: Playback, width: int, height: int, *, in_software: bool = False) -> mujoco.MjModel:
    """Model with `body_0 ... body_n` as mocap bodies in the order of the robot's model.

    in_software: drawn without a graphics card, where smoothed edges, sharp shadows and smooth cylinders take four times
    as long.
    """
    spec = mujoco.MjSpec()
    spec.visual.global_.offwidth, spec.visual.global_.offheight = width, height
    quality = spec.visual.quality
    quality.shadowsize, quality.offsamples = 1024, 4
    if in_software:
        quality.shadowsize, quality.offsamples = 512, 0
        quality.numslices, quality.numstacks = 16, 8
    spec.visual.headlight.ambient[:] = 0.38
    spec.visual.headlight.diffuse[:] = 0.25
    spec.visual.headlight.specular[:] = 0.0
    spec.visual.map.znear = 0.02
    spec.stat.extent = 3 * play.size
    spec.stat.center[:] = play.base[0]
    _add_sky(spec)
    _add_ground(spec, play)
    _add_robot(spec, play.model)
    middle = play.base.mean(axis=0)
    spec.worldbody.add_light(
        pos=middle + play.size * np.array([-2.0, -3.0, 6.0]),
        dir=[0.3, 0.45, -0.85],
        diffuse=[0.62, 0.60, 0.55],
        specular=[0.1, 0.1, 0.1],
        castshadow=True,
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
    )
    return spec.compile()


def _add_sky(spec: mujoco.MjSpec) -> None:
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.93, 0.95, 0.97],
        rgb2=[0.55, 0.70, 0.86],
        width=256,
        height=1536,
    )


def _add_ground(spec: mujoco.MjSpec, play: Playback) -> None:
    pixels = 512
    texture = spec.add_texture(
        name="sand", type=mujoco.mjtTexture.mjTEXTURE_2D, width=pixels, height=pixels, nchannel=3
    )
    texture.data = sand_texture(pixels).tobytes()
    plane = isinstance(play.surface, Plane)
    tile = 1.2 * play.size
    first, last = play.base.min(axis=0) - 5 * play.size, play.base.max(axis=0) + 5 * play.size
    half = (last - first) / 2
    material = spec.add_material(name="sand", texuniform=plane, specular=0.0, shininess=0.0, reflectance=0.0)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "sand"
    material.texrepeat[:] = 1 / tile if plane else 2 * half[:2] / tile
    if isinstance(play.surface, Plane):
        # In one piece: an infinite one is drawn as thousands of tiles.
        add_plane(spec, play.surface, (first + last)[:2] / 2, HORIZON * play.size, material="sand")
    else:
        add_field(spec, play.surface, first[:2], last[:2], FIELD_CELLS, material="sand")


def add_plane(spec: mujoco.MjSpec, surface: Plane, middle: np.ndarray, half: float, **look: Any) -> None:
    """Flat ground as a geom of the world, about a point (x, y) and so far to each side, m. look: of the geom."""
    at, quaternion = plane_pose(surface, middle)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, pos=at, quat=quaternion, size=3 * [half], **look)


def plane_pose(surface: Plane, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position (m) at a point (x, y) and orientation (quaternion) of flat ground in the world."""
    rotation = np.asarray(surface.frame_world, dtype=float)
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, rotation.ravel())
    return np.array([*middle, float(heights(surface, *middle))]), quaternion


def add_field(
    spec: mujoco.MjSpec, surface: Surface, first: np.ndarray, last: np.ndarray, cells: int, **look: Any
) -> None:
    """Any ground between two corners (x, y), m, as a height field of so many cells a side. look: of the geom."""
    x, y = np.meshgrid(*(np.linspace(first[i], last[i], cells) for i in range(2)))
    z = heights(surface, x, y)
    low, high = np.nanmin(z), np.nanmax(z)
    z = np.nan_to_num(z, nan=low)
    span = max(high - low, 1e-3)
    spec.add_hfield(
        name="ground",
        nrow=cells,
        ncol=cells,
        size=[*(last - first) / 2, span, 0.1],
        userdata=((z - low) / span).ravel(),
    )
    at = [*(first + last) / 2, low]
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="ground", pos=at, **look)


def sand_texture(size: int) -> np.ndarray:
    """(size, size, 3) bytes: sand with soft wind ripples and grains, without a seam at its edges."""
    random = np.random.default_rng(0)
    frequency = np.fft.fftfreq(size) * size
    radius = np.hypot(*np.meshgrid(frequency, frequency))

    def noise(low: float, high: float) -> np.ndarray:
        white = np.fft.fft2(random.normal(size=(size, size)))
        smooth = np.fft.ifft2(white * ((radius > low) & (radius <= high))).real
        return smooth / smooth.std()

    along = np.linspace(0, 2 * np.pi, size, endpoint=False)
    ripples = np.sin(14 * along[None, :] + 0.6 * noise(0, 4))
    grains = noise(60, size)
    light = 1 + 0.022 * noise(0, 6) + 0.018 * ripples + 0.015 * noise(6, 60) + 0.035 * grains
    return np.clip(255 * SAND * light[..., None], 0, 255).astype(np.uint8)


def _add_robot(spec: mujoco.MjSpec, model: mujoco.MjModel) -> None:
    for mesh in range(model.nmesh):
        _add_mesh(spec, model, mesh)
    for body in range(1, model.nbody):
        drawn = spec.worldbody.add_body(name=f"body_{body}", mocap=True)
        for geom in range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body]):
            _add_geom(drawn, model, geom)


def _add_mesh(spec: mujoco.MjSpec, model: mujoco.MjModel, mesh: int) -> None:
    vertices = slice(model.mesh_vertadr[mesh], model.mesh_vertadr[mesh] + model.mesh_vertnum[mesh])
    faces = slice(model.mesh_faceadr[mesh], model.mesh_faceadr[mesh] + model.mesh_facenum[mesh])
    spec.add_mesh(
        name=f"mesh_{mesh}",
        uservert=model.mesh_vert[vertices].ravel(),
        userface=model.mesh_face[faces].ravel(),
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
    )


def _add_geom(body, model: mujoco.MjModel, geom: int) -> None:
    material = model.geom_matid[geom]
    colour = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
    kind = mujoco.mjtGeom(int(model.geom_type[geom]))
    flat = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD, mujoco.mjtGeom.mjGEOM_SDF)
    if model.geom_group[geom] >= VISIBLE_GROUPS or colour[3] == 0 or kind in flat:
        return
    added = body.add_geom(
        type=kind,
        pos=model.geom_pos[geom],
        quat=model.geom_quat[geom],
        rgba=colour,
        contype=0,
        conaffinity=0,
        mass=0.0,
    )
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        added.meshname = f"mesh_{model.geom_dataid[geom]}"
    else:
        added.size[:] = model.geom_size[geom]
