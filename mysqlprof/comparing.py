"""Two cells' trials to a ratio, a verdict, and what would have been seen. Pure.

A verdict has three zones. `slower` and `faster` lie wholly beyond the bound; `same` lies wholly
within it, which is a claim of equivalence and not a test that failed to find anything; whatever
straddles the bound cannot be told.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mysqlprof.model import TrialResult
from mysqlprof.statistics import THRESHOLDS, Interval, difference, ratio_interval
from mysqlprof.validity import Finding, examine

ComparisonVerdict = Literal["faster", "slower", "same", "cannot_tell"]

_POWER_80 = 0.8416
"""Standard normal quantile of the chance, 80 %, with which the smallest visible ratio is seen."""
_HALF_95 = 1.96


@dataclass(frozen=True)
class Comparison:
    """`after` against `before`: a ratio above 1 means that `after` takes longer."""

    interval: Interval | None
    """None with too few trials."""
    verdict: ComparisonVerdict
    findings: tuple[str, ...]
    """What is odd about the trials, whether or not the verdict depends on it."""
    reason: str
    """Why it cannot be told; empty otherwise."""

    @property
    def visible(self) -> float | None:
        """The smallest ratio that these trials would have shown in four of five runs."""
        return smallest_visible_ratio(self.interval) if self.interval else None


def compare(before: Sequence[TrialResult], after: Sequence[TrialResult], name: str) -> Comparison:
    """Judge the ratio of medians, and again without each oddity found in the trials.

    `name` seeds the bootstrap, so that one comparison does not move another.
    """
    seed = zlib.crc32(name.encode())
    interval = _ratio(before, after, seed)
    if interval is None:
        return Comparison(None, "cannot_tell", (), "too few timed trials")
    verdict = verdict_of(interval)
    sides = [("before", f) for f in examine(before)] + [("after", f) for f in examine(after)]
    words = tuple(f"{side}: {finding.text}" for side, finding in sides)
    reason = _unsure(interval) if verdict == "cannot_tell" else ""
    for side, finding in sides:
        other = _without(before, after, side, finding, seed)
        if verdict != "cannot_tell" and other != verdict:
            reason = f"{side}: {finding.text}; without that the verdict would be another"
            verdict = "cannot_tell"
    return Comparison(interval, verdict, words, reason)


def verdict_of(interval: Interval) -> ComparisonVerdict:
    found = difference(interval)
    assert found in ("faster", "slower", "same", "cannot_tell")
    return found  # type: ignore[return-value]


def smallest_visible_ratio(interval: Interval) -> float:
    """The true ratio that trials with such a spread show as `slower` in four of five runs.

    Its interval, as wide as this one on a logarithmic scale, must clear the bound.
    """
    half = (math.log(interval.high) - math.log(interval.low)) / 2
    return THRESHOLDS["same_within"] * math.exp(half * (1 + _POWER_80 / _HALF_95))


def _ratio(
    before: Sequence[TrialResult], after: Sequence[TrialResult], seed: int
) -> Interval | None:
    if min(len(before), len(after)) < THRESHOLDS["min_trials_for_a_verdict"]:
        return None
    return ratio_interval([t.elapsed_ms for t in after], [t.elapsed_ms for t in before], seed)


def _without(
    before: Sequence[TrialResult],
    after: Sequence[TrialResult],
    side: str,
    finding: Finding,
    seed: int,
) -> ComparisonVerdict:
    """The verdict from the trials that the finding does not touch.

    Rounds were interleaved: what the machine did to one side in a round it did to the other, so
    that a drift is left out on both.
    """
    if finding.kind == "drift":
        before, after = before[len(before) // 2 :], after[len(after) // 2 :]
    elif side == "before":
        before = finding.without
    else:
        after = finding.without
    interval = _ratio(before, after, seed)
    return verdict_of(interval) if interval else "cannot_tell"


def _unsure(interval: Interval) -> str:
    bound = THRESHOLDS["same_within"]
    percent = f"{(bound - 1) * 100:.0f} %"
    if interval.low > 1:
        return f"slower, but whether by more than {percent} cannot be told"
    if interval.high < 1:
        return f"faster, but whether by more than {percent} cannot be told"
    return f"the interval holds both no change and one of {percent}"
