"""What a search through versions found, as both renderers print it."""

from dataclasses import dataclass

from packaging.version import Version

from mysqlprof.model import BisectPoint, PointVerdict, Run
from mysqlprof.report import numbers
from mysqlprof.report.safe import markdown, table
from mysqlprof.report.view import Report
from mysqlprof.report.word import Word
from mysqlprof.report.words import confidence, unfinished

_WORDS: dict[PointVerdict, Word] = {
    "shows": Word("shows it", "▲", "no"),
    "absent": Word("does not show it", "✓", "yes"),
    "cannot_tell": Word("cannot tell", "?", "unsure"),
}


@dataclass(frozen=True)
class BisectLine:
    """One version, with its place in the search."""

    point: BisectPoint
    number: int
    word: Word
    with_ms: float | None
    """Median of the cell that would show the symptom."""
    without_ms: float | None


def bisect_lines(run: Run) -> list[BisectLine]:
    """Oldest version first."""
    if run.bisect is None:
        return []
    medians = {cell.id: cell.median_ms for cell in run.cells}
    contrasts = {contrast.name: contrast for contrast in run.contrasts}
    lines = []
    for number, point in enumerate(run.bisect.points, 1):
        contrast = contrasts.get(f"symptom_{point.version}")
        lines.append(
            BisectLine(
                point=point,
                number=number,
                word=_WORDS[point.verdict],
                with_ms=medians.get(contrast.numerator) if contrast else None,
                without_ms=medians.get(contrast.denominator) if contrast else None,
            )
        )
    return sorted(lines, key=lambda line: Version(line.point.version))


def bisect_rule(run: Run) -> str:
    """What the ratio is, and from where on it is called a symptom."""
    plan = run.plan.definition.bisect
    if plan is None:
        return ""
    still = ", ".join(f"{factor} {level}" for factor, level in plan.fix.items())
    return (
        f"The ratio is {plan.compare} {plan.shows} over {plan.compare} {plan.absent}, with {still}."
        f" A version shows the symptom where the whole interval lies above {plan.above:g}×, and"
        " does not where the whole interval lies below."
    )


def bisect_markdown(report: Report) -> str:
    """The first part of report.md."""
    found = report.run.bisect
    if found is None:
        return ""
    rows = [
        [
            f"MySQL {line.point.version}",
            f"{line.word.symbol} {line.word.word}",
            f"{numbers.ratio(line.point.ratio)}"
            f" [{numbers.interval(line.point.ci_low, line.point.ci_high, '×')}]",
            numbers.duration(line.with_ms),
            numbers.duration(line.without_ms),
            numbers.share(line.point.share),
            f"{line.number}: {markdown(line.point.why)}",
        ]
        for line in bisect_lines(report.run)
    ]
    heads = ["version", "symptom", "ratio", "with", "without", "share of samples", "measured as"]
    parts = [
        f"## {markdown(report.scenario.title)}",
        f"**{markdown(found.answer)}**",
        f"**Incomplete.** {unfinished(report)}" if unfinished(report) else "",
        table(heads, rows),
        f"{markdown(bisect_rule(report.run))} Intervals are {confidence(report)}.",
    ]
    return "\n\n".join(part for part in parts if part)
