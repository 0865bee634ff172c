"""Triggers, scaling and remedies as tables on a terminal."""

from pathlib import Path

from rich.table import Table
from rich.text import Text

from mysqlprof.model import Run
from mysqlprof.report.sweep_words import (
    REMEDY_WORDS,
    TRIGGER_WORDS,
    remedy_answer,
    scaling_answer,
    stars,
    trigger_answer,
)
from mysqlprof.report.word import Word
from mysqlprof.sweep_types import AllocatorRow, RemedyRow, SizeSeries, TriggerRow
from mysqlprof.terminal import OUT, milliseconds, plain, plain_table, print_footnotes, times

_STYLES = {"no": "bold red", "yes": "green", "unsure": "yellow", "normal": "dim"}


def print_triggers(run: Run, path: Path) -> None:
    """The answer, the table, then the sentences."""
    _head(run, "TRIGGERS", trigger_answer(run.triggers), _regime(run, "triggers"))
    table = _numbers("switch", "", "ratio", "95 % interval", "median ms", "trials")
    for row in run.triggers:
        table.add_row(
            plain(row.name),
            _word(TRIGGER_WORDS[row.verdict]),
            times(row.ratio),
            _between(row.ratio_low, row.ratio_high),
            milliseconds(row.median_ms),
            str(row.trials),
        )
    OUT.print(table)
    OUT.print()
    for row in run.triggers:
        if row.sentence:
            OUT.print(Text(plain(row.sentence)), soft_wrap=True)
    _gaps(run.triggers)
    print_footnotes(run, path)


def print_scaling(run: Run, path: Path) -> None:
    """One table a sweep, then the allocators."""
    if run.scaling is None:
        return
    _head(run, "SCALING", scaling_answer(run.scaling), _regime(run, "scaling"))
    for series in run.scaling.series:
        OUT.print(Text(plain(series.name), style="bold"))
        OUT.print(_series_table(series))
        for sentence in series.sentences:
            OUT.print(Text(plain(sentence)), soft_wrap=True)
        OUT.print()
    if run.scaling.allocators:
        OUT.print(Text("allocators", style="bold"))
        OUT.print(_allocator_table(run.scaling.allocators))
        _gaps(run.scaling.allocators)
        OUT.print()
    print_footnotes(run, path)


def _series_table(series: SizeSeries) -> Table:
    table = _numbers(
        series.factor.replace("_", " "),
        *("text KiB", "affected ms", "unaffected ms", "ratio", "95 % interval"),
        *("exponent", "95 % interval"),
        words=0,
    )
    for point in series.points:
        exponent = "-" if point.exponent is None else f"{point.exponent:.2f}"
        low, high = point.exponent_low, point.exponent_high
        table.add_row(
            str(point.value),
            "-" if point.text_bytes is None else f"{point.text_bytes / 1024:.0f}",
            milliseconds(point.affected_ms),
            milliseconds(point.unaffected_ms),
            times(point.ratio),
            _between(point.ratio_low, point.ratio_high),
            exponent,
            "" if low is None or high is None else f"{low:.2f} – {high:.2f}",
        )
    return table


def _allocator_table(rows: list[AllocatorRow]) -> Table:
    table = _numbers(
        "allocator", "affected ms", "unaffected ms", "ratio", "95 % interval", "page faults",
        "kernel share", words=1,
    )  # fmt: skip
    for row in rows:
        table.add_row(
            plain(row.name),
            milliseconds(row.affected_ms),
            milliseconds(row.unaffected_ms),
            times(row.ratio),
            _between(row.ratio_low, row.ratio_high),
            "-" if row.minor_faults is None else f"{row.minor_faults:,.0f}",
            "-" if row.kernel_share is None else f"{100 * row.kernel_share:.1f} %",
        )
    return table


def print_remedies(run: Run, path: Path) -> None:
    """The best first; what does nothing is there, too."""
    _head(run, "REMEDIES", remedy_answer(run.remedies), _regime(run, "remedy_trials"))
    table = _numbers("remedy", "", "rank", "median ms", "gain", "95 % interval")
    table.add_column("published", no_wrap=True)
    table.add_column("what you give up")
    for row in run.remedies:
        table.add_row(
            plain(row.name),
            _word(REMEDY_WORDS[row.verdict]),
            "-" if row.rank is None else str(row.rank),
            milliseconds(row.median_ms),
            times(row.gain),
            _between(row.gain_low, row.gain_high),
            stars(row.stars),
            plain(row.cost),
        )
    OUT.print(table)
    OUT.print()
    _gaps(run.remedies)
    print_footnotes(run, path)


def _head(run: Run, word: str, answer: str, regime: str) -> None:
    OUT.print(Text.assemble("\n", (word, "bold"), "  ", plain(run.plan.definition.title)))
    OUT.print(Text(plain(answer), style="bold"), soft_wrap=True)
    OUT.print(Text(plain(regime), style="dim"), soft_wrap=True)
    OUT.print()


def _regime(run: Run, section: str) -> str:
    plan = getattr(run.plan.definition, section)
    return plan.regime if plan else ""


def _numbers(*heads: str, words: int = 2) -> Table:
    """The first `words` columns are text, the others numbers."""
    table = plain_table()
    table.show_header = True
    for index, head in enumerate(heads):
        table.add_column(head, justify="left" if index < words else "right", no_wrap=index > 0)
    return table


def _word(word: Word) -> Text:
    return Text(word.word, style=_STYLES[word.tone], no_wrap=True)


def _between(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{times(low)} – {times(high)}"


def _gaps(rows: list[TriggerRow] | list[AllocatorRow] | list[RemedyRow]) -> None:
    for row in rows:
        if row.gap:
            OUT.print(
                Text.assemble(("gap      ", "yellow"), plain(f"{row.name}: {row.gap}")),
                soft_wrap=True,
            )
