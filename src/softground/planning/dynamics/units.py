"""Units of the rows and lifted unknowns of a step: all of the order of one, a violation of 1e-3 small."""

FORCE_UNIT = 100.0
"""N and N m: what the row value 1.0 of a force means."""
LINEAR_WRENCH, ANGULAR_WRENCH = 100.0, 10.0
"""N, N m: the lifted unknown is s = u LINEAR_WRENCH / eps (or ANGULAR_WRENCH), without unit and of the order of one."""
TWIST_ROWS = 10.0
"""Weight of the row u = eps s, which is in m/s and in tenths of rad/s."""
