"""Data files: scripts that hand one value to the page. JSON in ASCII is JavaScript as it stands."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from mysqlprof.alignment import align
from mysqlprof.gallery.entry import Entry
from mysqlprof.palette import KINDS
from mysqlprof.report.safe import visible
from mysqlprof.rules import Rules
from mysqlprof.stacks import FoldedStacks, Stack, is_kernel, plain_name, short_name
from mysqlprof.statistics import THRESHOLDS

LEAST_SHARE = 0.001
"""Functions with a smaller inclusive share are in a profile's page and not in the index."""

_DEEPEST = 1000
"""Frames of a stack that are compared: aligning costs the square of its depth."""
_THRESHOLDS = ("changed_function_ratio", "changed_function_share", "changed_function_q")


def script(function: str, *arguments: Any) -> str:
    """`gallery.FUNCTION(ARGUMENT, ...)`: no character outside ASCII, so none that ends a line or
    a script early."""
    texts = [json.dumps(a, ensure_ascii=True, separators=(",", ":")) for a in arguments]
    return f"gallery.{function}({','.join(texts)});\n".replace("<", "\\u003c")


def profile_script(entry: Entry, stacks: FoldedStacks, rules: Rules) -> str:
    """What a profile's page draws."""
    unit = {"unit": visible(entry.info.unit)}
    return script("profile", entry.id, unit | _stacks(stacks, rules))


def aligned_script(entry: Entry, stacks: FoldedStacks, rules: Rules) -> str:
    """What a comparison draws: frames under names, and from roots, that other versions share."""
    found = {
        "name": visible(entry.name),
        "run": visible(f"run {entry.run.id}"),
        "unit": visible(entry.info.unit),
        "msPerSample": entry.ms_per_sample,
        "workUnit": visible(entry.work_unit),
    }
    cut: Counter[Stack] = Counter()
    for stack, count in stacks.items():
        cut[stack[:_DEEPEST]] += count
    return script(
        "profile", f"{entry.id}.aligned", found | _stacks(align(FoldedStacks(cut)).stacks, rules)
    )


def _stacks(stacks: FoldedStacks, rules: Rules) -> dict[str, Any]:
    """Frames by number, and stacks in one list of numbers: for each, how many frames it shares
    with the one before, its count, how many new frames follow, and these."""
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
    return {
        "total": stacks.total,
        "frames": [visible(plain_name(frame)) for frame in frames],
        "short": [visible(short_name(frame)) for frame in frames],
        "kinds": "".join(str(kinds[rules.kind(frame)]) for frame in frames),
        "kernel": "".join("1" if is_kernel(frame) else "0" for frame in frames),
        "stacks": numbers,
    }


def list_script(entries: Sequence[Entry]) -> str:
    """What the comparison offers to choose from, and when it calls a function changed."""
    rows = [
        [e.id, visible(e.name), visible(e.title), visible(e.run.id), e.run.created[:10]]
        for e in entries
    ]
    return script("list", rows, {name: THRESHOLDS[name] for name in _THRESHOLDS})


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
