"""Two profiles, set against each other per unit of work. Pure.

Shares mislead: where one function grows, the shares of all others shrink. So costs are CPU
milliseconds per unit of work (an execute, a transaction), and a change counts only where it is
more than the noise of sampling, larger than a ratio, and worth mentioning at all.

Names, roots and gaps of the stacks are aligned first (`alignment`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from mysqlprof.alignment import align
from mysqlprof.changes import FunctionChange, FunctionVerdict
from mysqlprof.stacks import FoldedStacks, Stack
from mysqlprof.statistics import THRESHOLDS


@dataclass(frozen=True)
class Side:
    """One profile with aligned names."""

    stacks: FoldedStacks
    ms_per_sample: float
    """CPU milliseconds per unit of work that one sample stands for."""
    original: Mapping[str, str]
    """Aligned name -> the name in this profile, where they differ."""
    completed: int = 0
    """Samples whose truncated stack got its callers back."""

    @property
    def total_ms(self) -> float:
        return self.stacks.total * self.ms_per_sample


@dataclass(frozen=True)
class Change:
    """Samples on both sides, their cost, and what is to be said of them."""

    before: int
    after: int
    before_ms: float
    after_ms: float
    verdict: FunctionVerdict
    everywhere: bool = False
    """True where a place in the call tree is judged by its function, wherever that is called."""

    @property
    def one_sided(self) -> bool:
        return self.before == 0 or self.after == 0

    @property
    def ratio(self) -> float | None:
        """Cost after over cost before; None where there was none."""
        return self.after_ms / self.before_ms if self.before_ms else None


def side(stacks: FoldedStacks, frequency_hz: float, units: float) -> Side:
    """A profile recorded at `frequency_hz` while `units` units of work were done."""
    if frequency_hz <= 0 or units <= 0:
        raise ValueError("a profile needs a frequency and units of work")
    aligned = align(stacks)
    return Side(aligned.stacks, 1000 / frequency_hz / units, aligned.original, aligned.completed)


def by_function(before: Side, after: Side) -> dict[str, Change]:
    """Every function of either side, by its samples anywhere in a stack."""
    was, now = before.stacks.inclusive_counts(), after.stacks.inclusive_counts()
    names = sorted(was.keys() | now.keys())
    pairs = [(was.get(name, 0), now.get(name, 0)) for name in names]
    return dict(zip(names, judged(before, after, pairs), strict=True))


def functions(before: Side, after: Side, cell: str) -> list[FunctionChange]:
    """A row a function, the largest absolute change first."""
    own = before.stacks.self_counts(), after.stacks.self_counts()
    changes = by_function(before, after)
    names = {name: _names(before, after, name, change) for name, change in changes.items()}
    rows = [
        FunctionChange(
            cell=cell,
            function=names[name][0],
            before_name=names[name][1],
            before_samples=change.before,
            after_samples=change.after,
            before_ms=change.before_ms,
            after_ms=change.after_ms,
            before_self_ms=own[0].get(name, 0) * before.ms_per_sample,
            after_self_ms=own[1].get(name, 0) * after.ms_per_sample,
            verdict=change.verdict,
        )
        for name, change in changes.items()
    ]
    return sorted(rows, key=lambda r: (-abs(r.after_ms - r.before_ms), r.function))


def _names(before: Side, after: Side, name: str, change: Change) -> tuple[str, str]:
    """The name after, and the one before where that differs; of one side, if only it has it."""
    was, now = before.original.get(name, name), after.original.get(name, name)
    if change.one_sided:
        return (was if change.before else now), ""
    return now, was if was != now else ""


def nodes(before: Side, after: Side, places: Iterable[Stack]) -> dict[Stack, Change]:
    """How the cost of these places in the call tree (stacks from the root on) changed."""
    counts = {place: [0, 0] for place in places}
    for which, profile in enumerate((before, after)):
        for stack, count in profile.stacks.items():
            for depth in range(1, len(stack) + 1):
                found = counts.get(stack[:depth])
                if found:
                    found[which] += count
    pairs = [(was, now) for was, now in counts.values()]
    return dict(zip(counts, judged(before, after, pairs), strict=True))


def judged(before: Side, after: Side, counts: Sequence[tuple[int, int]]) -> list[Change]:
    """What may be said of each pair of sample counts.

    Were the costs equal, the samples of both sides together would fall to `before` with the
    probability that its units of work give. The p-values are corrected for the number of pairs.
    """
    if not counts:
        return []
    # Work done on a side, in samples per millisecond of cost: what one millisecond would show.
    work = np.array([1 / before.ms_per_sample, 1 / after.ms_per_sample])
    was, now = np.array(counts).T
    expected = work[0] / work.sum()
    together = was + now
    lower = stats.binom.cdf(was, together, expected)
    upper = stats.binom.sf(was - 1, together, expected)
    p = np.minimum(1.0, 2 * np.minimum(lower, upper))
    q = stats.false_discovery_control(p)
    costs = was * before.ms_per_sample, now * after.ms_per_sample
    floor = THRESHOLDS["changed_function_share"] * min(before.total_ms, after.total_ms)
    return [
        Change(
            int(w), int(n), float(b), float(a), _verdict(float(b), float(a), float(quality), floor)
        )
        for w, n, b, a, quality in zip(was, now, *costs, q, strict=True)
    ]


def _verdict(before_ms: float, after_ms: float, q: float, floor: float) -> FunctionVerdict:
    if q >= THRESHOLDS["changed_function_q"] or abs(after_ms - before_ms) < floor:
        return "noise"
    if before_ms == 0:
        return "appeared"
    if after_ms == 0:
        return "vanished"
    ratio = after_ms / before_ms
    bound = THRESHOLDS["changed_function_ratio"]
    if ratio > bound:
        return "grew"
    return "shrank" if ratio < 1 / bound else "noise"
