"""Triggers, scaling and remedies in sentences and words, for the terminal and both reports."""

from collections.abc import Sequence

from mysqlprof.report.word import Word
from mysqlprof.sweep_types import (
    BASELINE,
    RemedyRow,
    RemedyVerdict,
    Scaling,
    TriggerRow,
    TriggerVerdict,
)

_NAMED = 2
"""Of the best remedies, where several share the first rank."""

TRIGGER_WORDS: dict[TriggerVerdict, Word] = {
    "control": Word("control", "·", "normal"),
    "baseline": Word("all off", "·", "normal"),
    "fires": Word("fires", "▲", "no"),
    "no_effect": Word("no effect", "✓", "yes"),
    "cannot_tell": Word("cannot tell", "?", "unsure"),
    "not_measured": Word("not measured", "∅", "unsure"),
}
REMEDY_WORDS: dict[RemedyVerdict, Word] = {
    "untreated": Word("untreated", "·", "normal"),
    "helps": Word("helps", "✓", "yes"),
    "does_nothing": Word("does nothing", "✗", "no"),
    "makes_it_worse": Word("makes it worse", "▲", "no"),
    "cannot_tell": Word("cannot tell", "?", "unsure"),
    "not_measured": Word("not measured", "∅", "unsure"),
}


def trigger_answer(rows: Sequence[TriggerRow]) -> str:
    """Which switches fire alone, out of how many that were measured, and what is hoped in vain."""
    if any(row.verdict == "fires" and row.name == BASELINE for row in rows):
        return "It shows with every switch off, so that no switch can be told."
    judged = [row for row in rows if row.verdict not in ("control", "baseline", "not_measured")]
    switches = [row for row in judged if not row.hope]
    if not judged:
        return "No switch was measured."
    firing = [row.name for row in switches if row.verdict == "fires"]
    unsure = sum(row.verdict == "cannot_tell" for row in switches)
    doubt = f" ({unsure} cannot be told)" if unsure else ""
    if firing:
        said = f"{len(firing)} of {len(switches)} switches bring it out{doubt}: {', '.join(firing)}"
    else:
        said = f"None of {len(switches)} switches brings it out{doubt}"
    vain = [row.hope for row in judged if row.hope and row.verdict == "fires"]
    return f"{said}; no help: {', '.join(vain)}." if vain else f"{said}."


def scaling_answer(scaling: Scaling) -> str:
    """The first sweep's first sentence: from what size on it hurts."""
    said = [series.sentences[0] for series in scaling.series if series.sentences]
    return said[0] if said else "Too little was measured to tell how it grows."


def remedy_answer(rows: Sequence[RemedyRow]) -> str:
    """The best, and those that do nothing."""
    if not any(row.gain is not None for row in rows):
        return "No remedy was measured."
    best = [row for row in rows if row.rank == 1]
    helping = sum(row.verdict == "helps" for row in rows)
    idle = [row.name for row in rows if row.verdict == "does_nothing"]
    parts = [f"{helping} of {_tried(rows)} remedies help"]
    if best:
        parts.append(f"best: {_named(best)} ({_gains(best)})")
    if idle:
        parts.append(f"these do nothing: {', '.join(idle)}")
    return "; ".join(parts) + "."


def _named(best: Sequence[RemedyRow]) -> str:
    names = [row.name for row in best[:_NAMED]]
    rest = len(best) - len(names)
    return ", ".join(names) + (f" and {rest} that cannot be told from them" if rest else "")


def _tried(rows: Sequence[RemedyRow]) -> int:
    return sum(row.verdict not in ("untreated", "not_measured") for row in rows)


def _gains(best: Sequence[RemedyRow]) -> str:
    gains = sorted({f"{row.gain:.0f}" for row in best if row.gain is not None}, key=float)
    span = gains[0] if len(gains) == 1 else f"{gains[0]} to {gains[-1]}"
    return f"{span} times as fast"


def stars(count: int) -> str:
    return "★" * count
