"""What the report shows of an upgrade: cells, functions, settings, graphs of the difference."""

from collections.abc import Sequence
from dataclasses import dataclass

from mysqlprof.changes import (
    CellComparison,
    FunctionChange,
    GateOutcome,
    SettingChange,
    SettingKind,
    Upgrade,
)
from mysqlprof.model import Run
from mysqlprof.report.upgrade_words import (
    answer,
    most_changed,
    path,
    strongest,
    versions,
)
from mysqlprof.report.word import Word
from mysqlprof.store import RunDirectory

SETTING_KINDS: dict[SettingKind, str] = {
    "default_changed": "The version's default changed",
    "set_by_us": "Set by us, and still not the same",
    "removed": "Removed",
    "added": "New",
    "of_the_instance": "Names, places and ids of each server",
}


@dataclass(frozen=True)
class Difference:
    """One cell's pair of differential flame graphs, as SVG texts."""

    row: CellComparison
    title: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class FunctionTable:
    row: CellComparison
    title: str
    changed: tuple[FunctionChange, ...]
    """By falling difference of self time."""
    unchanged: int
    """Of the functions that run.json holds."""


@dataclass(frozen=True)
class UpgradeView:
    upgrade: Upgrade
    rows: tuple[CellComparison, ...]
    answer: str
    before: str
    """Version that really ran."""
    after: str
    most_changed: CellComparison | None
    path: tuple[FunctionChange, ...]
    strongest: tuple[FunctionChange, ...]
    settings: dict[str, list[SettingChange]]
    """By what it is, in words."""
    functions: tuple[FunctionTable, ...]
    differences: tuple[Difference, ...]
    held_still: tuple[str, ...]
    """Settings that are the same on both since we set them: "max_allowed_packet = 67108864"."""

    @property
    def gates(self) -> Word:
        """All of them together: one that failed outweighs one that cannot be told."""
        outcomes = {gate.outcome for gate in self.upgrade.gates}
        if "failed" in outcomes:
            return Word("Gate failed", "✗", "no")
        if "cannot_tell" in outcomes:
            return Word("Gate cannot be told", "?", "unsure")
        return Word("Gates held", "✓", "yes")

    @property
    def gate_tally(self) -> str:
        """`1 failed, 2 cannot tell, 5 held`."""
        outcomes = [gate.outcome for gate in self.upgrade.gates]
        kinds: tuple[GateOutcome, ...] = ("failed", "cannot_tell", "held")
        return ", ".join(
            f"{outcomes.count(kind)} {kind.replace('_', ' ')}" for kind in kinds if kind in outcomes
        )


def upgrade_of(run: Run, run_dir: RunDirectory) -> UpgradeView | None:
    if run.upgrade is None:
        return None
    before, after = versions(run)
    return UpgradeView(
        upgrade=run.upgrade,
        rows=tuple(run.comparison),
        answer=answer(run),
        before=before,
        after=after,
        most_changed=most_changed(run),
        path=tuple(path(run)),
        strongest=tuple(strongest(run)),
        settings=_by_kind(run.upgrade.settings),
        functions=tuple(_functions(run.comparison, run.upgrade.functions)),
        differences=tuple(_differences(run.comparison, run_dir)),
        held_still=_held_still(run),
    )


def title(row: CellComparison) -> str:
    """`slow_query_log on, server_prepare on`; a scenario without factors has one cell."""
    return ", ".join(f"{name} {level}" for name, level in row.levels.items()) or "whole workload"


def _by_kind(settings: Sequence[SettingChange]) -> dict[str, list[SettingChange]]:
    found: dict[str, list[SettingChange]] = {}
    for kind, words in SETTING_KINDS.items():
        of_kind = [change for change in settings if change.kind == kind]
        if of_kind:
            found[words] = of_kind
    return found


def _functions(
    rows: Sequence[CellComparison], functions: Sequence[FunctionChange]
) -> list[FunctionTable]:
    tables = []
    for row in rows:
        own = [f for f in functions if f.cell == row.cell]
        changed = sorted(
            (f for f in own if f.verdict != "noise"),
            key=lambda f: -abs(f.after_self_ms - f.before_self_ms),
        )
        if own:
            tables.append(FunctionTable(row, title(row), tuple(changed), len(own) - len(changed)))
    return tables


def _differences(rows: Sequence[CellComparison], run_dir: RunDirectory) -> list[Difference]:
    found = [
        Difference(
            row,
            title(row),
            run_dir.read_difference(row.cell, "before"),
            run_dir.read_difference(row.cell, "after"),
        )
        for row in rows
    ]
    return [difference for difference in found if difference.before or difference.after]


def _held_still(run: Run) -> tuple[str, ...]:
    """What was given to both servers' start, as they read it back."""
    names = {name.replace("-", "_") for info in run.servers for name in info.arguments}
    shared = [info.settings for info in run.servers]
    return tuple(
        f"{name} = {shared[0][name]}"
        for name in sorted(names)
        if shared and all(s.get(name) == shared[0].get(name) and name in s for s in shared)
    )
