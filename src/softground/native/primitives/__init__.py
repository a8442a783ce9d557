"""Rules for the primitives of JAX, a file for each family; importing this fills the table."""

# ruff: noqa: F401
from softground.native.primitives import (
    control_flow,
    elementwise,
    functions,
    indexing,
    linear_algebra,
    reductions,
    structure,
)
