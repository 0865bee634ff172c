"""How times grow with a size: local exponents, and the kinks between them. Pure.

A time that grows as size^p has the slope p in log-log. One straight line through all points
misleads where the regime changes on the way, so slopes are taken between neighbours. Their
intervals come from resampling every size's trials.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mysqlprof.statistics import THRESHOLDS, Interval, bootstrap_medians


@dataclass(frozen=True)
class SizedTimes:
    size: float
    times: Sequence[float]


@dataclass(frozen=True)
class Break:
    """A kink, by indices of the points: it is near `at`, and between `first` and `last`."""

    first: int
    at: int
    last: int
    before: float
    """Local exponent up to the kink."""
    after: float
    change: Interval
    """Of the exponent, at the point `at`."""


def local_exponents(points: Sequence[SizedTimes], seed: int) -> list[Interval]:
    """The exponent from each point to the next: one fewer than points, in their order.

    Points are sorted by size, each with at least one time.
    """
    if len(points) < 2:
        return []
    values, samples = _slopes(points, seed)
    return _intervals(values, samples, THRESHOLDS["confidence"])


def kinks(points: Sequence[SizedTimes], seed: int) -> list[Break]:
    """Points where the exponent changes by more than THRESHOLDS["kink_change"], whole interval.

    A crossover from linear to quadratic changes it by less than 0.35 between sizes a factor of 4
    apart, so that it is no kink. The confidence is shared among the points that are looked at.
    Neighbours that bend the same way are one kink.
    """
    if len(points) < 3:
        return []
    values, samples = _slopes(points, seed)
    confidence = 1 - (1 - THRESHOLDS["confidence"]) / (len(points) - 2)
    changes = _intervals(np.diff(values), np.diff(samples, axis=1), confidence)
    found: list[Break] = []
    for index, change in enumerate(changes, 1):
        direction = _direction(change)
        if direction == 0:
            continue
        new = Break(index - 1, index, index + 1, values[index - 1], values[index], change)
        if found and found[-1].last == index and _direction(found[-1].change) == direction:
            new = _joined(found.pop(), new)
        found.append(new)
    return found


def _joined(one: Break, other: Break) -> Break:
    sharper = max(one, other, key=lambda kink: abs(kink.change.value))
    return Break(one.first, sharper.at, other.last, one.before, other.after, sharper.change)


def _direction(change: Interval) -> int:
    """1: bends up, -1: bends down, 0: cannot be told from no kink."""
    bound = THRESHOLDS["kink_change"]
    return int(change.low > bound) - int(change.high < -bound)


_Array = npt.NDArray[np.float64]


def _slopes(points: Sequence[SizedTimes], seed: int) -> tuple[_Array, _Array]:
    """Slopes of the medians, and of each resample (a row each)."""
    generator = np.random.default_rng(seed)
    steps = np.diff(np.log([point.size for point in points]))
    medians = np.log([float(np.median(point.times)) for point in points])
    resampled = np.stack([np.log(bootstrap_medians(p.times, generator)) for p in points], axis=1)
    return np.diff(medians) / steps, np.diff(resampled, axis=1) / steps


def _intervals(values: _Array, samples: _Array, confidence: float) -> list[Interval]:
    outside = (1 - confidence) / 2 * 100
    lows, highs = np.percentile(samples, [outside, 100 - outside], axis=0)
    return [
        Interval(float(v), float(low), float(high))
        for v, low, high in zip(values, lows, highs, strict=True)
    ]
