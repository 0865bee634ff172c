"""Can these trials be compared? Order effects, drift and outliers, by name. Pure.

A finding alone changes nothing. It comes with the trials that would be left without it, and a
verdict that differs on those cannot be told (`mysqlprof.comparing`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from mysqlprof.model import TrialResult
from mysqlprof.statistics import THRESHOLDS

Kind = Literal["first_trial", "drift", "outliers", "steal", "throttling"]

_MAD_TO_SIGMA = 1.4826
"""A normal distribution's standard deviation over its median absolute deviation."""


@dataclass(frozen=True)
class Finding:
    """Something about a cell's trials that a ratio may owe its value to."""

    kind: Kind
    text: str
    """What was found, with its size."""
    without: tuple[TrialResult, ...]
    """The cell's trials that the finding does not touch."""


def examine(trials: Sequence[TrialResult]) -> list[Finding]:
    """What is wrong with one cell's timed trials, given in the order they were made."""
    if len(trials) < THRESHOLDS["min_trials_for_a_verdict"]:
        return []
    found = [
        _first_trial(trials),
        _outliers(trials),
        _drift(trials),
        _lost_time(trials, "steal", "steal_ms", "the hypervisor took CPU time away"),
        _lost_time(trials, "throttling", "throttled_ms", "the CPU limit stopped the server"),
    ]
    return [finding for finding in found if finding]


def _first_trial(trials: Sequence[TrialResult]) -> Finding | None:
    """The first one is slower than any of the others can explain: it was not warm."""
    first, rest = trials[0].elapsed_ms, [t.elapsed_ms for t in trials[1:]]
    if first <= _high_fence(rest):
        return None
    factor = first / float(np.median(rest))
    text = f"the first trial took {factor:.2f}x the median of the others"
    return Finding("first_trial", text, tuple(trials[1:]))


def _outliers(trials: Sequence[TrialResult]) -> Finding | None:
    """Trials beyond the first that stand far outside the others."""
    times = [t.elapsed_ms for t in trials]
    fence = _high_fence(times)
    kept = tuple(t for t in trials if t.elapsed_ms <= fence or t is trials[0])
    out = [time for time in times[1:] if time > fence]
    if not out:
        return None
    worst = max(out) / float(np.median(times))
    text = f"{len(out)} of {len(trials)} trials stand far out, the worst at {worst:.2f}x the median"
    return Finding("outliers", text, kept)


def _high_fence(times: Sequence[float]) -> float:
    """Times above it do not belong to the others: robust against the outliers themselves."""
    middle = float(np.median(times))
    spread = _MAD_TO_SIGMA * float(np.median(np.abs(np.asarray(times) - middle)))
    # Very quiet trials have next to no spread: what is within 10 % is no outlier.
    return middle + max(THRESHOLDS["outlier_sigmas"] * spread, 0.1 * middle)


def _drift(trials: Sequence[TrialResult]) -> Finding | None:
    """Times that rise or fall over the run: Kendall's tau for whether, Theil-Sen for how much."""
    times = [t.elapsed_ms for t in trials]
    tau = stats.kendalltau(range(len(times)), times)
    if math.isnan(tau.pvalue) or tau.pvalue >= THRESHOLDS["drift_p"]:
        return None
    slope = float(stats.theilslopes(times).slope)
    change = slope * (len(times) - 1) / float(np.median(times))
    if abs(change) < THRESHOLDS["same_within"] - 1:
        return None
    text = f"times {'rose' if change > 0 else 'fell'} by {abs(change) * 100:.0f} % over the run"
    return Finding("drift", text, tuple(trials[len(trials) // 2 :]))


def _lost_time(
    trials: Sequence[TrialResult], kind: Kind, counter: str, words: str
) -> Finding | None:
    touched = [
        t
        for t in trials
        if t.status.get(counter, 0) > THRESHOLDS["max_lost_time_share"] * t.elapsed_ms
    ]
    if not touched:
        return None
    text = f"{words} in {len(touched)} of {len(trials)} trials"
    return Finding(kind, text, tuple(t for t in trials if t not in touched))
