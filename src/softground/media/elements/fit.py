"""How the ellipsoids of `stress_sets` were fitted to three-dimensional resistive force theory, and how far they are.

`python -m softground.media.elements.fit` fits them anew and prints coefficients and errors (a minute).
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from softground.media.elements.stress_sets import FRICTIONS, ellipsoid, monomials
from softground.media.resistive.stress import GENERIC, spatial_stress

CORNER, TIP = 0.03, 1e-3
"""Speeds (of a unit velocity) over which corners are rounded while fitting, so that there is a slope everywhere."""


class Plate(NamedTuple):
    """Plain stresses, in units of the scale, on plates of one orientation that move in every direction."""

    normal: np.ndarray  # (3,)
    stress: np.ndarray  # (k, 3)


def directions(count: int) -> np.ndarray:
    """Unit vectors (count, 3) spread evenly over the sphere (a Fibonacci lattice)."""
    i = np.arange(count) + 0.5
    z, angle = 1 - 2 * i / count, np.pi * (1 + 5**0.5) * i
    r = np.sqrt(1 - z * z)
    return np.c_[r * np.cos(angle), r * np.sin(angle), z]


def plate(up: float, friction: float, velocity: np.ndarray) -> Plate:
    """The plate whose normal has the vertical component `up`, leaning towards x; stress where it leads only."""
    normal = np.array([np.sqrt(max(1 - up * up, 0.0)), 0.0, up])
    stress = spatial_stress(np.broadcast_to(normal, velocity.shape), velocity, friction) / GENERIC
    return Plate(normal, np.where((velocity @ normal > 0)[:, None], stress, 0.0))


def hull(plate: Plate, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Power (k,) and stress (k, 3) by maximum dissipation among the plain stresses of a plate and the origin."""
    powers = -plate.stress @ velocity.T
    most = powers.argmax(0)
    power = np.maximum(powers.max(0), 0.0)
    return power, np.where(power[:, None] > 0, plate.stress[most], 0.0)


def rounded(shape: np.ndarray, normal: np.ndarray, velocity: np.ndarray, corner=CORNER):
    """Power (k,) and stress (k, 3) of the hull of an ellipsoid (six numbers, `ellipsoid`) and the origin."""
    centre, root = ellipsoid(shape, normal)
    spread = velocity @ root.T
    size = jnp.sqrt((spread**2).sum(-1) + TIP**2)
    x = velocity @ centre + size
    rim = jnp.sqrt(x * x + corner**2)
    share = (1 + x / rim) / 2
    return (x + rim) / 2, -share[:, None] * (centre + spread @ root / size[:, None])


def errors(power, stress, plain: Plate, velocity) -> np.ndarray:
    """Mean and worst error of power, rms error of stress, each over the rms of the plain stress."""
    size = np.sqrt((plain.stress**2).sum(1).mean())
    of_power = np.abs(power + (plain.stress * velocity).sum(1))
    of_stress = np.sqrt(((stress - plain.stress) ** 2).sum(1).mean())
    return np.array([of_power.mean(), of_power.max(), of_stress]) / size


def weights(plain: Plate, velocity: np.ndarray) -> tuple[np.ndarray, float]:
    """Of the directions: faces that push count more; of the plate: small stresses count more than their size."""
    return np.sqrt(0.2 + np.maximum(velocity @ plain.normal, 0.0) ** 3 * 3), (plain.stress**2).sum(1).mean() ** -0.25


POWER = 1.5
"""Weight of the error of power beside that of stress."""
START = np.array([0.35, -0.05, 0.12, 0.3, 0.0, -0.05])
"""The six numbers to begin with, in units of a plate's greatest stress."""
RIDGE = 1e-4
"""Weight of the coefficients themselves: where n is vertical, different ones mean the same."""


def _residuals(shape, normal, stress, velocity, weight, of_plate):
    power, found = rounded(shape, normal, velocity)
    off = POWER * (power + (stress * velocity).sum(1))
    return of_plate * weight[:, None] * jnp.concatenate([found - stress, off[:, None]], axis=1)


def fit(ups: np.ndarray | None = None, count: int = 500, steps: int = 60) -> np.ndarray:
    """Coefficients (6, monomials) by least squares: Gauss-Newton steps, damped as Levenberg and Marquardt do.

    ups: vertical components of the plates' normals. count: directions in which each moves. steps: at most.
    """
    ups = -np.cos(np.linspace(0, np.pi, 25)) if ups is None else ups
    velocity = directions(count)
    velocity = velocity[velocity[:, 1] > 0]  # the other half is its mirror image
    cases = [(up, mu, plate(up, mu, velocity)) for up in ups for mu in FRICTIONS]
    basis = np.array([monomials(up, mu) for up, mu, _ in cases])
    weighed = [weights(one, velocity) for *_, one in cases]
    fixed = (
        np.array([one.normal for *_, one in cases]),
        np.array([one.stress for *_, one in cases]),
        velocity,
        np.array([of_directions for of_directions, _ in weighed]),
        np.array([of_plate for _, of_plate in weighed]),
    )
    axes = (0, 0, 0, None, 0, 0)
    residual, slopes = (jax.jit(jax.vmap(one, axes)) for one in (_residuals, jax.jacfwd(_residuals)))
    size = np.array([np.abs(one.stress).max() for *_, one in cases])
    coefficients = np.linalg.lstsq(basis, size[:, None] * START, rcond=None)[0].T

    def cost(trial: np.ndarray) -> float:
        return float((np.asarray(residual(basis @ trial.T, *fixed)) ** 2).sum() + RIDGE * (trial**2).sum())

    now, damping = cost(coefficients), 1e-3
    for _ in range(steps):
        shapes = basis @ coefficients.T
        off = np.asarray(residual(shapes, *fixed)).reshape(len(cases), -1)
        slope = np.asarray(slopes(shapes, *fixed)).reshape(len(cases), -1, 6)
        square = np.einsum("cri,crj,cb,cd->ibjd", slope, slope, basis, basis, optimize=True)
        square = square.reshape(coefficients.size, -1)
        descent = np.einsum("cri,cr,cb->ib", slope, off, basis, optimize=True) + RIDGE * coefficients
        for _ in range(12):
            damped = square + np.diag(RIDGE + damping * np.diag(square))
            trial = coefficients - np.linalg.solve(damped, descent.ravel()).reshape(coefficients.shape)
            before, after = now, cost(trial)
            if after < now:
                coefficients, now, damping = trial, after, damping / 4
                break
            damping *= 4
        else:
            break
        if before - after < 1e-7 * before:
            break
    return coefficients


def straight(shape: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Pressure on a plate that moves along its normal, in units of the scale."""
    return -np.asarray(rounded(shape, normal, normal[None], 1e-4)[1])[0] @ normal


def straight_plain(normal: np.ndarray, friction: float) -> np.ndarray:
    """The same by the plain stresses."""
    return -spatial_stress(normal[None], normal[None], friction)[0] @ normal / GENERIC


def report(coefficients: np.ndarray, friction: float = 0.4, count: int = 2000) -> list[dict[str, np.ndarray]]:
    """Errors (`errors`) of both convex laws for plates of all orientations, and pressure when pushed straight on over
    that of the plain stresses."""
    velocity, rows = directions(count), []
    for up in (-1.0, -0.85, -0.5, -0.15, 0.15, 0.5, 0.85, 1.0):
        plain = plate(up, friction, velocity)
        shape = coefficients @ monomials(up, friction)
        ellipsoid = [np.asarray(one) for one in rounded(shape, plain.normal, velocity, 1e-4)]
        rows.append(
            {
                "up": np.array(up),
                "hull": errors(*hull(plain, velocity), plain, velocity),
                "ellipsoid": errors(ellipsoid[0], ellipsoid[1], plain, velocity),
                "straight": straight(shape, plain.normal) / straight_plain(plain.normal, friction),
            }
        )
    return rows


if __name__ == "__main__":
    np.set_printoptions(precision=4, suppress=True, linewidth=150)
    jax.config.update("jax_enable_x64", True)
    found = fit().round(4)
    lines = [
        repr(found),
        "up, mean and worst error of power, rms error of stress: of the hull; of the ellipsoid; straight",
    ]
    lines += [str([np.round(value, 2) for value in row.values()]) for row in report(found)]
    sys.stdout.write("\n".join(lines) + "\n")
