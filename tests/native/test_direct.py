"""Native programs on NumPy's memory, and calls of C functions in a row."""

import ctypes

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.native.direct import Direct
from softground.native.errors import NotNative
from softground.native.row import in_a_row


def arguments(seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(3, 3)), random.normal(size=3), random.random(4) < 0.5


def function(matrix, vector, flags):
    metric = matrix @ matrix.T + 3 * jnp.eye(3)
    solved = jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(metric), True), vector)
    return {"solved": solved, "any": flags.any(), "count": flags.sum(dtype=jnp.int32), "steep": jnp.exp(vector) > 1}


def test_it_works_in_place_on_what_the_arrays_hold_now():
    given = arguments()
    direct = Direct(function, *given)
    results = direct.results()
    call = direct.bound(given, results)
    for seed in (1, 2):
        for old, new in zip(given, arguments(seed), strict=True):
            np.copyto(old, new)
        call()
        expected = jax.jit(function)(*given)
        np.testing.assert_allclose(results["solved"], expected["solved"], rtol=1e-12)
        for name in ("any", "count", "steep"):
            np.testing.assert_array_equal(results[name], expected[name])


def test_a_program_can_be_made_again_and_bound_several_times():
    given = arguments()
    one, other = Direct(function, *given), Direct(function, *given)
    first, second = one.results(), other.results()
    calls = [one.bound(given, first), other.bound(given, second), one.bound(arguments(5), second)]
    calls[0]()
    calls[1]()
    np.testing.assert_array_equal(first["solved"], second["solved"])
    calls[2]()
    assert np.abs(first["solved"] - second["solved"]).max() > 1e-3


@pytest.mark.parametrize(
    "spoil",
    [
        lambda m, v, f: (m, v.astype(np.float32), f),
        lambda m, v, f: (m[:2], v, f),
        lambda m, v, f: (np.zeros((3, 6))[:, ::2], v, f),
        lambda m, v, f: (m, v),
        lambda m, v, f: (m, jnp.asarray(v), f),
    ],
)
def test_memory_of_another_kind_is_refused(spoil):
    given = arguments()
    direct = Direct(function, *given)
    with pytest.raises(NotNative, match="input"):
        direct.bound(spoil(*given), direct.results())


def test_calls_in_a_row():
    c = ctypes.CDLL(None)
    copy = ctypes.cast(c.memcpy, ctypes.c_void_p).value or 0
    first, second, third = np.arange(4.0), np.zeros(4), np.zeros(4)
    places = [array.ctypes.data for array in (first, second, third)]
    run = in_a_row([(copy, (places[1], places[0], 24)), (copy, (places[2], places[1], 16))])
    for _ in range(2):
        run()
        np.testing.assert_array_equal(second, [*first[:3], 0])
        np.testing.assert_array_equal(third, [*first[:2], 0, 0])
        first += 1
