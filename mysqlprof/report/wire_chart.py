"""Captured connections as a timeline: one lane a command, cells below each other on one axis."""

from collections.abc import Sequence

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mysqlprof.report import numbers
from mysqlprof.report.safe import visible
from mysqlprof.report.svg import COLOURS, STYLE, inline
from mysqlprof.report.wire import WireCell
from mysqlprof.wire.model import WireCommand

_WIDTH = 8.6
_LANE = 0.21
_LEFT, _RIGHT = 0.235, 0.875
_HEAD = 0.42
"""Inches above a cell's lanes, for its title."""
_FOOT = 0.32
_LEAST = 0.0022
"""Of the axis: shorter ones are drawn so wide, to be seen."""


def timeline(cells: Sequence[WireCell]) -> Markup:
    """Each cell's commands from the connection's first byte on."""
    lanes = list(dict.fromkeys(c.command for cell in cells for c in cell.commands))
    end = max(
        (cell.after_ms(command) + command.total_ms for cell in cells for command in cell.commands),
        default=1.0,
    )
    panel = _HEAD + len(lanes) * _LANE
    height = len(cells) * panel + _FOOT
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH, height))
        for number, cell in enumerate(cells):
            bottom = height - (number + 1) * panel
            axes = figure.add_axes(
                (_LEFT, bottom / height, _RIGHT - _LEFT, len(lanes) * _LANE / height)
            )
            _axis(axes, lanes, end, labelled=number == len(cells) - 1)
            axes.text(
                -_LEFT / (_RIGHT - _LEFT),
                1.0 + 0.1 / (len(lanes) * _LANE),
                visible(f"{cell.role}: {cell.title}" if cell.role else cell.title),
                fontsize=8.5,
                fontweight="bold",
                color=COLOURS[cell.role or "ink"],
                transform=axes.transAxes,
            )
            for y, lane in enumerate(lanes):
                _lane(axes, y, cell, [c for c in cell.commands if c.command == lane], end)
        label = "Commands on the wire over time: sending, waiting for the first byte, fetching"
        return inline(figure, "wire", label)


def _axis(axes: Axes, lanes: Sequence[str], end: float, *, labelled: bool) -> None:
    axes.set_xlim(0, end * 1.005)
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.set_yticks(range(len(lanes)), [visible(lane) for lane in lanes], fontsize=7.8)
    axes.tick_params(axis="y", length=0, pad=6)
    axes.tick_params(axis="x", length=3, width=0.7, labelsize=7.6, labelbottom=labelled)
    axes.xaxis.set_major_locator(MaxNLocator(7))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda ms, _: numbers.tick(ms) if ms else "0"))
    axes.grid(axis="x", color=COLOURS["rule"], linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("right", "top", "left"):
        axes.spines[side].set_visible(False)


def _lane(axes: Axes, y: int, cell: WireCell, commands: Sequence[WireCommand], end: float) -> None:
    colour = COLOURS["slow" if cell.role == "slow" else "normal"]
    least = end * _LEAST
    for command in commands:
        start = cell.after_ms(command)
        axes.barh(y, max(command.total_ms, least), left=start, height=0.6, color=colour,
                  alpha=0.25, linewidth=0)  # fmt: skip
        axes.barh(y, command.sent_ms, left=start, height=0.6, color=COLOURS["muted"], linewidth=0)
        if command.wait_ms is not None:
            axes.barh(y, max(command.wait_ms, least), left=start + command.sent_ms, height=0.6,
                      color=colour, linewidth=0)  # fmt: skip
    if commands:
        total = numbers.duration(sum(command.total_ms for command in commands))
        text = total if len(commands) == 1 else f"{len(commands)}×: {total}"
        if all(command.last_ms is None for command in commands):
            text = visible(commands[0].status)
        axes.text(1.01, y, text, va="center", fontsize=7.6, transform=axes.get_yaxis_transform())
