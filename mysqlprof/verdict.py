"""From trials and profiles to cells, contrasts, claims and the verdict. Pure."""

import statistics as plain_statistics
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mysqlprof.attribution import Rules, attribute, path_share
from mysqlprof.comparing import Judgement, judge_ratio
from mysqlprof.counted_types import CounterRow
from mysqlprof.counter_claims import compare, expectation
from mysqlprof.model import (
    Caveat,
    CellResult,
    CellSpec,
    ClaimResult,
    ClaimSpec,
    ClaimVerdict,
    ContrastResult,
    ProfileInfo,
    Scenario,
    TrialResult,
    Verdict,
)
from mysqlprof.scenario import select_one
from mysqlprof.stacks import FoldedStacks
from mysqlprof.statistics import (
    THRESHOLDS,
    Interval,
    difference,
    judge,
    median_interval,
    ratio_interval,
    share_interval,
    smallest_visible_ratio,
)
from mysqlprof.validity import examine
from mysqlprof.wire.model import WireCommand
from mysqlprof.wire.summary import statement_commands, wait_share


@dataclass(frozen=True)
class Measured:
    """What a run gathered, by cell id."""

    scenario: Scenario
    cells: tuple[CellSpec, ...]
    trials: Sequence[TrialResult]
    servers: Mapping[str, str] = field(default_factory=dict)
    """Cell id -> the name of the server that it ran on."""
    profiles: Mapping[str, tuple[ProfileInfo, FoldedStacks]] = field(default_factory=dict)
    wire: Sequence[WireCommand] | None = None
    """Of all captured cells; None where no capture was asked for."""
    counters: Sequence[CounterRow] | None = None
    """None: nothing was asked to be counted."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Of the workload: what counts are predicted to be."""

    def timed(self, cell: str) -> list[TrialResult]:
        """In the order they were made."""
        return [t for t in self.trials if t.cell == cell and t.kind == "timed"]

    def timed_ms(self, cell: str) -> list[float]:
        return [t.elapsed_ms for t in self.timed(cell)]


@dataclass(frozen=True)
class Judged:
    cells: list[CellResult]
    contrasts: list[ContrastResult]
    claims: list[ClaimResult]
    verdict: Verdict
    caveats: list[Caveat]


def judge_run(measured: Measured, rules: Rules) -> Judged:
    """Without claims the verdict is whether all that is compared was measured."""
    cells = [_cell_result(measured, cell) for cell in measured.cells]
    contrasts = _contrasts(measured)
    claims = [
        _claim(measured, claim, contrasts, rules)
        for claim in measured.scenario.claims
        if _asked_for(measured, claim)
    ]
    verdict = _verdict(claims) if claims else _extent(contrasts)
    return Judged(cells, contrasts, claims, verdict, _caveats(measured, cells))


def _asked_for(measured: Measured, claim: ClaimSpec) -> bool:
    """Claims about further evidence are judged only where it was asked for."""
    if claim.counter:
        return measured.counters is not None
    return not claim.wire or measured.wire is not None


def ratios_undecided(scenario: Scenario, judged: Judged) -> bool:
    """Whether more trials could tell more: of a ratio that an essential claim rests on, or, where
    nothing is claimed, of a headline's."""
    if not scenario.claims:
        return any(c.headline and _difference(c) == "cannot_tell" for c in judged.contrasts)
    by_ratio = {claim.id for claim in scenario.claims if claim.contrasts}
    return any(
        claim.essential and claim.id in by_ratio and claim.verdict == "cannot_tell"
        for claim in judged.claims
    )


def _difference(contrast: ContrastResult) -> str:
    if contrast.ratio is None or contrast.ci_low is None or contrast.ci_high is None:
        return "cannot_tell"
    return difference(Interval(contrast.ratio, contrast.ci_low, contrast.ci_high))


def _cell_result(measured: Measured, cell: CellSpec) -> CellResult:
    times = measured.timed_ms(cell.id)
    interval = median_interval(times) if times else None
    timed = [t for t in measured.trials if t.cell == cell.id and t.kind == "timed"]
    prepares = [t.prepare_ms for t in timed]
    profile = measured.profiles.get(cell.id)
    profiled = plain_statistics.median(profile[0].profiled_ms) if profile else None
    return CellResult(
        id=cell.id,
        levels=cell.levels,
        server=measured.servers.get(cell.id, ""),
        trials=len(times),
        median_ms=interval.value if interval else None,
        ci_low_ms=interval.low if interval else None,
        ci_high_ms=interval.high if interval else None,
        prepare_ms=plain_statistics.median(prepares) if prepares else None,
        profiled_ms=profiled,
        recording_cost=profiled / interval.value if profiled and interval else None,
        metrics=_medians([t.metrics for t in timed]),
    )


def _medians(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of each name that all rows have."""
    shared = set.intersection(*(set(row) for row in rows)) if rows else set()
    return {name: plain_statistics.median(row[name] for row in rows) for name in sorted(shared)}


def _contrasts(measured: Measured) -> list[ContrastResult]:
    results = []
    for contrast in measured.scenario.contrasts:
        top = select_one(measured.cells, contrast.numerator)
        bottom = select_one(measured.cells, contrast.denominator)
        if top is None or bottom is None:
            continue
        above, below = measured.timed_ms(top.id), measured.timed_ms(bottom.id)
        enough = min(len(above), len(below)) >= THRESHOLDS["min_trials_for_a_verdict"]
        # A seed of its own for each contrast, so that adding one does not move the others.
        seed = zlib.crc32(contrast.name.encode())
        interval = ratio_interval(above, below, seed) if enough else None
        results.append(
            ContrastResult(
                name=contrast.name,
                text=contrast.text,
                numerator=top.id,
                denominator=bottom.id,
                ratio=interval.value if interval else None,
                ci_low=interval.low if interval else None,
                ci_high=interval.high if interval else None,
                visible_ratio=smallest_visible_ratio(interval) if interval else None,
                headline=contrast.headline,
            )
        )
    return results


@dataclass(frozen=True)
class _Part:
    """One measured value that a claim rests on."""

    verdict: ClaimVerdict
    measured: str
    reason: str = ""


def _claim(
    measured: Measured, claim: ClaimSpec, contrasts: list[ContrastResult], rules: Rules
) -> ClaimResult:
    if claim.contrasts:
        parts = [_ratio_part(measured, claim, c) for c in contrasts if c.name in claim.contrasts]
        expected = _expected(claim, "x")
    elif claim.counter:
        parts = [_count_part(measured, claim, selector) for selector in claim.cells]
        expected = expectation(claim, measured.facts)
    elif claim.wire:
        parts = [_wire_part(measured, claim, selector) for selector in claim.cells]
        expected = _expected(claim, "%")
    elif claim.status:
        parts = [_status_part(measured, claim, selector) for selector in claim.cells]
        expected = f"{claim.equals} in every trial"
    elif claim.metric:
        parts = [_metric_part(measured, claim, selector) for selector in claim.cells]
        expected = _expected(claim, "%")
    else:
        parts = [_share_part(measured, claim, selector, rules) for selector in claim.cells]
        expected = _expected(claim, "%")
    verdicts = {part.verdict for part in parts}
    verdict: ClaimVerdict = "holds"
    if not parts or "cannot_tell" in verdicts:
        verdict = "cannot_tell"
    if "does_not_hold" in verdicts:
        verdict = "does_not_hold"
    return ClaimResult(
        id=claim.id,
        text=claim.text,
        verdict=verdict,
        measured="; ".join(part.measured for part in parts) or "nothing",
        expected=expected,
        reason="; ".join(dict.fromkeys(part.reason for part in parts if part.reason)),
        essential=claim.essential,
    )


def _expected(claim: ClaimSpec, unit: str) -> str:
    word, bound = ("above", claim.above) if claim.above is not None else ("below", claim.below)
    assert bound is not None  # the scenario was validated
    return f"{word} {bound:g}x" if unit == "x" else f"{word} {bound * 100:g} %"


def _ratio_part(measured: Measured, claim: ClaimSpec, contrast: ContrastResult) -> _Part:
    def told(interval: Interval) -> ClaimVerdict | None:
        verdict = judge(interval, above=claim.above, below=claim.below)
        return None if verdict == "cannot_tell" else verdict

    top, bottom = contrast.numerator, contrast.denominator
    found: Judgement[ClaimVerdict]
    found = judge_ratio(
        (top, measured.timed(top)), (bottom, measured.timed(bottom)), contrast.name, told
    )
    interval = found.interval
    if interval is None:
        return _Part("cannot_tell", f"{contrast.name}: not measured", found.reason)
    text = f"{_times(interval.value)} [{_times(interval.low)}, {_times(interval.high)}]"
    if found.verdict is None:
        return _Part("cannot_tell", text, found.reason or "the interval includes the bound")
    return _Part(found.verdict, text)


def _share_part(
    measured: Measured, claim: ClaimSpec, selector: Mapping[str, str], rules: Rules
) -> _Part:
    cell = select_one(measured.cells, selector)
    profile = measured.profiles.get(cell.id) if cell else None
    if profile is None:
        return _Part("cannot_tell", "no profile", "the cell was not profiled")
    info, stacks = profile
    if info.samples < THRESHOLDS["min_samples"]:
        return _Part("cannot_tell", f"{info.samples} samples", "too few samples")
    if claim.path:
        count, total = path_share(stacks, claim.path)
    else:
        count, total = attribute(stacks, rules).inclusive(claim.category), stacks.total
    return _bounded(claim, share_interval(count, total), f"of {total:,} samples")


def _status_part(measured: Measured, claim: ClaimSpec, selector: Mapping[str, str]) -> _Part:
    """Counts are exact: one trial that counted otherwise is enough."""
    cell = select_one(measured.cells, selector)
    trials = measured.timed(cell.id) if cell else []
    counts = [trial.status[claim.status] for trial in trials if claim.status in trial.status]
    if not counts:
        return _Part("cannot_tell", "no trial", f"{claim.status} was not counted there")
    verdict: ClaimVerdict = "holds" if set(counts) == {claim.equals} else "does_not_hold"
    words = " or ".join(map(str, sorted(set(counts))))
    return _Part(verdict, f"{words} in each of {len(counts)} trials")


def _metric_part(measured: Measured, claim: ClaimSpec, selector: Mapping[str, str]) -> _Part:
    cell = select_one(measured.cells, selector)
    trials = measured.timed(cell.id) if cell else []
    values = [t.metrics[claim.metric] for t in trials if claim.metric in t.metrics]
    if len(values) < THRESHOLDS["min_trials_for_a_verdict"]:
        return _Part("cannot_tell", "not measured", "too few trials have the figure")
    return _bounded(claim, median_interval(values), f"in {cell.id if cell else ''}")


def _bounded(claim: ClaimSpec, share: Interval, of: str) -> _Part:
    verdict = judge(share, above=claim.above, below=claim.below)
    reason = "the interval includes the bound" if verdict == "cannot_tell" else ""
    text = f"{share.value * 100:.1f} % [{share.low * 100:.1f}, {share.high * 100:.1f}] {of}"
    return _Part(verdict, text, reason)


def _wire_part(measured: Measured, claim: ClaimSpec, selector: Mapping[str, str]) -> _Part:
    """One execute was captured, so there is no interval: the bound is far from any doubt."""
    cell = select_one(measured.cells, selector)
    rows = [row for row in measured.wire or () if cell and row.cell == cell.id]
    if not rows:
        return _Part("cannot_tell", "no capture", "the cell was not captured")
    statement = statement_commands(rows)
    share = wait_share(statement, claim.wire)
    if share is None:
        return _Part("cannot_tell", "no such command", f"{claim.wire} was not seen there")
    verdict = judge(Interval(share, share, share), above=claim.above, below=claim.below)
    spent = sum(row.total_ms for row in statement)
    return _Part(verdict, f"{share * 100:.1f} % of {spent:.1f} ms")


def _count_part(measured: Measured, claim: ClaimSpec, selector: Mapping[str, str]) -> _Part:
    cell = select_one(measured.cells, selector)
    found = compare(claim, cell.id if cell else "", measured.counters or (), measured.facts)
    return _Part(found.verdict, found.words(), found.reason)


def _times(ratio: float) -> str:
    return f"{ratio:.1f}x" if ratio >= 10 else f"{ratio:.2f}x"


def _verdict(claims: list[ClaimResult]) -> Verdict:
    essential = {claim.verdict for claim in claims if claim.essential}
    if essential == {"holds"}:
        return "reproduced"
    return "not_reproduced" if "does_not_hold" in essential else "inconclusive"


def _extent(contrasts: list[ContrastResult]) -> Verdict:
    told = contrasts and all(contrast.ratio is not None for contrast in contrasts)
    return "measured" if told else "inconclusive"


def _caveats(measured: Measured, cells: list[CellResult]) -> list[Caveat]:
    infos = [info for info, _ in measured.profiles.values()]
    found = [*map(_few_samples, infos), *map(_lost_samples, infos)]
    found += _oddities(measured, cells)
    return [c for c in (*found, _noise(cells), _unresolved(infos)) if c is not None]


def _oddities(measured: Measured, cells: list[CellResult]) -> list[Caveat]:
    """First trials, drift, outliers, lost time: one caveat each, with the cells it was seen in."""
    texts: dict[str, list[str]] = {}
    for cell in cells:
        for finding in examine(measured.timed(cell.id)):
            texts.setdefault(finding.kind, []).append(f"{cell.id}: {finding.text}")
    return [Caveat(kind=kind, text="; ".join(_first(parts))) for kind, parts in texts.items()]


_NAMED = 12
"""Cells that a caveat names; sweeps have many more."""


def _first(parts: list[str]) -> list[str]:
    rest = len(parts) - _NAMED
    return [*parts[:_NAMED], f"and {rest} more"] if rest > 0 else parts


def _noise(cells: list[CellResult]) -> Caveat | None:
    """One caveat for all noisy cells, the noisiest first."""
    spreads = [
        (cell.ci_high_ms / cell.ci_low_ms, cell)
        for cell in cells
        if cell.ci_low_ms and cell.ci_high_ms
    ]
    noisy = sorted(
        (pair for pair in spreads if pair[0] > THRESHOLDS["noisy_cell_spread"]),
        key=lambda pair: -pair[0],
    )
    if not noisy:
        return None
    words = _first([f"{cell.id} {spread:.1f}x" for spread, cell in noisy])
    text = f"{len(noisy)} of {len(cells)} cells are noisy; their intervals span {', '.join(words)}"
    return Caveat(kind="noise", text=text)


def _unresolved(infos: list[ProfileInfo]) -> Caveat | None:
    bound = THRESHOLDS["max_unresolved_leaf_share"]
    words = [
        f"{info.cell} {info.unresolved_leaf * 100:.0f} %"
        for info in infos
        if info.unresolved_leaf > bound
    ]
    if not words:
        return None
    text = (
        "samples end in a function without a symbol (a server's file-local functions have none): "
        + ", ".join(words)
    )
    return Caveat(kind="unresolved", text=text)


def _few_samples(info: ProfileInfo) -> Caveat | None:
    if info.samples >= THRESHOLDS["min_samples"]:
        return None
    text = (
        f"{info.cell}: only {info.samples} samples;"
        f" {THRESHOLDS['min_samples']:.0f} are needed to say anything"
    )
    return Caveat(kind="few_samples", text=text, partial=True)


def _lost_samples(info: ProfileInfo) -> Caveat | None:
    if info.lost <= THRESHOLDS["max_lost_share"] * max(1, info.samples):
        return None
    text = f"{info.cell}: perf lost {info.lost} samples besides the {info.samples} it kept"
    return Caveat(kind="lost_samples", text=text, partial=True)
