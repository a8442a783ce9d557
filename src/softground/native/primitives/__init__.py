"""Rules for the primitives of JAX, a file for each family; importing this fills the table."""

from softground.native.primitives import (  # noqa: F401
    control_flow,
    elementwise,
    functions,
    indexing,
    linear_algebra,
    reductions,
    structure,
)
from softground.native.primitives.table import PRIMITIVES

__all__ = ["PRIMITIVES"]
