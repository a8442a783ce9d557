"""How one knot leads to the next: in closed form, or by solving the contact problem inside (bilevel)."""

from typing import TYPE_CHECKING

from softground.lazy import lazily

if TYPE_CHECKING:  # what `__getattr__` finds, for editors and type checkers
    from softground.planning.dynamics.base import Dynamics
    from softground.planning.dynamics.bilevel import Bilevel
    from softground.planning.dynamics.closed_form import ClosedForm

__all__ = [
    "Bilevel",
    "ClosedForm",
    "Dynamics",
]

_HOMES = {
    "base": ("Dynamics",),
    "bilevel": ("Bilevel",),
    "closed_form": ("ClosedForm",),
}
__getattr__, __dir__ = lazily(__name__, __all__, _HOMES)
