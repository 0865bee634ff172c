"""Intervals, ratios, verdicts. Pure; one block of thresholds, printed in every report.

Times are medians of unprofiled, interleaved trials. A ratio's interval is a bootstrap over both
cells' trials; with few trials it can be no wider than what the trials span, so that the trial
count is printed beside it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from mysqlprof.model import ClaimVerdict

THRESHOLDS: dict[str, float] = {
    "confidence": 0.95,
    "bootstrap_resamples": 10_000,
    "min_trials_for_a_verdict": 3,
    "same_within": 1.10,
    "min_samples": 200,
    "max_lost_share": 0.01,
    "max_unresolved_leaf_share": 0.10,
    "noisy_cell_spread": 1.5,
    "kink_change": 0.5,
    "max_steal_share": 0.02,
    "outlier_sigmas": 8.0,
    "drift_p": 0.01,
    "max_lost_time_share": 0.05,
    "changed_function_ratio": 1.20,
    "changed_function_share": 0.005,
    "changed_function_q": 0.01,
}
"""
confidence                 of every interval
bootstrap_resamples        for each ratio
min_trials_for_a_verdict   fewer timed trials in a cell: nothing is told about it
same_within                two cells differ if the interval lies beyond this ratio or its inverse,
                           and are the same if it lies within
min_samples                fewer samples in a profile: no claim rests on it
max_lost_share             more lost samples: the profile is partial
max_unresolved_leaf_share  more samples whose leaf has no symbol: a caveat
noisy_cell_spread          interval's upper over lower end: a caveat above it
kink_change                a local exponent that changes by more has a kink
max_steal_share            more CPU time taken by the hypervisor: a caveat
outlier_sigmas             a trial so many robust standard deviations above the median stands out
drift_p                    a trend over the trials is looked at below this p-value (Kendall)
max_lost_time_share        a trial that lost more of its time to steal or to a CPU limit is named
changed_function_ratio     a function changed only if its cost per unit of work did by this ratio,
changed_function_share     by this share of the cheaper side, and
changed_function_q         with this false discovery rate over all functions (Benjamini-Hochberg)
"""


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float


def median_interval(values: Sequence[float]) -> Interval:
    """The median, and the narrowest pair of order statistics that covers it with the wanted
    confidence (exact, binomial); with very few values, their whole range."""
    data = np.sort(np.asarray(values, dtype=float))
    n = len(data)
    if n == 0:
        raise ValueError("no values")
    outside = (1 - THRESHOLDS["confidence"]) / 2
    below = int(stats.binom.ppf(outside, n, 0.5))
    # ppf gives the first k with P(X <= k) >= outside: one step down is still safe.
    k = max(0, below - 1) if stats.binom.cdf(below, n, 0.5) > outside else below
    return Interval(float(np.median(data)), float(data[k]), float(data[n - 1 - k]))


def ratio_interval(numerator: Sequence[float], denominator: Sequence[float], seed: int) -> Interval:
    """Ratio of medians with a percentile bootstrap interval; reproducible by its seed."""
    generator = np.random.default_rng(seed)
    top = bootstrap_medians(numerator, generator)
    bottom = bootstrap_medians(denominator, generator)
    outside = (1 - THRESHOLDS["confidence"]) / 2 * 100
    low, high = np.percentile(top / bottom, [outside, 100 - outside])
    value = float(np.median(numerator) / np.median(denominator))
    return Interval(value, float(low), float(high))


def difference_interval(
    minuend: Sequence[float], subtrahend: Sequence[float], seed: int
) -> Interval:
    """Difference of medians with a percentile bootstrap interval; reproducible by its seed."""
    generator = np.random.default_rng(seed)
    differences = bootstrap_medians(minuend, generator) - bootstrap_medians(subtrahend, generator)
    outside = (1 - THRESHOLDS["confidence"]) / 2 * 100
    low, high = np.percentile(differences, [outside, 100 - outside])
    value = float(np.median(minuend) - np.median(subtrahend))
    return Interval(value, float(low), float(high))


def bootstrap_medians(
    values: Sequence[float], generator: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Medians of as many resamples as THRESHOLDS says."""
    data = np.asarray(values, dtype=float)
    resamples = int(THRESHOLDS["bootstrap_resamples"])
    picks = generator.integers(0, len(data), size=(resamples, len(data)))
    medians: npt.NDArray[np.float64] = np.median(data[picks], axis=1)
    return medians


def share_interval(count: int, total: int) -> Interval:
    """A share of samples with its Wilson interval."""
    if total == 0:
        raise ValueError("no samples")
    found = stats.binomtest(count, total).proportion_ci(
        confidence_level=THRESHOLDS["confidence"], method="wilson"
    )
    return Interval(count / total, float(found.low), float(found.high))


def judge(interval: Interval, *, above: float | None, below: float | None) -> ClaimVerdict:
    """holds: the whole interval on the right side; does_not_hold: on the wrong side; else no."""
    if above is not None:
        if interval.low > above:
            return "holds"
        return "does_not_hold" if interval.high < above else "cannot_tell"
    if below is not None:
        if interval.high < below:
            return "holds"
        return "does_not_hold" if interval.low > below else "cannot_tell"
    raise ValueError("a bound is needed")


def difference(interval: Interval) -> str:
    """slower | faster | same | cannot_tell, of numerator against denominator."""
    bound = THRESHOLDS["same_within"]
    if interval.low > bound:
        return "slower"
    if interval.high < 1 / bound:
        return "faster"
    if interval.low > 1 / bound and interval.high < bound:
        return "same"
    return "cannot_tell"


def smallest_visible_ratio(interval: Interval) -> float:
    """The true ratio that trials with such a spread show as different in four of five runs.

    Its interval, as wide as this one on a logarithmic scale, must clear `same_within`.
    """
    half = (math.log(interval.high) - math.log(interval.low)) / 2
    in_four_of_five = stats.norm.ppf(0.8) / stats.norm.ppf((1 + THRESHOLDS["confidence"]) / 2)
    return float(THRESHOLDS["same_within"] * math.exp(half * (1 + in_four_of_five)))
