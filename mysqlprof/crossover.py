"""The link's rate at which two ways to use it are equally fast. Pure.

Between two measured rates the ratio's logarithm is taken for a straight line over the rate's. That
is what a full link does: its time goes as one over the rate, and the other's does not change.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mysqlprof.link_types import Crossover, CrossoverPlan, CrossoverPoint
from mysqlprof.model import CellSpec
from mysqlprof.scenario import matches
from mysqlprof.statistics import THRESHOLDS, bootstrap_medians, ratio_interval
from mysqlprof.verdict import Measured

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Pair:
    """Both cells on one link."""

    link: str
    rate_bps: int
    level_ms: list[float]
    base_ms: list[float]

    @property
    def seed(self) -> int:
        return zlib.crc32(self.link.encode())

    def resampled(self) -> Floats:
        """Bootstrapped ratios, from the same draws as the interval of `point`."""
        generator = np.random.default_rng(self.seed)
        level = bootstrap_medians(self.level_ms, generator)
        return level / bootstrap_medians(self.base_ms, generator)

    def point(self) -> CrossoverPoint:
        found = ratio_interval(self.level_ms, self.base_ms, self.seed)
        return CrossoverPoint(
            link=self.link,
            rate_bps=self.rate_bps,
            ratio=found.value,
            ci_low=found.low,
            ci_high=found.high,
        )


def crossover_of(measured: Measured, rates_bps: Mapping[str, int]) -> Crossover | None:
    """`rates_bps`: of the links that have a rate, by name. None where the scenario asks for none,
    or fewer than two such links were measured."""
    plan = measured.scenario.crossover
    pairs = _pairs(plan, measured, rates_bps) if plan else []
    if plan is None or len(pairs) < 2:
        return None
    rates = np.array([pair.rate_bps for pair in pairs], dtype=float)
    points = [pair.point() for pair in pairs]
    value = crossings(rates, np.array([[point.ratio for point in points]]))[0]
    low, high = _central(crossings(rates, np.column_stack([pair.resampled() for pair in pairs])))
    return Crossover(
        rate_bps=_inside(value),
        ci_low_bps=_inside(low),
        ci_high_bps=_inside(high),
        points=points,
        sentence=_sentence(plan, pairs, value, low, high),
    )


def crossings(rates: Floats, ratios: Floats) -> Floats:
    """For each row of `ratios` (one a rate, rates growing), the rate at which it first reaches 1
    from below: -inf where it begins above, inf where it stays below."""
    x, y = np.log(rates), np.log(ratios)
    above = y >= 0
    first = above.argmax(axis=1)
    rows, after = np.arange(len(y)), np.maximum(first, 1)
    low, high = y[rows, after - 1], y[rows, after]
    crosses = (low < 0) & (high >= 0)
    part = np.divide(-low, high - low, out=np.zeros_like(low), where=crosses)
    between = np.exp(x[after - 1] + (x[after] - x[after - 1]) * part)
    return np.where(crosses, between, np.where(above[:, 0], -np.inf, np.inf))


def _central(resamples: Floats) -> tuple[float, float]:
    """What holds the wanted part of them; an end may be infinite."""
    outside = (1 - THRESHOLDS["confidence"]) / 2
    # Between two resamples there is nothing to interpolate to where one is infinite.
    low = np.quantile(resamples, outside, method="lower")
    high = np.quantile(resamples, 1 - outside, method="higher")
    return float(low), float(high)


def _pairs(plan: CrossoverPlan, measured: Measured, rates_bps: Mapping[str, int]) -> list[_Pair]:
    pairs = []
    for cell in measured.cells:
        rate = rates_bps.get(cell.link)
        base = _partner(plan, cell, measured.cells)
        if rate is None or base is None:
            continue
        level_ms, base_ms = measured.timed_ms(cell.id), measured.timed_ms(base.id)
        if min(len(level_ms), len(base_ms)) >= THRESHOLDS["min_trials_for_a_verdict"]:
            pairs.append(_Pair(cell.link, rate, level_ms, base_ms))
    return sorted(pairs, key=lambda pair: pair.rate_bps)


def _partner(plan: CrossoverPlan, cell: CellSpec, cells: Sequence[CellSpec]) -> CellSpec | None:
    """The cell with the base level, where `cell` has the compared one."""
    if not matches(cell.levels, {**plan.fix, plan.compare: plan.level}):
        return None
    wanted = {**cell.levels, plan.compare: plan.base}
    return next((other for other in cells if other.levels == wanted), None)


def _inside(rate: float) -> float | None:
    return rate if np.isfinite(rate) else None


def _sentence(
    plan: CrossoverPlan, pairs: Sequence[_Pair], value: float, low: float, high: float
) -> str:
    """What was found, in one sentence."""
    slowest, fastest = pairs[0].link, pairs[-1].link
    if value == np.inf:
        return f"{plan.text} on all measured links, up to {fastest}."
    if value == -np.inf:
        return f"{plan.text} on none of the measured links, from {slowest} on."
    ends = (
        f"under {slowest}" if low == -np.inf else megabits(low),
        f"over {fastest}" if high == np.inf else megabits(high),
    )
    share = f"{THRESHOLDS['confidence'] * 100:g} %"
    return (
        f"{plan.text} below {megabits(value)} ({share} interval {ends[0]} to {ends[1]}),"
        " and costs above."
    )


def megabits(bps: float) -> str:
    return f"{bps / 1e6:,.0f} Mbit/s"
