"""The rigid floor of a model: where the ground yields, it must not push as well."""

from __future__ import annotations

from collections.abc import Iterable

import mujoco

from softground.bridges.mujoco.carrying import model_name
from softground.errors import RobotError

FLOORS = (int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD))


def take_out_floor(model: mujoco.MjModel) -> list[str]:
    """Set contype and conaffinity of the planes and height fields of the world to 0; the names of those it changed.

    They are drawn as before, and nothing rests on them any more. Not undone by anything.

    >>> import mujoco, softground as sg
    >>> floor = '<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/></worldbody></mujoco>'
    >>> sg.mujoco.take_out_floor(mujoco.MjModel.from_xml_string(floor))
    ['floor']
    """
    changed = [geom for geom in floors(model) if model.geom_contype[geom] or model.geom_conaffinity[geom]]
    for geom in changed:
        model.geom_contype[geom] = model.geom_conaffinity[geom] = 0
    return [model.geom(geom).name or f"geom {geom}" for geom in changed]


def floors(model: mujoco.MjModel) -> list[int]:
    """Planes and height fields that cannot move."""
    fixed = [geom for geom in range(model.ngeom) if model.body_weldid[model.geom_bodyid[geom]] == 0]
    return [geom for geom in fixed if int(model.geom_type[geom]) in FLOORS]


def refuse_floor(model: mujoco.MjModel, bodies: Iterable[int]) -> None:
    """RobotError if the floor still pushes on geoms of these bodies, or of bodies welded to them."""
    off = mujoco.mjtDisableBit.mjDSBL_CONTACT, mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    if any(model.opt.disableflags & int(bit) for bit in off):
        return
    own = {int(model.body_weldid[body]) for body in bodies}
    geoms = [geom for geom in range(model.ngeom) if int(model.body_weldid[model.geom_bodyid[geom]]) in own]
    pairs = {(int(a), int(b)) for a, b in zip(model.pair_geom1, model.pair_geom2, strict=True)}
    for floor in floors(model):
        for geom in geoms:
            if _collide(model, floor, geom) or (floor, geom) in pairs or (geom, floor) in pairs:
                names = [model.geom(g).name or f"number {g}" for g in (floor, geom)]
                raise RobotError(
                    f"{model_name(model)}: the rigid floor (geom {names[0]}) still pushes on geom {names[1]}, which "
                    "is to meet soft ground. Take it out, sg.mujoco.take_out_floor(model), or write "
                    'contype="0" conaffinity="0" into the file'
                )


def _collide(model: mujoco.MjModel, a: int, b: int) -> bool:
    """MuJoCo's rule: contype of one and conaffinity of the other have a bit in common."""
    kind, affinity = model.geom_contype, model.geom_conaffinity
    return bool((int(kind[a]) & int(affinity[b])) | (int(kind[b]) & int(affinity[a])))
