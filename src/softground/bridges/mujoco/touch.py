"""Touch sensors: MuJoCo sums the normal forces of its own contacts in them, and the ground's are put beside.

MuJoCo counts a contact whose point lies in the sensor's site. Here a sensor has the feet of its site's body whose sole
the site may reach: judged by balls about both, so that it does not change from step to step.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from softground.bridges.mujoco.carrying import Carrier


class Touch(NamedTuple):
    """A touch sensor that feels feet."""

    address: int  # in mjData.sensordata
    feet: tuple[int, ...]
    most: float  # N, that it shows


def touches(model: mujoco.MjModel, carrier: Carrier) -> tuple[Touch, ...]:
    """The model's touch sensors that feel feet."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    numbers = np.flatnonzero(model.sensor_type == int(mujoco.mjtSensor.mjSENS_TOUCH))
    found = []
    for sensor in numbers.tolist():
        site = int(model.sensor_objid[sensor])
        feet = tuple(
            k
            for k, host in enumerate(carrier.foot_hosts)
            if host == model.site_bodyid[site] and _reaches(model, data, carrier, site, k)
        )
        cutoff = float(model.sensor_cutoff[sensor])
        if feet:
            found.append(Touch(int(model.sensor_adr[sensor]), feet, cutoff if cutoff > 0 else np.inf))
    return tuple(found)


def _reaches(model: mujoco.MjModel, data: mujoco.MjData, carrier: Carrier, site: int, number: int) -> bool:
    foot = carrier.feet[number]
    body = carrier.moving[foot.body]
    place = data.xpos[body] + data.xmat[body].reshape(3, 3) @ np.asarray(foot.position)
    apart = np.linalg.norm(place - data.site_xpos[site])
    size = model.site_size[site]
    reach = size[0] if model.site_type[site] == int(mujoco.mjtGeom.mjGEOM_SPHERE) else np.linalg.norm(size)
    overlaps = apart <= reach + np.linalg.norm(foot.shape.extent) / 2
    return bool(overlaps and apart + reach >= foot.clearance)
