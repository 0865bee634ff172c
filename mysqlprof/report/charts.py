"""The report's charts, drawn by matplotlib in sentinel colours and returned as inline SVG."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator
from matplotlib.transforms import blended_transform_factory

from mysqlprof.report import numbers
from mysqlprof.report.safe import cut
from mysqlprof.report.svg import COLOURS, STYLE, inline

_WIDTH = 8.6
_ROW = 0.235
_GOLDEN = 0.618034
_LABEL = 36


@dataclass(frozen=True)
class TimingRow:
    labels: tuple[str, ...]
    times: tuple[float, ...]
    median: float | None
    low: float | None
    high: float | None
    marked: bool


@dataclass(frozen=True)
class BarPanel:
    title: str
    shares: dict[str, float]
    """Category -> share of the samples given to it alone, 0..1."""
    inclusive: dict[str, float]
    """Category -> share of the samples with any frame of it."""
    article: dict[str, float]
    """Category -> published share, 0..1; empty where the panel has no counterpart."""
    marked: bool


def timing_chart(heads: Sequence[str], rows: Sequence[TimingRow]) -> Markup:
    """Every trial of every cell on a logarithmic axis, with median and interval: a forest plot."""
    places = _places(rows)
    height = (places[-1] if places else 0) * _ROW + 0.85
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH, height))
        columns, left = _columns(heads, rows)
        axes = figure.add_axes((left, 0.3 / height, 0.79 - left, (height - 0.62) / height))
        axes.set_ylim((places[-1] if places else 0) + 0.7, -0.7)
        _time_axis(axes, [t for row in rows for t in row.times if t > 0])
        for row, y in zip(rows, places, strict=True):
            _timing_row(axes, row, y)
        _timing_text(figure, axes, heads, columns, rows, places)
        return inline(figure, "timings", "Elapsed time of every trial in every cell, in log scale")


def _places(rows: Sequence[TimingRow]) -> list[float]:
    """One line a row, half a line more where the first label changes."""
    places: list[float] = []
    for index, row in enumerate(rows):
        if index == 0:
            places.append(0.0)
        else:
            changed = row.labels[:1] != rows[index - 1].labels[:1]
            places.append(places[-1] + (1.6 if changed else 1.0))
    return places


def _columns(heads: Sequence[str], rows: Sequence[TimingRow]) -> tuple[list[float], float]:
    """Left edges of the label columns, and where the axis begins, in figure fractions."""
    edges, x = [], 0.0
    for index, head in enumerate(heads):
        edges.append(x)
        longest = max([len(head), *(len(row.labels[index]) for row in rows)])
        x += (min(longest, 24) * 5.1 + 12) / (_WIDTH * 72)
    return edges, min(x + 0.01, 0.5)


def _time_axis(axes: Axes, times: Sequence[float]) -> None:
    low, high = (min(times), max(times)) if times else (1.0, 1000.0)
    low, high = low / 1.35, high * 1.35
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    steps = (1, 2, 5) if high / low < 60 else (1, 3) if high / low < 1000 else (1,)
    ticks = [s * 10.0**e for e in range(-4, 9) for s in steps if low <= s * 10.0**e <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(ticks, [numbers.tick(tick) for tick in ticks])
    axes.set_yticks([])
    axes.tick_params(length=3, width=0.7)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="x", color=COLOURS["rule"], linewidth=0.6)
    axes.set_axisbelow(True)


def _timing_row(axes: Axes, row: TimingRow, y: float) -> None:
    colour = COLOURS["slow" if row.marked else "normal"]
    times = [t for t in row.times if t > 0]
    # A low-discrepancy sequence: spread like chance, the same in each drawing.
    offsets = [((i * _GOLDEN) % 1 - 0.5) * 0.5 for i in range(len(times))]
    axes.plot(
        times,
        [y + offset for offset in offsets],
        "D" if row.marked else "o",
        color=colour,
        markersize=2.9 if row.marked else 3.2,
        markeredgewidth=0,
        alpha=0.62,
    )
    if row.low is not None and row.high is not None and row.low > 0:
        axes.plot([row.low, row.high], [y, y], color=COLOURS["ink"], linewidth=1.3)
    if row.median is not None and row.median > 0:
        axes.plot([row.median] * 2, [y - 0.32, y + 0.32], color=COLOURS["ink"], linewidth=1.7)


def _timing_text(
    figure: Figure,
    axes: Axes,
    heads: Sequence[str],
    columns: Sequence[float],
    rows: Sequence[TimingRow],
    places: Sequence[float],
) -> None:
    place = blended_transform_factory(figure.transFigure, axes.transData)
    small: dict[str, Any] = {
        "fontsize": 7.5,
        "color": COLOURS["muted"],
        "va": "center",
        "transform": place,
    }
    for head, x in zip(heads, columns, strict=True):
        axes.text(x, -1.15, head, **small)
    axes.text(0.995, -1.15, "median [interval]", ha="right", **small)
    for row, y in zip(rows, places, strict=True):
        for label, x in zip(row.labels, columns, strict=True):
            axes.text(x, y, cut(label, 24), va="center", transform=place)
        if row.median is None:
            text, colour = "no trials", COLOURS["muted"]
        else:
            between = f" [{numbers.interval(row.low, row.high)}]" if row.low is not None else ""
            text, colour = numbers.duration(row.median) + between, COLOURS["ink"]
        axes.text(0.995, y, text, ha="right", va="center", color=colour, transform=place)


def attribution_chart(
    name: str, categories: Sequence[tuple[str, str]], panels: Sequence[BarPanel]
) -> Markup:
    """Small multiples: one column a profiled cell, one row a category (key, label)."""
    labels = [textwrap.fill(cut(label, 64), _LABEL) for _, label in categories]
    height = len(categories) * 0.235 + 0.66
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    left = longest * 4.55 / (_WIDTH * 72) + 0.02
    width = (1 - left) / max(3, len(panels))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH, height))
        for index, panel in enumerate(panels):
            axes = figure.add_axes(
                (left + index * width, 0.04 / height, width * 0.93, (height - 0.6) / height)
            )
            axes.set_xlim(0, 1.72)
            _bars(axes, [key for key, _ in categories], panel)
            if index == 0:
                for tick in axes.set_yticks(range(len(categories)), labels, fontsize=8):
                    tick.label1.set_fontsize(7.2 if "\n" in tick.label1.get_text() else 8)
                axes.tick_params(axis="y", length=0, pad=6)
        return inline(figure, name, "Share of samples by category, one column a profiled cell")


def _bars(axes: Axes, keys: Sequence[str], panel: BarPanel) -> None:
    axes.set_ylim(len(keys) - 0.4, -0.6)
    axes.set_yticks([])
    axes.set_xticks([])
    for side in ("right", "top", "bottom"):
        axes.spines[side].set_visible(False)
    colour = COLOURS["slow" if panel.marked else "normal"]
    for y, key in enumerate(keys):
        share, within = panel.shares.get(key, 0.0), panel.inclusive.get(key, 0.0)
        axes.barh(y, within, height=0.66, color=colour, alpha=0.2, linewidth=0)
        axes.barh(y, share, height=0.66, color=colour, alpha=0.95, linewidth=0)
        if key in panel.article:
            published = panel.article[key]
            axes.plot([published] * 2, [y - 0.44, y + 0.44], color=COLOURS["article"], linewidth=2)
        role = "ink" if share >= 0.01 else "muted"
        _number(axes, 1.36, y, _percent(share), role)
        _number(axes, 1.70, y, _percent(within), "muted")
    first, _, rest = panel.title.partition(", ")
    second, _, rest = rest.partition(", ")
    axes.text(0, -2.15, cut(f"{first}, {second}".strip(", "), 28), fontsize=8, fontweight="bold")
    axes.text(0, -1.3, cut(rest, 22), fontsize=7.4, color=COLOURS["muted"])
    _number(axes, 1.36, -1.45, "alone", "muted")
    _number(axes, 1.70, -1.45, "incl.", "muted")


def _number(axes: Axes, x: float, y: float, text: str, role: str) -> None:
    axes.text(x, y, text, ha="right", va="center", fontsize=7.4, color=COLOURS[role])


def _percent(share: float) -> str:
    if share == 0:
        return numbers.NONE
    return "<0.1" if share < 0.0005 else f"{100 * share:.1f}"
