"""How times grow with a size, in log-log, every trial drawn."""

from collections.abc import Sequence
from math import log

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from mysqlprof.report import numbers
from mysqlprof.report.svg import COLOURS, STYLE, inline
from mysqlprof.sweep_types import Kink, Scaling, SizeSeries, SweepPoint

_SIZE = (8.6, 3.0)
_KIB = 1024
_ROOM = 0.08
"""Of an axis, between two labels."""


def scaling_charts(scaling: Scaling | None) -> list[Markup]:
    """One a sweep: over the size that was varied, and over the bytes of the statement's text."""
    if scaling is None:
        return []
    return [
        _chart(f"scaling-{number}", series, scaling.trials_ms)
        for number, series in enumerate(scaling.series)
    ]


def _chart(name: str, series: SizeSeries, trials: dict[str, list[float]]) -> Markup:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=_SIZE)
        points = [point for point in series.points if point.affected_ms is not None]
        times = [t for p in points for c in _cells(p) for t in trials.get(c, []) if t > 0]
        sizes = [float(point.value) for point in points]
        texts = [point.text_bytes / _KIB for point in points if point.text_bytes is not None]
        panels = [(sizes, series.factor.replace("_", " "))]
        if len(texts) == len(points):
            panels.append((texts, "KiB of statement text"))
        for column, (xs, label) in enumerate(panels):
            axes = figure.add_axes((0.08 + 0.48 * column, 0.17, 0.42, 0.78))
            _panel(axes, xs, points, trials)
            _axes(axes, xs, times, label, named=column == 0)
            for kink in series.kinks:
                _kink(axes, kink, text=column == 1)
        return inline(figure, name, f"Elapsed time by size, {series.name}, in log-log")


def _cells(point: SweepPoint) -> tuple[str, str]:
    return point.affected_cell, point.unaffected_cell


def _panel(
    axes: Axes, xs: Sequence[float], points: Sequence[SweepPoint], trials: dict[str, list[float]]
) -> None:
    for side, role, marker in ((1, "normal", "o"), (0, "slow", "D")):
        medians = [(p.affected_ms, p.unaffected_ms)[side] for p in points]
        known = [(x, m) for x, m in zip(xs, medians, strict=True) if m is not None and m > 0]
        axes.plot([x for x, _ in known], [m for _, m in known], color=COLOURS[role], linewidth=1.1)
        for x, point in zip(xs, points, strict=True):
            found = [t for t in trials.get(_cells(point)[side], []) if t > 0]
            axes.plot(
                [x] * len(found),
                found,
                marker,
                color=COLOURS[role],
                markersize=2.8,
                markeredgewidth=0,
                alpha=0.62,
            )


def _kink(axes: Axes, kink: Kink, *, text: bool) -> None:
    if text:
        sizes = (kink.text_low_bytes, kink.text_bytes, kink.text_high_bytes)
        ends = [size / _KIB for size in sizes if size is not None]
    else:
        ends = [float(kink.value_low), float(kink.value), float(kink.value_high)]
    if len(ends) == 3:
        axes.axvspan(ends[0], ends[2], color=COLOURS["rule"], alpha=0.35, linewidth=0)
        axes.axvline(ends[1], color=COLOURS["muted"], linewidth=0.8, linestyle="--")


def _axes(
    axes: Axes, xs: Sequence[float], times: Sequence[float], label: str, *, named: bool
) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    shown = _spread(xs)
    axes.set_xticks(shown, [f"{x:.0f}" for x in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    low, high = (min(times) / 1.4, max(times) * 1.4) if times else (1.0, 1000.0)
    axes.set_ylim(low, high)
    steps = (1, 3) if high / low < 300 else (1,)
    ticks = [s * 10.0**e for e in range(-4, 9) for s in steps if low <= s * 10.0**e <= high]
    axes.set_yticks(ticks, [numbers.tick(tick) if named else "" for tick in ticks])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(label, fontsize=8)
    axes.tick_params(length=3, width=0.7)
    axes.grid(color=COLOURS["rule"], linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("right", "top"):
        axes.spines[side].set_visible(False)


def _spread(xs: Sequence[float]) -> list[float]:
    """Of the sizes, those whose labels leave each other room."""
    room = _ROOM * log(xs[-1] / xs[0]) if xs else 0.0
    shown: list[float] = []
    for x in xs:
        if not shown or log(x / shown[-1]) >= room:
            shown.append(x)
    return shown
