"""Every study, by paper and name. A new paper is a package with `STUDIES` and one line here."""

from __future__ import annotations

from softground.errors import OptionError, unknown_name
from softground.papers import aguilar2016, chen2026, romualdi2021, zhu2019, zhu2021
from softground.papers.study import Study

PAPERS: dict[str, tuple[Study, ...]] = {
    "zhu2019": zhu2019.STUDIES,
    "chen2026": chen2026.STUDIES,
    "romualdi2021": romualdi2021.STUDIES,
    "zhu2021": zhu2021.STUDIES,
    "aguilar2016": aguilar2016.STUDIES,
}
"""The studies of every paper."""


def all_studies() -> list[Study]:
    """In the order of the papers."""
    return [study for studies in PAPERS.values() for study in studies]


def find(name: str) -> list[Study]:
    """The studies of a paper ("zhu2019"), or one of them ("zhu2019/drop")."""
    if name in PAPERS:
        return list(PAPERS[name])
    found = [study for study in all_studies() if study.label == name]
    if not found:
        known = [*PAPERS, *(study.label for study in all_studies())]
        raise OptionError(unknown_name("study", name, known))
    return found
