"""What the ground is, from how it pushes: recursive least squares on stiffness and damping (romualdi2021, IV.C).

The wrench of a foot that sticks to visco-elastic ground is linear in pi = (k, b), f = Y pi, with the regressor Y of
`media.visco_elastic.lemma`. The estimate that minimises the sum of the squared residuals of all samples, weighed with
the inverse of their noise's covariance Gamma (eq. 22), follows sample by sample (eqs 23 to 25; there H stands for Y and
K for L):

    L  = P Y' (Gamma + Y P Y')^-1
    pi <- pi + L (f - Y pi)
    P  <- (1 - L Y) P (1 - L Y)' + L Gamma L'

The last line is Joseph's form, which keeps P symmetric and positive whatever rounding does to L. A forgetting factor
below 1 divides P by it before each sample, so that a sample counts less by this factor with each that follows. When a
foot comes down the ground may be another: P is reset to what it was at the start, and pi is kept as a guess.

Stiffness and damping differ by orders of magnitude, and their variances by more. This does no harm: every sum above
adds numbers of one unit, and what is inverted is a covariance of wrenches. While a foot does not move the damper's
column of Y is zero, and its damping stays what it was, with its variance.

*When the noise moves the foot.* Least squares asks that the noise of a sample is independent of its regressor. Noise of
a sensor is. A force on the foot that the model does not know is not: it changes the velocity at the end of the step in
which it acts, and a step's dampers push with the velocity at its end. Damping then comes out too low by
dt sigma^2 / (m A v^2), with m the mass of the foot, A the area of its sole and v^2 its mean squared speed: little for a
foot that moves along, all of it for a light one that only trembles. The cure is an *instrument*, a regressor that knows
nothing of this step's noise; the one of the step before is at hand. The gain is made with the instrument Z and the
innovation with Y,

    L = P Z' (Gamma + Z P Z')^-1,

and Joseph's form, which holds for any gain, gives the covariance.

Everything is a pure function of arrays: `update` is a step for `jax.lax.scan`, and `jax.vmap` estimates per foot.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from softground.arrays import Array
from softground.errors import OptionError


class Estimate(eqx.Module):
    """Mean and covariance of (stiffness, damping), N/m per m2 and N s/m per m2; of several along leading axes."""

    parameters: Float[Array, "*n 2"]
    covariance: Float[Array, "*n 2 2"]

    @property
    def stiffness(self) -> Float[Array, "*n"]:
        """k, N/m per m2. With little data noise may take it below zero: bound it before use."""
        return self.parameters[..., 0]

    @property
    def damping(self) -> Float[Array, "*n"]:
        """b, N s/m per m2. As for stiffness."""
        return self.parameters[..., 1]

    @property
    def standard_deviations(self) -> Float[Array, "*n 2"]:
        """Standard deviations of stiffness and damping, as the noise that the estimator assumes explains them."""
        return jnp.sqrt(jnp.diagonal(self.covariance, axis1=-2, axis2=-1))


class Estimator(eqx.Module):
    """Recursive least squares with forgetting and resets."""

    noise: Float[Array, "6 6"]  # Gamma, N and N m: covariance of the wrench's noise
    prior_covariance: Float[Array, "2 2"]  # P at the start and after a reset, (N/m per m2)^2 and (N s/m per m2)^2
    forgetting: Float[Array, ""]  # factor on what is known, a sample

    def __init__(
        self,
        sigma: ArrayLike = 5.0,
        *,
        stiffness_deviation: float = 1e6,
        damping_deviation: float = 1e4,
        forgetting: float = 1.0,
    ):
        """sigma: standard deviation of the noise, one for all components or one for each (N, N m).

        *_deviation: standard deviation of the first guess, and of what is known after an impact.
        """
        sigmas = np.asarray(sigma, dtype=float)
        if sigmas.shape not in ((), (6,)) or not (np.isfinite(sigmas) & (sigmas > 0)).all():
            raise OptionError(f"sigma must be one positive number or six, got {sigma}")
        deviations = {"stiffness_deviation": stiffness_deviation, "damping_deviation": damping_deviation}
        for label, value in deviations.items():
            if not (np.isfinite(value) and value > 0):
                raise OptionError(f"{label} must be positive and finite, got {value}")
        if not 0 < forgetting <= 1:
            raise OptionError(f"forgetting must be above 0 and at most 1, got {forgetting}")
        self.noise = np.diag(np.broadcast_to(sigmas, 6) ** 2)
        self.prior_covariance = np.diag([stiffness_deviation**2, damping_deviation**2])
        self.forgetting = np.asarray(forgetting, dtype=float)

    def start(self, stiffness: float, damping: float) -> Estimate:
        """A first guess, with the uncertainty of the start."""
        return Estimate(jnp.array([stiffness, damping], dtype=float), jnp.asarray(self.prior_covariance))

    def update(
        self,
        estimate: Estimate,
        wrench: Float[Array, "6"],
        regressor: Float[Array, "6 2"],
        touches: Bool[Array, ""] | bool = True,
        impact: Bool[Array, ""] | bool = False,
        instrument: Float[Array, "6 2"] | None = None,
    ) -> Estimate:
        """The estimate after one more sample.

        touches: whether the foot is in contact; a sample of a foot in the air teaches nothing, whatever it holds.
        impact: whether the foot has just come down, which resets the covariance before the sample is used.
        instrument: the regressor of the sample before, where noise moves the foot; by default that of this sample.
        """
        covariance = jnp.where(impact, self.prior_covariance, estimate.covariance)
        before = Estimate(estimate.parameters, covariance)
        learned = self._learned(before, wrench, regressor, regressor if instrument is None else instrument)
        return Estimate(
            jnp.where(touches, learned.parameters, estimate.parameters),
            jnp.where(touches, learned.covariance, covariance),
        )

    def over(
        self,
        estimate: Estimate,
        wrenches: Float[Array, "t 6"],
        regressors: Float[Array, "t 6 2"],
        touches: Bool[Array, " t"],
        instruments: Float[Array, "t 6 2"] | None = None,
    ) -> Estimate:
        """The estimates after each sample of a stream (leading axis t); every new contact is an impact."""
        impacts = touches & ~jnp.concatenate([jnp.zeros(1, bool), touches[:-1]])

        def step(estimate, sample):
            after = self.update(estimate, *sample)
            return after, after

        return jax.lax.scan(step, estimate, (wrenches, regressors, touches, impacts, instruments))[1]

    def _learned(self, estimate: Estimate, wrench, regressor, instrument) -> Estimate:
        """Eqs (23) to (25)."""
        spread = estimate.covariance / self.forgetting
        innovation = wrench - regressor @ estimate.parameters
        change, covariance = correction(spread, innovation, regressor, self.noise, instrument)
        return Estimate(estimate.parameters + change, covariance)


def correction(
    covariance: Float[Array, "p p"],
    innovation: Float[Array, " m"],
    regressor: Float[Array, "m p"],
    noise: Float[Array, "m m"],
    instrument: Float[Array, "m p"] | None = None,
) -> tuple[Float[Array, " p"], Float[Array, "p p"]]:
    """What one sample changes in the mean, and the covariance after it (Joseph's form)."""
    instrument = regressor if instrument is None else instrument
    gain = jax.scipy.linalg.solve(
        noise + instrument @ covariance @ instrument.T, instrument @ covariance, assume_a="pos"
    ).T
    kept = jnp.eye(len(covariance), dtype=covariance.dtype) - gain @ regressor
    return gain @ innovation, kept @ covariance @ kept.T + gain @ noise @ gain.T
