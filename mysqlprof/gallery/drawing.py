"""A still picture of a profile: no script in it, small enough for a card, safe from any source.

Pages draw their graphs with d3-flame-graph; this is for thumbnails and for saving.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from mysqlprof.palette import KINDS
from mysqlprof.report import numbers
from mysqlprof.report.safe import visible
from mysqlprof.rules import FrameKind, Rules
from mysqlprof.stacks import FoldedStacks, Stack, plain_name, short_name

_CARD = (300, 4, 38)
"""Width, height of a frame, and levels of a thumbnail, in pixels."""
_PAGE = (1200, 16, 400)
_CHARACTER = 6.6
"""Width of one character of a label, in pixels."""
_XMLNS = "http://www.w3.org/2000/svg"


@dataclass(frozen=True)
class Box:
    """A frame's place: `start` and `count` in samples, `level` 0 at the root."""

    frame: str
    start: int
    count: int
    level: int


def boxes(stacks: FoldedStacks, levels: int, least: float = 0) -> Iterator[Box]:
    """The frames of the flame graph that have more than `least` samples, siblings by name."""
    open_: list[tuple[str, int]] = []
    start = 0
    for stack, count in [*sorted(stacks.items()), ((), 0)]:
        shared = _shared(stack, open_)
        while len(open_) > shared:
            frame, since = open_.pop()
            if start - since > least:
                yield Box(frame, since, start - since, len(open_))
        open_ += [(frame, start) for frame in stack[len(open_) : levels]]
        start += count


def _shared(stack: Stack, open_: list[tuple[str, int]]) -> int:
    for level, (frame, _) in enumerate(open_):
        if level >= len(stack) or stack[level] != frame:
            return level
    return len(open_)


def thumbnail(stacks: FoldedStacks, rules: Rules) -> str:
    """Frames of one kind are one path, in whole half-pixels: 2 to 5 kB a profile."""
    width, height, levels = _CARD
    scale = 2 * width / (stacks.total or 1)
    outlines: dict[FrameKind, list[str]] = {kind: [] for kind in KINDS}
    for box in boxes(stacks, levels, least=2.2 / scale):
        x, end = round(box.start * scale), round((box.start + box.count) * scale)
        y = 2 * height * (levels - 1 - box.level)
        w = max(1, end - x - 1)
        outlines[rules.kind(box.frame)].append(f"M{x} {y}h{w}v{2 * height - 1}h-{w}z")
    paths = [
        f'<path fill="{KINDS[kind].fill}" d="{"".join(found)}"/>'
        for kind, found in outlines.items()
        if found
    ]
    size = (
        f'width="{width}" height="{levels * height}" preserveAspectRatio="none"'
        f' viewBox="0 0 {2 * width} {2 * levels * height}"'
    )
    return f'<svg xmlns="{_XMLNS}" {size}>{"".join(paths)}</svg>\n'


def picture(stacks: FoldedStacks, rules: Rules, title: str, unit: str = "samples") -> str:
    """The whole flame graph as an SVG for any viewer, with a title a frame to hover over."""
    whole = (stacks.total, visible(unit))
    width, height, levels = _PAGE
    scale = width / (stacks.total or 1)
    drawn = list(boxes(stacks, levels, least=0.3 / scale))
    top = 28
    bottom = top + height * (1 + max((box.level for box in drawn), default=0))
    parts = [
        f'<svg xmlns="{_XMLNS}" viewBox="0 0 {width} {bottom}" width="{width}" height="{bottom}"'
        ' font-family="Verdana, sans-serif" font-size="11">',
        f'<rect width="{width}" height="{bottom}" fill="#ffffff"/>',
        f'<text x="{width / 2}" y="18" text-anchor="middle" font-size="14">'
        f"{escape(visible(title))}</text>",
    ]
    for box in drawn:
        y = bottom - (box.level + 1) * height
        parts.append(_frame(box, y, scale, whole, rules.kind(box.frame)))
    return "\n".join([*parts, "</svg>\n"])


def _frame(box: Box, y: int, scale: float, whole: tuple[int, str], kind: FrameKind) -> str:
    total, unit = whole
    x, width = box.start * scale, box.count * scale
    name = visible(plain_name(box.frame))
    share = numbers.share(box.count / total)
    colour = KINDS[kind]
    title = escape(f"{name}: {numbers.count(box.count)} {unit}, {share}, {colour.label}")
    room = int((width - 6) / _CHARACTER)
    label = ""
    if room >= 3:
        short = visible(short_name(box.frame))
        text = escape(short if len(short) <= room else short[: room - 1] + "…")
        label = f'<text x="{x + 3:.1f}" y="{y + 11.5}" fill="{colour.ink}">{text}</text>'
    return (
        f'<g><title>{title}</title><rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="15"'
        f' rx="1" fill="{colour.fill}"/>{label}</g>'
    )
