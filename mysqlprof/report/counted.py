"""Exact counts in the report: predicted against counted, sizes, the parts of the wall time."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mysqlprof.counted_types import Closure, ClosureGroup, CounterRow, ProbeCost
from mysqlprof.counter_claims import Comparison, compare
from mysqlprof.model import Run
from mysqlprof.scenario import select_one
from mysqlprof.store import RunDirectory

GROUPS: Mapping[ClosureGroup, str] = {
    "client": "client and network",
    "on_cpu": "on a CPU",
    "off_cpu": "off the CPU",
    "unexplained": "unexplained",
}


@dataclass(frozen=True)
class CompareView:
    text: str
    """The claim's."""
    title: str
    """The cell's."""
    found: Comparison


@dataclass(frozen=True)
class CounterView:
    """One counter in one cell, over its executes."""

    counter: str
    executes: int
    calls: int | None
    """Median; None where it could not be counted."""
    same: bool
    """Equal in all executes."""
    bytes: int | None
    ms: float | None
    how: str


@dataclass(frozen=True)
class SizesView:
    counter: str
    calls: Mapping[int, int]


@dataclass(frozen=True)
class CountedCell:
    id: str
    title: str
    counters: tuple[CounterView, ...]
    sizes: tuple[SizesView, ...]
    closure: Closure | None
    cost: ProbeCost | None
    off_cpu_svg: str | None

    @property
    def groups(self) -> dict[ClosureGroup, float]:
        """Group -> ms."""
        parts = self.closure.parts if self.closure else []
        return {group: sum(p.ms for p in parts if p.group == group) for group in GROUPS}


@dataclass(frozen=True)
class CountedView:
    comparisons: tuple[CompareView, ...]
    cells: tuple[CountedCell, ...]
    """The slow ones first."""

    @property
    def first(self) -> Comparison | None:
        """The scenario's first claim about a count, where it could be counted."""
        found = self.comparisons[0].found if self.comparisons else None
        return found if found and found.counted else None

    @property
    def closed(self) -> tuple[CountedCell, ...]:
        return tuple(cell for cell in self.cells if cell.closure)


def read_counted(
    run: Run, run_dir: RunDirectory, titles: Mapping[str, str], first: Sequence[str]
) -> CountedView | None:
    """None where nothing was counted. `titles` are the cells' names in words, in order; the cells
    in `first` come before the others."""
    if run.counted is None:
        return None
    rows = run_dir.read_counters()
    with_closure = [closure.cell for closure in run.counted.closures]
    known = {*(row.cell for row in rows), *with_closure}
    order = [cell for cell in dict.fromkeys([*first, *titles]) if cell in known and cell in titles]
    return CountedView(
        comparisons=tuple(_comparisons(run, rows, titles)),
        cells=tuple(_cell(id_, run, rows, titles[id_], run_dir) for id_ in order),
    )


def _comparisons(
    run: Run, rows: Sequence[CounterRow], titles: Mapping[str, str]
) -> list[CompareView]:
    found = []
    for claim in run.plan.definition.claims:
        for selector in claim.cells if claim.counter else []:
            cell = select_one(tuple(run.plan.cells), selector)
            if cell is not None:
                comparison = compare(claim, cell.id, rows, run.workload)
                found.append(CompareView(claim.text, titles.get(cell.id, cell.id), comparison))
    return found


def _cell(
    cell: str, run: Run, rows: Sequence[CounterRow], title: str, run_dir: RunDirectory
) -> CountedCell:
    counted = run.counted
    assert counted is not None
    own = [row for row in rows if row.cell == cell]
    names = dict.fromkeys(row.counter for row in own)
    return CountedCell(
        id=cell,
        title=title,
        counters=tuple(_counter([row for row in own if row.counter == name]) for name in names),
        sizes=tuple(SizesView(s.counter, s.calls) for s in counted.sizes if s.cell == cell),
        closure=next((closure for closure in counted.closures if closure.cell == cell), None),
        cost=next((cost for cost in counted.costs if cost.cell == cell), None),
        off_cpu_svg=run_dir.read_off_cpu_svg(cell),
    )


def _counter(rows: Sequence[CounterRow]) -> CounterView:
    calls = [row.calls for row in rows if row.calls is not None]
    sizes = [row.bytes for row in rows if row.bytes is not None]
    times = [row.ns for row in rows if row.ns is not None]
    return CounterView(
        counter=rows[0].counter,
        executes=len(rows),
        calls=round(statistics.median(calls)) if calls else None,
        same=len(set(calls)) == 1,
        bytes=round(statistics.median(sizes)) if sizes else None,
        ms=statistics.median(times) / 1e6 if times else None,
        how=rows[0].how,
    )
