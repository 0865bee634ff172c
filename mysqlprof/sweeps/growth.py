"""From the trials of a sweep to its points, exponents, kinks and sentences. Pure."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mysqlprof.exponents import Break, SizedTimes, kinks, local_exponents
from mysqlprof.model import CellResult, ContrastResult, Run
from mysqlprof.statistics import THRESHOLDS, Interval, difference_interval
from mysqlprof.sweep_types import Kink, ScalingPlan, SizeName, SizeSeries, SweepPoint
from mysqlprof.verdict import Measured


@dataclass(frozen=True)
class Place:
    """Where one size of a sweep is measured."""

    level: str
    """Of the factor that all points are levels of."""
    value: int
    sizes: dict[str, int]


@dataclass(frozen=True)
class Curve:
    """One sweep, smallest size first."""

    name: str
    factor: SizeName
    places: tuple[Place, ...]


class Measurements:
    """What a run found, by level and side (the compared factor's level)."""

    def __init__(self, run: Run, measured: Measured, factor: str, plan: ScalingPlan) -> None:
        self.plan = plan
        self.trials = measured.trials
        self._measured = measured
        self._factor = factor
        self._run = run
        self._cells = {
            (cell.levels.get(factor, ""), cell.levels.get(plan.compare, "")): cell
            for cell in run.cells
        }
        self._contrasts = {contrast.name: contrast for contrast in run.contrasts}

    def affected(self, level: str) -> CellResult | None:
        return self._cells.get((level, self.plan.affected))

    def unaffected(self, level: str) -> CellResult | None:
        return self._cells.get((level, self.plan.unaffected))

    def contrast(self, level: str) -> ContrastResult | None:
        return self._contrasts.get(level)

    def timed_ms(self, cell: str) -> list[float]:
        return self._measured.timed_ms(cell)

    def fact(self, cell: str, name: str) -> int | None:
        """Of the cell's workload; its cells without a size of their own have the run's."""
        value = self._run.workloads.get(cell, self._run.workload).get(name)
        return value if isinstance(value, int) else None


def series_of(curve: Curve, measured: Measurements) -> SizeSeries:
    points = [_point(curve, place, measured) for place in curve.places]
    sampled = [
        (index, SizedTimes(point.value, times))
        for index, point in enumerate(points)
        if len(times := measured.timed_ms(point.affected_cell)) >= _least()
    ]
    indices = [index for index, _ in sampled]
    sizes = [times for _, times in sampled]
    seed = zlib.crc32(curve.name.encode())
    for index, exponent in zip(indices[1:], local_exponents(sizes, seed), strict=True):
        points[index] = points[index].model_copy(
            update={
                "exponent": exponent.value,
                "exponent_low": exponent.low,
                "exponent_high": exponent.high,
            }
        )
    told = [points[index] for index in indices]
    found = [_kink(told, kink) for kink in kinks(sizes, seed)]
    return SizeSeries(
        name=curve.name,
        factor=curve.factor,
        points=points,
        kinks=found,
        sentences=sentences(told, found, measured.plan) if told else [],
    )


def _least() -> float:
    return THRESHOLDS["min_trials_for_a_verdict"]


def _point(curve: Curve, place: Place, measured: Measurements) -> SweepPoint:
    affected, unaffected = measured.affected(place.level), measured.unaffected(place.level)
    contrast = measured.contrast(place.level)
    slow = affected.id if affected else ""
    extra = _extra(slow, unaffected.id if unaffected else "", measured)
    return SweepPoint(
        sweep=curve.name,
        factor=curve.factor,
        value=place.value,
        rows=place.sizes["rows"],
        columns=place.sizes["columns"],
        value_bytes=place.sizes["value_bytes"],
        parameters=measured.fact(slow, "parameters"),
        text_bytes=measured.fact(slow, "statement_text_bytes"),
        affected_cell=slow,
        unaffected_cell=unaffected.id if unaffected else "",
        trials=affected.trials if affected else 0,
        affected_ms=affected.median_ms if affected else None,
        affected_low_ms=affected.ci_low_ms if affected else None,
        affected_high_ms=affected.ci_high_ms if affected else None,
        unaffected_ms=unaffected.median_ms if unaffected else None,
        unaffected_low_ms=unaffected.ci_low_ms if unaffected else None,
        unaffected_high_ms=unaffected.ci_high_ms if unaffected else None,
        ratio=contrast.ratio if contrast else None,
        ratio_low=contrast.ci_low if contrast else None,
        ratio_high=contrast.ci_high if contrast else None,
        extra_ms=extra.value if extra else None,
        extra_low_ms=extra.low if extra else None,
    )


def _extra(slow: str, normal: str, measured: Measurements) -> Interval | None:
    above, below = measured.timed_ms(slow), measured.timed_ms(normal)
    if min(len(above), len(below)) < _least():
        return None
    return difference_interval(above, below, zlib.crc32(slow.encode()))


def _kink(points: Sequence[SweepPoint], kink: Break) -> Kink:
    first, at, last = (points[index] for index in (kink.first, kink.at, kink.last))
    return Kink(
        value=at.value,
        value_low=first.value,
        value_high=last.value,
        text_bytes=at.text_bytes,
        text_low_bytes=first.text_bytes,
        text_high_bytes=last.text_bytes,
        before=kink.before,
        after=kink.after,
        change_low=kink.change.low,
        change_high=kink.change.high,
    )


# --- sentences ---


def sentences(points: Sequence[SweepPoint], found: Sequence[Kink], plan: ScalingPlan) -> list[str]:
    """From what size on it hurts, then where the growth changes."""
    unit = "bytes a value" if points[0].factor == "value_bytes" else points[0].factor
    said = [_hurts(points, plan, unit)]
    for kink in found:
        word = "steeper" if kink.after > kink.before else "flatter"
        said.append(
            f"Kink at {kink.value} {unit}{_text(kink.text_bytes)}: it gets {word},"
            f" exponent {kink.before:.1f} before and {kink.after:.1f} after;"
            f" it lies between {kink.value_low} and {kink.value_high} {unit}"
            f"{_span(kink.text_low_bytes, kink.text_high_bytes)}."
        )
    steps = [point.exponent for point in points if point.exponent is not None]
    if steps and not found:
        said.append(
            f"No kink can be told: local exponents go from {min(steps):.1f} to {max(steps):.1f}."
        )
    return said


def _hurts(points: Sequence[SweepPoint], plan: ScalingPlan, unit: str) -> str:
    by_ratio = _from(points, lambda p: (p.ratio_low or 0) > plan.hurts_above)
    by_time = _from(points, lambda p: (p.extra_low_ms or 0) > plan.hurts_ms)
    times, ms = f"{plan.hurts_above:g} times", f"{plan.hurts_ms:g} ms"
    if by_ratio is None:
        start = f"At no size did it surely take more than {times} the unaffected time"
    else:
        start = (
            f"From {by_ratio.value} {unit}{_text(by_ratio.text_bytes)} on it takes more than"
            f" {times} the unaffected time"
        )
    if by_time is None:
        return f"{start}, and nowhere {ms} more."
    return f"{start}, and from {by_time.value} {unit}{_text(by_time.text_bytes)} on {ms} more."


def _from(points: Sequence[SweepPoint], holds: Callable[[SweepPoint], bool]) -> SweepPoint | None:
    """The first point from which on it holds for all; None where it does not for the last."""
    found = None
    for point in reversed(points):
        if not holds(point):
            break
        found = point
    return found


def _text(size: int | None) -> str:
    return "" if size is None else f" ({size / 1024:.0f} KiB of text)"


def _span(low: int | None, high: int | None) -> str:
    return "" if low is None or high is None else f", {low / 1024:.0f} and {high / 1024:.0f} KiB"
