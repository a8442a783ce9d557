"""(2), (3) and (7): the rows of slip and sinkage as the paper prints them, beside the dynamics of the augmented models.

These rows are the balance of momentum. As printed, (2) and (3) have the trunk and one leg: functions of the stance leg,
and its mass, are left out. (7) has both legs, and the trunk's centre of mass on the line between the hips. What is left
out is given apart, so that both can be asked: do the rows hold as printed where nothing is left out, and do they hold
in any motion with what is missing?

The models' links are the biped's, whose figures are in the header of robots/models/biped.xml.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from softground.bridges.side_pictures import blank
from softground.papers.chen2026.models import FRONTAL_ANGLES, SAGITTAL_ANGLES, frontal_model, sagittal_model
from softground.papers.chen2026.rolling import arc
from softground.papers.study import Check, Findings, Options, Study, Table, below
from softground.robots import Robot
from softground.runs.figures import COLOURS, STYLE

TRUNK, HIP, THIGH, CALF, HEIGHT = 6.0, 0.8, 1.6, 0.6, 0.096  # kg; m, of the trunk's centre over the hips
M_B, L_B = TRUNK + 2 * HIP, TRUNK * HEIGHT / (TRUNK + 2 * HIP)  # hip links pitch with the trunk
L_T, A_1, L_C, A_2, B = 0.2, 0.08, 0.2, 0.09, 0.12  # m
G = 9.81  # m/s2
EXACT = 1e-10
"""Of the greatest force: what a row that holds is off by."""
STATES = 50
PITCH = 0.3  # rad, of a round foot whose contact point is sought
States = Float[np.ndarray, "s n"]


class Motion(NamedTuple):
    """States of a model, and what they are asked to do."""

    q: States
    v: States
    a: States


def random_motions(size: int) -> Motion:
    """Motions of a model with so many coordinates, large enough for every term to show."""
    random = np.random.default_rng(0)
    q = random.uniform(-1.5, 1.5, (STATES, size))
    return Motion(q, *random.normal(size=(2, STATES, size)))


def forces(robot: Robot, motion: Motion) -> Float[np.ndarray, "s 2"]:
    """M a + C v + G of the first two coordinates, slip and height, N: what a motion asks of the ground."""
    return np.asarray(jax.jit(jax.vmap(lambda *state: robot.inverse_dynamics(*state)[:2]))(*motion))


def horizontal(angle: np.ndarray, rate: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
    """Second time derivative of sin(angle)."""
    return np.cos(angle) * acceleration - np.sin(angle) * rate**2


def vertical(angle: np.ndarray, rate: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
    """Second time derivative of -cos(angle)."""
    return np.sin(angle) * acceleration + np.cos(angle) * rate**2


def _absolute(motion: Motion, angles: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Angle, rate and acceleration of each of the paper's absolute angles."""
    q, v, a = ((x[:, 2:] @ angles.T).T for x in motion)
    return list(zip(q, v, a, strict=True))


def printed_sagittal(motion: Motion) -> Float[np.ndarray, "s 2"]:
    """(2) and (3) as printed: F_x and F_z less the weight of trunk and swing leg, N."""
    q1, q2, _, _, q5 = _absolute(motion, SAGITTAL_ANGLES)
    mass, swing, calf, trunk = M_B + THIGH + CALF, THIGH * A_1 + CALF * L_T, CALF * A_2, M_B * L_B
    ahead = -swing * horizontal(*q1) - calf * horizontal(*q2) + trunk * horizontal(*q5)
    up = swing * vertical(*q1) + calf * vertical(*q2) - trunk * vertical(*q5)
    return np.stack([mass * motion.a[:, 0] + ahead, mass * motion.a[:, 1] + up], axis=-1)


def stance_leg(motion: Motion) -> Float[np.ndarray, "s 2"]:
    """What (2) and (3) leave out: the stance leg's mass and its two functions, N."""
    _, _, q3, q4, _ = _absolute(motion, SAGITTAL_ANGLES)
    above, leg = M_B + THIGH + CALF, THIGH + CALF
    thigh, calf = THIGH * (L_T - A_1) + above * L_T, CALF * (L_C - A_2) + (THIGH + above) * L_C
    ahead = thigh * horizontal(*q3) + calf * horizontal(*q4)
    up = thigh * vertical(*q3) + calf * vertical(*q4)
    return np.stack([leg * motion.a[:, 0] + ahead, leg * motion.a[:, 1] - up], axis=-1)


def printed_frontal(motion: Motion) -> Float[np.ndarray, " s"]:
    """(7) as printed: F_y, N. d_1 from the foot up, d_2 from the hip down."""
    q1, q2, q3 = _absolute(motion, FRONTAL_ANGLES)
    q2 = (q2[0] + np.pi / 2, *q2[1:])
    leg, (hip, centre) = HIP + THIGH + CALF, frontal_leg()
    f1 = -(leg * centre + TRUNK * hip + leg * hip) * horizontal(*q1)
    f2 = (TRUNK * B / 2 + leg * B) * horizontal(*q2)
    f3 = leg * (hip - centre) * horizontal(*q3)
    return (TRUNK + 2 * leg) * motion.a[:, 0] + f1 + f2 + f3


def trunk_height(motion: Motion) -> Float[np.ndarray, " s"]:
    """What (7) leaves out: the trunk's centre of mass over the line between the hips, N."""
    return -TRUNK * HEIGHT * horizontal(*_absolute(motion, FRONTAL_ANGLES)[1])


def frontal_leg() -> tuple[float, float]:
    """Height of the hip over the ground, and of the leg's centre of mass, as the biped stands (m)."""
    thigh, calf, radius = 0.44, -0.36, 0.04
    knee = radius + L_C * np.cos(calf)
    hip = knee + L_T * np.cos(thigh)
    moment = HIP * hip + THIGH * (hip - A_1 * np.cos(thigh)) + CALF * (knee - A_2 * np.cos(calf))
    return hip, moment / (HIP + THIGH + CALF)


def without_stance_leg() -> Robot:
    """The sagittal model, its stance leg without mass."""
    robot = sagittal_model()
    gone = np.isin(np.arange(5), [robot.body_names.index(name) for name in ("stance_calf", "stance_thigh")])
    parts = robot.parameters.mass, robot.parameters.inertia
    light = tuple(np.where(gone.reshape(-1, *[1] * (x.ndim - 1)), 0.0, x) for x in parts)
    return eqx.tree_at(lambda one: (one.parameters.mass, one.parameters.inertia), robot, light)


def trunk_between_hips() -> Robot:
    """The frontal model, its trunk's centre of mass on the line between the hips."""
    robot = frontal_model()
    com = np.array(robot.parameters.com)
    com[robot.body_names.index("trunk"), 2] = 0.0
    return eqx.tree_at(lambda one: one.parameters.com, robot, com)


def leg_at_rest(motion: Motion) -> Motion:
    """The same, the stance leg not turning."""
    turning = np.isin(np.arange(motion.v.shape[1]), (2, 3))
    return Motion(motion.q, *(np.where(turning, 0.0, x) for x in (motion.v, motion.a)))


def off(row: np.ndarray, force: np.ndarray) -> float:
    """Greatest error of a row over the greatest force."""
    return float(np.abs(row - force).max() / np.abs(force).max())


def errors() -> dict[str, float]:
    """By row: what it is off by, relative."""
    along, across = random_motions(7), random_motions(5)
    still, both = leg_at_rest(along), sagittal_model()
    less = lambda robot, motion, mass: forces(robot, motion) - [0.0, mass * G]  # noqa: E731
    swing, all_of_it = M_B + THIGH + CALF, M_B + 2 * (THIGH + CALF)
    sideways = forces(frontal_model(), across)[:, 0]
    return {
        "(2), (3) as printed, stance leg without mass that does not turn": off(
            printed_sagittal(still), less(without_stance_leg(), still, swing)
        ),
        "(2), (3) as printed, any motion": off(printed_sagittal(along), less(both, along, all_of_it)),
        "(2), (3) with the stance leg, any motion": off(
            printed_sagittal(along) + stance_leg(along), less(both, along, all_of_it)
        ),
        "(7) as printed, trunk's centre between the hips": off(
            printed_frontal(across), forces(trunk_between_hips(), across)[:, 0]
        ),
        "(7) as printed, trunk's centre higher": off(printed_frontal(across), sideways),
        "(7) with the trunk's height": off(printed_frontal(across) + trunk_height(across), sideways),
    }


def contact_by_print(pitch: float, radius: float = 0.04) -> float:
    """How far the point of a round sole that meets x_r / S = dS/dx_r is from the lowest one, over the radius.

    On an arc about its foot's origin dS/dx = -x / S, so that only x = 0 meets it, however the foot is pitched.
    """
    contour = arc(radius)
    met = np.abs(np.asarray(contour.x / contour.z - contour.slope)).argmin()
    return abs(float(contour.x[met]) - float(contour.contact(np.asarray(pitch))[0])) / radius


def perform(options: Options) -> Findings:
    found = errors()
    checks: list[Check] = [below(f"{name}: relative error", one, EXACT) for name, one in found.items()]
    checks.append(below("contact point by x_r / S = dS/dx_r, off the lowest in radii", contact_by_print(PITCH), 0.01))
    return Findings(
        checks=checks,
        metrics={"relative_error": found},
        tables=[Table("rows", "Rows of slip and sinkage", [{"row": n, "error": one} for n, one in found.items()])],
        figures={"rows": figure(found)},
        notes=[
            f"{STATES} random states, rates and accelerations of every coordinate. Beside them: inverse dynamics of "
            "the augmented models, which are plain robots of the library.",
            "With the sign turned round the printed condition of the contact point is met by every point of an arc.",
        ],
    )


def figure(found: dict[str, float]) -> Figure:
    """Relative errors, rows as printed and with what they leave out."""
    with matplotlib.rc_context(STYLE):
        result = blank(7.0, 2.2)
        axes = result.subplots()
        axes.barh(range(len(found)), [max(one, 1e-16) for one in found.values()], color=COLOURS[0])
        axes.axvline(EXACT, color=COLOURS[1], lw=1)
        axes.set(xscale="log", xlabel="greatest error over the greatest force", yticks=range(len(found)))
        axes.set_yticklabels(list(found), fontsize=7)
        axes.invert_yaxis()
    return result


STUDY = Study(
    "chen2026",
    "rows",
    "the printed rows of slip and sinkage (eqs 2, 3, 7)",
    "the last rows of the augmented dynamics, and the contact point of a round foot, as printed.",
    perform,
)
