"""Which kind of ground is this? From what the sensors show of a step, by Bayes' rule.

A step leaves three marks: how strong the ground was (a parameter identified from this step alone), how far the foot
sank into it and how far it slipped. Their logarithms scatter about the kind's own mean. Each kind of ground is a
distribution of them, learned from walks on known ground, and steps add their log likelihoods:

    log p(kind | steps) = sum over steps of log t(features; mean_kind, covariance_kind) + log prior + constant.

t is Student's distribution with few degrees of freedom instead of the normal one: now and then a step is identified
badly, and with the thin tails of a normal distribution such a step would outvote all others.

Steps of one walk are not independent, because the ground is the same under all of them: more steps average noise, not
the uncertainty whether this is weak pebbles or strong sand. The posterior is too sure of itself; its order is what
counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from softground.arrays import Array
from softground.control.terrain_identification import Sensed, TerrainIdentifier
from softground.errors import OptionError

FEATURES = ("strength", "sinkage", "slip")
FURTHEST = float(np.log(100.0))  # of the logarithm of a strength from its first guess
SMALLEST = 1e-4  # m: shorter ways are noise
FREEDOM = 4  # degrees of freedom: one step in a few hundred is more than 5 deviations off
NARROWEST = 0.02  # deviation of a feature, in logarithms, below which more data would be needed


def step_features(
    identifier: TerrainIdentifier, sensed: Sensed, foot: int | Int[Array, ""], depth: float
) -> Float[Array, "3"]:
    """Logarithms of `FEATURES` of one step (leading axis: periods), which began when `foot` touched down.

    depth: assumed at touch-down, m. Sinkage and slip (m) are the greatest of the step, by integrated velocities. The
    strength is the identifier's first parameter; where its law does not fit at all it may run away, and is held.
    """
    start = identifier.start(sensed.q[0], depth, foot)
    strength = identifier.over(start, sensed).mean[-1, 0]
    held = jnp.clip(strength - start.mean[0], -FURTHEST, FURTHEST) + start.mean[0]
    velocity = jax.vmap(lambda q, v: identifier.robot.foot_twists(q, v)[foot, :3])(sensed.q, sensed.v_after)
    way = identifier.dt * jnp.cumsum(velocity, axis=0)
    sinkage, slip = (-way[:, 2]).max(), jnp.linalg.norm(way[:, :2], axis=1).max()
    return jnp.append(held, jnp.log(jnp.maximum(jnp.stack([sinkage, slip]), SMALLEST)))


class TerrainClassifier(eqx.Module):
    """A distribution of features for each kind of ground."""

    kinds: tuple[str, ...] = eqx.field(static=True)
    mean: Float[Array, "k f"]  # of `FEATURES`, logarithms
    covariance: Float[Array, "k f f"]  # of the same logarithms

    @classmethod
    def learn(cls, examples: Mapping[str, Float[np.ndarray, "n f"]]) -> TerrainClassifier:
        """From features of steps on known kinds of ground."""
        sizes = {np.shape(of)[1:] for of in examples.values()}
        if len(examples) < 2 or len(sizes) != 1:
            raise OptionError("a classifier needs features of at least two kinds of ground, the same for all of them")
        (size,) = next(iter(sizes))
        for kind, of in examples.items():
            if len(of) <= size or not np.isfinite(of).all():
                raise OptionError(f"{kind}: needs more than {size} steps of finite features, got {len(of)}")
        least = NARROWEST**2 * np.eye(size)
        return cls(
            tuple(examples),
            np.stack([of.mean(axis=0) for of in examples.values()]),
            np.stack([np.atleast_2d(np.cov(of, rowvar=False)) + least for of in examples.values()]),
        )

    def log_likelihoods(self, features: Float[Array, "*n f"]) -> Float[Array, "*n k"]:
        """Log likelihoods of steps, under each kind of ground."""
        return jnp.stack([_log_student(features, *of) for of in zip(self.mean, self.covariance, strict=True)], axis=-1)

    def posterior(self, features: Float[Array, "*n s f"]) -> Float[Array, "*n k"]:
        """Probabilities of the kinds after all of these steps (axis s); all kinds were as likely before."""
        return jax.nn.softmax(self.log_likelihoods(features).sum(axis=-2), axis=-1)

    def classify(self, features: Float[Array, "s f"]) -> str:
        """The most probable kind after these steps."""
        return self.kinds[int(jnp.argmax(self.posterior(features)))]

    def using(self, features: Sequence[int]) -> TerrainClassifier:
        """The same with some of the features only: the marginal distributions."""
        kept = np.array(features)
        return TerrainClassifier(self.kinds, self.mean[:, kept], self.covariance[:, kept[:, None], kept])


def _log_student(features: Float[Array, "*n f"], mean: Float[Array, " f"], covariance: Float[Array, "f f"]):
    """Logarithm (*n) of Student's density with this mean and covariance, up to a constant of all kinds of ground."""
    root = jnp.linalg.cholesky(covariance * (FREEDOM - 2) / FREEDOM)
    off = jnp.asarray(features) - mean
    white = jax.scipy.linalg.solve_triangular(root, off.reshape(-1, len(mean)).T, lower=True)
    distance = (white**2).sum(axis=0).reshape(off.shape[:-1])
    return -(FREEDOM + len(mean)) / 2 * jnp.log1p(distance / FREEDOM) - jnp.log(jnp.diagonal(root)).sum()
