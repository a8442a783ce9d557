"""Kinds of ground by features of steps: densities against SciPy's, and how steps add up."""

import numpy as np
import pytest
from scipy.stats import multivariate_t

from softground.control.terrain_classification import FREEDOM, NARROWEST, TerrainClassifier
from softground.errors import OptionError

RNG = np.random.default_rng(4)
MEANS = {
    "sand": np.array([0.5, -3.5, -4.4]),
    "pebbles": np.array([0.95, -3.8, -4.5]),
    "firm": np.array([2.0, -6.0, -5.2]),
}
ROOT = np.array([[0.1, 0.0, 0.0], [-0.08, 0.05, 0.0], [0.02, 0.1, 0.3]])
EXAMPLES = {kind: mean + RNG.standard_normal((200, 3)) @ ROOT.T for kind, mean in MEANS.items()}


@pytest.fixture(scope="module")
def classifier() -> TerrainClassifier:
    return TerrainClassifier.learn(EXAMPLES)


def test_likelihoods_are_students(classifier):
    steps = RNG.standard_normal((5, 3)) + MEANS["pebbles"]
    expected = []
    for of in EXAMPLES.values():
        covariance = np.cov(of.T) + NARROWEST**2 * np.eye(3)
        shape = covariance * (FREEDOM - 2) / FREEDOM  # SciPy's shape is not the covariance
        expected.append(multivariate_t(of.mean(axis=0), shape, df=FREEDOM).logpdf(steps))  # type: ignore[arg-type]
    found = np.asarray(classifier.log_likelihoods(steps))
    difference = found - np.stack(expected, axis=-1)
    np.testing.assert_allclose(difference, difference[0, 0], atol=1e-9)  # the same constant for all


def test_a_step_gone_wrong_does_not_outvote_the_others(classifier):
    steps = MEANS["sand"] + RNG.standard_normal((5, 3)) @ ROOT.T
    assert classifier.classify(steps) == "sand"
    steps[2] = [3.0, -3.5, -4.4]  # its strength is 25 deviations off, where only firm ground would have it
    assert classifier.classify(steps) == "sand"
    assert classifier.classify(steps[2:3]) != "sand"


def test_steps_add_up(classifier):
    steps = np.array([MEANS["sand"] + 0.45 * (MEANS["pebbles"] - MEANS["sand"])] * 6)
    one, six = (np.asarray(classifier.posterior(steps[:count])) for count in (1, 6))
    assert one.argmax() == six.argmax() == 0
    assert six[0] > one[0]
    np.testing.assert_allclose(six.sum(), 1.0, rtol=1e-12)


def test_some_features_only(classifier):
    """The marginal of a distribution is that of the marginal's data."""
    alone = TerrainClassifier.learn({kind: of[:, [1]] for kind, of in EXAMPLES.items()})
    chosen = classifier.using([1])
    steps = np.linspace(-7, -3, 9)[:, None]
    np.testing.assert_allclose(chosen.log_likelihoods(steps), alone.log_likelihoods(steps), atol=1e-9)


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ({"sand": EXAMPLES["sand"]}, "at least two kinds"),
        ({"sand": EXAMPLES["sand"], "firm": EXAMPLES["firm"][:, :2]}, "the same for all"),
        ({"sand": EXAMPLES["sand"], "firm": EXAMPLES["firm"][:3]}, "firm: needs more than 3 steps"),
        ({"sand": EXAMPLES["sand"], "firm": np.full((9, 3), np.nan)}, "finite features"),
    ],
)
def test_bad_examples(examples, message):
    with pytest.raises(OptionError, match=message):
        TerrainClassifier.learn(examples)
