"""Push a box into a bed of grains with YADE: run by cross_check_dem.py as `yade -n -x yade_push.py JOB.json`.

YADE brings its own Python, so this file does not import softground: what it needs comes in the job file.
"""

import json
import sys
from math import atan
from pathlib import Path

import numpy as np
from yade import O, Vector3, utils
from yade.wrapper import (
    Bo1_Box_Aabb,
    Bo1_Sphere_Aabb,
    Bo1_Wall_Aabb,
    ForceResetter,
    FrictMat,
    Ig2_Box_Sphere_ScGeom,
    Ig2_Sphere_Sphere_ScGeom,
    Ig2_Wall_Sphere_ScGeom,
    InsertionSortCollider,
    InteractionLoop,
    Ip2_FrictMat_FrictMat_MindlinPhys,
    Law2_ScGeom_MindlinPhys_Mindlin,
    NewtonIntegrator,
)

job = json.loads(Path(sys.argv[-1]).read_text())
bed = np.load(job["bed"])
grains = job["grains"]
length, width = job["container"]["length"], job["container"]["width"]

material = O.materials.append(
    FrictMat(
        young=grains["modulus"],
        poisson=grains["poisson"],
        density=grains["density"],
        frictionAngle=atan(grains["friction"]),
    )
)
for centre, radius in zip(bed["positions"], bed["radii"], strict=True):
    O.bodies.append(utils.sphere(Vector3(*centre), float(radius), material=material))
for axis, position, sense in (
    (2, 0.0, 1),
    (0, -length / 2, 1),
    (0, length / 2, -1),
    (1, -width / 2, 1),
    (1, width / 2, -1),
):
    O.bodies.append(utils.wall(position, axis=axis, sense=sense, material=material))
half = Vector3(*job["foot"]) / 2
sole = Vector3(*job["start"])
foot = O.bodies.append(utils.box(sole + Vector3(0, 0, half[2]), half, fixed=True, material=material))
O.bodies[foot].state.vel = Vector3(*job["velocity"])

O.engines = [
    ForceResetter(),
    InsertionSortCollider([Bo1_Sphere_Aabb(), Bo1_Wall_Aabb(), Bo1_Box_Aabb()], verletDist=0.3 * grains["radius"]),
    InteractionLoop(
        [Ig2_Sphere_Sphere_ScGeom(), Ig2_Wall_Sphere_ScGeom(), Ig2_Box_Sphere_ScGeom()],
        [Ip2_FrictMat_FrictMat_MindlinPhys(en=job["restitution"])],
        [Law2_ScGeom_MindlinPhys_Mindlin()],
    ),
    NewtonIntegrator(damping=0.0, gravity=(0, 0, -9.81)),
]
O.dt = job["time_step"]

rows = []
for _ in range(job["samples"]):
    O.run(job["every"], True)
    rows.append([O.time, *O.forces.f(foot)])
np.savetxt(job["out"], np.array(rows), delimiter=",", header="time_s,fx_n,fy_n,fz_n", comments="")
