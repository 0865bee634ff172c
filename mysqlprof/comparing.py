"""Two cells' trials to a ratio, a verdict, and what would have been seen. Pure.

Whatever a verdict is about, it is made again without each oddity found in the trials
(`validity`): one that depends on an oddity cannot be told.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from mysqlprof.changes import ChangeVerdict
from mysqlprof.model import TrialResult
from mysqlprof.statistics import THRESHOLDS, Interval, difference, ratio_interval
from mysqlprof.validity import Finding, examine

_V = TypeVar("_V")
Trials = Sequence[TrialResult]


@dataclass(frozen=True)
class Judgement(Generic[_V]):
    """The ratio of the medians, numerator over denominator, and what is made of it."""

    interval: Interval | None
    """None with too few trials."""
    verdict: _V | None
    """None where it cannot be told."""
    reason: str
    """Why it cannot be told; empty otherwise."""


def judge_ratio(
    numerator: tuple[str, Trials],
    denominator: tuple[str, Trials],
    name: str,
    judge: Callable[[Interval], _V | None],
) -> Judgement[_V]:
    """Judge the ratio of two sides, each given as (its name, its timed trials in order).

    `name` seeds the bootstrap, so that adding a comparison does not move the others.
    """
    seed = zlib.crc32(name.encode())
    interval = _ratio(numerator[1], denominator[1], seed)
    if interval is None:
        return Judgement(None, None, "too few timed trials")
    verdict = judge(interval)
    if verdict is None:
        return Judgement(interval, None, "")
    for side, finding in _findings(numerator, denominator):
        other = _ratio(*_without(numerator[1], denominator[1], side, finding), seed)
        if other is None or judge(other) != verdict:
            where = (numerator, denominator)[side][0]
            what = "too few trials are left" if other is None else "the verdict would be another"
            return Judgement(interval, None, f"{where}: {finding.text}; without that {what}")
    return Judgement(interval, verdict, "")


def compare(before: Trials, after: Trials, name: str) -> Judgement[ChangeVerdict]:
    """`after` against `before`: a ratio above 1 means that `after` takes longer.

    `slower` and `faster` lie wholly beyond the bound; `same` lies wholly within it, which is a
    claim of equivalence and not a test that failed to find anything.
    """
    found: Judgement[ChangeVerdict]
    found = judge_ratio(("after", after), ("before", before), name, _change)
    if found.verdict is None and found.interval and not found.reason:
        return Judgement(found.interval, None, _unsure(found.interval))
    return found


def _change(interval: Interval) -> ChangeVerdict | None:
    found: dict[str, ChangeVerdict] = {"faster": "faster", "slower": "slower", "same": "same"}
    return found.get(difference(interval))


def _ratio(numerator: Trials, denominator: Trials, seed: int) -> Interval | None:
    if min(len(numerator), len(denominator)) < THRESHOLDS["min_trials_for_a_verdict"]:
        return None
    top, bottom = ([t.elapsed_ms for t in side] for side in (numerator, denominator))
    return ratio_interval(top, bottom, seed)


def _findings(
    numerator: tuple[str, Trials], denominator: tuple[str, Trials]
) -> list[tuple[int, Finding]]:
    sides = enumerate((numerator[1], denominator[1]))
    return [(side, finding) for side, trials in sides for finding in examine(trials)]


def _without(
    numerator: Trials, denominator: Trials, side: int, finding: Finding
) -> tuple[Trials, Trials]:
    """Both sides' trials that the finding does not touch.

    Rounds were interleaved: what the machine did to one side over the run it did to the other, so
    that a drift is left out on both.
    """
    if finding.kind == "drift":
        return numerator[len(numerator) // 2 :], denominator[len(denominator) // 2 :]
    return (finding.without, denominator) if side == 0 else (numerator, finding.without)


def _unsure(interval: Interval) -> str:
    percent = f"{(THRESHOLDS['same_within'] - 1) * 100:.0f} %"
    if interval.low > 1:
        return f"slower, but whether by more than {percent} cannot be told"
    if interval.high < 1:
        return f"faster, but whether by more than {percent} cannot be told"
    return f"the interval holds both no change and one of {percent}"
