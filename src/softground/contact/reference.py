"""Reference solutions of the granular step by quadratic programming: exact (no temperature), not differentiable.

Two independent forms of the same problem, for comparison and tests. Both use `quadprog` (Goldfarb-Idnani).

*Half-space form* (zhu2019 eq. 2): the unknowns are the wrenches, W_i = {w : A_i w <= b_i} is the convex hull of the
vertices and the origin, and the kinetic energy after the step is minimised.

*Velocity form*: the unknowns are the next velocity and the dissipation t_i of each foot,

    min 1/2 v'Mv - b'v + dt sum_i t_i    s.t.   t_i >= -p_k . J_i v  for every vertex p_k,   t_i >= 0.
"""

from __future__ import annotations

import numpy as np
import quadprog
from scipy.spatial import ConvexHull

#: Curvature given to the linear unknowns t_i (quadprog wants a positive definite form), relative to dt per watt.
_EPIGRAPH_CURVATURE = 1e-9


def half_spaces(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(A, b) with {w : A w <= b} the convex hull of the vertices (k, n) and the origin; rows of A are unit."""
    points = np.vstack([vertices, np.zeros(vertices.shape[1])])
    scale = np.abs(points).max(0)  # force and torque have different units: make the hull round first
    # A face with more corners than needed comes as several simplices: one and the same plane, over which an active-set
    # method may cycle.
    planes = ConvexHull(points / scale).equations
    planes = planes[np.unique(planes.round(9), axis=0, return_index=True)[1]]
    normals = planes[:, :-1] / scale
    size = np.linalg.norm(normals, axis=1)
    return normals / size[:, None], -planes[:, -1] / size


def solve_half_space_qp(mass, momentum, jacobian, vertices, dt) -> tuple[np.ndarray, np.ndarray]:
    """Next velocity (nv,) and wrenches (feet, n) of the step with wrench sets given by `vertices` (feet, k, n)."""
    mass, momentum, jacobian, vertices = map(np.asarray, (mass, momentum, jacobian, vertices))
    loaded = [i for i in range(len(vertices)) if np.abs(vertices[i]).max() > 0]
    wrenches = np.zeros(jacobian.shape[:2])
    free = np.linalg.solve(mass, momentum)
    if not loaded:
        return free, wrenches
    rows = np.concatenate([jacobian[i] for i in loaded])
    response = np.linalg.solve(mass, rows.T)  # velocity per unit impulse
    spaces = [half_spaces(vertices[i]) for i in loaded]
    size = jacobian.shape[1]
    constraints = np.zeros((len(rows), sum(len(b) for _, b in spaces)))
    column = 0
    for k, (normals, _) in enumerate(spaces):
        constraints[k * size : (k + 1) * size, column : column + len(normals)] = -normals.T
        column += len(normals)
    bounds = -np.concatenate([b for _, b in spaces])
    solution = quadprog.solve_qp(dt * rows @ response, -rows @ free, constraints, bounds)[0]
    wrenches[loaded] = solution.reshape(-1, size)
    return free + dt * response @ solution, wrenches


def solve_velocity_qp(mass, momentum, jacobian, vertices, dt) -> np.ndarray:
    """Next velocity (nv,) of the same step, by its dual form."""
    mass, momentum, jacobian, vertices = map(np.asarray, (mass, momentum, jacobian, vertices))
    n_feet, nv = len(jacobian), len(momentum)
    form = np.zeros((nv + n_feet, nv + n_feet))
    form[:nv, :nv] = mass
    form[nv:, nv:] = _EPIGRAPH_CURVATURE * dt * np.eye(n_feet)
    constraints = []
    for i in range(n_feet):
        epigraph = np.zeros((len(vertices[i]) + 1, nv + n_feet))
        epigraph[:-1, :nv] = vertices[i] @ jacobian[i]
        epigraph[:, nv + i] = 1.0
        constraints.append(epigraph)
    stacked = np.concatenate(constraints)
    linear = np.concatenate([momentum, -dt * np.ones(n_feet)])
    return quadprog.solve_qp(form, linear, stacked.T, np.zeros(len(stacked)))[0][:nv]
