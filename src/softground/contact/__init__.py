"""Contact between feet and ground: one strictly convex problem per time step."""

from softground.contact.newton import BatchNewton, Newton, Solution
from softground.contact.problem import StepProblem

__all__ = ["BatchNewton", "Newton", "Solution", "StepProblem"]
