"""Triggers, scaling, remedies and "could it fire here", as both renderers print them."""

from dataclasses import dataclass

from mysqlprof.firing import Firing, TriggerState, normal_servers
from mysqlprof.model import Run
from mysqlprof.report import numbers
from mysqlprof.report.safe import code_span, markdown, table
from mysqlprof.report.sweep_words import (
    REMEDY_WORDS,
    TRIGGER_WORDS,
    remedy_answer,
    scaling_answer,
    stars,
    trigger_answer,
)
from mysqlprof.report.view import Report
from mysqlprof.report.words import confidence, unfinished
from mysqlprof.sweep_types import SizeSeries


@dataclass(frozen=True)
class SweepAnswer:
    """The first words of a run that is a sweep and nothing else."""

    sentence: str
    sentences: tuple[str, ...]
    regime: str


def sweep_answer(run: Run) -> SweepAnswer | None:
    """None in a run that has an answer of its own."""
    if run.claims or run.matrix or run.bisect:
        return None
    plan = run.plan.definition
    if run.triggers and plan.triggers:
        said = [row.sentence for row in run.triggers if row.sentence]
        return SweepAnswer(trigger_answer(run.triggers), tuple(said), plan.triggers.regime)
    if run.scaling and plan.scaling:
        said = [f"{s.name}: {text}" for s in run.scaling.series for text in s.sentences]
        return SweepAnswer(scaling_answer(run.scaling), tuple(said), plan.scaling.regime)
    if run.remedies and plan.remedy_trials:
        return SweepAnswer(remedy_answer(run.remedies), (), plan.remedy_trials.regime)
    return None


def firings(run: Run) -> list[Firing]:
    """Servers that a run with claims found normal."""
    return normal_servers(run) if run.claims else []


def values(state: TriggerState) -> str:
    """`slow_query_log = OFF or ON`; empty for a condition that needs no variable."""
    return ", ".join(f"{name} = {' or '.join(seen)}" for name, seen in state.values.items())


# --- Markdown ---


def answer_markdown(report: Report, answer: SweepAnswer) -> str:
    """The first part of report.md."""
    parts = [
        f"## {markdown(report.scenario.title)}",
        f"**{markdown(answer.sentence)}**",
        f"**Incomplete.** {unfinished(report)}" if unfinished(report) else "",
        "\n".join(f"- {markdown(text)}" for text in answer.sentences),
    ]
    return "\n\n".join(part for part in parts if part)


def sections_markdown(report: Report) -> str:
    parts = [_triggers(report), _scaling(report), _remedies(report), _firings(report)]
    return "\n\n".join(part for part in parts if part)


def _triggers(report: Report) -> str:
    plan = report.scenario.triggers
    if not report.run.triggers or plan is None:
        return ""
    rows = [
        [
            markdown(row.name),
            f"{TRIGGER_WORDS[row.verdict].symbol} {TRIGGER_WORDS[row.verdict].word}"
            + (f": {markdown(row.gap)}" if row.gap else ""),
            code_span(row.changes),
            numbers.ratio(row.ratio),
            numbers.interval(row.ratio_low, row.ratio_high),
            numbers.milliseconds(row.median_ms),
        ]
        for row in report.run.triggers
    ]
    heads = ["switch", "verdict", "changes", "ratio", "interval", "median ms"]
    note = f"Each switch alone against all off. Conditions: {markdown(plan.regime)}."
    return "\n\n".join(["### What triggers it", note, table(heads, rows, right=3)])


def _scaling(report: Report) -> str:
    scaling, plan = report.run.scaling, report.scenario.scaling
    if scaling is None or plan is None:
        return ""
    parts = ["### How it scales", f"Conditions: {markdown(plan.regime)}."]
    for series in scaling.series:
        parts += [f"**{markdown(series.name)}**", _series(series)]
        parts.append("\n".join(f"- {markdown(text)}" for text in series.sentences))
    if scaling.allocators:
        rows = [
            [
                markdown(row.name) + (f" ({markdown(row.gap)})" if row.gap else ""),
                numbers.milliseconds(row.affected_ms),
                numbers.milliseconds(row.unaffected_ms),
                numbers.ratio(row.ratio),
                numbers.interval(row.ratio_low, row.ratio_high),
                numbers.NONE
                if row.minor_faults is None
                else numbers.count(round(row.minor_faults)),
                numbers.share(row.kernel_share),
            ]
            for row in scaling.allocators
        ]
        heads = ["allocator", "affected ms", "unaffected ms", "ratio", "interval", "page faults"]
        parts += ["**Allocators**", table([*heads, "kernel share"], rows, right=6)]
    return "\n\n".join(part for part in parts if part)


def _series(series: SizeSeries) -> str:
    rows = [
        [
            str(p.value),
            numbers.NONE if p.text_bytes is None else numbers.size(p.text_bytes),
            numbers.milliseconds(p.affected_ms),
            numbers.milliseconds(p.unaffected_ms),
            numbers.ratio(p.ratio),
            numbers.interval(p.ratio_low, p.ratio_high),
            numbers.NONE if p.exponent is None else numbers.significant(p.exponent),
            numbers.interval(p.exponent_low, p.exponent_high),
        ]
        for p in series.points
    ]
    heads = [series.factor.replace("_", " "), "text", "affected ms", "unaffected ms", "ratio"]
    return table([*heads, "interval", "exponent", "interval"], rows, right=8)


def _remedies(report: Report) -> str:
    plan = report.scenario.remedy_trials
    if not report.run.remedies or plan is None:
        return ""
    rows = [
        [
            numbers.NONE if row.rank is None else str(row.rank),
            markdown(row.name),
            f"{REMEDY_WORDS[row.verdict].symbol} {REMEDY_WORDS[row.verdict].word}",
            numbers.milliseconds(row.median_ms),
            numbers.ratio(row.gain),
            numbers.interval(row.gain_low, row.gain_high),
            stars(row.stars),
            markdown(row.gap or row.cost),
        ]
        for row in report.run.remedies
    ]
    heads = ["rank", "remedy", "verdict", "median ms", "gain", "interval", "published"]
    note = (
        f"{report.run.remedies[0].rows} rows each time, untreated : treated."
        f" Conditions: {markdown(plan.regime)}. Intervals are {confidence(report)};"
        " ranks are equal where times cannot be told apart."
    )
    return "\n\n".join(["### What helps", note, table([*heads, "what you give up"], rows)])


def _firings(report: Report) -> str:
    found = firings(report.run)
    if not found:
        return ""
    lines = []
    for firing in found:
        lines.append(f"- {markdown(firing.server)} (MySQL {firing.version}): {firing.sentence}")
        lines += [
            f"  - {'on' if state.armed else 'off'}: {markdown(state.name)}"
            + (f" ({code_span(values(state))})" if state.values else "")
            for state in firing.states
        ]
    return "### Could it fire here?\n\n" + "\n".join(lines)
