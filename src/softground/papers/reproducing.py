"""Running studies one after the other: a progress bar, a report each, and what goes to standard output."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from softground.papers.report import cell, write_report
from softground.papers.study import Findings, Options, Study, document


def reproduce(studies: list[Study], out: Path, options: Options, console: Console) -> list[dict[str, Any]]:
    """Perform studies and write their reports to OUT/PAPER/STUDY; their documents. Says on `console` what goes on."""
    documents = []
    with _bar(console) as bar:
        task = bar.add_task("", total=len(studies))
        for study in studies:
            bar.update(task, description=study.label)
            began = time.perf_counter()
            findings = study.perform(options)
            report = write_report(out / study.paper / study.name, study, findings, options)
            bar.console.print(check_table(study, findings))
            bar.console.print(f"{report} ({time.perf_counter() - began:.0f} s)", soft_wrap=True, highlight=False)
            documents.append(document(study, findings, options))
            bar.advance(task)
    return documents


def failed(documents: list[dict[str, Any]]) -> list[str]:
    """Names of the checks that failed."""
    return [f"{one['study']}: {check['name']}" for one in documents for check in one["checks"] if not check["passed"]]


def check_table(study: Study, findings: Findings) -> Table:
    """The checks of a study, for people."""
    table = Table("claim", "value", "expected", "", title=f"{study.label}: {study.title}", title_justify="left")
    for check in findings.checks:
        verdict = "[green]holds" if check.passed else "[bold red]fails"
        table.add_row(check.name, cell(check.value), check.expected, verdict)
    return table


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=console.quiet,
    )
