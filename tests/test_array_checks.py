"""The checks of `array_checks` are alive: what contradicts an array annotation of softground raises in the tests."""

import jax
import numpy as np
import pytest
from jaxtyping import Float, TypeCheckError

from softground.arrays import Array
from softground.media.base import FootInGround
from softground.robots.rotations import cross, transpose3

from .array_checks import check_arrays


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (cross, (np.zeros(2), np.zeros(3))),  # JAX alone would read the missing third component as the second
        (transpose3, (np.zeros((3, 2)),)),
        (transpose3, (np.eye(3, dtype=int),)),
    ],
)
def test_an_argument_of_another_shape_or_kind_raises(function, arguments, compiled):
    with pytest.raises(TypeCheckError, match="checking the parameters"):
        (jax.jit(function) if compiled else function)(*arguments)


def test_a_field_of_another_shape_raises():
    feet = FootInGround(np.zeros(4), np.zeros((4, 3)), np.zeros((4, 3, 3)), np.zeros((4, 3, 3)))
    assert feet.axis.shape == (4, 3)
    with pytest.raises(TypeCheckError, match="'position'"):
        FootInGround(np.zeros(4), np.zeros((5, 3)), np.zeros((4, 3, 3)), np.zeros((4, 3, 3)))


def test_a_result_of_another_shape_raises():
    @check_arrays
    def first(vector: Float[Array, " n"], share: float) -> Float[Array, " n"]:
        return share * vector[:1]

    assert first(np.ones(1), 2) == 2  # 2 is no float: only arrays are checked
    with pytest.raises(TypeCheckError, match="checking the return value"):
        first(np.ones(3), 2)
