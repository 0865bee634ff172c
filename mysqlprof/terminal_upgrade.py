"""An upgrade run on the terminal."""

from pathlib import Path

from rich.table import Table
from rich.text import Text

from mysqlprof.changes import FunctionChange
from mysqlprof.model import Run
from mysqlprof.report.numbers import significant
from mysqlprof.report.upgrade_words import (
    answer,
    function_name,
    matters,
    path,
    setting_value,
    strongest,
    word,
)
from mysqlprof.terminal import OUT, milliseconds, plain, plain_table, print_footnotes

_STYLES = {"faster": "green", "slower": "bold red", "same": "", "cannot_tell": "yellow"}
_SETTINGS = 12
_GATE_STYLES = {"held": "green", "failed": "bold red", "cannot_tell": "yellow"}


def print_upgrade(run: Run, out: Path) -> None:
    OUT.print()
    OUT.print(Text(plain(answer(run)), style="bold"), soft_wrap=True)
    OUT.print()
    OUT.print(comparison_table(run))
    through = path(run)
    if functions := through or strongest(run):
        OUT.print()
        OUT.print(functions_table(run, functions, own=not through))
    settings = matters(run)
    if settings:
        OUT.print(Text("\nSettings that differ by version and matter:", style="bold"))
        for change in settings[:_SETTINGS]:
            text = (
                f"  {change.name}: {setting_value(change.before)} -> {setting_value(change.after)}"
            )
            OUT.print(Text(plain(text)), soft_wrap=True)
        if len(settings) > _SETTINGS:
            OUT.print(f"  and {len(settings) - _SETTINGS} more in the report")
    if run.upgrade and run.upgrade.gates:
        OUT.print()
        OUT.print(gates_table(run))
    print_footnotes(run, out)


def comparison_table(run: Run) -> Table:
    table = plain_table("cell", "before ms", "after ms", "after : before", "interval", "verdict")
    for row in run.comparison:
        between = (
            f"{_digits(row.ci_low)}-{_digits(row.ci_high)}" if row.ci_low and row.ci_high else "-"
        )
        table.add_row(
            plain(row.cell),
            milliseconds(row.before_ms),
            milliseconds(row.after_ms),
            f"{_digits(row.ratio)}x" if row.ratio else "-",
            between,
            Text(plain(word(row)), style=_STYLES[row.verdict]),
        )
    return table


def _digits(ratio: float) -> str:
    """Two decimals say nothing of a ratio like 0.0234."""
    return f"{ratio:.2f}" if ratio >= 1 else f"{ratio:.3g}"


def functions_table(run: Run, functions: list[FunctionChange], *, own: bool) -> Table:
    """`own`: what they cost by themselves, and not with their callees."""
    assert run.upgrade is not None
    what = f"{'self ' if own else ''}CPU ms per {plain(run.upgrade.unit)}"
    table = plain_table("cell", "function", f"before, {what}", "after", "")
    for row in functions:
        table.add_row(
            plain(row.cell),
            plain(function_name(row)),
            significant(row.before_self_ms if own else row.before_ms),
            significant(row.after_self_ms if own else row.after_ms),
            row.verdict,
        )
    return table


def gates_table(run: Run) -> Table:
    assert run.upgrade is not None
    table = plain_table("gate: fail if", "cell", "measured", "outcome")
    for gate in run.upgrade.gates:
        outcome = gate.outcome.replace("_", " ")
        table.add_row(
            plain(gate.expression),
            plain(gate.cell),
            plain(gate.measured),
            Text(outcome, style=_GATE_STYLES[gate.outcome]),
        )
    return table
