"""Physics-informed learning: resistive force theory, scaled, plus what data add to it.

    wrench = sum over laws of scale_l RFT_l(pose, direction) + (depth + d0) residual(pose, direction)

The scales are fitted by least squares, drawn towards one common scale, because the laws differ little. The
residual, a stress per depth times area, is a Gaussian process over poses *and* directions,

    cov = (k_pose + scatter^2 [same pose]) k_direction + noise^2 [same row],
    k_pose = constant + squared exponential of depth and lean,   k_direction = squared exponential of the twist:

- noise grows with depth as wrenches do, hence the division by depth + d0;
- the constant is what the theory gets wrong everywhere alike, which few configurations suffice to show;
- neighbouring directions are wrong alike, so each direction learns from all;
- the scatter is what differs from one preparation of the ground to the next: in measured sand all wrenches of a
  configuration are high or low together. Taken for signal, it would force short lengths and a noisy fit.

Poses and directions form a full grid, so the covariance is diagonal in the product of the eigenvectors of its two
factors, and likelihoods cost next to nothing. The hyperparameters are those of greatest likelihood under broad
priors centred on the sizes of the foot.

RFT_l, what resistive force theory says of the foot by each stress law, is physics before any data: its wrenches in the
generic medium (scale 1) are fitted once with the features of `Resistive` media, so that this prior is smooth, vanishes
at the surface and grows for ever, and is cheap to evaluate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.optimize import minimize

from softground.experiments.learning.base import Method, learned_space, limits, onset
from softground.experiments.learning.grid import Grid, component_weights, feature_rows, lean_of, with_mirror_images
from softground.experiments.protocol import Pose, moved
from softground.experiments.symmetry import twist_sizes
from softground.media.base import COMPONENTS
from softground.media.learned import Joined, Kernels, LearnedSpace
from softground.media.resistive import surface_of, wrenches
from softground.media.resistive.medium import (
    BALL_DEPTHS,
    DEPTHS,
    PLANAR_TILT,
    SPATIAL_TILT,
    BallDepth,
    Sinking,
)
from softground.media.wrench_space import DEFAULT_EPS
from softground.robots.shapes import Shape

#: Steps, m, in which feet that are longer than `Resistive` media are deep are lowered further.
DEEPER = 0.02
#: Stress laws that serve each kind. Where two do, they disagree by about as much as either does with data.
LAWS = {"planar": ("plane", "3d"), "spatial": ("3d",)}


@dataclass(frozen=True)
class ResistivePrior:
    """Generic wrenches by each stress law, as features and their coefficients."""

    features: Callable
    coefficients: np.ndarray  # (law, b, k, n)

    def at(self, poses: np.ndarray) -> np.ndarray:
        """Generic wrenches (law, q, k, n) at poses (q, 3)."""
        return np.einsum("qb,lbkn->lqkn", feature_rows(self.features, poses), self.coefficients)


def resistive_prior(grid: Grid) -> ResistivePrior:
    """The prior of a grid's foot, directions and reference point."""
    return _prior(grid.foot, grid.kind, grid.reference_height, tuple(map(tuple, grid.twists.tolist())))


@lru_cache(maxsize=16)
def _prior(foot: Shape, kind: str, reference_height: float, twists: tuple) -> ResistivePrior:
    depths = _sampled_depths(foot)
    poses = _sampled_poses(foot, kind, depths)
    features = _features(foot, kind, deep=len(depths) > len(DEPTHS))
    design = feature_rows(features, poses)
    fitted = []
    for law in LAWS[kind]:
        values = _wrenches(foot, kind, law, poses, np.array(twists), reference_height)
        # Errors count relative to the size of the wrenches at a depth, so that shallow feet count as much.
        weight = 1 / _size_at_depth(values * component_weights(kind), poses[:, 0])[:, None]
        flat = weight * values.reshape(len(poses), -1)
        solution = np.linalg.lstsq(weight * design, flat, rcond=1e-10)[0]
        fitted.append(solution.reshape(-1, *values.shape[1:]))
    return ResistivePrior(features, np.stack(fitted))


def _sampled_depths(foot: Shape) -> np.ndarray:
    """Depths (d,), m, of a foot with a sole: as deep as it is long, where its top goes under."""
    return np.append(DEPTHS, np.arange(DEPTHS[-1] + DEEPER, foot.extent[2] + DEEPER / 2, DEEPER))


def _features(foot: Shape, kind: str, deep: bool) -> Callable:
    if foot.is_ball:
        return BallDepth(foot.clearance)
    planar = kind == "planar"
    return Sinking(
        powers=3 if deep else 2,
        harmonics=4,
        spatial=not planar,
        max_tilt=PLANAR_TILT if planar else np.pi,
        onset=DEPTHS[0],
    )


def _sampled_poses(foot: Shape, kind: str, depths: np.ndarray) -> np.ndarray:
    """Poses (q, 3) at which the generic wrenches are evaluated."""
    if foot.is_ball:
        return np.stack([foot.clearance * BALL_DEPTHS, *np.zeros((2, len(BALL_DEPTHS)))], axis=1)
    if kind == "planar":
        leans = [(tilt, 0.0) for tilt in np.linspace(-PLANAR_TILT, PLANAR_TILT, 25)]
    else:
        around = np.arange(8) * np.pi / 4
        leans = [(0.0, 0.0), *((share * SPATIAL_TILT, turn) for share in (0.25, 0.5, 0.75, 1.0) for turn in around)]
    return np.array([(depth, *lean) for lean in leans for depth in depths])


def _wrenches(foot: Shape, kind: str, law: str, poses, twists, reference_height: float) -> np.ndarray:
    """Generic wrenches (q, k, n) about the reference point."""
    full = np.zeros((len(twists), 6))
    full[:, COMPONENTS[kind]] = twists
    surface = surface_of(foot)
    out = np.empty((len(poses), len(twists), 6))
    leans, group = np.unique(poses[:, 1:], axis=0, return_inverse=True)
    for index, (tilt, heading) in enumerate(leans):
        rows = np.flatnonzero(group.reshape(-1) == index)
        turn = Pose(0.0, tilt, heading).rotation
        here = wrenches(surface, law, turn[None], poses[rows, 0], full, foot.clearance)[0]
        out[rows] = moved(here, reference_height * turn[:, 2])
    return out[..., COMPONENTS[kind]]


def _size_at_depth(values: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Greatest wrench at each pose's depth, rms over the poses of that depth (q,)."""
    greatest = np.linalg.norm(values, axis=-1).max(axis=1)
    _, where = np.unique(depth, return_inverse=True)
    return np.sqrt(np.bincount(where, greatest**2) / np.bincount(where))[where]


#: d0 in half-widths of the sole: at the surface a tilted foot's edge is already under.
DEPTH_OFFSET = 0.2
#: How strongly the scales of the laws are drawn together, as a share of the data's own weight.
SCALE_RIDGE = 0.1


class Hyper(NamedTuple):
    """Hyperparameters of the residual, relative to its amplitude."""

    depth_length: float  # half-widths of the sole
    lean_length: float  # rad
    direction_length: float  # twists of unit length
    noise: float  # of a row
    constant: float  # variance of what is the same at all poses
    scatter: float  # of a configuration


#: Middle and spread (of the logarithm) of the priors.
PRIOR = Hyper(depth_length=1.0, lean_length=0.8, direction_length=0.8, noise=0.6, constant=0.5, scatter=0.5)
PRIOR_SPREAD = np.array([0.5, 0.5, 0.5, 0.5, 1.0, 0.5])


@dataclass(frozen=True)
class PhysicsModel:
    """A fitted physics-informed model."""

    grid: Grid
    prior: ResistivePrior
    scales: np.ndarray  # (law,)
    hyper: Hyper
    residual: Residual
    kernels: Kernels
    coefficients: np.ndarray  # (b, k, n) of the residual

    def predict(self, poses: np.ndarray) -> np.ndarray:
        """Wrenches (q, k, n), N and N m, at poses (q, 3)."""
        rows = self.kernels.evaluate(poses[:, 0], lean_of(self.grid.kind, poses))
        return np.tensordot(self.scales, self.prior.at(poses), 1) + np.tensordot(rows, self.coefficients, 1)

    def medium(self, *, strength: float = 1.0, eps: float = DEFAULT_EPS) -> LearnedSpace:
        """The model as a medium for simulation, exact; see `compressed` for a cheaper one."""
        physics = np.tensordot(self.scales, self.prior.coefficients, 1)
        features = Joined((self.prior.features, self.kernels))
        return learned_space(self.grid, features, np.concatenate([physics, self.coefficients]), strength, eps)


@dataclass(frozen=True)
class Physics(Method):
    """See the module. learn_hyper=False keeps the hyperparameters at the middle of their priors."""

    name: ClassVar[str] = "physics"

    learn_hyper: bool = True

    def fit(self, grid: Grid) -> PhysicsModel:
        prior, offset = resistive_prior(grid), DEPTH_OFFSET * grid.foot.half_width
        mirrored = with_mirror_images(grid.subset(grid.under))
        weight = mirrored.component_weights / (mirrored.depth + offset)[:, None, None]
        generic = prior.at(mirrored.poses)
        scales = fit_scales(generic * weight, mirrored.wrenches * weight)
        stress = (mirrored.wrenches - np.tensordot(scales, generic, 1)) * weight
        residual = Residual(scaled_inputs(mirrored), mirrored.twists / twist_sizes(mirrored.twists), stress)
        # Mirror images were counted as data of their own.
        hyper = likeliest(residual, copies=len(mirrored.poses) / grid.under.sum()) if self.learn_hyper else PRIOR
        kernels = residual_kernels(mirrored, hyper, offset)
        coefficients = residual.coefficients(hyper) / mirrored.component_weights
        return PhysicsModel(grid, prior, scales, hyper, residual, kernels, coefficients)


def scaled_inputs(grid: Grid) -> np.ndarray:
    """Depth in half-widths of the sole, and lean."""
    return grid.inputs / np.append(grid.foot.half_width, np.ones(grid.lean.shape[1]))


def fit_scales(generic: np.ndarray, wrenches: np.ndarray) -> np.ndarray:
    """Scales (law,) of generic wrenches (law, ...) that explain measured ones, drawn towards one for all."""
    rows, values = generic.reshape(len(generic), -1), wrenches.reshape(-1)
    together = rows.sum(axis=0)
    common = together @ values / (together @ together)
    normal = rows @ rows.T
    ridge = SCALE_RIDGE * np.diag(np.diag(normal))
    return np.linalg.solve(normal + ridge, rows @ values + ridge.sum(axis=1) * common)


def residual_kernels(grid: Grid, hyper: Hyper, offset: float) -> Kernels:
    """Features of the residual: the squared exponential about each pose, and the constant."""
    lengths = np.append(hyper.depth_length * grid.foot.half_width, np.full(grid.lean.shape[1], hyper.lean_length))
    weights = 1 / (np.sqrt(2) * lengths)
    return Kernels(grid.inputs, weights, "gaussian", degree=0, onset=onset(grid), offset=offset, **limits(grid))


@dataclass(frozen=True)
class Residual:
    """A Gaussian process over poses and directions, the components independent of each other."""

    inputs: np.ndarray  # (c, i) scaled poses
    twists: np.ndarray  # (k, n) of unit size
    values: np.ndarray  # (c, k, n)

    def pose_kernel(self, hyper: Hyper, poses: np.ndarray | None = None) -> np.ndarray:
        """Covariance (q, c) between poses (q, i), or those of the data, and the data's."""
        poses = self.inputs if poses is None else poses
        lengths = np.append(hyper.depth_length, np.full(self.inputs.shape[1] - 1, hyper.lean_length))
        return hyper.constant + _squared_exponential(poses / lengths, self.inputs / lengths)

    def direction_kernel(self, hyper: Hyper) -> np.ndarray:
        twists = self.twists / hyper.direction_length
        return _squared_exponential(twists, twists)

    def spectrum(self, hyper: Hyper) -> Spectrum:
        """The data's covariance in its eigenvectors."""
        poses = self.pose_kernel(hyper) + hyper.scatter**2 * np.eye(len(self.inputs))
        pose_values, pose_vectors = np.linalg.eigh(poses)
        direction_values, direction_vectors = np.linalg.eigh(self.direction_kernel(hyper))
        variances = np.maximum(np.outer(pose_values, direction_values), 0.0) + hyper.noise**2
        return Spectrum(pose_vectors, direction_vectors, direction_values, variances)

    def coefficients(self, hyper: Hyper) -> np.ndarray:
        """Coefficients of the kernels about the poses, and of the constant: (c + 1, k, n)."""
        spectrum = self.spectrum(hyper)
        dual = spectrum.backward(spectrum.forward(self.values) / spectrum.variances[..., None])
        kernels = np.einsum("ckn,kl->cln", dual, self.direction_kernel(hyper))
        return np.concatenate([kernels, hyper.constant * kernels.sum(axis=0, keepdims=True)])

    def amplitude(self, hyper: Hyper) -> float:
        """Standard deviation by which all covariances are to be multiplied, the likeliest one."""
        spectrum = self.spectrum(hyper)
        rotated = spectrum.forward(self.values)
        return float(np.sqrt((rotated**2 / spectrum.variances[..., None]).mean()))

    def cost(self, logarithms: np.ndarray, copies: float) -> float:
        """Minus the logarithm of likelihood, its amplitude the likeliest, and prior."""
        hyper = Hyper(*np.exp(logarithms))
        spectrum = self.spectrum(hyper)
        rotated, count = spectrum.forward(self.values), self.values.shape[-1]
        misfit = (rotated**2 / spectrum.variances[..., None]).mean()
        likelihood = 0.5 * self.values.size * np.log(misfit) + 0.5 * count * np.log(spectrum.variances).sum()
        off = (logarithms - np.log(PRIOR)) / PRIOR_SPREAD
        return likelihood / copies + 0.5 * float(off @ off)

    def variance(self, hyper: Hyper, poses: np.ndarray) -> np.ndarray:
        """Posterior variance (q,) at poses (q, i), relative to the amplitude, mean over directions.

        It does not depend on what was measured, only on where.
        """
        spectrum = self.spectrum(hyper)
        across = self.pose_kernel(hyper, poses) @ spectrum.pose_vectors
        own = hyper.constant + 1.0
        known = np.einsum("qa,k,ak->qk", across**2, spectrum.direction_values**2, 1 / spectrum.variances)
        return (own * spectrum.direction_values - known).mean(axis=1)


class Spectrum(NamedTuple):
    """Eigenvectors of the two factors of a covariance and its eigenvalues (c, k)."""

    pose_vectors: np.ndarray
    direction_vectors: np.ndarray
    direction_values: np.ndarray
    variances: np.ndarray

    def forward(self, values: np.ndarray) -> np.ndarray:
        """Values (c, k, n) in the eigenvectors."""
        return np.einsum("kl,akn->aln", self.direction_vectors, np.tensordot(self.pose_vectors.T, values, 1))

    def backward(self, values: np.ndarray) -> np.ndarray:
        return np.einsum("kl,aln->akn", self.direction_vectors, np.tensordot(self.pose_vectors, values, 1))


def likeliest(residual: Residual, copies: float) -> Hyper:
    """Hyperparameters of greatest posterior density; each datum occurs `copies` times."""
    start = np.log(PRIOR)
    bounds = [(middle - 3 * width, middle + 3 * width) for middle, width in zip(start, PRIOR_SPREAD, strict=True)]
    found = minimize(residual.cost, start, (copies,), method="L-BFGS-B", bounds=bounds, options={"maxiter": 30})
    return Hyper(*np.exp(found.x))


def _squared_exponential(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * ((first[:, None] - second) ** 2).sum(-1))
