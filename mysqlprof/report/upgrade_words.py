"""What an upgrade changes, in sentences: the first things that a decision needs."""

from collections.abc import Sequence

from mysqlprof.changes import CellComparison, ChangeVerdict, FunctionChange, SettingChange
from mysqlprof.model import Run
from mysqlprof.report.word import Word
from mysqlprof.stacks import plain_name
from mysqlprof.statistics import THRESHOLDS

_WORDS: dict[ChangeVerdict, Word] = {
    "faster": Word("faster", "▼", "yes"),
    "slower": Word("slower", "▲", "slow"),
    "same": Word("same", "=", "same"),
    "cannot_tell": Word("cannot tell", "?", "unsure"),
}
_STRONGEST = 5
"""Functions named for the cell that changed most."""
_PATH = 4
_NEARLY_ALL = 0.9


def percent() -> str:
    """The bound of `same`: "10 %"."""
    return f"{(THRESHOLDS['same_within'] - 1) * 100:.0f} %"


def change_word(verdict: ChangeVerdict) -> Word:
    return _WORDS[verdict]


def word(row: CellComparison) -> str:
    """The verdict with its bound or its reason: "same within 10 %"."""
    if row.verdict == "same":
        return f"same within {percent()}"
    if row.verdict == "cannot_tell":
        return f"cannot tell: {row.reason}" if row.reason else "cannot tell"
    return row.verdict


def versions(run: Run) -> tuple[str, str]:
    """That really ran; as asked for where none did."""
    assert run.upgrade is not None
    found = {info.role: info.version for info in reversed(run.servers)}
    asked = {"before": run.upgrade.before, "after": run.upgrade.after}
    before, after = (found.get(role, asked[role]) for role in ("before", "after"))
    return before, after


def answer(run: Run) -> str:
    """One sentence: from what to what, what gets faster, slower, stays, and is not known."""
    assert run.upgrade is not None
    before, after = versions(run)
    if run.upgrade.same_version:
        return f"A/A run, MySQL {before} against itself: {_aa(run.comparison)}"
    lead = f"MySQL {before} to {after}: "
    if all(row.ratio is None for row in run.comparison):
        return lead + "nothing was measured that could be compared."
    parts = [
        _group(run.comparison, "faster", "faster"),
        _group(run.comparison, "slower", "slower"),
        _group(run.comparison, "same", f"the same within {percent()}"),
        _group(run.comparison, "cannot_tell", "cannot be told"),
    ]
    return lead + "; ".join(part for part in parts if part) + "."


def _aa(rows: Sequence[CellComparison]) -> str:
    different = [row for row in rows if row.verdict in ("faster", "slower")]
    if different:
        return (
            f"{len(different)} of {len(rows)} cells are called different, which must be false;"
            " do not trust this host's figures."
        )
    same = sum(row.verdict == "same" for row in rows)
    if not rows or all(row.ratio is None for row in rows):
        return "nothing was measured that could be compared."
    if not same:
        return "no difference was found, but no cell can be told to be the same either."
    if same == len(rows):
        return f"no difference, as it must be; all cells are the same within {percent()}."
    return (
        f"no difference, as it must be. {same} of {len(rows)} cells"
        f" {'is' if same == 1 else 'are'} the same within {percent()}; the others cannot be told."
    )


def _group(rows: Sequence[CellComparison], verdict: ChangeVerdict, words: str) -> str:
    """`2 of 8 cells are faster (up to 41x)`."""
    found = [row for row in rows if row.verdict == verdict]
    if not found:
        return ""
    if len(rows) == 1:
        who = "the workload is" if verdict != "cannot_tell" else "whether the workload changes"
    else:
        who = f"{len(found)} of {len(rows)} cells" + (
            "" if verdict == "cannot_tell" else " is" if len(found) == 1 else " are"
        )
    return f"{who} {words}{_by(found, verdict)}"


def _by(rows: Sequence[CellComparison], verdict: ChangeVerdict) -> str:
    ratios = [row.ratio for row in rows if row.ratio]
    if verdict == "slower":
        ratio = max(ratios)
    elif verdict == "faster":
        ratio = 1 / min(ratios)
    else:
        return ""
    return f" ({'up to ' if len(rows) > 1 else ''}{_three_digits(ratio)}x)"


def _three_digits(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 999.5 else f"{ratio:.3g}"


def most_changed(run: Run) -> CellComparison | None:
    """The profiled cell whose verdict is a change, and the largest one."""
    profiled = {row.cell for row in run.upgrade.functions} if run.upgrade else set[str]()
    changed = [
        row
        for row in run.comparison
        if row.cell in profiled and row.verdict in ("faster", "slower") and row.ratio
    ]
    return max(changed, key=lambda row: max(row.ratio or 0, 1 / (row.ratio or 1)), default=None)


def path(run: Run) -> list[FunctionChange]:
    """The innermost functions that nearly all of the most changed cell's difference goes through.

    Empty where the difference is spread over many places.
    """
    changed = _changed(run)
    whole = max((abs(_difference(f)) for f in changed), default=0.0)
    through = [f for f in changed if abs(_difference(f)) >= _NEARLY_ALL * whole]
    inwards = sorted(through, key=lambda f: -max(f.before_ms, f.after_ms))
    return inwards[-_PATH:] if len(inwards) > 1 else []


def strongest(run: Run) -> list[FunctionChange]:
    """The functions of the most changed cell that lost or gained most by themselves.

    Callers only pass on what their callees cost, so that self time is looked at.
    """
    return sorted(_changed(run), key=lambda f: -abs(f.after_self_ms - f.before_self_ms))[
        :_STRONGEST
    ]


def _changed(run: Run) -> list[FunctionChange]:
    row = most_changed(run)
    if run.upgrade is None or row is None:
        return []
    return [f for f in run.upgrade.functions if f.cell == row.cell and f.verdict != "noise"]


def _difference(change: FunctionChange) -> float:
    return change.after_ms - change.before_ms


def function_name(change: FunctionChange) -> str:
    """With its name before, where that differs."""
    name = plain_name(change.function)
    return f"{plain_name(change.before_name)} → {name}" if change.before_name else name


def setting_value(value: str | None) -> str:
    """An empty one is not the same as none."""
    return "none" if value is None else value or "(empty)"


def matters(run: Run) -> list[SettingChange]:
    """Settings that differ by the version's doing, or are gone, and are known to matter."""
    if run.upgrade is None:
        return []
    kinds = ("default_changed", "removed", "added")
    return [c for c in run.upgrade.settings if c.matters and c.kind in kinds]
