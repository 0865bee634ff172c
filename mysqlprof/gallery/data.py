"""Data files: scripts that hand one value to the page. JSON in ASCII is JavaScript as it stands."""

import json
from collections.abc import Sequence
from typing import Any

from mysqlprof.gallery.entry import Entry
from mysqlprof.palette import KINDS
from mysqlprof.report.safe import visible
from mysqlprof.rules import Rules
from mysqlprof.stacks import FoldedStacks, is_kernel, plain_name, short_name

LEAST_SHARE = 0.001
"""Functions with a smaller inclusive share are in a profile's page and not in the index."""


def script(function: str, *arguments: Any) -> str:
    """`gallery.FUNCTION(ARGUMENT, ...)`: no character outside ASCII, so none that ends a line or
    a script early."""
    texts = [json.dumps(a, ensure_ascii=True, separators=(",", ":")) for a in arguments]
    return f"gallery.{function}({','.join(texts)});\n".replace("<", "\\u003c")


def profile_script(entry: Entry, stacks: FoldedStacks, rules: Rules) -> str:
    """Stacks as numbers of frames: each is [frames shared with the one before, COUNT, new
    frames...], in one list with the number of new frames in between."""
    frames: dict[str, int] = {}
    numbers: list[int] = []
    before: tuple[str, ...] = ()
    for stack, count in sorted(stacks.items()):
        shared = 0
        while shared < min(len(stack), len(before)) and stack[shared] == before[shared]:
            shared += 1
        new = [frames.setdefault(frame, len(frames)) for frame in stack[shared:]]
        numbers += [shared, count, len(new), *new]
        before = stack
    kinds = {kind: number for number, kind in enumerate(KINDS)}
    data = {
        "name": visible(entry.name),
        "title": visible(entry.title),
        "total": stacks.total,
        "unit": visible(entry.info.unit),
        "executes": entry.info.executes,
        "frequency": entry.info.frequency_hz,
        "frames": [visible(plain_name(frame)) for frame in frames],
        "short": [visible(short_name(frame)) for frame in frames],
        "kinds": "".join(str(kinds[rules.kind(frame)]) for frame in frames),
        "kernel": "".join("1" if is_kernel(frame) else "0" for frame in frames),
        "stacks": numbers,
    }
    return script("profile", entry.id, data)


def list_script(entries: Sequence[Entry]) -> str:
    """What the comparison offers to choose from."""
    rows = [
        [e.id, visible(e.name), visible(e.title), visible(e.run.id), e.run.created[:10]]
        for e in entries
    ]
    return script("list", rows)


def shares_by_name(stacks: FoldedStacks) -> dict[str, int]:
    """Function without arguments -> inclusive share in parts of a thousand, from `LEAST_SHARE`."""
    counts = stacks.map_frames(lambda frame: visible(short_name(frame))).inclusive_counts()
    least = stacks.total * LEAST_SHARE
    return {n: round(1000 * c / stacks.total) for n, c in counts.items() if c >= least}


def index_script(shares: Sequence[dict[str, int]]) -> str:
    """Functions of all profiles: names by alphabet, and for each [profile, share, ...] where
    profiles are numbered in the order of the cards."""
    postings: dict[str, list[int]] = {}
    for number, found in enumerate(shares):
        for name, share in found.items():
            postings.setdefault(name, []).extend((number, share))
    names = sorted(postings)
    return script("index", names, [postings[name] for name in names])
