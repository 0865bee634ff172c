"""Differential flame graphs, both ways: one profile's shape in the colours of its change.

Widths are CPU time per unit of work. What only one side has shows in that side's graph alone,
which is why there are two. Frames whose change is within noise are grey.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Literal

from mysqlprof.differential import Change, Side, by_function, judged, nodes
from mysqlprof.errors import PartialData
from mysqlprof.flamegraph import (
    MIN_WIDTH,
    WIDTH,
    display_name,
    draw,
    headed,
    rgb,
    without_slivers,
)
from mysqlprof.palette import CHANGES
from mysqlprof.stacks import FoldedStacks, Stack

Which = Literal["before", "after"]
SIDES: tuple[Which, ...] = ("before", "after")

_FIRST_MARK = 0xF0000
"""A private character ends each name on its way through flamegraph.pl: every place in the tree
then has a colour of its own, and its numbers can be put into its title afterwards."""
_MARKED_TITLE = re.compile(
    r"<title>(?P<name>[^<]*?)(?P<mark>[\U000F0000-\U000FFFFD])? "
    r"\((?P<count>[\d,]+) ns, (?P<share>[\d.]+)%\)</title>"
)
_MARK = re.compile("[\U000f0000-\U000ffffd]")
_MAX_PLACES = 60_000


def render_difference(
    before: Side, after: Side, which: Which, *, title: str, subtitle: str, unit: str
) -> str:
    """The flame graph of one side as the text of an SVG file.

    Raises EnvironmentLacks without flamegraph.pl, PartialData where there is nothing to draw.
    """
    shown = before if which == "before" else after
    if not shown.stacks.total:
        raise PartialData("there are no samples to draw", "record for longer")
    weighted = _nanoseconds(shown)
    visible = without_slivers(weighted, MIN_WIDTH * weighted.total / WIDTH)
    changes = _changes(before, after, _places(visible))
    marks = {place: chr(_FIRST_MARK + number) for number, place in enumerate(changes)}
    drawn: Counter[Stack] = Counter()
    for stack, count in visible.items():
        names = [
            _shown(shown, frame) + marks.get(stack[: depth + 1], "")
            for depth, frame in enumerate(stack)
        ]
        drawn[tuple(names)] += count
    colours = {
        _shown(shown, place[-1]) + mark: rgb(CHANGES[changes[place].verdict].fill)
        for place, mark in marks.items()
    }
    whole = _whole(before, after)
    svg = draw(FoldedStacks(drawn), colours | {"": rgb(CHANGES[whole.verdict].fill)}, "ns")
    by_mark = {mark: changes[place] for place, mark in marks.items()}
    worded = _worded(svg, by_mark, whole, which, unit)
    return headed(worded, title, subtitle, list(CHANGES.values()))


def _shown(side: Side, frame: str) -> str:
    """Its name on this side, whatever it is called on the other."""
    return display_name(side.original.get(frame, frame))


def _nanoseconds(side: Side) -> FoldedStacks:
    """Per unit of work: flamegraph.pl takes whole numbers, and rare stacks must not vanish."""
    scale = side.ms_per_sample * 1e6
    return FoldedStacks({s: max(1, round(count * scale)) for s, count in side.stacks.items()})


def _places(visible: FoldedStacks) -> list[Stack]:
    """All of them: at a pixel's half each, there are fewer than private characters."""
    found = (stack[:depth] for stack, _ in visible.items() for depth in range(1, len(stack) + 1))
    return list(dict.fromkeys(found))[:_MAX_PLACES]


def _changes(before: Side, after: Side, places: list[Stack]) -> dict[Stack, Change]:
    """By place; where only one side has the place, but both have the function, the function's.

    A function that is called from elsewhere now is neither new nor gone.
    """
    known = by_function(before, after)
    changes = nodes(before, after, places)
    return {
        place: replace(known[place[-1]], everywhere=True)
        if (change.before == 0) != (change.after == 0) and not known[place[-1]].one_sided
        else change
        for place, change in changes.items()
    }


def _whole(before: Side, after: Side) -> Change:
    return judged(before, after, [(before.stacks.total, after.stacks.total)])[0]


def _worded(svg: str, changes: Mapping[str, Change], whole: Change, which: Which, unit: str) -> str:
    """Titles with what a reader wants to know instead of flamegraph.pl's counts."""

    def words(match: re.Match[str]) -> str:
        change = changes.get(match["mark"] or "", whole if match["name"] == "all" else None)
        milliseconds = int(match["count"].replace(",", "")) / 1e6
        said = f"{short(milliseconds)} ms of CPU per {unit}, {match['share']}%"
        if change:
            said += f"; {spoken(change, which)}"
        return f"<title>{match['name']} ({escape(said)})</title>"

    return _MARK.sub("", _MARKED_TITLE.sub(words, svg))


def spoken(change: Change, which: Which) -> str:
    """`was 12.1 ms: shrank 3.4x`, as seen from `which` side."""
    other = change.before_ms if which == "after" else change.after_ms
    told = "was" if which == "after" else "is now"
    if change.verdict == "appeared":
        return "new"
    if change.verdict == "vanished":
        return "gone"
    word = "too few samples to tell" if change.one_sided else "within noise"
    ratio = change.ratio
    if change.verdict in ("grew", "shrank") and ratio:
        word = f"{change.verdict} {short(ratio if ratio > 1 else 1 / ratio)}x"
    elsewhere = "the function as a whole " if change.everywhere else ""
    return f"{elsewhere}{told} {short(other)} ms: {word}"


def short(value: float) -> str:
    """Three significant digits, no exponent: 1375, 23.2, 0.0418."""
    return f"{value:.0f}" if value >= 999.5 else f"{value:.3g}" if value >= 1e-4 else "0"
