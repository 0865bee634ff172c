"""A difference of two profiles on the terminal."""

from typing import Any

from rich.text import Text

from mysqlprof.changes import FunctionChange, FunctionVerdict
from mysqlprof.diff import SHARE, Difference
from mysqlprof.palette import CHANGES
from mysqlprof.terminal import OUT, plain, plain_table

_STYLES: dict[FunctionVerdict, str] = {
    "appeared": "bold red",
    "grew": "red",
    "shrank": "blue",
    "vanished": "bold blue",
    "noise": "dim",
}


def print_difference(found: Difference, limit: int) -> None:
    """Totals, then the functions that changed, the largest change first."""
    for word, profile, side in zip(
        ("A", "B"), (found.before, found.after), found.sides, strict=True
    ):
        total = "" if found.measure == SHARE else f", {side.total_ms:.3f} {found.measure}"
        line = f"{word}  {plain(profile.name)}: {profile.stacks.total} samples{total}"
        OUT.print(Text(line), soft_wrap=True)
    OUT.print()
    changed = found.changed
    if not changed:
        OUT.print("no function differs by more than noise")
        return
    table = plain_table("function")
    for header in ("A", "B", "difference"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("")
    for row in changed[:limit]:
        table.add_row(
            Text(plain(row.function)),
            f"{row.before_ms:.3f}",
            f"{row.after_ms:.3f}",
            f"{row.after_ms - row.before_ms:+.3f}",
            Text(CHANGES[row.verdict].label, style=_STYLES[row.verdict]),
        )
    OUT.print(table)
    rest = len(changed) - limit
    more = f"; {rest} more changed (--limit)" if rest > 0 else ""
    OUT.print(Text(f"\nin {found.measure}, with all that a function calls{more}"), soft_wrap=True)


def as_data(found: Difference) -> dict[str, Any]:
    """For --json."""
    return {
        "measure": found.measure,
        "a": {"profile": found.before.name, "samples": found.before.stacks.total},
        "b": {"profile": found.after.name, "samples": found.after.stacks.total},
        "functions": [_row(row) for row in found.functions],
    }


def _row(row: FunctionChange) -> dict[str, Any]:
    return {
        "function": row.function,
        "name_in_a": row.before_name or row.function,
        "a": row.before_ms,
        "b": row.after_ms,
        "self_a": row.before_self_ms,
        "self_b": row.after_self_ms,
        "samples_a": row.before_samples,
        "samples_b": row.after_samples,
        "verdict": row.verdict,
    }
