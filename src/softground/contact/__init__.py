"""Contact between robots and ground: one strictly convex problem per time step."""

from softground.contact.newton import BatchNewton, Newton, Solution
from softground.contact.problem import Contacts, StepProblem

__all__ = ["BatchNewton", "Contacts", "Newton", "Solution", "StepProblem"]
