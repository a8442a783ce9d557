"""Programs of JAX, compiled as a whole to one native function (see docs/native.md)."""
