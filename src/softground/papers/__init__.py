"""Papers as runnable studies: their tables and figures beside ours."""

from typing import TYPE_CHECKING

from softground.lazy import lazily

if TYPE_CHECKING:  # what `__getattr__` finds, for editors and type checkers
    from softground.papers.catalogue import PAPERS, all_studies, find
    from softground.papers.reproducing import reproduce
    from softground.papers.study import Check, Findings, Options, Study

__all__ = [
    "PAPERS",
    "Check",
    "Findings",
    "Options",
    "Study",
    "all_studies",
    "find",
    "reproduce",
]

_HOMES = {
    "catalogue": ("PAPERS", "all_studies", "find"),
    "reproducing": ("reproduce",),
    "study": ("Check", "Findings", "Options", "Study"),
}
__getattr__, __dir__ = lazily(__name__, __all__, _HOMES)
