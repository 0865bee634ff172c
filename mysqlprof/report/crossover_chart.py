"""The ratio over the link's rate, and where it passes 1."""

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from mysqlprof.link_types import Crossover
from mysqlprof.report.safe import visible
from mysqlprof.report.svg import COLOURS, STYLE, inline

_SIZE = (8.6, 3.0)
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
_EDGE = 1.25
"""The axes go so far beyond the outermost points, as a factor."""


def crossover_chart(crossover: Crossover) -> Markup:
    """Measured ratios with their intervals, the line between them, the crossover's interval."""
    points = crossover.points
    rates = [point.rate_bps for point in points]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=_SIZE)
        axes = figure.add_axes((0.085, 0.16, 0.89, 0.79))
        _axes(axes, crossover)
        left, right = axes.get_xlim()
        if crossover.rate_bps is not None:
            axes.axvspan(crossover.ci_low_bps or left, crossover.ci_high_bps or right,
                         color=COLOURS["normal"], alpha=0.16, linewidth=0)  # fmt: skip
            axes.axvline(crossover.rate_bps, color=COLOURS["normal"], linewidth=1.4)
        axes.axhline(1, color=COLOURS["muted"], linewidth=0.9)
        axes.plot(rates, [p.ratio for p in points], color=COLOURS["slow"], linewidth=1.1)
        axes.vlines(rates, [p.ci_low for p in points], [p.ci_high for p in points],
                    color=COLOURS["slow"], linewidth=1.4)  # fmt: skip
        axes.plot(rates, [p.ratio for p in points], "o", color=COLOURS["slow"], markersize=5)
        return inline(figure, "crossover", "Ratio of elapsed times over the rate of the link")


def _axes(axes: Axes, crossover: Crossover) -> None:
    points = crossover.points
    lows, highs = [p.ci_low for p in points], [p.ci_high for p in points]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(points[0].rate_bps / _EDGE, points[-1].rate_bps * _EDGE)
    axes.set_ylim(min(0.8, *lows) / _EDGE, max(1.25, *highs) * _EDGE)
    axes.set_xticks([p.rate_bps for p in points], [visible(p.link) for p in points])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(FixedLocator(_TICKS))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", color=COLOURS["rule"], linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("right", "top"):
        axes.spines[side].set_visible(False)
