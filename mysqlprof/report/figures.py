"""The report's view-model as input to its drawings."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

from markupsafe import Markup

from mysqlprof.report import charts, counted_charts
from mysqlprof.report.profiles import CategoryShare, ProfileView
from mysqlprof.report.sketch import Sketch, flame_sketch
from mysqlprof.report.view import ContrastView, Report
from mysqlprof.report.words import wording

_PANELS = 3
_LEAST = 0.002
"""Categories with less in every profiled cell are left to the tables."""
_FOREST = 250
"""Width of the drawn intervals, in pixels."""


@dataclass(frozen=True)
class ForestMark:
    """Where a ratio's interval lies on the common logarithmic axis."""

    low: float
    ratio: float
    high: float


@dataclass(frozen=True)
class Forest:
    """Ratios with their intervals on one axis: a drawing's places, in pixels."""

    width: int
    one: float
    """Where the ratio 1 is."""
    ticks: tuple[tuple[str, float], ...]
    marks: dict[str, ForestMark]
    """By contrast."""


def sketch(report: Report) -> Sketch | None:
    if report.slow is None:
        return None
    patterns = next((claim.path for claim in report.scenario.claims if claim.path), [])
    return flame_sketch(report.slow.stacks, patterns)


def timing_chart(report: Report) -> Markup:
    rows = [
        charts.TimingRow(
            labels=tuple(cell.result.levels.get(factor, "") for factor in report.factors),
            times=cell.times,
            median=cell.result.median_ms,
            low=cell.result.ci_low_ms,
            high=cell.result.ci_high_ms,
            marked=cell.marked,
        )
        for cell in report.cells
    ]
    return charts.timing_chart([wording(factor) for factor in report.factors], rows)


def attribution_charts(report: Report) -> list[Markup]:
    """Categories by falling inclusive share in the slow cell, which is the way down its stacks;
    as many charts as the profiled cells need."""
    first, *rest = [sorted(p.categories, key=_outermost) for p in report.profiles] or [[]]
    shown = [c for part in (first, *rest) for c in part if c.inclusive_share >= _LEAST]
    rows = list(dict.fromkeys((c.id, c.label) for c in shown))
    panels = [_panel(report, profile) for profile in report.profiles]
    return [
        charts.attribution_chart(f"attribution-{start}", rows, panels[start : start + _PANELS])
        for start in range(0, len(panels), _PANELS)
    ]


def size_charts(report: Report) -> list[tuple[str, Markup]]:
    """Counter -> how large the requests were; of counters that the scenario gives sizes to."""
    plan, counted = report.scenario.counters, report.counted
    if plan is None or counted is None:
        return []
    sized = [function.name for function in plan.functions if function.bytes_argument]
    drawn = [
        (name, counted_charts.size_chart(f"sizes-{number}", counted.cells, name))
        for number, name in enumerate(sized)
    ]
    return [(name, chart) for name, chart in drawn if chart]


def closure_chart(report: Report) -> Markup | None:
    closed = report.counted.closed if report.counted else ()
    return counted_charts.closure_chart(closed) if closed else None


def _outermost(category: CategoryShare) -> tuple[float, str]:
    return -category.inclusive_share, category.id


def _panel(report: Report, profile: ProfileView) -> charts.BarPanel:
    cell = next(c for c in report.cells if c.id == profile.cell)
    article: dict[str, float] = {}
    if profile is report.slow:
        for row in report.article:
            article[row.id] = article.get(row.id, 0.0) + row.percent / 100
    return charts.BarPanel(
        title=cell.title,
        shares={c.id: c.share for c in profile.categories},
        inclusive={c.id: c.inclusive_share for c in profile.categories},
        article=article,
        marked=cell.marked,
    )


def forest(contrasts: Sequence[ContrastView]) -> Forest:
    values = [
        v
        for c in contrasts
        for v in (c.result.ci_low, c.result.ratio, c.result.ci_high)
        if v is not None and v > 0
    ]
    low, high = min([0.5, *values]) / 1.2, max([2.0, *values]) * 1.2

    def place(value: float) -> float:
        return round(_FOREST * log10(value / low) / log10(high / low), 1)

    marks = {}
    for contrast in contrasts:
        result = contrast.result
        if result.ratio and result.ratio > 0:
            ends = [result.ci_low or result.ratio, result.ratio, result.ci_high or result.ratio]
            marks[result.name] = ForestMark(*(place(max(low, end)) for end in ends))
    decades = [10.0**exponent for exponent in range(-6, 7) if low <= 10.0**exponent <= high]
    return Forest(
        width=_FOREST,
        one=place(1.0),
        ticks=tuple((f"{decade:g}×", place(decade)) for decade in decades),
        marks=marks,
    )


def bars(contrast: ContrastView) -> list[float]:
    """Widths of the numerator's and the denominator's bar, the longer being 100."""
    pair = [contrast.numerator_ms or 0.0, contrast.denominator_ms or 0.0]
    longest = max(pair)
    return [round(max(0.6, 100 * v / longest), 2) if longest else 0.0 for v in pair]
