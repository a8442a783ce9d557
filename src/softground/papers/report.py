"""A study on disk: report.md to read, result.json for machines, CSV tables, figures, runs and videos.

Every file is written whole. result.json comes last: where it is, the rest is.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from softground.errors import FileFormatError
from softground.papers.study import Check, Findings, Options, Row, Study, Table, document
from softground.runs.figures import save_figure
from softground.whole_file import write_whole


def write_report(folder: Path, study: Study, findings: Findings, options: Options) -> Path:
    """Write the findings of a study into a folder; the path of its report."""
    for table in findings.tables:
        write_whole(folder / f"{table.name}.csv", lambda path, rows=table.rows: write_csv(path, rows))
    for name, figure in findings.figures.items():
        save_figure(figure, folder / f"{name}.png")
    for name, video in findings.videos.items():
        video.run.save(folder / f"{name}.nc")
        if not options.quick:
            path = folder / f"{name}.mp4"
            video.run.video(path, fps=20, speed=video.speed, title=video.title, progress=False)
    report = report_text(study, findings, options)
    path = write_whole(folder / "report.md", lambda path: path.write_text(report, encoding="utf-8"))
    result = json.dumps(document(study, findings, options), indent=2) + "\n"
    write_whole(folder / "result.json", lambda path: path.write_text(result, encoding="utf-8"))
    return path


def checks_in(folder: Path, study: Study, quick: bool = False) -> list[Check] | None:
    """The checks of a report in a folder; none if there is none of that kind, quick or whole."""
    path = folder / "result.json"
    if not path.exists():
        return None
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        checks = [Check(one["name"], one["passed"], _number(one["value"]), one["expected"]) for one in result["checks"]]
        named = result["study"]
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(
            f"{path} is not the result of a study ({error!r}): remove it, and the study runs again"
        ) from None
    if named != study.label:
        raise FileFormatError(
            f"{path} is the result of {named}, not of {study.label}: remove it, and the study runs again"
        )
    return checks if result.get("quick", True) == quick else None


def _number(value: float | str | None) -> float | str:
    """JSON has null for a number that is not finite."""
    return float("nan") if value is None else value


def write_csv(path: Path, rows: list[Row]) -> None:
    """Rows with the columns of all of them; numbers in full."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=columns(rows), restval="")
        writer.writeheader()
        writer.writerows(rows)


def report_text(study: Study, findings: Findings, options: Options) -> str:
    """The report, Markdown."""
    checks = [
        {"claim": one.name, "value": one.value, "expected": one.expected, "": "holds" if one.passed else "**fails**"}
        for one in findings.checks
    ]
    parts = [f"# {study.label}: {study.title}", f"The paper: {study.claim}"]
    if options.quick:
        parts.append("Quick: shorter and coarser than the study proper, and without videos.")
    parts += [f"![{name}]({name}.png)" for name in findings.figures]
    parts += ["## Checks", markdown_table(checks)]
    parts += [text for table in findings.tables for text in (f"## {table.title}", _shown(table))]
    if findings.notes:
        parts += ["## Differences and how it was done", "\n".join(f"- {note}" for note in findings.notes)]
    if findings.videos:
        ending = "nc" if options.quick else "mp4"
        parts += ["## Runs", "\n".join(f"- {name}.{ending}: {video.title}" for name, video in findings.videos.items())]
    return "\n\n".join(parts) + "\n"


def _shown(table: Table) -> str:
    most = 40
    if len(table.rows) <= most:
        return markdown_table(table.rows)
    return f"{len(table.rows)} rows, in {table.name}.csv."


def markdown_table(rows: list[Row]) -> str:
    """Rows as a Markdown table."""
    names = columns(rows)
    lines = [names, ["---"] * len(names), *([cell(row.get(name, "")) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def columns(rows: list[Row]) -> list[str]:
    """Names of the columns of all rows, in order of appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def cell(value: Any) -> str:
    """A value as a reader wants it: four significant digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
