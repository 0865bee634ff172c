"""Drawings of exact counts: how large the requests were, and the wall time's parts."""

from collections.abc import Sequence

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mysqlprof.counted_types import Closure, ClosurePart
from mysqlprof.report import numbers
from mysqlprof.report.counted import CountedCell
from mysqlprof.report.safe import visible
from mysqlprof.report.svg import COLOURS, STYLE, inline

_WIDTH = 8.6
_ROOM = 0.0105
"""Share of the bar that a character of a label needs."""


def size_chart(name: str, cells: Sequence[CountedCell], counter: str) -> Markup | None:
    """Calls by the size that they ask for, one panel a cell; None where nothing was asked for."""
    panels = [
        (cell.title, dict(sizes.calls))
        for cell in cells
        for sizes in cell.sizes
        if sizes.counter == counter
    ]
    if not panels:
        return None
    exponents = [exponent for _, calls in panels for exponent in calls]
    span = range(min(exponents), max(exponents) + 1)
    most = max(count for _, calls in panels for count in calls.values())
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH, 2.1))
        width = 1 / max(2, len(panels))
        for index, (title, calls) in enumerate(panels):
            axes = figure.add_axes((index * width + 0.01, 0.23, width - 0.03, 0.6))
            _size_panel(axes, title, calls, span, most)
        return inline(figure, name, f"Calls of {counter} by the bytes asked for")


def _size_panel(axes: Axes, title: str, calls: dict[int, int], span: range, most: int) -> None:
    axes.bar(list(span), [calls.get(e, 0) for e in span], width=0.86, color=COLOURS["slow"])
    axes.set_ylim(0, most * 1.18)
    axes.set_yticks([])
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    step = max(1, len(span) // 8)
    ticks = list(span)[::step]
    axes.set_xticks(ticks, [f"≥{_power(e - 1)}" for e in ticks])
    axes.tick_params(length=0)
    for exponent, count in calls.items():
        axes.text(
            exponent,
            count + most * 0.03,
            numbers.count(count),
            ha="center",
            fontsize=7.2,
            color=COLOURS["muted"],
        )
    axes.set_title(visible(title), loc="left", fontsize=8)


def _power(exponent: int) -> str:
    """2**exponent bytes; whole numbers, since they are."""
    for unit, least in (("Mi", 20), ("Ki", 10)):
        if exponent >= least:
            return f"{2 ** (exponent - least)}{numbers.THIN}{unit}B"
    return f"{2 ** max(0, exponent)}{numbers.THIN}B"


def closure_chart(cells: Sequence[CountedCell]) -> Markup:
    """One bar a cell, as wide as the client's time for one execute."""
    height = 0.62 * len(cells) + 0.12
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH, height))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(len(cells) - 0.35, -0.62)
        for row, cell in enumerate(cells):
            if cell.closure:
                _bar(axes, row, cell.title, cell.closure)
        return inline(figure, "closure", "Where the wall time of one execute goes")


def _bar(axes: Axes, row: int, title: str, closure: Closure) -> None:
    axes.text(0, row - 0.4, visible(title), fontsize=8, fontweight="bold", va="center")
    unexplained = closure.unexplained_ms / closure.client_ms if closure.client_ms else 0.0
    words = (
        f"{numbers.duration(closure.client_ms)} for the client,"
        f" {100 * unexplained:.1f}{numbers.THIN}% unexplained"
    )
    axes.text(1, row - 0.4, words, fontsize=8, ha="right", va="center", color=COLOURS["muted"])
    start = 0.0
    # A part that overlaps another (a negative rest) has no width of its own.
    total = sum(max(0.0, part.ms) for part in closure.parts) or 1.0
    for part in closure.parts:
        share = max(0.0, part.ms) / total
        _segment(axes, row, start, share, part)
        start += share


def _segment(axes: Axes, row: int, start: float, share: float, part: ClosurePart) -> None:
    axes.barh(
        row,
        share,
        left=start,
        height=0.5,
        color=COLOURS[_role(part)],
        edgecolor=COLOURS["paper"],
        linewidth=0.6,
    )
    room = int(share / _ROOM) - 1
    label = visible(part.label)
    if room >= 4:
        axes.text(
            start + 0.004,
            row,
            label if len(label) <= room else label[: room - 1] + "…",
            fontsize=7.2,
            va="center",
            color=COLOURS["frame-bug-ink" if part.kind == "bug" else "frame-ink"],
        )


def _role(part: ClosurePart) -> str:
    if part.group == "on_cpu":
        return f"frame-{part.kind or 'unknown'}"
    return {"client": "client", "off_cpu": "off-cpu", "unexplained": "unexplained"}[part.group]
