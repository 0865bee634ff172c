"""One cell's exact counts and its wall-time closure: two kinds of probed executes.

Counting every call slows an execute down, so its wall time is measured in executes of their own,
with probes that cost next to nothing. Neither kind is ever a timing.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from mysqlprof import doctor, host
from mysqlprof.closure import Share, Spans, Wait, close
from mysqlprof.counted_types import Closure, Counted, CounterRow, CountersPlan, ProbeCost, Sizes
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.flamegraph import render
from mysqlprof.model import Caveat, TrialResult, TrialSpec
from mysqlprof.palette import OFF_CPU
from mysqlprof.probes import bcc
from mysqlprof.stacks import FoldedStacks

Execute = Callable[[TrialSpec, AbstractContextManager[None]], TrialResult]


@dataclass
class CellCounts:
    """What was found out about one cell; what could not be is a caveat."""

    cell: str
    rows: list[CounterRow] = field(default_factory=list)
    sizes: list[Sizes] = field(default_factory=list)
    closure: Closure | None = None
    off_cpu: FoldedStacks = field(default_factory=lambda: FoldedStacks({}))
    """Microseconds by stack, over all watched executes."""
    watched: int = 0
    counting_cost: float | None = None
    watching_cost: float | None = None
    caveats: list[Caveat] = field(default_factory=list)


def count_cell(
    cell: str,
    pid: int,
    plan: CountersPlan,
    python: str,
    *,
    execute: Execute,
    shares: Sequence[Share],
) -> CellCounts:
    """Count, then watch. `execute` enters the window that it is given around the driver's call.

    `python` can import bcc; `shares` divide the time on the CPU. Executes without a probe, in
    between, are the measure of what the probes cost.
    """
    counter = _CellCounter(cell, plan, python, execute)
    with counter.kept("counters"):
        binary = bcc.examine(pid, plan)
        counter.reference()
        with counter.kept("counters"):
            counter.count(binary)
        counter.reference()
        with counter.kept("wall-time closure"):
            counter.watch(binary, shares)
        counter.reference()
        counter.compare_costs()
    return counter.counts


def bcc_python() -> str:
    """The Python that can import bcc. Raises EnvironmentLacks in doctor's words."""
    doctor.require("bcc")
    return host.facts().bcc.python


def merged(cells: Sequence[CellCounts]) -> Counted:
    """run.json's part."""
    return Counted(
        sizes=[sizes for counts in cells for sizes in counts.sizes],
        closures=[counts.closure for counts in cells if counts.closure],
        costs=[
            ProbeCost(cell=c.cell, counting=c.counting_cost, watching=c.watching_cost)
            for c in cells
            if c.counting_cost or c.watching_cost
        ],
    )


def off_cpu_graph(counts: CellCounts, title: str) -> str | None:
    """As SVG, in blue; None where the thread was never off the CPU."""
    if not counts.off_cpu.total:
        return None
    return render(
        counts.off_cpu,
        title=f"Off the CPU: {title}",
        subtitle=f"{counts.off_cpu.total / 1e3:,.1f} ms that the serving thread was not on a CPU,"
        f" in {counts.watched} executes",
        unit="µs",
        palette=OFF_CPU,
    )


class _CellCounter:
    def __init__(self, cell: str, plan: CountersPlan, python: str, execute: Execute) -> None:
        self.counts = CellCounts(cell)
        self._plan = plan
        self._python = python
        self._execute = execute
        self._unprobed_ms: list[float] = []
        self._counted_ms: list[float] = []
        self._watched: list[tuple[float, bcc.WatchedExecute]] = []

    def reference(self) -> None:
        """One execute while nothing is attached. No timing either: it is not interleaved."""
        spec = TrialSpec(self.counts.cell, "reference", len(self._unprobed_ms))
        self._unprobed_ms.append(self._execute(spec, nullcontext()).elapsed_ms)

    def count(self, binary: bcc.Binary) -> None:
        counts = self.counts
        with bcc.counting(self._python, binary) as probe:
            for number in range(self._plan.executes):
                spec = TrialSpec(counts.cell, "probed", number)
                self._counted_ms.append(self._execute(spec, probe.window()).elapsed_ms)
                counts.rows += _rows(counts.cell, number + 1, probe, binary)
            last = probe.result.sizes
        counts.sizes = [
            Sizes(cell=counts.cell, counter=name, calls=dict(sorted(calls.items())))
            for name, calls in last.items()
        ]

    def watch(self, binary: bcc.Binary, shares: Sequence[Share]) -> None:
        counts = self.counts
        with bcc.watching(self._python, binary) as probe:
            for number in range(self._plan.executes):
                spec = TrialSpec(counts.cell, "probed", self._plan.executes + number)
                trial = self._execute(spec, probe.window())
                self._watched.append((trial.elapsed_ms, probe.result))
                counts.off_cpu = counts.off_cpu.merge(probe.result.folded())
        counts.watched = len(self._watched)
        # One real execute, the one in the middle: means of several would sum as well, and be none.
        in_order = sorted(self._watched, key=lambda pair: pair[0])
        client_ms, middle = in_order[(len(in_order) - 1) // 2]
        notes = []
        if not binary.respond.symbols:
            notes.append(f"{binary.respond.function.name}: {binary.respond.how}")
        if middle.commands != 1:
            notes.append(f"{middle.commands} commands were served in the window")
        spans = _spans(client_ms, middle)
        counts.closure = close(counts.cell, spans, shares, self._plan.reasons, notes)

    def compare_costs(self) -> None:
        unprobed = statistics.median(self._unprobed_ms)
        if self._counted_ms:
            self.counts.counting_cost = statistics.median(self._counted_ms) / unprobed
        if self._watched:
            watched = statistics.median(elapsed for elapsed, _ in self._watched)
            self.counts.watching_cost = watched / unprobed

    @contextmanager
    def kept(self, what: str) -> Iterator[None]:
        """What is lacking becomes a caveat, and the run goes on."""
        try:
            yield
        except EnvironmentLacks as error:
            text = f"{self.counts.cell}: no {what}: {error.message}; {error.hint}".rstrip("; ")
            self.counts.caveats.append(Caveat(kind="counters", text=text, partial=True))


def _spans(client_ms: float, watched: bcc.WatchedExecute) -> Spans:
    return Spans(
        client=client_ms,
        server=watched.server_ns / 1e6,
        cpu=watched.cpu_ns / 1e6,
        phases={name: tally.ns / 1e6 for name, tally in watched.phases.items()},
        waits=[Wait(away.ns / 1e6, away.runnable, away.stack) for away in watched.away],
    )


def _rows(cell: str, number: int, probe: bcc.Counting, binary: bcc.Binary) -> Iterator[CounterRow]:
    tallies = probe.result.tallies
    window = binary.execute
    yield CounterRow(
        cell=cell,
        execute=number,
        counter=window.function.name,
        calls=tallies["execute"].calls,
        ns=tallies["execute"].ns,
        how=f"the window; {window.how}",
    )
    for found in binary.functions:
        name, within = found.function.name, found.function.within
        tally, how = tallies.get(name), found.how
        if tally is None and found.symbols:
            how = f"not countable here: it counts only within {within}, which has no symbol"
        sized = found.function.bytes_argument > 0
        yield _row(cell, number, name, tally, how, sized=sized, timed=True)
    for name, how in probe.kernel.items():
        tally = tallies[name] if how else None
        words = how or "not countable here: the kernel has no tracepoint of it"
        yield _row(cell, number, name, tally, words, sized=name in bcc.SIZED, timed=False)


def _row(
    cell: str,
    number: int,
    name: str,
    tally: bcc.Tally | None,
    how: str,
    *,
    sized: bool,
    timed: bool,
) -> CounterRow:
    return CounterRow(
        cell=cell,
        execute=number,
        counter=name,
        calls=tally.calls if tally else None,
        bytes=tally.bytes if tally and sized else None,
        ns=tally.ns if tally and timed else None,
        how=how,
    )
