"""A condensed flame graph for the first screen: only wide frames, with names that can be read.

The full picture is FlameGraph's; this one is its thumbnail, drawn small instead of scaled down.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from mysqlprof.attribution import load_rules
from mysqlprof.report import numbers
from mysqlprof.report.safe import visible
from mysqlprof.report.svg import COLOURS, STYLE, inline
from mysqlprof.stacks import FoldedStacks, plain_name, short_name

_SIZE = (5.2, 3.5)
_MIN_SHARE = 0.006
_LEVELS = 19
_CHARACTER = 4.75
"""Points that one character of a label takes."""


@dataclass
class _Node:
    frame: str
    count: int = 0
    children: dict[str, "_Node"] = field(default_factory=dict)


@dataclass(frozen=True)
class _Scale:
    width: int
    """Samples that the drawing is wide."""
    total: int
    """All samples: shares are of these."""
    path: Sequence[re.Pattern[str]]


@dataclass(frozen=True)
class Sketch:
    drawing: Markup
    root: str
    """The frame that the sketch stands on; empty where it is the whole profile."""
    root_share: float
    cut: bool
    """True when stacks go on above what is drawn."""


def flame_sketch(stacks: FoldedStacks, path: Sequence[str]) -> Sketch | None:
    """`path` holds patterns: the sketch stands on the first, and all of them stand out."""
    if not stacks.total:
        return None
    expressions = [re.compile(pattern) for pattern in path]
    root, name, cut = _tree(stacks, expressions[0] if expressions else None)
    levels = _depth(root, root.count * _MIN_SHARE)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=_SIZE)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, root.count)
        axes.set_ylim(0, max(levels, 8))
        start = 0
        scale = _Scale(root.count, stacks.total, expressions)
        for child in _ordered(root):
            _draw(axes, child, start, 0, scale)
            start += child.count
        drawing = inline(figure, "sketch", "Condensed flame graph of the slow execute")
    return Sketch(drawing, name, root.count / stacks.total, cut)


def _tree(stacks: FoldedStacks, foot: re.Pattern[str] | None) -> tuple[_Node, str, bool]:
    """The call tree from the frame that matches `foot` upwards; whole where none does.

    No deeper than is drawn: a stack may have ten thousand frames.
    """
    for expression in (foot, None):
        root, name, cut = _Node(""), "", False
        for stack, count in stacks.items():
            start = 0
            if expression is not None:
                found = [i for i, frame in enumerate(stack) if expression.search(plain_name(frame))]
                if not found:
                    continue
                start = found[0]
                name = short_name(stack[start])
            root.count += count
            node = root
            cut = cut or len(stack) - start > _LEVELS
            for frame in stack[start : start + _LEVELS]:
                node = node.children.setdefault(frame, _Node(frame))
                node.count += count
        if root.count:
            return root, name, cut
    raise AssertionError("a profile with samples has a tree")


def _ordered(node: _Node) -> list[_Node]:
    return sorted(node.children.values(), key=lambda child: child.frame)


def _depth(node: _Node, least: float) -> int:
    depths = [1 + _depth(c, least) for c in node.children.values() if c.count >= least]
    return max(depths, default=0)


def _draw(axes: Axes, node: _Node, start: int, level: int, scale: _Scale) -> None:
    if node.count < scale.width * _MIN_SHARE:
        return
    kind = load_rules().kind(node.frame)
    on_path = any(p.search(plain_name(node.frame)) for p in scale.path)
    axes.add_patch(
        Rectangle(
            (start, level + 0.04),
            node.count,
            0.92,
            facecolor=COLOURS[f"frame-{kind}"],
            edgecolor=COLOURS["paper"],
            linewidth=0.6,
        )
    )
    room = int(node.count / scale.width * _SIZE[0] * 72 / _CHARACTER) - 1
    if room >= 4:
        label = visible(short_name(node.frame))
        share = f"  {numbers.share(node.count / scale.total)}" if on_path else ""
        text = label if len(label) <= room else label[: room - 1] + "…"
        axes.text(
            start + scale.width * 0.006,
            level + 0.47,
            text + share if len(text) + len(share) <= room else text,
            fontsize=7.4,
            va="center",
            fontweight="bold" if on_path else "normal",
            color=COLOURS["frame-bug-ink" if kind == "bug" else "frame-ink"],
        )
    for child in _ordered(node):
        _draw(axes, child, start, level + 1, scale)
        start += child.count
