"""Published times beside the measured ones. Times are of two machines: their ratios compare."""

from collections.abc import Mapping
from dataclasses import dataclass

from mysqlprof.model import CellSpec, Run
from mysqlprof.report import numbers
from mysqlprof.report.safe import markdown, table
from mysqlprof.scenario import select_one


@dataclass(frozen=True)
class PublishedRow:
    what: str
    note: str
    cell: str
    """Id of the cell that stands for it; empty where there is none in this run."""
    article_ms: float
    """Of all its units."""
    article_unit_ms: float | None
    """Of one unit of work; None where nobody said how many there were."""
    article_ratio: float
    """To the first row's."""
    unit_ms: float | None
    ratio: float | None


def published_rows(run: Run) -> tuple[PublishedRow, ...]:
    """In the scenario's order, each against the first."""
    cells = tuple(run.plan.cells)
    units = run.workload.get("units_per_trial", 1)
    medians = {cell.id: cell.median_ms for cell in run.cells}
    published = run.plan.definition.published
    measured = [_measured(cells, entry.cell, medians) for entry in published]
    rows = []
    for entry, (cell, median) in zip(published, measured, strict=True):
        first = measured[0][1]
        rows.append(
            PublishedRow(
                what=entry.what,
                note=entry.note,
                cell=cell,
                article_ms=entry.elapsed_ms,
                article_unit_ms=entry.elapsed_ms / entry.units if entry.units else None,
                article_ratio=entry.elapsed_ms / published[0].elapsed_ms,
                unit_ms=median / units if median else None,
                ratio=median / first if median and first else None,
            )
        )
    return tuple(rows)


def _measured(
    cells: tuple[CellSpec, ...], selector: Mapping[str, str], medians: Mapping[str, float | None]
) -> tuple[str, float | None]:
    cell = select_one(cells, selector)
    return (cell.id, medians.get(cell.id)) if cell else ("", None)


def published_markdown(run: Run) -> str:
    """Empty where nothing was published."""
    rows = published_rows(run)
    if not rows:
        return ""
    unit = markdown(str(run.workload.get("unit", "execute")))
    heads = ["article", "its time", f"a {unit}", "ratio", f"here, a {unit}", "ratio", "cell"]
    body = [
        [
            markdown(f"{row.what} (here: {row.note})" if row.note else row.what),
            numbers.duration(row.article_ms),
            numbers.duration(row.article_unit_ms),
            numbers.ratio(row.article_ratio),
            numbers.duration(row.unit_ms),
            numbers.ratio(row.ratio),
            markdown(row.cell),
        ]
        for row in rows
    ]
    return "### Beside the article\n\n" + table(heads, body)
