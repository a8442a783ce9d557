"""Uncertainty about the ground: what the task adds to the cost is the variance of the wrench task's, and nothing else.

The oracle is the contact model itself on other grounds: wrench rates are linear in (k, b), so the variance of what
follows from them is the sum of squares of its changes along the columns of a root of the covariance.
"""

import numpy as np
import pytest

from softground.control.whole_body.constraints.contact_model import ContactModel, stack_soles
from softground.control.whole_body.tasks.contact_uncertainty import ContactUncertainty, square_root
from softground.media.visco_elastic.sole import patch

from .motions import DAMPING, STIFFNESS, following, look, random_motion, robot

WEIGHT = np.array([3.0, 2.0, 1.0, 5.0, 7.0, 4.0])
LOOKAHEAD = 1e-3
COVARIANCE = np.array([[[4e10, 1e8], [1e8, 9e6]], [[1e10, -2e7], [-2e7, 1e6]]])


@pytest.fixture(scope="module")
def soles():
    return stack_soles([patch(foot.shape) for foot in robot().feet])


def uncertain(motion, covariance, pi=(STIFFNESS, DAMPING)):
    """References whose ground has this covariance, and these parameters under every foot or under each."""
    references = following(motion)
    k, b = np.broadcast_to(pi, (2, 2)).T
    return references._replace(ground=references.ground._replace(stiffness=k, damping=b, covariance=covariance))


def added_cost(soles, motion, covariance, in_contact=(True, True)):
    seen = look(motion, "rate", in_contact)
    added = ContactUncertainty(soles, WEIGHT, LOOKAHEAD).rows(seen, uncertain(motion, covariance), ())
    rows = np.asarray(added.matrix) @ motion.unknowns("rate") - np.asarray(added.target)
    return float((np.asarray(added.weight) * rows**2).sum())


def wrench_rates(bounds, motion, pi):
    """Of the feet in a motion on a ground, as the contact model has them."""
    seen = look(motion, "rate")
    model = bounds(seen, uncertain(motion, np.zeros((2, 2, 2)), pi), ())
    return (np.asarray(model.lower) - np.asarray(model.matrix)[:, : robot().nv] @ motion.a).reshape(2, 6)


def test_adds_the_variance_over_grounds(soles):
    motion = random_motion(3)
    bounds = ContactModel(soles, LOOKAHEAD).bounds
    centre = np.tile([STIFFNESS, DAMPING], (2, 1))
    middle = wrench_rates(bounds, motion, centre)
    variance = 0.0
    for foot in range(2):  # whose ground is estimated apart from the other's
        for column in np.linalg.cholesky(COVARIANCE[foot]).T:
            away = centre.copy()
            away[foot] += column
            variance += float((WEIGHT * (wrench_rates(bounds, motion, away) - middle) ** 2).sum())
    assert added_cost(soles, motion, COVARIANCE) == pytest.approx(variance, rel=1e-8)


def test_no_uncertainty_costs_nothing(soles):
    assert added_cost(soles, random_motion(4), np.zeros((2, 2, 2))) == 0.0


def test_feet_in_the_air_do_not_count(soles):
    motion = random_motion(5)
    both = added_cost(soles, motion, COVARIANCE)
    left = added_cost(soles, motion, COVARIANCE, (True, False))
    right = added_cost(soles, motion, COVARIANCE, (False, True))
    assert 0 < left < both
    assert left + right == pytest.approx(both, rel=1e-12)


@pytest.mark.parametrize("covariance", [*COVARIANCE, np.zeros((2, 2)), np.diag([0.0, 4.0]), np.ones((2, 2))])
def test_square_root(covariance):
    root = np.asarray(square_root(covariance))
    np.testing.assert_allclose(root @ root.T, covariance, rtol=1e-12, atol=1e-12)
    assert root[0, 1] == 0.0
