"""An upgrade run in Markdown: the first part of report.md, and its evidence."""

from mysqlprof.report import numbers
from mysqlprof.report.safe import code_span, markdown, table
from mysqlprof.report.upgrade import UpgradeView
from mysqlprof.report.upgrade_words import (
    change_word,
    function_name,
    matters,
    setting_value,
    word,
)
from mysqlprof.report.view import Report
from mysqlprof.report.words import confidence, times, unfinished, wording

_FUNCTIONS = 12


def upgrade_markdown(report: Report, view: UpgradeView) -> str:
    """What changes, why, and which settings do: everything that a decision needs."""
    parts = [
        f"## {markdown(report.scenario.title)}",
        f"**{markdown(times(view.answer))}**",
        f"**Incomplete.** {unfinished(report)}" if unfinished(report) else "",
        _comparison(report, view),
        _gates(view),
        _functions(view),
        _settings(report, view),
    ]
    return "\n\n".join(part for part in parts if part)


def _comparison(report: Report, view: UpgradeView) -> str:
    factors = [factor for factor in report.factors if factor != "server"]
    rows = [
        [
            *(markdown(row.levels.get(factor, "")) for factor in factors),
            f"{change_word(row.verdict).symbol} {markdown(word(row))}",
            numbers.duration(row.before_ms),
            numbers.duration(row.after_ms),
            numbers.ratio(row.ratio),
            numbers.interval(row.ci_low, row.ci_high),
            numbers.ratio(row.visible_ratio),
        ]
        for row in view.rows
    ]
    heads = [
        *(markdown(wording(factor)) for factor in factors),
        *(
            "verdict",
            markdown(view.before),
            markdown(view.after),
            "after : before",
            "interval",
            "visible from",
        ),
    ]
    note = (
        f"Medians; intervals are {confidence(report)}. Visible from: the smallest ratio that these"
        " trials would have shown as slower in four of five runs."
    )
    return table(heads, rows, right=5) + "\n\n" + note if rows else ""


def _gates(view: UpgradeView) -> str:
    rows = [
        [code_span(g.expression), code_span(g.cell), wording(g.outcome), markdown(g.measured)]
        for g in view.upgrade.gates
    ]
    if not rows:
        return ""
    return "### Gates\n\n" + table(["fail if", "cell", "outcome", "measured"], rows)


def _functions(view: UpgradeView) -> str:
    """Of the cell that changed most."""
    shown = next((t for t in view.functions if t.row == view.most_changed), None)
    if shown is None or not shown.changed:
        return ""
    rows = [
        [
            code_span(function_name(change)),
            change.verdict,
            numbers.significant(change.before_self_ms),
            numbers.significant(change.after_self_ms),
            numbers.significant(change.before_ms),
            numbers.significant(change.after_ms),
        ]
        for change in shown.changed[:_FUNCTIONS]
    ]
    heads = ["function", "change", "self before", "self after", "all before", "all after"]
    lead = (
        f"### Functions that changed most: {markdown(shown.title)}\n\n"
        f"{_path(view)}CPU milliseconds per {markdown(view.upgrade.unit)}."
    )
    return lead + "\n\n" + table(heads, rows, right=4)


def _path(view: UpgradeView) -> str:
    names = " → ".join(code_span(function_name(change)) for change in view.path)
    return f"Nearly all of the change is on this path: {names}.\n\n" if names else ""


def _settings(report: Report, view: UpgradeView) -> str:
    rows = [
        [
            code_span(change.name),
            markdown(setting_value(change.before)),
            markdown(setting_value(change.after)),
            markdown(change.matters),
        ]
        for change in matters(report.run)
    ]
    if not rows:
        return ""
    total = len(view.upgrade.settings)
    lead = f"### Settings that change with the version and matter ({len(rows)} of {total})"
    return lead + "\n\n" + table(["variable", "before", "after", "what it does"], rows)
