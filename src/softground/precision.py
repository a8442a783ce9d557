"""Double precision, demanded in one place: what simulates works in either, some of what differentiates does not."""

from __future__ import annotations

import jax
import numpy as np

from softground.errors import OptionError


def require_double(what: str) -> None:
    """OptionError with the remedy where JAX computes in single precision and `what` cannot."""
    if jax.dtypes.canonicalize_dtype(float) != np.float64:
        raise OptionError(
            f'{what} needs double precision: call jax.config.update("jax_enable_x64", True) before anything else, '
            "or set JAX_ENABLE_X64=1 in the environment"
        )
